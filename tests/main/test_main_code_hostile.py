"""Programs that flood, hang, fail or are cut off, in whole runs with the real sandbox: bounded, and blamed on whoever did it."""

from __future__ import annotations

import threading
import time

import pytest
import trio
from test_main_code import BOARD, CODER, HANDS, LEAD, alone, code, needs_sandbox, outcomes, says, told

from ggactors.actors.coding import MOST_LETTERS, MOST_USES
from ggactors.protocol.values import Status
from ggactors.rules.telling import MOST_CALLS, MOST_TEXT
from ggactors.testing.crews import finish, issue, of_type, run_to_end, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

pytestmark = needs_sandbox


async def test_a_flood_of_calls_is_carried_out_and_told_by_its_beginning_X4(tmp_path):
    outcome, events, _ = await alone(
        tmp_path,
        says(
            "gg.files.write_file('big', 'x' * 200_000)\n"
            "for _ in range(999): gg.views.current()\n"
            "gg.session.finish('through')"
        ),
    )
    assert outcome.summary == "through"
    (ran,) = of_type(events, "code_execution")
    assert (ran.ok, ran.calls, ran.untold) == (True, 1001, 1001 - MOST_CALLS)
    calls = [one for one in of_type(events, "tool_call") if one.tool != "submit_program"]
    assert len(calls) == MOST_CALLS
    assert len(of_type(events, "tool_result")) == MOST_CALLS + 1, "what is told has its answer, the submission too"
    assert calls[0].args["contents"] == "x" * MOST_TEXT + "… [200000 characters in all]"
    assert (tmp_path / "work" / "big").stat().st_size == 200_000


async def test_a_program_cannot_flood_the_journal_or_other_agents(tmp_path):
    spawning = {"id": "subagents", "params": {"maxDepth": 1}}
    program = (
        "codes = []\n"
        f"for _ in range({MOST_LETTERS} + 2):\n"
        "    try: gg.delegation.send_message('nobody', 'x')\n"
        "    except gg.Error as error: codes.append(error.code)\n"
        f"assert codes[{MOST_LETTERS}:] == ['limit-exceeded'] * 2 and 'limit-exceeded' not in codes[:{MOST_LETTERS}]\n"
        "gg.session.finish('refused')"
    )
    outcome, events, _ = await alone(
        tmp_path,
        says(program),
        profile={"capabilities": [*HANDS, code(), spawning], "roster": [{"agent": "coder", "scopes": ["subagent"]}]},
    )
    assert [one.error for one in of_type(events, "code_execution")] == [None]
    assert outcome.summary == "refused"


async def test_notes_of_hooks_on_a_flood_of_calls_are_told_once_each(tmp_path):
    hooks = [{"event": "post-write", "action": {"type": "command", "command": "echo same; echo $GGACTORS_NO >&2"}}]
    _, events, texts = await alone(
        tmp_path,
        says("for n in range(6): gg.files.write_file(str(n), '')"),
        says("gg.session.finish('ok')"),
        profile={"hooks": hooks},
    )
    assert len(of_type(events, "hook")) == 6
    assert texts == ["Notice\n----\nsame"]


async def test_many_uses_of_a_memory_run_its_code_so_often_and_no_oftener_E6(tmp_path):
    outcome, events, texts = await alone(
        tmp_path,
        says(
            "gg.memories.create_memory('tick', 'Counts.', 'text', on_use=\"gg.session.finish('never')\")\n"
            f"for _ in range({MOST_USES} + 3): gg.memories.read_memory('tick')\n"
        ),
        says("gg.session.finish('ok')"),
        profile={"capabilities": [*HANDS, code(), {"id": "memories"}]},
    )
    assert outcome.summary == "ok", "code on use has no ending"
    ended = [one for one in of_type(events, "tool_result") if one.code == "unavailable"]
    assert len(ended) == MOST_USES
    assert "The code of 3 more uses did not run" in texts[0]
    assert texts[1].startswith("Notice\n----\nThe code that the memory 'tick' runs on use failed: gg.Unavailable")
    assert len(texts) == 2
    assert outcomes(events) == [("progressed", None), ("finished", None)]


async def test_a_wait_for_an_issue_that_has_ended_is_answered_once_Q1(tmp_path):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [
                says("gg.board.create_issue('Add a', 'a', '-', 'a', 'coder')\ngg.board.wait_for_issue('ISSUE-1')"),
                says(
                    "for _ in range(3): assert gg.board.wait_for_issue('ISSUE-1').state == 'done'\n"
                    "gg.views.open_text('seen', 'done')"
                ),
                says("gg.session.finish('ok')"),
            ],
            "ISSUE-1.*": [finish("nothing to do")],
        },
        agents={"lead": LEAD},
    )
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert outcome.exit_code == 0
    assert told(tmp_path / "state", "root")[1:] == ["Notice\n----\nISSUE-1 is done.", "View: seen\n----\ndone"]
    waits = [one for one in of_type(events, "agent_state", "root") if one.state == "waiting"]
    assert len(waits) == 1


async def test_a_fault_of_the_sandbox_is_a_defect_and_never_the_models_X5_D8(tmp_path, monkeypatch):
    from ggactors.programs.python import PythonSlot

    def broken(_slot: object, take) -> None:
        take().begin()
        raise RuntimeError("the engine broke down")

    monkeypatch.setattr(PythonSlot, "live", broken)
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [
                turn(issue("Add a")),
                wait("ISSUE-1"),
                finish(),
            ],
            "ISSUE-1.*": [says("gg.session.finish('never runs')")],
        },
        agents={"lead": {"capabilities": [*HANDS, BOARD]}, "coder": CODER},
    )
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert (outcome.status, outcome.exit_code) == (Status.INTERNAL_ERROR, 1)
    assert outcome.issues == {"ISSUE-1": "failed"}
    assert outcomes(events, "ISSUE-1.0i") == [], "no turn of the model is judged for it"
    (ran,) = of_type(events, "code_execution")
    assert (ran.ok, ran.error) == (False, "the sandbox failed: RuntimeError: the engine broke down")
    (crash,) = (tmp_path / "state").glob("runs/*/crash-1.txt")
    assert "the engine broke down" in crash.read_text()
    assert "in broken" in crash.read_text(), "the trace leads to where the sandbox broke"


async def test_a_stop_lets_a_program_end_its_turn_and_no_other_begins_D5(tmp_path):
    def stop(run, event) -> None:
        if event.type == "tool_call" and event.tool == "files.write_file":
            run.cancel()

    (tmp_path / "work").mkdir()
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [
                says("gg.files.write_file('a', '')\ngg.shell.run('sleep 0.2')\ngg.files.write_file('b', '')"),
                says("gg.files.write_file('c', '')"),
            ]
        },
        board=False,
        agents={"lead": CODER},
    )
    outcome, events = await run_to_end(crew, tmp_path / "work", home=tmp_path / "state", during=stop)
    assert (outcome.status, outcome.exit_code) == (Status.CANCELED, 130)
    (ran,) = of_type(events, "code_execution")
    assert ran.ok
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["a", "b"]


BUSY = {
    "spins": "while True: pass",
    "waits for a call": "gg.shell.run('sleep 60')",
    "sleeps": "import time\ntime.sleep(60)",
    "calls and swallows everything": "while True:\n    try: gg.files.list_dir()\n    except BaseException: pass",
}


@pytest.mark.parametrize("busy", BUSY)
async def test_leaving_a_run_stops_its_programs_and_leaves_no_thread(tmp_path, busy):
    from ggactors.app import open_run

    (tmp_path / "work").mkdir()
    program = f"gg.files.write_file('begun', '')\n{BUSY[busy]}\n"
    crew = write_crew(tmp_path / "crew", {"root": [says(program)]}, board=False, agents={"lead": CODER})
    before = set(threading.enumerate())
    async with open_run(crew, workspace=tmp_path / "work", home=tmp_path / "state", task="t") as run:
        async for event in run.events():
            if event.type == "tool_result" and event.agent == "root" and (tmp_path / "work" / "begun").exists():
                break
        begun = time.perf_counter()
    assert time.perf_counter() - begun < 10, "stopped, not waited for"
    left = [one for one in threading.enumerate() if one not in before and "ggactors-program" in one.name]
    assert left == []


async def test_two_programs_in_one_string_are_one_and_a_fence_or_prose_is_the_models_error_X5(tmp_path):
    outcome, events, texts = await alone(
        tmp_path,
        says("```python\ngg.session.finish('fenced')\n```"),
        says("I will now finish the session."),
        says("# nothing"),
        says("x = 1\ngg.files.write_file('one', '')\n\n# second program\ngg.session.finish(f'both {x}')\n"),
    )
    assert outcome.summary == "both 1"
    assert outcomes(events) == [
        ("error", "transpile_syntax"),
        ("error", "transpile_syntax"),
        ("progressed", None),
        ("finished", None),
    ]
    assert "without a Markdown fence" in texts[0]
    assert texts[2].startswith("Notice\n----\nYour program ran and opened nothing")


async def test_a_program_calls_tools_of_the_embedding_program_X2(tmp_path):
    class Tickets:
        name = "read-ticket"
        description = "Read a ticket."
        schema = {"type": "object", "properties": {"ticketNumber": {"type": "integer"}}, "required": ["ticketNumber"]}  # noqa: RUF012

        async def call(self, args):
            await trio.lowlevel.checkpoint()
            return f"ticket {args['ticketNumber']}"

    (tmp_path / "work").mkdir()
    program = (
        "from gg import tools\n"
        "assert tools.read_ticket(7) == 'ticket 7' == tools.read_ticket(ticket_number=7)\n"
        "assert gg.docs.search('ticket')[0].name == 'tools.read_ticket'\n"
        "gg.session.finish('read')"
    )
    crew = write_crew(tmp_path / "crew", {"root": [says(program)]}, board=False, agents={"lead": CODER})
    outcome, events = await run_to_end(crew, tmp_path / "work", home=tmp_path / "state", tools=[Tickets()])
    assert [one.error for one in of_type(events, "code_execution")] == [None]
    assert outcome.summary == "read"
    assert "tools.read_ticket" in of_type(events, "agent_spawned")[0].operations


async def test_an_interrupted_program_is_told_with_its_open_call_and_its_ending_is_revoked_E8(tmp_path):
    from ggactors.app import open_run

    (tmp_path / "work").mkdir()
    program = "gg.session.finish('early')\ngg.shell.run('sleep 60')"
    crew = write_crew(tmp_path / "crew", {"root": [says(program)]}, board=False, agents={"lead": CODER})
    seen: list = []
    parked = trio.Event()

    def see(event) -> None:
        seen.append(event)
        if event.type == "tool_call" and event.tool == "shell.run":
            parked.set()

    with trio.fail_after(60):
        async with open_run(
            crew, workspace=tmp_path / "work", home=tmp_path / "state", task="t", interactive=True
        ) as run:
            run.add_sink(see)
            await parked.wait()
            assert run.interrupt().accepted
            assert await run.persons_turn()
    (ran,) = of_type(seen, "code_execution")
    assert (ran.ok, ran.finished, ran.revoked, ran.calls) == (False, False, True, 2)
    assert "interrupted by the operator" in ran.error
    last = of_type(seen, "tool_result")[-1]
    assert (last.ok, last.code) == (False, "unavailable")
    called = [one.call_id for one in of_type(seen, "tool_call")]
    assert sorted(called) == sorted(one.call_id for one in of_type(seen, "tool_result"))


async def test_a_reviewers_program_ends_by_its_own_group_whatever_the_shape_of_the_other_E4_E5(tmp_path):
    repo = make_repo(tmp_path / "repo")
    review = (
        "codes = []\n"
        "for call in (lambda: gg.session.finish(), lambda: gg.session.finish(''), lambda: gg.session.finish('done'),\n"
        "             lambda: gg.session.request_changes([' ']), lambda: gg.session.request_changes('x')):\n"
        "    try: call()\n"
        "    except gg.Error as error: codes.append(error.code)\n"
        "assert codes == ['unavailable'] * 3 + ['invalid-argument'] * 2, codes\n"
        "gg.session.request_changes([' write a ', ''])\ngg.session.approve()"
    )
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Add a", reviewers=["critic"])), wait("ISSUE-1"), finish()],
            "ISSUE-1.*r*": [says(review)],
            "ISSUE-1.*": [turn(write("a", "a")), finish("wrote a")],
        },
        agents={"critic": CODER},
    )
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done"})
    (ran,) = of_type(events, "code_execution")
    assert (ran.error, ran.finished, ran.superseded) == (None, True, 1)
    (review_held,) = of_type(events, "issue_review")
    assert review_held.verdict == "approved", "the last declaration counts (E8)"


async def test_texts_and_numbers_no_file_and_no_stream_can_hold_are_refused_and_harm_nobody_X2(tmp_path):
    program = r"""
import json, os
codes = []
def refused(call):
    try: codes.append(call())
    except gg.Error as error: codes.append(error.code)
half = '\ud800'
for call in (
    lambda: gg.session.finish(half), lambda: gg.files.write_file(half, 'x'), lambda: gg.files.write_file('x', half),
    lambda: gg.files.read_file(half), lambda: gg.files.read_file('x', offset=2**70), lambda: gg.files.list_dir('a\0b'),
    lambda: gg.files.read_file({'a': [1]}), lambda: gg.shell.run('true', timeout_secs=2**70),
    lambda: gg.views.open_text(half, 'x'), lambda: gg.docs.open(half), lambda: gg.memories.create_memory('a', half, 'x'),
): refused(call)
def raw(line):
    os.write(2, line + b'\n')
    codes.append(json.loads(os.read(0, 100000)[8:])['error']['code'])
raw(b'{"call": "files.read_file", "args": {"\\ud800": 1, "path": "x"}}')
raw(b'{"call": "session.finish", "args": {"summary": ["x"]}}')
raw(b'{"call": "views.close", "args": {"label": []}}')
raw(b'{"call": "files.read_file", "args": {"path": 123456789012345678901234567890}}')
assert codes == ['invalid-argument'] * 15, codes
print(half)
raise ValueError(half)
"""
    outcome, events, texts = await alone(
        tmp_path,
        says(program),
        says("gg.session.finish('ok')"),
        profile={"capabilities": [*HANDS, code(), {"id": "memories"}]},
    )
    assert outcome.summary == "ok"
    assert next(one.error for one in of_type(events, "code_execution")).startswith("ValueError: ?")
    assert texts[0].startswith("Runtime error\n----\nValueError: ?")
