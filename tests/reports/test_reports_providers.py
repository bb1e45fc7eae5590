"""What users reported of providers in trouble and of fleets too wide for them, as whole runs (H numbers)."""

from __future__ import annotations

import json
import math

import pytest
import trio
import trio.testing

from ggactors.app import open_run
from ggactors.crew import crew_from_document
from ggactors.protocol.values import Status
from ggactors.testing.accounts import Account
from ggactors.testing.crews import finish, issue, run_to_end, turn, wait, write_crew
from ggactors.testing.simulation import Simulation

HOURS = 3600.0


def simulated(run):
    async def main():
        outcome = await run.run()
        return outcome, trio.current_time()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_a_hundred_issues_on_an_account_that_bears_four_calls_all_finish_within_the_cap_H28():
    account = Account(
        script={
            "root": [turn(*(issue(f"W{n}") for n in range(100))), wait("ISSUE-100"), finish()],
            "*i": [turn(("list_dir", {}), delaySecs=1), finish()],
        },
        bears=4,
    )

    def watch(staff, _):
        assert staff.place.view.running <= 12

    run = Simulation(source=account, document={"limits": {"maxParallel": 12}}, watch=watch)
    outcome, _ = simulated(run)
    assert outcome.exit_code == 0
    assert list(outcome.issues.values()) == ["done"] * 100
    assert account.early == []


@pytest.mark.parametrize("who", ["root", "an issue's agent", "a subagent of a subagent"])
def test_one_stop_reaches_a_two_hour_retry_wait_however_deep_it_is_H45(who):
    spawn = turn(("spawn_subagent", {"agent": "lead", "prompt": "go on"}))
    join = turn(("wait_for_subagents", {}))
    script = {
        "root": {
            "root": [finish()],
            "an issue's agent": [turn(issue("A")), wait("ISSUE-1"), finish()],
            "a subagent of a subagent": [spawn, join, finish()],
        }[who],
        "root.0s": [spawn, join, finish()],
        "*": [finish()],
    }
    waiting = {"root": "root", "an issue's agent": "ISSUE-1.0i", "a subagent of a subagent": "root.0s.0s"}[who]

    class Refusing(Account):
        def _refusal(self):
            return (429, trio.current_time() + 2 * HOURS) if self.asked[-1][1] == waiting else None

    stopped = []

    def watch(staff, event):
        if event.type == "agent_state" and event.waiting_on == "the provider" and not stopped:
            stopped.append(trio.current_time())
            staff.stop(Status.CANCELED, "Ctrl-C")

    lead = {
        "capabilities": [
            {"id": "files"},
            {"id": "subagents", "params": {"maxDepth": 3}},
            {
                "id": "project-management",
                "params": {"mergeAgentId": "merger", "maxEpics": 5, "maxIssues": 5, "maxRetries": 1},
            },
        ],
        "roster": [{"agent": "lead", "scopes": ["subagent"]}, {"agent": "coder", "scopes": ["implementer"]}],
    }
    run = Simulation(source=Refusing(script=script), document={"agents": {"lead": lead}}, watch=watch)
    outcome, took = simulated(run)
    assert (outcome.status, outcome.exit_code) == (Status.CANCELED, 130)
    assert stopped
    assert took < stopped[0] + 1.0


def test_a_stop_reaches_those_who_queue_behind_somebody_elses_wait_H45():
    account = Account(
        script={
            "root": [turn(*(issue(f"W{n}") for n in range(6))), wait("ISSUE-6"), finish()],
            "*i": [turn(("list_dir", {}), delaySecs=2), finish()],
        },
        trouble=[(1.0, 2 * HOURS, 429)],
    )
    parked: set[str] = set()

    def watch(staff, event):
        if event.type == "agent_state" and event.waiting_on == "the provider":
            parked.add(event.agent)
            if len(parked) == 6:
                staff.stop(Status.CANCELED, "Ctrl-C")

    run = Simulation(source=account, document={"limits": {"maxParallel": 7}}, watch=watch)
    outcome, took = simulated(run)
    assert len(parked) == 6
    assert (outcome.status, set(outcome.issues.values())) == (Status.CANCELED, {"in_progress"})
    assert took < 10.0
    assert math.isclose(account.asked[-1][0], 2.0)


async def test_cancelling_a_real_run_reaches_a_two_hour_retry_wait_at_once_H45(tmp_path):
    script = {"root": [{"error": {"status": 429, "retryAfterSecs": 2 * HOURS}}, finish()]}
    crew = write_crew(tmp_path / "crew", script, board=False)
    (tmp_path / "place").mkdir()

    def during(run, event):
        if event.type == "retry_wait":
            run.cancel()

    with trio.fail_after(60):
        outcome, events = await run_to_end(crew, tmp_path / "place", home=tmp_path / "state", during=during)
    assert (outcome.status, outcome.exit_code) == (Status.CANCELED, 130)
    [waited] = [event for event in events if event.type == "retry_wait"]
    assert waited.wait_secs >= 2 * HOURS


async def test_an_interrupt_takes_a_person_out_of_a_two_hour_retry_wait_every_time_H45(tmp_path):
    replies = [{"error": {"status": 429, "retryAfterSecs": 2 * HOURS}}, finish("said it")]
    (tmp_path / "crew").mkdir()
    (tmp_path / "place").mkdir()
    (tmp_path / "crew" / "script.json").write_text(json.dumps({"agents": {"root": replies}}))
    one = {"id": "solo", "root": True, "model": "script/script.json", "capabilities": [{"id": "files"}]}
    crew = crew_from_document({"name": "one", "agents": [one]}, folder=tmp_path / "crew")
    waits: list = []
    with trio.fail_after(60):
        run = open_run(crew, workspace=tmp_path / "place", home=tmp_path / "state", task="say it", interactive=True)
        async with run as live:
            async for event in live.events():
                if event.type != "agent_state" or event.state != "waiting":
                    continue
                waits.append(event.waiting_on)
                if event.waiting_on == "the provider":
                    assert live.interrupt().accepted
                elif len(waits) < 4:
                    # The provider is not asked again before it said, so this waits anew, and is reached anew.
                    live.send("root", "again")
                else:
                    break
            live.close()
            outcome = await live.outcome()
    assert waits == ["the provider", "you", "the provider", "you"]
    assert outcome.errors == 0
