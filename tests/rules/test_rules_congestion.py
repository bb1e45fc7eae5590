"""One account's traffic: shut on congestion, opened by a probe, widened by answers (C1)."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.rules.congestion import (
    OUTAGE_AFTER,
    PATIENCE,
    Flow,
    answered,
    faulted,
    is_down,
    left,
    let_go,
    opens_at,
    told,
)


def refused(flow, leave, now, status=429, retry_after=None):
    return faulted(flow, leave, now, status=status, retry_after=retry_after, jitter=0.0)


def under_way(count):
    flow, leaves = Flow(), []
    for _ in range(count):
        assert opens_at(flow, 0.0) == 0.0
        flow, leave = let_go(flow)
        leaves.append(leave)
    return flow, leaves


def test_one_429_shuts_the_account_for_everybody_and_a_probe_goes_first():
    flow, leaves = under_way(20)
    flow = refused(flow, leaves.pop(), 10.0, retry_after=5.0)
    assert opens_at(flow, 10.0) == 15.0
    flow, probe = let_go(flow)
    assert probe.probe
    assert math.isinf(opens_at(flow, 16.0))
    flow = answered(flow, probe)
    flow, _ = let_go(left(flow, leaves.pop()))
    assert flow.width == 2.0


def test_a_storm_told_by_every_call_under_way_halves_once():
    flow, leaves = under_way(20)
    for leave in leaves:
        flow = refused(flow, leave, 10.0, retry_after=5.0)
    assert (flow.level, flow.goal, flow.shut_until, flow.under_way) == (1, 10.0, 15.0, 0)


def test_the_width_doubles_up_to_half_of_what_was_borne_then_grows_by_one_a_round():
    flow, leaves = under_way(20)
    for leave in leaves:
        flow = refused(flow, leave, 0.0)
    flow, probe = let_go(flow)
    flow = answered(flow, probe)
    out: list = []
    widths = [flow.width]
    for _ in range(5):
        flow = filled(flow, out)
        # One round: each call of it is answered, and its place and any new one taken at once.
        for leave in tuple(out):
            out.remove(leave)
            flow = filled(answered(flow, leave), out)
        widths.append(flow.width)
    assert widths[:3] == [2.0, 4.0, 8.0]
    assert widths[3] < 13.0
    assert all(0.9 <= later - before <= 1.0 for before, later in pairwise(widths[3:]))


def filled(flow, out):
    while opens_at(flow, 9.0) <= 9.0:
        flow, leave = let_go(flow)
        out.append(leave)
    return flow


def test_an_unused_width_does_not_grow():
    flow, leaves = under_way(4)
    for leave in leaves:
        flow = refused(flow, leave, 0.0)
    flow, probe = let_go(flow)
    flow = answered(flow, probe)
    for _ in range(10):
        flow, leave = let_go(flow)
        flow = answered(flow, leave)
    assert flow.width == 2.0


def test_a_single_500_is_that_calls_own_affair_and_several_in_a_row_are_an_outage():
    flow, leaves = under_way(OUTAGE_AFTER)
    for leave in leaves[:-1]:
        flow = refused(flow, leave, 1.0, status=500)
    assert not flow.shut
    flow = refused(flow, leaves[-1], 1.0, status=None)
    assert flow.shut
    flow, leaves = under_way(2)
    for leave in leaves:
        flow = answered(refused(flow, leave, 1.0, status=502), let_go(flow)[1])
        assert flow.streak == 0


def test_each_probe_that_fails_doubles_the_wait_and_trouble_that_lasts_is_called_down():
    flow, now, waits = Flow(), 0.0, []
    for _ in range(5):
        flow, leave = let_go(flow)
        flow = refused(flow, leave, now, status=529)
        waits.append(flow.shut_until - now)
        now = flow.shut_until
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert is_down(flow, now)
    flow, leave = let_go(Flow())
    assert not is_down(refused(flow, leave, 0.0), 0.0)
    assert is_down(refused(flow, leave, 0.0, retry_after=PATIENCE + 1), 0.0)


def test_rate_headers_shut_without_a_penalty():
    flow = told(Flow(), 3.0, remaining=0, resets_in=7.0)
    assert (opens_at(flow, 3.0), opens_at(flow, 10.0), flow.width) == (10.0, 10.0, math.inf)
    for remaining, resets in ((1, 7.0), (None, 7.0), (0, None), (0, math.inf), (0, -1.0)):
        assert told(Flow(), 3.0, remaining=remaining, resets_in=resets) == Flow()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "answer", "429", "500", "lost", "cancel", "headers", "time"]),
        st.integers(0, 30),
        st.floats(0, 20, allow_nan=False),
    ),
    max_size=120,
)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS)
def test_nobody_asks_before_the_provider_said_and_never_more_than_the_width_do(steps):
    flow, now, out, not_before = Flow(), 0.0, [], 0.0
    for what, number, secs in steps:
        leave = out.pop(number % len(out)) if out and what not in ("ask", "time", "headers") else None
        if what == "time":
            now += secs
        elif what == "headers":
            flow = told(flow, now, remaining=0, resets_in=secs)
            not_before = max(not_before, now + secs)
        elif what == "ask" and opens_at(flow, now) <= now:
            assert now >= not_before
            was_shut = flow.shut
            flow, leave = let_go(flow)
            out.append(leave)
            assert not was_shut or sum(one.probe and one.era == flow.era for one in out) == 1
            assert was_shut or len(out) <= flow.width
        elif leave is not None and what == "answer":
            flow = answered(flow, leave)
        elif leave is not None and what == "cancel":
            flow = left(flow, leave)
        elif leave is not None:
            status = {"429": 429, "500": 500, "lost": None}[what]
            flow = faulted(flow, leave, now, status=status, retry_after=secs, jitter=0.5)
            if status == 429:
                not_before = max(not_before, now + secs)
        assert flow.under_way == len(out)
        assert flow.width >= 1.0
    # Whatever happened: once all have returned and the wait is over, somebody may ask.
    for leave in out:
        flow = left(flow, leave)
    assert opens_at(flow, max(now, flow.shut_until)) <= max(now, flow.shut_until)
