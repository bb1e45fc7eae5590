"""Agents that answer with programs, in whole runs with the real sandbox."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ggactors.programs.artifacts import problems
from ggactors.protocol.program import Language
from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, of_type, run_to_end, turn, write, write_crew
from ggactors.testing.repos import make_repo

if TYPE_CHECKING:
    from pathlib import Path

needs_sandbox = pytest.mark.skipif(
    bool(problems([Language.PYTHON])), reason="the extra [code] is not installed: pip install 'ggactors[code]'"
)
needs_script_sandbox = pytest.mark.skipif(
    bool(problems([Language.JAVASCRIPT])), reason="the extra [code] is not installed: pip install 'ggactors[code]'"
)
pytestmark = needs_sandbox

HANDS = [{"id": "files"}, {"id": "shell"}]


def code(**params: Any) -> dict[str, Any]:
    """Write the capability of agents that answer with programs."""
    return {"id": "responses-as-code", "params": {"language": "python", **params}}


BOARD = {
    "id": "project-management",
    "params": {"mergeAgentId": "merger", "maxEpics": 5, "maxIssues": 50, "maxRetries": 0},
}
CODER = {"capabilities": [*HANDS, code()]}
LEAD = {"capabilities": [*HANDS, code(), BOARD]}


def says(*programs: str) -> dict[str, Any]:
    """Write a reply that submits programs."""
    return {"programs": list(programs)} if len(programs) > 1 else {"program": programs[0]}


def told(home: Path, agent: str) -> list[str]:
    """List the texts an agent's conversation was given, as the journal has them, brief included."""
    import sqlite3

    import msgpack

    (journal,) = home.glob("runs/*/journal.db")
    with sqlite3.connect(journal) as db:
        (table,) = [
            name for (name,) in db.execute("select name from sqlite_master where type='table' and name like 'entr%'")
        ]
        rows = list(db.execute(f"select * from {table}"))
    db.close()
    texts = []
    for row in rows:
        for cell in row:
            if isinstance(cell, bytes) and b"TextHeard" in cell:
                fact = msgpack.unpackb(cell)
                found = find(fact, agent)
                texts += found
    return texts


def find(fact: Any, agent: str) -> list[str]:
    match fact:
        case {"agent": str(who), "text": str(text)}:
            return [text] if who == agent else []
        case dict():
            return [text for value in fact.values() for text in find(value, agent)]
        case list():
            return [text for value in fact for text in find(value, agent)]
        case _:
            return []


async def alone(tmp_path: Path, *replies: Any, profile: dict[str, Any] | None = None, **document: Any):
    """Play one agent without a board; give the outcome, the events, and what its model was told."""
    (tmp_path / "work").mkdir(exist_ok=True)
    crew = write_crew(
        tmp_path / "crew",
        {"root": list(replies)},
        board=False,
        agents={"lead": {**CODER, **(profile or {})}},
        **document,
    )
    outcome, events = await run_to_end(crew, tmp_path / "work", home=tmp_path / "state")
    return outcome, events, told(tmp_path / "state", "root")[1:]


def outcomes(events, agent="root"):
    return [(str(one.outcome), one.error_type) for one in of_type(events, "turn_outcome", agent)]


async def test_a_program_works_through_gg_and_ends_its_session_X1_X2_E1(tmp_path):
    outcome, events, _ = await alone(
        tmp_path,
        says(
            "import gg\nfrom gg import files\n"
            "assert files.write_file('a.txt', 'h\\u00e9\\n') == 4\n"
            "assert files.read_file('a.txt') == 'h\\u00e9\\n'\n"
            "assert files.edit_file('a.txt', 'h', 'H').replacements == 1\n"
            "assert [(one.name, one['kind']) for one in files.list_dir()] == [('a.txt', 'file')]\n"
            "assert files.search_files('H')[0].line == 1\n"
            "ran = gg.shell.run('cat a.txt; exit 3')\n"
            "assert (ran.exit_code, ran.output, ran.truncated) == (3, 'H\\u00e9\\n', False), ran\n"
            "print('for the operator')\n"
            "gg.session.finish('wrote a.txt')\n"
        ),
    )
    assert (outcome.status, outcome.summary) == (Status.COMPLETED, "wrote a.txt")
    assert (tmp_path / "work" / "a.txt").read_text(encoding="utf-8") == "Hé\n"
    (ran,) = of_type(events, "code_execution")
    assert (ran.ok, ran.error, ran.finished, ran.revoked, ran.superseded) == (True, None, True, False, 0)
    assert ran.logs == ("for the operator",)
    (spawned,) = of_type(events, "agent_spawned")
    assert spawned.tools == ("submit_program",)
    assert {"files.read_file", "shell.run", "views.open_text", "session.finish"} <= set(spawned.operations)
    assert "session.approve" not in spawned.operations
    assert outcomes(events) == [("finished", None)]


async def test_what_a_program_opens_is_read_next_turn_and_what_it_prints_is_not_X3(tmp_path):
    _, _, texts = await alone(
        tmp_path,
        says(
            "gg.files.write_file('b.txt', 'one\\ntwo\\n')\n"
            "gg.views.open_text('plan', 'first this')\n"
            "gg.views.open_text('plan', 'then that')\n"
            "gg.views.open_text('gone', 'never seen')\n"
            "assert gg.views.close('gone') == 1 and gg.views.close('gone') == 0\n"
            "gg.views.open_file('b.txt')\n"
            "gg.docs.open('files.read_file')\n"
            "assert gg.docs.search('read a file')[0].name == 'files.read_file'\n"
            "print('aside')\n"
        ),
        says("assert [v.label for v in gg.views.current()][:2] == ['plan', 'b.txt']\ngg.session.finish('ok')"),
    )
    assert texts[:2] == ["View: plan\n----\nthen that", "File: b.txt:1-2\n----\none\ntwo\n"]
    assert texts[2].startswith("Documentation: files.read_file\n----\n")
    assert len(texts) == 3
    assert "aside" not in "".join(texts)


async def test_a_program_that_fails_after_its_ending_has_it_revoked_and_reads_the_error_alone_E8(tmp_path):
    outcome, events, texts = await alone(
        tmp_path,
        says("gg.session.finish('too soon')\n1 / 0"),
        says("gg.session.finish('one')\ngg.session.finish('two')"),
    )
    assert (outcome.status, outcome.summary) == (Status.COMPLETED, "two")
    first, second = of_type(events, "code_execution")
    assert (first.ok, first.finished, first.revoked) == (False, False, True)
    assert (second.finished, second.superseded) == (True, 1)
    (text,) = texts
    assert text.startswith("Runtime error\n----\nZeroDivisionError")
    assert "revoked" not in text
    assert outcomes(events) == [("error", "program_throw"), ("finished", None)]


async def test_a_caught_failure_revokes_nothing_and_is_no_error_turn_E8_C1(tmp_path):
    outcome, events, _ = await alone(
        tmp_path,
        says(
            "gg.session.finish('done')\n"
            "try:\n    gg.files.read_file('no such file')\n"
            "except gg.NotFound as error:\n    assert (error.code, error.operation) == ('not-found', 'files.read_file')\n"
            "gg.files.write_file('after.txt', 'x')\n"
        ),
    )
    assert outcome.summary == "done"
    assert (tmp_path / "work" / "after.txt").exists()
    assert outcomes(events) == [("finished", None)]


async def test_a_program_stopped_by_its_time_has_its_ending_revoked_X4_E8(tmp_path):
    outcome, events, texts = await alone(
        tmp_path,
        says("gg.session.finish('x')\nwhile True: pass"),
        says("gg.session.finish('ok')"),
        profile={"capabilities": [*HANDS, code(timeoutSecs=0.3)]},
    )
    assert outcome.summary == "ok"
    assert of_type(events, "code_execution")[0].revoked
    assert "0.3" in texts[0]
    assert outcomes(events)[0] == ("error", "sandbox_timeout")


async def test_an_ending_of_another_role_is_unavailable_whatever_its_shape_E4_E5(tmp_path):
    program = (
        "codes = []\n"
        "for call in (lambda: gg.session.approve(), lambda: gg.session.request_changes(), lambda: gg.session.request_changes([]),\n"
        "             lambda: gg.session.finish('  '), lambda: gg.session.finish(5)):\n"
        "    try:\n        call()\n    except gg.Error as error:\n        codes.append(error.code)\n"
        "gg.views.open_text('codes', ' '.join(codes))\n"
    )
    outcome, events, texts = await alone(tmp_path, says(program), says("gg.session.finish('ok')"))
    assert texts == ["View: codes\n----\nunavailable unavailable unavailable invalid-argument invalid-argument"]
    assert outcomes(events) == [("progressed", None), ("finished", None)]
    assert outcome.summary == "ok"


async def test_several_programs_run_in_order_and_one_that_ends_stops_them_X6(tmp_path):
    outcome, events, _ = await alone(
        tmp_path,
        says(
            "gg.files.write_file('1', '')\nboom()",
            "assert gg.files.list_dir()[0].name == '1'\ngg.session.finish('second')",
            "gg.files.write_file('3', '')",
        ),
    )
    assert outcome.summary == "second"
    assert [one.ok for one in of_type(events, "code_execution")] == [False, True]
    assert outcomes(events) == [("finished", None)]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["1"]


async def test_the_first_failure_of_several_names_the_one_error_of_the_turn_X6_X5(tmp_path):
    _, events, texts = await alone(tmp_path, says("def (", "boom()", "pass"), says("gg.session.finish('ok')"))
    assert outcomes(events)[0] == ("error", "transpile_syntax")
    assert [text.split("\n")[0] for text in texts] == ["Notice", "Compiler error", "Runtime error"]
    assert "3 programs ran" in texts[0]


async def test_prose_and_other_tools_are_one_error_and_nothing_of_them_is_run_E2(tmp_path):
    _, events, texts = await alone(
        tmp_path,
        {"text": "gg.session.finish('prose')"},
        finish("as a tool"),
        says("   \n# nothing\n"),
        says("gg.session.finish('ok')"),
    )
    assert outcomes(events) == [
        ("error", "missing_completion_no_program"),
        ("error", "missing_completion_no_program"),
        ("progressed", None),
        ("finished", None),
    ]
    assert all("`gg.session.finish(summary)`" in text and "submit_program" in text for text in texts[:2])
    assert "opened nothing" in texts[2]
    (refused,) = [one for one in of_type(events, "tool_result") if one.code == "unavailable"]
    assert "submit_program" in refused.output


async def test_an_allowlist_withholds_what_it_does_not_name_and_never_an_ending_E3(tmp_path):
    program = (
        "try:\n    gg.files.write_file('x', 'y')\nexcept gg.Unavailable as error:\n    gg.views.open_text('code', error.code)\n"
        "assert [one.name for one in gg.docs.search('', module='files')] == ['files', 'files.list_dir']\n"
    )
    _, events, texts = await alone(
        tmp_path,
        says(program),
        says("gg.files.list_dir()\ngg.session.finish('ok')"),
        profile={"operations": ["files.list_dir", "views.open_text", "docs.search"]},
    )
    assert texts == ["View: code\n----\nunavailable"]
    assert of_type(events, "agent_spawned")[0].operations == (
        "files.list_dir",
        "views.open_text",
        "docs.search",
        "session.finish",
    )
    assert outcomes(events)[-1] == ("finished", None)


async def test_hooks_stand_around_the_calls_of_programs_and_before_their_endings_G1(tmp_path):
    gate = "test -e done.txt || { echo done.txt is missing; exit 1; }"
    hooks = [
        {"event": "agent-stop", "action": {"type": "command", "command": gate}},
        {"event": "pre-shell", "action": {"type": "command", "command": "echo not here; exit 1"}},
        {"event": "post-write", "action": {"type": "command", "command": "echo seen it"}},
    ]
    outcome, events, texts = await alone(
        tmp_path,
        says("gg.session.finish('early')"),
        says("try:\n    gg.shell.run('true')\nexcept gg.Refused as e:\n    gg.views.open_text('why', e.message)"),
        says("gg.files.write_file('done.txt', '')"),
        says("gg.session.finish('ok')"),
        profile={"hooks": hooks},
    )
    assert outcome.summary == "ok"
    assert [one.finished for one in of_type(events, "code_execution")] == [False, False, False, True]
    assert "done.txt is missing" in texts[0]
    assert "not here" in texts[1]
    assert texts[2] == "Notice\n----\nseen it"
    assert not any(outcome == "error" for outcome, _ in outcomes(events))


async def test_tool_calling_and_code_agents_share_a_run_Q1_B10(tmp_path):
    repo = make_repo(tmp_path / "repo")
    lead = (
        "made = gg.board.create_issue('Add a', 'a.py', '-', 'a.py exists', 'coder', description='old', reviewers=['critic'])\n"
        "other = gg.board.create_issue('Add b', 'b.py', '-', 'b.py exists', 'merger', blocked_by=[made.id])\n"
        "assert gg.board.update_issue(made.id, title='Add a.py').description == 'old'\n"
        "assert gg.board.update_issue(made.id, description=None).description is None\n"
        "codes = []\n"
        "for call in (lambda: gg.board.wait_for_issue('ISSUE-9'), lambda: gg.board.set_issue_blocked_by(made.id, [other.id]),\n"
        "             lambda: gg.board.update_issue(made.id), lambda: gg.board.create_issue('t', 'i', 'o', 'c', 'nobody')):\n"
        "    try:\n        call()\n    except gg.Error as error:\n        codes.append(error.code)\n"
        "assert codes == ['not-found', 'conflict', 'invalid-argument', 'invalid-argument'], codes\n"
        "assert gg.board.wait_for_issue(other.id).state == 'waiting'\n"
        "assert [one.blocked_by for one in gg.board.read_board().issues] == [[], [made.id]]\n"
    )
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [says(lead), says("gg.session.finish('all in')")],
            "ISSUE-1.0i": [says("gg.files.write_file('a.py', 'a = 1\\n')\ngg.session.finish('wrote a')")],
            "ISSUE-1.*r*": [says("assert gg.files.read_file('a.py') == 'a = 1\\n'\ngg.session.approve()")],
            "ISSUE-2.*": [turn(write("b.py", "b = 2\n")), finish("wrote b")],
        },
        agents={
            "lead": {
                **LEAD,
                "roster": [
                    {"agent": "coder", "scopes": ["implementer"]},
                    {"agent": "merger", "scopes": ["implementer"]},
                    {"agent": "critic", "scopes": ["reviewer"]},
                ],
            },
            "coder": CODER,
            "critic": CODER,
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert [one.error for one in of_type(events, "code_execution") if one.error] == []
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done", "ISSUE-2": "done"})
    assert (repo.show("a.py"), repo.show("b.py")) == ("a = 1", "b = 2")
    assert told(tmp_path / "state", "root")[1:] == ["Notice\n----\nISSUE-2 is done."]
    waiting = [one.waiting_on for one in of_type(events, "agent_state", "root") if one.state == "waiting"]
    assert waiting == ["ISSUE-2"]
    assert outcomes(events) == [("progressed", None), ("finished", None)]


async def test_a_wait_that_was_registered_stands_though_its_program_failed_Q1(tmp_path):
    repo = make_repo(tmp_path / "repo")
    program = (
        "made = gg.board.create_issue('Add a', 'a', '-', 'a', 'coder')\n"
        "gg.board.wait_for_issue(made.id)\nraise SystemError('late')"
    )
    crew = write_crew(
        tmp_path / "crew",
        {"root": [says(program), says("gg.session.finish('ok')")], "ISSUE-1.*": [finish("nothing to do")]},
        agents={"lead": LEAD},
    )
    outcome, _events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert outcome.exit_code == 0
    notice, error = told(tmp_path / "state", "root")[1:]
    assert notice == "Notice\n----\nISSUE-1 is done."
    assert error.startswith("Runtime error\n----\nSystemError: late")


async def test_subagents_are_waited_for_between_turns(tmp_path):
    spawning = {"id": "subagents", "params": {"maxDepth": 1}}
    outcome, _events, texts = await alone(
        tmp_path,
        says(
            "one = gg.delegation.spawn_subagent('coder', 'look')\nassert gg.delegation.wait_for_subagents() == [one.id]"
        ),
        says("gg.session.finish('ok')"),
        profile={
            "capabilities": [*HANDS, code(), spawning],
            "roster": [{"agent": "coder", "scopes": ["subagent"]}],
        },
    )
    assert outcome.exit_code == 0
    (text,) = texts
    assert json.loads(text.split("Your subagents: ")[1])[0]["id"] == "root.0s"


@needs_script_sandbox
@pytest.mark.parametrize("language", ["javascript", "typescript"])
async def test_programs_in_the_other_languages_do_the_same_X1_E4_E8(tmp_path, language):
    strings = ": (string | number)[]" if language == "typescript" else ""
    program = (
        'import { files, session, shell, views } from "gg"\n'
        'files.writeFile("a.txt", "one\\ntwo\\n")\n'
        f"const codes{strings} = [files.readFile('a.txt', {{ offset: 2 }}), shell.run('exit 3').exitCode]\n"
        "for (const call of [() => session.approve(), () => session.requestChanges(), () => files.readFile('no')]) {\n"
        "  try { call() } catch (error) { codes.push(error.code) }\n}\n"
        'views.openText("codes", codes.join(" "))\n'
    )
    outcome, events, texts = await alone(
        tmp_path,
        says(program),
        says('gg.session.finish("x"); gg.files.readFile("no")'),
        says('gg.session.finish("ok")'),
        profile={"capabilities": [*HANDS, code(language=language)]},
    )
    assert (outcome.status, outcome.summary) == (Status.COMPLETED, "ok")
    assert texts[0] == "View: codes\n----\ntwo\n 3 unavailable unavailable not-found"
    assert texts[1].startswith("Runtime error\n----\n")
    assert [one.revoked for one in of_type(events, "code_execution")] == [False, True, False]
    assert outcomes(events) == [("progressed", None), ("error", "program_api_error"), ("finished", None)]


@needs_script_sandbox
@pytest.mark.parametrize("language", ["javascript", "typescript"])
async def test_what_a_program_writes_lands_as_it_stands_and_a_dropped_failure_revokes_its_ending_X1_E8_C1(
    tmp_path, language
):
    script = "\nasync function main() {\n  console.log('hi');\n}\n\nmain();\n\n(async () => {})();\n"
    outcome, events, texts = await alone(
        tmp_path,
        says(f"gg.files.writeFile('tool.cjs', `{script}`);"),
        says(
            "['x', '../y', 'z'].forEach(async (f) => { gg.files.writeFile(f, 'half') });\ngg.session.finish('wrote all three')"
        ),
        says("try { gg.files.readFile('no') } catch (e) { if (e instanceof NotFound) gg.session.finish('mended') }"),
        profile={"capabilities": [*HANDS, code(language=language)]},
    )
    assert (tmp_path / "work" / "tool.cjs").read_text() == script
    assert outcome.summary == "mended"
    assert [one.revoked for one in of_type(events, "code_execution")] == [False, True, False]
    assert outcomes(events) == [("progressed", None), ("error", "program_api_error"), ("finished", None)]
    assert "outside" in texts[-1]


def test_the_extra_that_is_missing_refuses_the_launch_with_its_install_line(tmp_path, monkeypatch):
    from ggactors.app.coding import program_problems
    from ggactors.crew import load_crew
    from ggactors.programs import artifacts

    crew = load_crew(write_crew(tmp_path, {"root": []}, agents={"coder": CODER}))
    assert program_problems(crew) == ()
    monkeypatch.setattr(artifacts.util, "find_spec", lambda _name: None)
    (problem,) = program_problems(crew)
    assert problem.remedy == "pip install 'ggactors[code]'"
