"""Whole runs on an account in trouble: everybody waits, nobody is blamed, the crew's other model steps in (C1, fail-over)."""

from __future__ import annotations

import math

import trio
import trio.testing

from ggactors.protocol.values import Status
from ggactors.testing.accounts import Account
from ggactors.testing.crews import finish, issue, of_type, turn, wait
from ggactors.testing.simulation import Simulation


def simulated(run: Simulation):
    """Drive a run under a virtual clock. Answers what it came to, and the virtual seconds it took."""

    async def main():
        outcome = await run.run()
        return outcome, trio.current_time()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def fleet(count: int, *, filed=None) -> dict:
    issues = filed or [issue(f"W{number}") for number in range(count)]
    return {
        "root": [turn(*issues), wait(*(f"ISSUE-{number + 1}" for number in range(len(issues)))), finish()],
        "*i": [turn(("list_dir", {}), delaySecs=2), finish()],
    }


def test_twenty_agents_meeting_a_five_second_storm_all_finish_and_nobody_is_blamed_C1():
    account = Account(script=fleet(20), trouble=[(1.0, 6.0, 429)])
    run = Simulation(source=account, document={"limits": {"maxParallel": 20, "maxConsecutiveErrors": 1}})
    outcome, took = simulated(run)
    assert (outcome.status, outcome.exit_code) == (Status.COMPLETED, 0)
    assert set(outcome.issues.values()) == {"done"}
    assert account.early == []
    assert took < 20.0
    assert of_type(run.events, "retry_wait")
    assert [event for event in of_type(run.events, "turn_outcome") if event.outcome == "error"] == []
    assert {agent.id for agent in run.staff.place.view.agents()} == {"root", *(f"ISSUE-{n}.0i" for n in range(1, 21))}
    assert of_type(run.events, "stuck") == []


def test_everybody_who_waits_for_the_provider_says_so_and_keeps_its_slot():
    account = Account(script=fleet(4), trouble=[(1.0, 6.0, 429)])
    most, idle = 0, []

    def watch(staff, event):
        nonlocal most
        view = staff.place.view
        most = max(most, sum(agent.waiting_on == "the provider" for agent in view.agents()))
        assert staff.pool.held <= 3
        if event.type == "agent_state" and event.waiting_on == "the provider":
            assert staff.pool.held == sum(seat.holds for seat in staff.pool.seats)
            idle.append(event.agent)

    run = Simulation(source=account, document={"limits": {"maxParallel": 3}}, watch=watch)
    outcome, _ = simulated(run)
    assert outcome.exit_code == 0
    assert most >= 2
    assert set(idle) >= {"ISSUE-1.0i", "ISSUE-2.0i"}
    for agent in set(idle):
        states = [event.state for event in of_type(run.events, "agent_state") if event.agent == agent]
        assert "running" in states[states.index("waiting") :]


def test_after_a_storm_the_critical_path_is_served_first():
    filed = [
        *(issue(f"leaf {number}") for number in range(6)),
        issue("head"),
        issue("middle", blockedBy=["ISSUE-7"]),
        issue("tail", blockedBy=["ISSUE-8"]),
    ]
    account = Account(script=fleet(0, filed=filed), trouble=[(1.0, 6.0, 429)], bears=2)
    run = Simulation(source=account, document={"limits": {"maxParallel": 8}})
    outcome, _ = simulated(run)
    assert outcome.exit_code == 0
    after = [agent for at, agent in account.asked if at >= 6.0 and agent != "root"]
    # The root went first where it waited too; then two may ask at once, and which of them is on its way first is chance.
    assert "ISSUE-7.0i" in after[:2]
    assert account.early == []


def test_an_account_that_bears_little_serves_a_wide_fleet_to_the_end():
    account = Account(script=fleet(40), bears=3)
    run = Simulation(source=account, document={"limits": {"maxParallel": 40}})
    outcome, _ = simulated(run)
    assert outcome.exit_code == 0
    assert account.early == []
    refused = len(account.refusals)
    # Forty at once are refused together once; from then on the width feels its way, one refusal at a time.
    assert refused < 40 + 2 * 40


def test_agents_of_other_accounts_do_not_wait_along():
    slow = Account(script=fleet(1), account="slow", trouble=[(0.5, 60.0, 429)])
    free = Account(script=fleet(1), account="free", label="free/small")
    run = Simulation(
        source=free,
        sources={"script/slow.json": slow},
        document={"agents": {"coder": {"model": "script/slow.json"}}},
    )
    outcome, took = simulated(run)
    assert outcome.exit_code == 0
    assert took > 60.0
    assert {event.agent for event in of_type(run.events, "retry_wait")} == {"ISSUE-1.0i"}


def test_a_run_waits_no_longer_for_a_provider_than_it_may_take_C1_C2():
    account = Account(script=fleet(3), trouble=[(1.0, math.inf, 529)])
    run = Simulation(source=account, document={"limits": {"maxRuntimeSecs": 90}})
    outcome, took = simulated(run)
    assert (outcome.status, outcome.exit_code) == (Status.TIMED_OUT, 3)
    assert took == 90.0
    assert set(outcome.issues.values()) == {"in_progress"}


# ------------------------------------------------------------ fail-over


def with_fallback(primary: Account, other: Account, **limits) -> Simulation:
    models = {
        "first": {"provider": "script", "name": "first.json", "fallback": "second"},
        "second": {"provider": "script", "name": "second.json"},
    }
    document = {"model": "first", "models": models, "board": False, "limits": limits}
    return Simulation(sources={"first": primary, "second": other}, document=document, source=primary)


def plan(turns: int, secs: float = 5.0) -> dict:
    work = [
        turn(
            ("write_file", {"path": "a.txt", "contents": f"{number}\n"}),
            delaySecs=secs,
            usage={"input": 1, "output": 1},
        )
        for number in range(turns)
    ]
    return {"root": [*work, finish()]}


def served(run):
    return [event.model for event in of_type(run.events, "usage")]


def test_lasting_trouble_hands_calls_over_and_recovery_takes_them_back():
    primary = Account(script=plan(30), trouble=[(4.0, 100.0, 529)], retry_after=False)
    other = Account(script=plan(30), label="other/small", account="other")
    run = with_fallback(primary, other)
    outcome, _ = simulated(run)
    assert outcome.exit_code == 0
    models = served(run)
    assert models[0] == "acme/large"
    assert "other/small" in models
    # Back once it was answered again; whoever still stands in between was served by the other one.
    assert models[-1] == "acme/large"
    assert models.index("other/small") < len(models) - 1 - models[::-1].index("other/small")
    said = [event.message for event in of_type(run.events, "log") if event.level == "warning"]
    assert said == [
        "root hands over to other/small, from acme/large: answered 529",
        "root is back with acme/large, from other/small",
    ]
    # While it is down each of its calls is a probe that waited its time, not one for every turn.
    tries = [at for at, _ in primary.asked if 4.0 <= at < 100.0]
    assert len(tries) <= 9
    assert [event for event in of_type(run.events, "turn_outcome") if event.outcome == "error"] == []


def test_a_long_retry_after_hands_over_at_once():
    primary = Account(script=plan(1), trouble=[(0.0, 3600.0, 429)])
    other = Account(script=plan(1), label="other/small", account="other")
    run = with_fallback(primary, other)
    outcome, took = simulated(run)
    assert outcome.exit_code == 0
    assert took < 10.0
    assert set(served(run)) == {"other/small"}
    assert len(primary.asked) == 1


def test_a_refused_key_is_left_alone_for_a_minute_while_the_other_model_answers():
    primary = Account(script=plan(20), trouble=[(0.0, math.inf, 401)])
    other = Account(script=plan(20), label="other/small", account="other")
    run = with_fallback(primary, other)
    outcome, took = simulated(run)
    assert outcome.exit_code == 0
    assert took >= 100.0
    assert 2 <= len(primary.asked) <= 3


def test_a_request_refused_by_both_ends_the_agent_with_the_first_refusal():
    primary = Account(script=plan(1), trouble=[(0.0, math.inf, 401)])
    other = Account(script=plan(1), label="other/small", account="other", trouble=[(0.0, math.inf, 400)])
    run = with_fallback(primary, other)
    outcome, _ = simulated(run)
    assert (outcome.status, outcome.exit_code) == (Status.AUTH_ERROR, 1)
    assert outcome.summary == "acme/large: answered 401; then other/small: answered 400"


def test_when_both_are_down_the_one_that_recovers_first_answers():
    primary = Account(script=plan(2), trouble=[(0.0, 200.0, 503)], retry_after=False)
    other = Account(
        script=plan(2), label="other/small", account="other", trouble=[(0.0, 4000.0, 503)], retry_after=False
    )
    run = with_fallback(primary, other)
    outcome, took = simulated(run)
    assert outcome.exit_code == 0
    assert took < 400.0
    assert set(served(run)) == {"acme/large"}
