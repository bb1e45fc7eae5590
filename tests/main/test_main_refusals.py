"""Model calls that no retry cures, on real runs: events, statuses, exit codes, what becomes of issues (C1, D5, D7)."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, of_type, run_to_end, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo
from ggactors.testing.simulation import Simulation


async def run_of(tmp_path, script, **document):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(tmp_path / "crew", script, **document)
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    return outcome, events, repo


@pytest.mark.parametrize(
    ("status", "ends", "error"),
    [
        (400, Status.MODEL_ERROR, "model_rejected"),
        (404, Status.MODEL_ERROR, "model_rejected"),
        (401, Status.AUTH_ERROR, "model_auth"),
        (403, Status.AUTH_ERROR, "model_auth"),
    ],
)
async def test_a_refusal_for_good_ends_the_root_with_one_error_turn_and_exit_code_1_C1(tmp_path, status, ends, error):
    script = {"root": [{"error": {"status": status}}, finish()]}
    outcome, events, _ = await run_of(tmp_path, script)
    assert (outcome.status, outcome.exit_code) == (ends, 1)
    [told] = of_type(events, "turn_outcome")
    assert (told.outcome, told.error_type, told.turns, told.consecutive_errors) == ("error", error, 1, 1)
    assert of_type(events, "retry_wait") == []
    assert str(status) in outcome.summary
    [ended] = [event for event in of_type(events, "agent_state") if event.state == "ended"]
    assert ended.status == ends


def test_passing_faults_are_waited_out_and_are_no_error_turns_C1():
    faults = [{"error": {"status": 429}}, {"error": {"transport": True}}, {"error": {"status": 500}}]
    run = Simulation(script={"root": [*faults, finish()]}, document={"limits": {"maxConsecutiveErrors": 1}})
    outcome = trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))
    assert outcome.exit_code == 0
    waits = of_type(run.events, "retry_wait")
    assert [(one.status, one.attempt) for one in waits] == [(429, 1), (None, 2), (500, 3)]
    assert [event.outcome for event in of_type(run.events, "turn_outcome")] == ["finished"]


def test_a_passing_fault_says_its_reason_and_one_that_stays_the_same_is_warned_of_once_C1():
    faults = [{"error": {"transport": True}, "repeat": 7}, {"error": {"status": 500}}]
    run = Simulation(script={"root": [*faults, finish()]}, document={"limits": {"maxConsecutiveErrors": 1}})
    outcome = trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))
    assert outcome.exit_code == 0
    said = [one.reason for one in of_type(run.events, "retry_wait")]
    assert said == ["the connection failed (scripted)"] * 7 + ["the provider answered 500 (scripted)"]
    [warned] = [event.message for event in of_type(run.events, "log") if event.level == "warning"]
    assert "failed 5 times in a row for one reason: the connection failed (scripted)" in warned
    assert "stop the run" in warned


def test_being_asked_too_much_for_long_is_nothing_to_warn_of_C1():
    run = Simulation(script={"root": [{"error": {"status": 429}, "repeat": 7}, finish()]})
    outcome = trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))
    assert outcome.exit_code == 0
    assert [event for event in of_type(run.events, "log") if event.level == "warning"] == []


async def test_a_model_error_spends_the_issues_retry_and_the_next_agent_finishes_D5(tmp_path):
    script = {
        "root": [turn(issue("A")), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [turn(write("half.txt", "half\n")), {"error": {"status": 400}}],
        "ISSUE-1.1i": [turn(write("rest.txt", "rest\n")), finish()],
    }
    outcome, events, repo = await run_of(tmp_path, script)
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done"})
    assert (repo.show("half.txt"), repo.show("rest.txt")) == ("half", "rest")
    brief = next(event.brief for event in of_type(events, "agent_spawned") if event.agent == "ISSUE-1.1i")
    assert "model_error" in brief
    assert "1 file changed" in brief


async def test_an_issue_whose_every_agent_meets_a_model_error_fails_and_the_run_goes_on_D5(tmp_path):
    script = {
        "root": [turn(issue("A"), issue("B")), wait("ISSUE-1", "ISSUE-2"), finish()],
        "ISSUE-1.*": [{"error": {"status": 400}}],
        "*": [finish()],
    }
    outcome, events, _ = await run_of(tmp_path, script)
    assert (outcome.status, outcome.exit_code) == (Status.COMPLETED, 4)
    assert outcome.issues == {"ISSUE-1": "failed", "ISSUE-2": "done"}
    assert [event.agent for event in of_type(events, "agent_spawned")].count("ISSUE-1.1i") == 1
    failed = next(event.issue for event in of_type(events, "board_changed") if event.op == "fail")
    assert "ended model_error" in failed["reason"]
    assert "its one retry is spent" in failed["reason"]


async def test_a_refused_credential_fails_the_issue_at_once_with_no_retry_spent_and_the_run_goes_on_D7(tmp_path):
    script = {
        "root": [turn(issue("A"), issue("B")), wait("ISSUE-1", "ISSUE-2"), finish()],
        "ISSUE-1.*": [{"error": {"status": 401}}],
        "*": [finish()],
    }
    outcome, events, _ = await run_of(tmp_path, script, params={"maxRetries": 5})
    assert (outcome.status, outcome.exit_code) == (Status.COMPLETED, 4)
    assert outcome.issues == {"ISSUE-1": "failed", "ISSUE-2": "done"}
    failed = next(event.issue for event in of_type(events, "board_changed") if event.op == "fail")
    assert failed["attempts"] == 1
    assert "a refused credential stays refused" in failed["reason"]
