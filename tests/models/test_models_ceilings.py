"""Ceilings fire exactly where they say, and never elsewhere (C1, C2, C3)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol.crew import Limits
from ggactors.protocol.model import Usage
from ggactors.protocol.values import Status, TurnResult
from ggactors.rules.backoff import LONGEST, wait_secs
from ggactors.rules.ceilings import Tally, judge_after, judge_before

GOOD, BAD = TurnResult.PROGRESSED, TurnResult.ERROR
OFF = Limits(max_turns=None, max_consecutive_errors=None, max_error_rate=None, error_rate_window=None)


def tally(results, window=None):
    counted = Tally()
    for result in results:
        counted = counted.after(result, window=window)
    return counted


def test_a_tally_counts_turns_errors_and_errors_in_a_row():
    counted = tally([BAD, GOOD, BAD, TurnResult.FATAL], window=3)
    assert counted == Tally(turns=4, errors=3, consecutive=2, window=(False, True, True))
    assert counted.after(TurnResult.FINISHED, window=3).consecutive == 0
    assert counted.after(GOOD, window=None).window == ()


def test_errors_in_a_row_stop_an_agent_as_soon_as_they_are_that_many_C2():
    limits = Limits(max_consecutive_errors=3, max_error_rate=None, error_rate_window=None)
    assert judge_after(limits, tally([BAD, BAD, GOOD, BAD, BAD])) is None
    breach = judge_after(limits, tally([GOOD, BAD, BAD, BAD]))
    assert breach is not None
    assert (breach.limit, breach.threshold, breach.observed) == ("maxConsecutiveErrors", 3.0, 3.0)
    assert (breach.status, breach.turns, breach.window) == (Status.LIMIT_EXCEEDED, 4, None)


@pytest.mark.parametrize(("errors", "fires"), [(4, False), (5, False), (6, True)])
def test_the_rate_fires_strictly_above_only_C2(errors, fires):
    limits = Limits(max_consecutive_errors=None, max_error_rate=0.5, error_rate_window=10)
    results = [BAD] * errors + [GOOD] * (10 - errors)
    breach = judge_after(limits, tally(results, window=10))
    assert (breach is not None) == fires
    if breach is not None:
        assert (breach.limit, breach.threshold, breach.observed, breach.window) == ("maxErrorRate", 0.5, 0.6, 10)
        assert breach.status is Status.LIMIT_EXCEEDED


def test_the_rate_fires_on_a_full_window_only_C2():
    limits = Limits(max_consecutive_errors=None, max_error_rate=0.0, error_rate_window=4)
    assert judge_after(limits, tally([BAD] * 3, window=4)) is None
    assert judge_after(limits, tally([BAD, GOOD, GOOD, GOOD], window=4)) is not None
    assert judge_after(limits, tally([BAD, GOOD, GOOD, GOOD, GOOD], window=4)) is None


def test_a_rate_of_one_never_fires_and_equal_thirds_are_not_above_a_third():
    always = Limits(max_consecutive_errors=None, max_error_rate=1.0, error_rate_window=2)
    assert judge_after(always, tally([BAD] * 9, window=2)) is None
    tenths = Limits(max_consecutive_errors=None, max_error_rate=0.7, error_rate_window=10)
    assert judge_after(tenths, tally([BAD] * 7 + [GOOD] * 3, window=10)) is None


def test_turns_are_checked_before_the_next_one_C2():
    limits = Limits(max_turns=2)
    assert judge_before(limits, tally([GOOD]), elapsed=0, spent=Usage()) is None
    breach = judge_before(limits, tally([GOOD, GOOD]), elapsed=0, spent=Usage())
    assert breach is not None
    assert (breach.limit, breach.status, breach.observed) == ("maxTurns", Status.EXHAUSTED, 2.0)
    assert judge_after(limits, tally([GOOD, GOOD])) is None


@pytest.mark.parametrize(
    ("limits", "elapsed", "spent", "limit", "status"),
    [
        (Limits(max_runtime_secs=10), 10.0, Usage(), "maxRuntimeSecs", Status.TIMED_OUT),
        (Limits(max_runtime_secs=10), 9.9, Usage(), None, None),
        (Limits(max_cost=1.5), 0, Usage(cost=1.5), "maxCost", Status.LIMIT_EXCEEDED),
        (Limits(max_cost=1.5), 0, Usage(cost=1.49), None, None),
        (Limits(max_cost=1.5), 0, Usage(input=10**9), None, None),
        (Limits(max_tokens=100), 0, Usage(input=60, output=40), "maxTokens", Status.LIMIT_EXCEEDED),
        (Limits(max_tokens=100), 0, Usage(input=60, output=39, cached_input=60, reasoning=30), None, None),
    ],
)
def test_the_runs_own_ceilings_are_checked_at_the_boundary_C2(limits, elapsed, spent, limit, status):
    breach = judge_before(limits, Tally(), elapsed=elapsed, spent=spent)
    assert (breach.limit if breach else None, breach.status if breach else None) == (limit, status)


def test_a_run_wide_ceiling_goes_before_the_agents_own_D5():
    limits = Limits(max_turns=1, max_tokens=1)
    breach = judge_before(limits, tally([GOOD]), elapsed=0, spent=Usage(input=1))
    assert breach is not None
    assert breach.limit == "maxTokens"


def test_ceilings_switched_off_never_fire_C3():
    worst = tally([BAD] * 300, window=None)
    assert judge_after(OFF, worst) is None
    assert judge_before(OFF, worst, elapsed=1e9, spent=Usage(input=10**12, cost=1e9)) is None


def test_a_breach_says_itself_in_a_line_and_as_the_summarys_record():
    breach = judge_after(
        Limits(max_error_rate=0.5, error_rate_window=2, max_consecutive_errors=None), tally([BAD] * 2, window=2)
    )
    assert breach is not None
    assert breach.sentence() == "stopped by limits.maxErrorRate: 1 of 0.5 over the last 2 turns, after 2 turns"
    assert breach.as_dict("root") == {
        "limit": "maxErrorRate",
        "threshold": 0.5,
        "observed": 1.0,
        "turns": 2,
        "window": 2,
        "agent": "root",
        "budget": None,
    }


@settings(max_examples=200, deadline=None)
@given(
    results=st.lists(st.sampled_from([GOOD, BAD]), max_size=40),
    window=st.integers(1, 12),
    percent=st.integers(0, 100),
    most=st.integers(1, 8),
)
def test_the_sliding_judgement_equals_counting_the_whole_history_C2(results, window, percent, most):
    limits = Limits(max_consecutive_errors=most, max_error_rate=percent / 100, error_rate_window=window)
    breach = judge_after(limits, tally(results, window=window))
    streak = next((n for n, result in enumerate(reversed(results)) if result is GOOD), len(results))
    last = results[-window:]
    above = len(results) >= window and last.count(BAD) * 100 > percent * window
    expected = "maxConsecutiveErrors" if streak >= most else "maxErrorRate" if above else None
    assert (breach.limit if breach else None) == expected


def test_retries_wait_a_second_doubled_up_to_a_minute_C1():
    assert [wait_secs(n, retry_after=None, jitter=0.0) for n in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert wait_secs(10**6, retry_after=None, jitter=0.0) == LONGEST


def test_the_providers_wish_wins_when_it_is_longer_C1():
    assert wait_secs(1, retry_after=5.0, jitter=0.0) == 5.0
    assert wait_secs(4, retry_after=5.0, jitter=0.0) == 8.0
    assert wait_secs(1, retry_after=3600.0, jitter=0.0) == 3600.0


@given(
    attempt=st.integers(-3, 1000),
    after=st.sampled_from([None, math.nan, math.inf, -math.inf]) | st.floats(max_value=1e300),
    jitter=st.floats(allow_nan=False),
)
def test_a_wait_is_finite_and_never_shorter_than_asked(attempt, after, jitter):
    wait = wait_secs(attempt, retry_after=after, jitter=jitter)
    plain = wait_secs(attempt, retry_after=after, jitter=0.0)
    assert 1.0 <= plain <= wait <= plain * 1.1 + 1e-9
    assert math.isfinite(wait)
    if after is not None and math.isfinite(after):
        assert wait >= after
