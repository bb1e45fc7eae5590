"""The ledger lets a run reach its spend ceilings and overshoot them by one call at most (C3)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol.model import Usage
from ggactors.rules.spend import Ledger, Verdict, reserve, settle, total


def admitted(ledger, bound):
    answer = reserve(ledger, bound)
    assert not isinstance(answer, Verdict), answer
    return answer


def test_usages_add_up_class_by_class():
    whole = total(
        [Usage(input=1, cached_input=2, output=3, reasoning=4, cost=0.5), Usage(input=10, cost=None), Usage(cost=0.25)]
    )
    assert whole == Usage(input=11, cached_input=2, output=3, reasoning=4, cost=0.75)
    assert total([]).cost is None
    assert total([Usage(input=1)]).cost is None


def test_without_ceilings_everything_is_admitted_at_once():
    ledger = Ledger()
    for bound in (None, Usage(input=10**9, cost=1e9), None):
        ledger, _ = admitted(ledger, bound)
    assert len(ledger.holds) == 3


def test_calls_that_fit_together_go_together_and_the_next_waits_C3():
    ledger, first = admitted(Ledger(max_tokens=100), Usage(input=50))
    ledger, _ = admitted(ledger, Usage(input=50))
    assert reserve(ledger, Usage(input=1)) is Verdict.WAIT
    ledger = settle(ledger, first, Usage(input=10))
    admitted(ledger, Usage(input=40))
    assert reserve(ledger, Usage(input=41)) is Verdict.WAIT


def test_a_call_alone_may_cross_the_ceiling_and_nothing_after_it_C3():
    ledger, hold = admitted(Ledger(max_tokens=100), Usage(input=5000))
    assert reserve(ledger, Usage(input=1)) is Verdict.WAIT
    ledger = settle(ledger, hold, Usage(input=5000))
    assert reserve(ledger, Usage(input=1)) is Verdict.SPENT
    assert reserve(ledger, None) is Verdict.SPENT


def test_a_call_of_unknown_size_goes_alone_C3():
    ledger, hold = admitted(Ledger(max_cost=10.0), None)
    assert reserve(ledger, Usage(cost=0.1)) is Verdict.WAIT
    assert reserve(ledger, None) is Verdict.WAIT
    ledger = settle(ledger, hold, Usage(cost=1.0))
    ledger, _ = admitted(ledger, Usage(cost=0.1))
    assert reserve(ledger, None) is Verdict.WAIT


def test_a_failed_call_gives_its_reservation_back():
    ledger, hold = admitted(Ledger(max_tokens=100), Usage(input=100))
    assert reserve(ledger, Usage(input=1)) is Verdict.WAIT
    ledger = settle(ledger, hold, None)
    assert ledger.spent == Usage()
    assert ledger.holds == {}
    admitted(ledger, Usage(input=100))


def test_both_ceilings_hold_at_once():
    ledger = Ledger(max_tokens=100, max_cost=1.0)
    ledger, _ = admitted(ledger, Usage(input=10, cost=0.9))
    assert reserve(ledger, Usage(input=10, cost=0.2)) is Verdict.WAIT
    assert reserve(ledger, Usage(input=95, cost=0.05)) is Verdict.WAIT
    admitted(ledger, Usage(input=10, cost=0.1))


def test_a_model_that_reports_no_cost_is_never_stopped_by_it():
    ledger = Ledger(max_cost=1.0)
    for _ in range(5):
        ledger, hold = admitted(ledger, Usage(input=10**6))
        ledger = settle(ledger, hold, Usage(input=10**6))
    admitted(ledger, Usage(input=1))


def test_a_hold_settles_once():
    ledger, hold = admitted(Ledger(), None)
    ledger = settle(ledger, hold, None)
    with pytest.raises(KeyError):
        settle(ledger, hold, None)


sizes = st.integers(1, 60)


@settings(max_examples=300, deadline=None)
@given(
    ceiling=st.integers(1, 300),
    calls=st.lists(st.tuples(sizes, st.integers(0, 100), st.booleans()), min_size=1, max_size=40),
    choices=st.lists(st.integers(0, 1000), min_size=1, max_size=120),
)
def test_whatever_the_interleaving_the_overshoot_is_one_calls_real_size_at_most_C3(ceiling, calls, choices):
    """Agents ask in any order and settle in any order; real sizes are at most the bounds, unknown bounds included."""
    ledger = Ledger(max_tokens=ceiling)
    waiting = list(calls)
    under_way: dict[int, int] = {}
    greatest = 0
    for choice in choices * 3:
        if waiting and choice % 2:
            bound, percent, known = waiting[choice % len(waiting)]
            answer = reserve(ledger, Usage(input=bound) if known else None)
            if isinstance(answer, Verdict):
                assert answer is not Verdict.WAIT or under_way, "a wait that nothing ends"
                assert answer is not Verdict.SPENT or ledger.spent.tokens >= ceiling
                continue
            waiting.remove((bound, percent, known))
            ledger, hold = answer
            under_way[hold] = bound * percent // 100
        elif under_way:
            hold = sorted(under_way)[choice % len(under_way)]
            real = under_way.pop(hold)
            ledger = settle(ledger, hold, Usage(input=real))
            greatest = max(greatest, real)
    for hold, real in under_way.items():
        ledger = settle(ledger, hold, Usage(input=real))
        greatest = max(greatest, real)
    assert ledger.spent.tokens <= max(ceiling, ceiling - 1 + greatest)
