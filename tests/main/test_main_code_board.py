"""The board from programs, in whole runs with the real sandbox: every refusal by its code, waits that a stop cuts short."""

from __future__ import annotations

from test_main_code import BOARD, CODER, HANDS, LEAD, code, needs_sandbox, outcomes, says, told

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, of_type, run_to_end, shell, turn, write_crew
from ggactors.testing.repos import make_repo

pytestmark = needs_sandbox

FILE = "gg.board.create_issue('Add a', 'a', '-', 'a', 'coder')"


async def test_every_refusal_of_the_board_is_caught_by_its_code_B10_B4_B2(tmp_path):
    repo = make_repo(tmp_path / "repo")
    program = (
        "def code(call, *args, **named):\n"
        "    try: call(*args, **named)\n"
        "    except gg.Error as error: return error.code\n"
        "b = gg.board\n"
        "assert b.create_epic('auth', 'Auth').id == 'AUTH'\n"
        "assert code(b.create_epic, 'AUTH', 'again') == 'conflict'\n"
        "assert code(b.create_epic, 'x', 'too short') == 'invalid-argument'\n"
        "one = b.create_issue('One', 'a', '-', 'a', 'coder', epic_id='AUTH', blocked_by=[]).id\n"
        "two = b.create_issue('Two', 'b', '-', 'b', 'coder', blocked_by=[one]).id\n"
        "assert (one, two) == ('AUTH-1', 'ISSUE-1')\n"
        f"assert code(lambda: {FILE}) == 'limit-exceeded'\n"
        "before = b.read_board()\n"
        "assert code(b.set_issue_blocked_by, two, [two]) == 'conflict'\n"
        "assert code(b.set_issue_blocked_by, two, ['NO-1']) == 'not-found'\n"
        "assert code(b.update_issue, two, status='done') == 'invalid-argument'\n"
        "assert code(b.update_issue, two, status='open') == 'conflict'\n"
        "assert code(b.remove_epic, 'NONE') == 'not-found'\n"
        "assert code(gg.delegation.spawn_subagent, 'coder', 'x') == 'unavailable'\n"
        "assert b.read_board().issues[1] == before.issues[1]\n"
        "gg.session.finish('all refused')"
    )
    board = {**BOARD, "params": {**BOARD["params"], "maxIssues": 2, "maxEpics": 1}}
    spawning = {"id": "subagents", "params": {"maxDepth": 1}}
    own = "try: gg.board.wait_for_issue('AUTH-1')\nexcept gg.Refused as error: gg.session.finish(error.code)"
    crew = write_crew(
        tmp_path / "crew",
        {"root": [says(program)], "AUTH-1.*": [says(own)], "ISSUE-1.*": [finish("nothing")]},
        agents={
            "lead": {**LEAD, "capabilities": [*HANDS, code(), board]},
            "coder": {
                **LEAD,
                "capabilities": [*HANDS, code(), board],
                "roster": [{"agent": "coder", "scopes": ["implementer"]}],
            },
            "critic": {"capabilities": [*HANDS, spawning], "roster": [{"agent": "coder", "scopes": ["subagent"]}]},
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert of_type(events, "code_execution", "root")[0].error is None
    (own_issue,) = of_type(events, "code_execution", "AUTH-1.0i")
    assert (own_issue.error, own_issue.finished) == (None, True), "waiting for one's own issue is refused, and caught"
    assert outcome.summary == "all refused"


async def test_a_stop_while_a_registered_wait_lasts_ends_the_session_and_tells_no_outcome_Q1_D5(tmp_path):
    begun = set()

    def stop(run, event) -> None:
        if event.type == "agent_state":
            begun.add((event.agent, event.state))
        if begun >= {("root", "waiting"), ("ISSUE-1.0i", "running")}:
            run.cancel()

    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [says(f"gg.board.wait_for_issue({FILE}.id)"), says("gg.session.finish('never')")],
            "ISSUE-1.*": [turn(shell("sleep 1")), finish("late")],
        },
        agents={"lead": LEAD, "coder": {"capabilities": HANDS}},
    )
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state", during=stop)
    assert (outcome.status, outcome.exit_code) == (Status.CANCELED, 130)
    assert outcome.issues == {"ISSUE-1": "in_progress"}, "it can be resumed"
    assert [one.ok for one in of_type(events, "code_execution")] == [True]
    assert told(tmp_path / "state", "root")[1:] == []


async def test_a_code_agents_issue_is_merged_reviewed_and_reworked_like_any_other_R1_X1(tmp_path):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [
                says(f"gg.board.wait_for_issue({FILE[:-1]}, reviewers=['critic']).id)"),
                says("gg.session.finish('ok')"),
            ],
            "ISSUE-1.0i.0r": [says("gg.session.request_changes(['say b'])")],
            "ISSUE-1.1i.0r": [says("assert gg.files.read_file('a') == 'b'\ngg.session.approve()")],
            "ISSUE-1.0i": [says("gg.files.write_file('a', 'a')\ngg.session.finish('a')")],
            "ISSUE-1.1i": [says("gg.files.write_file('a', 'b')\ngg.session.finish('b')")],
        },
        agents={
            "lead": {
                **LEAD,
                "roster": [
                    {"agent": "coder", "scopes": ["implementer"]},
                    {"agent": "critic", "scopes": ["reviewer"]},
                ],
            },
            "coder": CODER,
            "critic": CODER,
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done"})
    assert [one.verdict for one in of_type(events, "issue_review")] == ["changes_requested", "approved"]
    assert repo.show("a") == "b"
    assert outcomes(events) == [("progressed", None), ("finished", None)]
