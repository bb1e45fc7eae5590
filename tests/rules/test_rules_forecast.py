"""What past runs took, in one line, and which ceiling it will likely meet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ggactors.protocol.crew import Limits
from ggactors.rules.forecast import PastRun, doubts, forecast, foretold, same_crew
from ggactors.rules.spend import per_done


def run(cost, tokens, secs, issues):
    return PastRun(cost=cost, tokens=tokens, secs=secs, issues=issues)


def test_no_past_is_no_forecast():
    assert forecast([]) is None


def test_medians_and_ranges_are_said_in_one_line():
    known = forecast([run(0.5, 1000, 30.0, 2), run(1.25, 5000, 95.0, 4), run(4.0, 2000, 4000.0, 3)])
    assert foretold(known) == (
        "the last 3 completed runs of this crew took cost 1.25 (0.5 to 4), 2,000 (1,000 to 5,000) tokens, "
        "1 min 35 s (30 s to 1 h 6 min), 3 (2 to 4) issues done"
    )


def test_one_run_without_a_price_is_said_without_ranges():
    assert foretold(forecast([run(None, 7, 1.25, 0)])) == (
        "the last completed run of this crew took 7 tokens, 1.25 s, 0 issues done"
    )


def test_ceilings_below_the_median_are_doubted_and_others_are_not():
    known = forecast([run(2.0, 100, 10.0, 1), run(3.0, 200, 20.0, 1), run(9.0, 900, 90.0, 1)])
    assert doubts(known, Limits(max_cost=3.0, max_tokens=200, max_runtime_secs=20.0)) == ()
    cost, tokens, secs = doubts(known, Limits(max_cost=2.5, max_tokens=150, max_runtime_secs=5.0))
    assert cost.startswith("limits.maxCost is 2.5, and half of them took 3 or more: raise it (--set limits.maxCost=…)")
    assert "limits.maxTokens is 150, and half of them took 200 or more" in tokens
    assert "limits.maxRuntimeSecs is 5 s, and half of them took 20 s or more" in secs
    assert doubts(forecast([run(None, 1, 1.0, 1)]), Limits(max_cost=0.01)) == ()


def test_ceilings_do_not_make_another_crew_and_anything_else_does():
    crew = {"name": "a", "limits": {"maxCost": 1.0}, "agents": []}
    assert same_crew(crew, {"name": "a", "agents": []})
    assert not same_crew(crew, {"name": "b", "agents": []})
    assert not same_crew(crew, [])


@given(
    past=st.lists(st.builds(run, st.none() | st.floats(0, 9), st.integers(0, 99), st.floats(0, 9), st.integers(0, 9)))
)
def test_the_median_lies_in_the_range(past):
    known = forecast(past)
    assert (known is None) == (not past)
    if known is not None:
        for one in filter(None, (known.cost, known.tokens, known.secs, known.issues)):
            assert one.low <= one.middle <= one.high


def test_an_accepted_issue_costs_its_share_of_everything():
    assert per_done(3.0, {"input": 10, "output": 2, "cachedInput": 5}, 4) == (0.75, 3.0)
    assert per_done(None, {"input": 10, "output": 2}, 1) == (None, 12.0)
    assert per_done(3.0, {"input": 10, "output": 2}, 0) == (None, None)
