"""Budgets of the run, of issues, epics and profiles: kept to one call's overshoot, each token counted once (C3)."""

from __future__ import annotations

import random

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.actors.spending import Hold, SpendGate
from ggactors.crew import crew_from_document
from ggactors.ports import LaunchRefused, ModelFault
from ggactors.protocol.crew import Limits, SpendLimits
from ggactors.protocol.model import ModelTraits, Usage
from ggactors.protocol.values import Status
from ggactors.rules.spend import Verdict
from ggactors.testing.crews import crew_document, finish, issue, of_type, turn, wait
from ggactors.testing.simulation import Simulation


def simulated(run):
    return trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))


# ------------------------------------------------------------ the purse

CALLS = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 1), st.integers(1, 60), st.integers(0, 100), st.booleans(), st.booleans()
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(calls=CALLS, seed=st.integers(0, 999))
def test_agents_released_together_overshoot_no_budget_by_more_than_one_call_C3(calls, seed):
    limits = Limits(
        max_tokens=400, per_issue=SpendLimits(max_tokens=100), per_epic=SpendLimits(max_tokens=150, max_cost=2.0)
    )
    gate = SpendGate.of(limits)
    own = SpendLimits(max_tokens=200)
    chance = random.Random(seed)
    real: dict[str, list[int]] = {}

    async def agent(number, spec):
        issue_number, profile, size, share, known, fails = spec
        budgets = gate.budgets(f"p{profile}", own, f"I-{issue_number}", "E" if issue_number < 2 else None)
        for _ in range(4):
            bound = Usage(input=size, cost=0.01 * size) if known else None
            hold = gate.reserve_nowait(bound, budgets)
            if hold is Verdict.WAIT:
                with trio.move_on_after(chance.choice([50.0, 50.0, 0.5])) as patience:
                    hold = await gate.reserve(bound, budgets)
                if patience.cancelled_caught:
                    continue
            if not isinstance(hold, Hold):
                assert hold in (None, Verdict.SPENT)
                assert any(
                    (ledger.max_tokens is not None and ledger.spent.tokens >= ledger.max_tokens)
                    or (ledger.max_cost is not None and (ledger.spent.cost or 0.0) >= ledger.max_cost)
                    for ledger in gate.ledgers.values()
                )
                return
            await trio.sleep(chance.random())
            # A call spends at most its bound; of one that failed, what is known is counted all the same.
            spent = max(1, size * share // 100)
            hold.settle(None if fails and chance.random() < 0.5 else Usage(input=spent, cost=0.01 * spent))
            if hold.numbers:
                for budget in budgets:
                    real.setdefault(budget.key, []).append(spent)

    async def main():
        async with trio.open_nursery() as nursery:
            for number, spec in enumerate(calls):
                nursery.start_soon(agent, number, spec)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    for key, ledger in gate.ledgers.items():
        assert ledger.holds == {}
        assert ledger.max_tokens is None or ledger.spent.tokens <= ledger.max_tokens - 1 + max(real.get(key, [0]))
    assert not gate._line


async def test_one_that_waits_for_its_issues_budget_holds_up_nobody_elses(autojump_clock):
    gate = SpendGate.of(Limits(per_issue=SpendLimits(max_tokens=10)))
    mine, other = gate.budgets("p", None, "I-1", None), gate.budgets("p", None, "I-2", None)
    under_way = gate.reserve_nowait(None, mine)
    assert isinstance(under_way, Hold)
    assert gate.reserve_nowait(None, mine) is Verdict.WAIT
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gate.reserve, None, mine)
        await trio.testing.wait_all_tasks_blocked()
        assert isinstance(gate.reserve_nowait(None, other), Hold)
        # Whoever comes later for the same budget stands behind the one in line, also when it would fit.
        assert gate.reserve_nowait(Usage(), mine) is Verdict.WAIT
        under_way.settle(Usage(input=1))


def test_a_call_without_any_ceiling_reserves_nothing_and_is_added_up():
    gate = SpendGate.of(Limits())
    assert gate.budgets("p", None, "I-1", "E") == ()
    hold = gate.reserve_nowait(None, ())
    assert isinstance(hold, Hold)
    hold.settle(Usage(input=3, output=4, cost=0.5))
    gate.reserve_nowait(None, ()).settle(None)
    assert gate.totals() == ({"input": 3, "cachedInput": 0, "output": 4, "reasoning": 0}, 0.5)


# ------------------------------------------------------------ whole runs


def work(tokens: int, turns: int = 6) -> list:
    return [
        *(
            turn(("write_file", {"path": f"{n}.txt", "contents": "x"}), usage={"input": tokens, "output": 0}, cost=0.5)
            for n in range(turns)
        ),
        finish(),
    ]


def test_an_issue_that_spends_its_budget_fails_without_another_try_and_the_run_goes_on():
    script = {
        "root": [turn(issue("Dear"), issue("Cheap")), wait("ISSUE-1", "ISSUE-2"), finish()],
        "ISSUE-1.*": work(40),
        "ISSUE-2.*": work(1),
    }
    run = Simulation(script=script, document={"limits": {"perIssue": {"maxTokens": 100}}, "params": {"maxRetries": 3}})
    outcome = simulated(run)
    assert (outcome.status, outcome.exit_code) == (Status.COMPLETED, 4)
    assert outcome.issues == {"ISSUE-1": "failed", "ISSUE-2": "done"}
    [reached] = of_type(run.events, "limit_exceeded")
    assert (reached.agent, reached.limit, reached.budget, reached.threshold, reached.observed) == (
        "ISSUE-1.0i",
        "perIssue.maxTokens",
        "ISSUE-1",
        100.0,
        120.0,
    )
    failed = next(event.issue for event in of_type(run.events, "board_changed") if event.op == "fail")
    assert failed["attempts"] == 1
    assert failed["reason"] == (
        "ISSUE-1.0i ended limit_exceeded: stopped by limits.perIssue.maxTokens of ISSUE-1: 120 of 100, after 3 turns; "
        "not tried again, as what was spent stays spent"
    )


def test_an_epics_budget_is_for_all_its_issues_together():
    script = {
        "root": [
            turn(("create_epic", {"prefix": "DEAR", "title": "dear"})),
            turn(issue("One", epicId="DEAR"), issue("Two", epicId="DEAR", blockedBy=["DEAR-1"]), issue("Out")),
            wait("DEAR-1", "DEAR-2", "ISSUE-1"),
            finish(),
        ],
        "*": work(10, turns=3),
    }
    run = Simulation(script=script, document={"limits": {"perEpic": {"maxCost": 2.0}}})
    outcome = simulated(run)
    assert outcome.issues == {"DEAR-1": "done", "DEAR-2": "failed", "ISSUE-1": "done"}
    [reached] = of_type(run.events, "limit_exceeded")
    assert (reached.agent, reached.limit, reached.budget) == ("DEAR-2.0i", "perEpic.maxCost", "DEAR")


def test_a_profiles_budget_is_for_all_its_agents_together_and_an_attempt_begun_after_it_asks_nothing():
    script = {
        "root": [turn(issue("One"), issue("Two", blockedBy=["ISSUE-1"])), wait("ISSUE-1", "ISSUE-2"), finish()],
        "ISSUE-1.*": work(10, turns=4),
        "ISSUE-2.*": work(10, turns=4),
    }
    run = Simulation(script=script, document={"agents": {"coder": {"limits": {"maxTokens": 40}}}})
    outcome = simulated(run)
    assert outcome.issues == {"ISSUE-1": "failed", "ISSUE-2": "open"}
    [reached] = of_type(run.events, "limit_exceeded")
    assert (reached.limit, reached.budget) == ("agents.coder.limits.maxTokens", "coder")
    run = Simulation(script={**script, "ISSUE-1.*": work(10, turns=3)}, document=run.document)
    outcome = simulated(run)
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "failed"}


def test_an_issue_opened_again_has_its_money_spent_all_the_same():
    script = {
        "root": [
            turn(issue("Dear")),
            wait("ISSUE-1"),
            turn(("update_issue", {"issueId": "ISSUE-1", "status": "open"})),
            wait("ISSUE-1"),
            finish(),
        ],
        "*": work(200),
    }
    run = Simulation(script=script, document={"limits": {"perIssue": {"maxTokens": 100}}})
    outcome = simulated(run)
    assert outcome.issues == {"ISSUE-1": "failed"}
    assert [event.agent for event in of_type(run.events, "limit_exceeded")] == ["ISSUE-1.0i", "ISSUE-1.1i"]
    assert [event.agent for event in of_type(run.events, "usage") if event.agent == "ISSUE-1.1i"] == []


def test_the_roots_own_budget_ends_the_root_and_an_issue_in_flight_goes_on():
    script = {
        "root": [turn(issue("A"), usage={"input": 10, "output": 0}), *work(10, turns=5)],
        "*": work(1),
    }
    run = Simulation(script=script, document={"agents": {"lead": {"limits": {"maxTokens": 30}}}})
    outcome = simulated(run)
    assert (outcome.status, outcome.exit_code) == (Status.LIMIT_EXCEEDED, 3)
    assert outcome.issues == {"ISSUE-1": "done"}
    assert outcome.limit_hit["budget"] == "lead"


# ------------------------------------------------------------ each token once


class Costly:
    """A source whose calls fail or are cut off after they have spent."""

    label = "costly"
    traits = ModelTraits(account="costly")

    def model_for(self, agent, profile):
        return CostlyModel(agent)


class CostlyModel:
    label = "costly"

    def __init__(self, agent):
        self.agent, self.asked, self.cut_off = agent, 0, None

    def bound(self, request):
        return Usage(input=1000)

    def take_spent(self):
        spent, self.cut_off = self.cut_off, None
        return spent

    async def reply(self, request):
        from ggactors.protocol.model import ModelReply, ToolCall

        self.asked += 1
        if self.agent == "root" and self.asked == 1:
            raise ModelFault("broke off", retryable=True, usage=Usage(input=7))
        if self.agent == "root.0s":
            self.cut_off = Usage(input=100)
            await trio.sleep_forever()
        calls = {
            2: ToolCall(id="1", tool="spawn_subagent", args={"agent": "lead", "prompt": "x"}),
            3: ToolCall(id="2", tool="finish", args={"summary": "done"}),
        }
        return ModelReply(calls=(calls[min(self.asked, 3)],), usage=Usage(input=10, output=1))


def test_what_failed_and_cut_off_calls_spent_is_counted_once_like_everything_else():
    document = {
        "board": False,
        "agents": {
            "lead": {
                "capabilities": [{"id": "files"}, {"id": "subagents", "params": {"maxDepth": 1}}],
                "roster": [{"agent": "lead", "scopes": ["subagent"]}],
            }
        },
    }
    run = Simulation(source=Costly(), document=document)

    async def main():
        with trio.move_on_after(30):
            await run.run()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    usage = [(event.agent, event.input + event.output) for event in of_type(run.events, "usage")]
    assert usage.count(("root", 7)) == 1
    assert usage.count(("root.0s", 100)) == 1
    assert run.staff.spending.spent.tokens == sum(tokens for _, tokens in usage)


def test_the_summary_counts_each_token_of_retries_and_nested_agents_once():
    script = {
        "root": [
            {"error": {"status": 500}},
            turn(issue("A"), usage={"input": 5, "output": 1}),
            wait("ISSUE-1") | {"usage": {"input": 2, "output": 0}},
            finish(),
        ],
        "ISSUE-1.0i": [{"error": {"status": 400}}],
        "ISSUE-1.1i": [
            turn(("spawn_subagent", {"agent": "critic", "prompt": "look"}), usage={"input": 20, "output": 2}),
            turn(("wait_for_subagents", {})),
            finish(),
        ],
        "ISSUE-1.1i.0s": [{"error": {"transport": True}}, finish() | {"usage": {"input": 100, "output": 10}}],
    }
    coder = {
        "capabilities": [{"id": "files"}, {"id": "subagents", "params": {"maxDepth": 2}}],
        "roster": [{"agent": "critic", "scopes": ["subagent"]}],
    }
    run = Simulation(script=script, document={"agents": {"coder": coder}})
    outcome = simulated(run)
    assert outcome.exit_code == 0
    assert outcome.usage == {"input": 127, "cachedInput": 0, "output": 13, "reasoning": 0}
    assert sum(event.input for event in of_type(run.events, "usage")) == 127


# ------------------------------------------------------------ the document


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"limits": {"perIssue": {"maxCost": 0}}}, "limits.perIssue.maxCost"),
        ({"limits": {"perIssue": {"maxTurns": 3}}}, "limits.perIssue.maxTurns"),
        ({"limits": {"perEpic": 5}}, "limits.perEpic"),
        ({"limits": {"perEpic": {"maxTokens": 1.5}}}, "limits.perEpic.maxTokens"),
        ({"agents": {"coder": {"limits": {"maxParallel": 2}}}}, "agents[1].limits.maxParallel"),
        ({"agents": {"coder": {"limits": []}}}, "agents[1].limits"),
    ],
)
def test_a_budget_that_is_none_is_refused_under_its_path_P2(change, path):
    with pytest.raises(LaunchRefused) as refused:
        crew_from_document(crew_document(**change), folder=".")
    assert [problem.path for problem in refused.value.problems] == [path]
    assert all(problem.remedy for problem in refused.value.problems)


def test_budgets_are_read_as_written_and_null_is_off():
    crew = crew_from_document(
        crew_document(
            limits={"perIssue": {"maxCost": 1.5, "maxTokens": None}, "perEpic": None},
            agents={"coder": {"limits": {"maxTokens": 7}}},
        ),
        folder=".",
    )
    assert crew.limits.per_issue == SpendLimits(max_cost=1.5)
    assert crew.limits.per_epic is None
    assert crew.profile("coder").limits == SpendLimits(max_tokens=7)
    assert crew.profile("critic").limits is None


async def test_one_that_waits_for_its_issues_budget_lets_others_pass_in_the_runs_a_number_of_times_C3(autojump_clock):
    gate = SpendGate.of(Limits(max_tokens=10_000, per_issue=SpendLimits(max_tokens=100)))
    mine, other = gate.budgets("p", None, "I-1", None), gate.budgets("p", None, "I-2", None)
    bound, small = Usage(input=90), Usage(input=1)
    first = gate.reserve_nowait(bound, mine)
    served = []

    async def second():
        served.append(await gate.reserve(bound, mine))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(second)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(8):
            hold = gate.reserve_nowait(small, other)
            assert isinstance(hold, Hold)
            hold.settle(Usage(input=1))
        assert gate.reserve_nowait(small, other) is Verdict.WAIT
        assert served == []
        first.settle(Usage(input=5))
    (hold,) = served
    hold.settle(None)
    assert not any(ledger.holds for ledger in gate.ledgers.values())
