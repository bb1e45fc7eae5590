"""Agents that repeat themselves, in whole runs: nudged with cause and evidence, then ended (G6), and what is said of prose (E2)."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from interactive_kit import kinds, left, session

from ggactors.ports import LaunchRefused
from ggactors.testing.crews import finish, issue, of_type, run_to_end, shell, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo
from ggactors.testing.simulation import Simulation

LOOK = ("read_file", {"path": "no-such-file"})


def play(script, **more):
    run = Simulation(script=script, **more)

    async def main():
        return await run.run()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)), run


def heard(run, agent="root"):
    from ggactors.app.staff import AGENT_FACTS
    from ggactors.protocol.agent import TextHeard

    facts = [AGENT_FACTS.unpack(packed) for packed in run.journal.stream("agents")]
    return [fact.text for fact in facts if isinstance(fact, TextHeard) and fact.agent == agent][1:]


ALONE = {"board": False}


def test_the_same_failing_call_is_nudged_twice_and_then_ends_the_root_with_exit_code_3_G6():
    script = {"root": [turn(LOOK, text=f"attempt {n}: maybe now?") for n in range(20)]}
    outcome, run = play(script, document=ALONE)
    assert (outcome.status, outcome.exit_code) == ("stuck", 3)
    assert "tool error" in outcome.summary
    told = [(one.repeats, one.nudges, one.cause) for one in of_type(run.events, "stuck")]
    assert told == [(3, 1, "tool error"), (4, 2, "tool error"), (5, 2, "tool error")]
    nudges = heard(run)
    assert len(nudges) == 2
    assert "You have done the same thing 3 times" in nudges[0]
    assert "there is no file no-such-file" in nudges[0]
    assert of_type(run.events, "turn_outcome")[-1].turns == 5
    assert of_type(run.events, "session_summary")[0].status == "stuck"


def test_an_issues_stuck_agent_is_an_unfinished_attempt_G6_D5():
    script = {
        "root": [turn(issue("A")), wait("ISSUE-1"), finish()],
        "ISSUE-1.0i": [turn(LOOK, repeat=50)],
        "ISSUE-1.1i": [turn(write("a", "a")), finish()],
    }
    outcome, run = play(script)
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done"})
    ended = {one.agent: one.status for one in of_type(run.events, "agent_state") if one.state == "ended"}
    assert (ended["ISSUE-1.0i"], ended["ISSUE-1.1i"]) == ("stuck", "completed")
    brief = next(one.brief for one in of_type(run.events, "agent_spawned") if one.agent == "ISSUE-1.1i")
    assert "(stuck)" in brief


def test_two_calls_in_turns_do_not_hide_a_loop_G6():
    other = ("list_dir", {"path": "."})
    outcome, run = play({"root": [turn(LOOK), turn(other)] * 20}, document=ALONE)
    assert outcome.status == "stuck"
    assert [one.repeats for one in of_type(run.events, "stuck")] == [3, 4, 5]
    assert of_type(run.events, "turn_outcome")[-1].turns == 10


def test_a_reply_of_prose_in_between_neither_hides_a_loop_nor_counts_G6():
    outcome, run = play(
        {"root": [turn(LOOK), {"text": "hm"}] * 20}, document={**ALONE, "limits": {"maxErrorRate": None}}
    )
    assert outcome.status == "stuck"
    assert [one.repeats for one in of_type(run.events, "stuck")] == [3, 4, 5]


def test_outages_never_count_G6():
    storm = {"error": {"status": 503}, "repeat": 8}
    outcome, run = play({"root": [storm, turn(LOOK), storm, turn(LOOK), storm, finish()]}, document=ALONE)
    assert outcome.exit_code == 0
    assert not of_type(run.events, "stuck")


def test_endings_that_are_refused_or_blocked_are_never_counted_G1():
    class Never:
        def agent_stop(self, told):
            return {"action": "block", "reason": "not yet"}

    blank = ("finish", {"summary": " "})
    script = {"root": [*[turn(blank)] * 6, *[turn(("finish", {"summary": "done"}))] * 6, *[turn(("approve", {}))] * 6]}
    outcome, run = play(script, document={**ALONE, "limits": {"maxTurns": 18}}, hooks=(Never(),))
    assert outcome.status == "exhausted"
    assert not of_type(run.events, "stuck")


def test_an_edit_repeated_between_blocked_endings_is_still_a_loop_H35():
    class Never:
        def agent_stop(self, told):
            return {"action": "block", "reason": "not yet"}

    outcome, run = play(
        {"root": [turn(write("a", "same")), turn(("finish", {"summary": "done"}))] * 20},
        document={**ALONE, "limits": {"maxTurns": 40}},
        hooks=(Never(),),
    )
    assert outcome.status == "stuck"
    assert of_type(run.events, "turn_outcome")[-1].turns == 9


def test_what_the_operator_says_starts_the_count_again():
    def watch(staff, event):
        if event.type == "turn_outcome" and event.turns in (2, 4):
            staff.talk.send("root", "Look again, please.", "operator")

    outcome, run = play({"root": [*[turn(LOOK)] * 6, finish()]}, document=ALONE, watch=watch)
    assert outcome.exit_code == 0
    assert not of_type(run.events, "stuck")


@pytest.mark.parametrize(
    ("says", "turns"),
    [
        ({"stuckDetection": {"enabled": False}}, 12),
        ({"stuckDetection": {"repeatThreshold": 6}}, 8),
        ({"stuckDetection": {"maxNudges": 0}}, 3),
        ({"stuckDetection": {"maxNudges": 0}, "lead": {"stuckDetection": {"maxNudges": 4}}}, 7),
    ],
)
def test_it_can_be_switched_off_and_tuned_in_the_crew_and_for_a_profile_G6(says, turns):
    lead = says.pop("lead", {})
    document = {**ALONE, **says, "limits": {"maxTurns": 12}, "agents": {"lead": lead}}
    _, run = play({"root": [turn(LOOK, repeat=50)]}, document=document)
    assert of_type(run.events, "turn_outcome")[-1].turns == turns


async def test_the_environment_goes_before_the_crew_and_is_checked_at_launch_G6(tmp_path, monkeypatch):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(tmp_path / "crew", {"root": [turn(shell("true"), repeat=9), finish()]}, board=False)
    monkeypatch.setenv("GGACTORS_STUCK_DETECTION", "0")
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert outcome.exit_code == 0
    assert not [event for event in events if event.type == "stuck"]
    monkeypatch.setenv("GGACTORS_STUCK_DETECTION", "perhaps")
    with pytest.raises(LaunchRefused, match="GGACTORS_STUCK_DETECTION"):
        await run_to_end(crew, repo.path, home=tmp_path / "state")


async def test_real_commands_that_only_tell_the_time_are_the_same_and_counting_ones_are_progress_G6(tmp_path):
    repo = make_repo(tmp_path / "repo")
    tick = turn(shell("date; date +%s; mktemp -u; echo still waiting"), repeat=9)
    count = turn(shell("echo x >> ../count; wc -l < ../count"), repeat=9)
    crew = write_crew(tmp_path / "crew", {"root": [count, tick, finish()]}, board=False)
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert (outcome.status, outcome.exit_code) == ("stuck", 3)
    assert [event for event in events if event.type == "turn_outcome"][-1].turns == 14
    (*_, last) = [event for event in events if event.type == "stuck"]
    assert "still waiting" in last.evidence


async def test_an_agent_with_a_person_at_its_prompt_is_nudged_and_never_ended_G6_G7(tmp_path):
    async with session(tmp_path, [turn(LOOK, repeat=9), finish("gave up")], task="look") as run:
        assert await run.persons_turn()
        outcome = await left(run)
    assert (outcome.status, outcome.summary, outcome.exit_code) == ("completed", "gave up", 0)
    assert [one.nudges for one in kinds(run, "stuck")] == [1, 2, 2, 2, 2, 2, 2]


def test_prose_alone_is_stopped_by_the_ceilings_with_a_diagnosis_a_person_understands_E2_H36():
    outcome, run = play({"root": [{"text": "There is nothing to do.", "repeat": 50}]}, document=ALONE)
    assert (outcome.status, outcome.exit_code) == ("limit_exceeded", 3)
    assert "5 of its 5 replies called no tool" in outcome.summary
    assert 'said "There is nothing to do."' in outcome.summary
    assert not of_type(run.events, "stuck")
    assert all("replies called no tool" not in text for text in heard(run)), "ceilings are not told to the model (C2)"
