"""What a person sees of a provider in trouble, of budgets, and of what an issue that is done cost."""

from __future__ import annotations

from attrs import evolve
from telemetry_stories import spawned, started, usage

from ggactors.protocol import events
from ggactors.telemetry.folds import fold, waits_text
from ggactors.telemetry.frame import frame_lines
from ggactors.telemetry.plaintext import Look
from ggactors.telemetry.render import agent_lines
from ggactors.telemetry.story import headline, limit_text, tell
from ggactors.telemetry.summary import summary_lines

WIDE = Look(width=200)
WAITS = events.AgentState(agent="root", state="waiting", waiting_on="the provider")
FAULT = events.RetryWait(agent="root", model="acme/large", status=429, wait_secs=12.5, attempt=2)
GOES_ON = events.AgentState(agent="root", state="running")


def text_of(lines):
    return "\n".join(lines)


def test_an_agent_is_shown_waiting_for_the_provider_with_what_it_said_and_not_a_moment_longer():
    view = fold([started(), spawned("root"), GOES_ON, FAULT, WAITS])
    shown = text_of(agent_lines(view, WIDE))
    assert "on the provider: waits 12.5 s: acme/large answered 429" in shown
    assert headline(WAITS, view) == "root: waits on the provider"
    assert view.running == 0
    view.apply(GOES_ON)
    shown = text_of(agent_lines(view, WIDE))
    assert "provider" not in shown
    assert "429" not in shown
    assert view.running == 1


def test_a_fault_is_told_with_its_reason_in_every_view_of_it():
    reason = "the provider's reply could not be read: it sent an event that is no JSON"
    fault = evolve(FAULT, status=None, reason=reason)
    view = fold([started(), spawned("root"), GOES_ON, fault, WAITS])
    assert f"on the provider: waits 12.5 s: acme/large: {reason}" in text_of(agent_lines(view, WIDE))
    assert headline(fault, view) == f"root: waits 12.5 s: acme/large: {reason} (try 2)"
    assert text_of(tell(fault, WIDE)) == f"  waits 12.5 s: acme/large: {reason} (try 2)"


def test_a_fault_in_a_stream_of_an_earlier_version_says_its_status_or_that_nobody_was_reached():
    assert waits_text(FAULT) == "waits 12.5 s: acme/large answered 429"
    assert waits_text(evolve(FAULT, status=None)) == "waits 12.5 s: acme/large could not be reached"


def test_an_agent_that_only_queues_behind_anothers_fault_is_shown_waiting_too():
    view = fold([started(), spawned("root"), GOES_ON, WAITS])
    assert "on the provider" in text_of(agent_lines(view, WIDE))


def test_a_budget_is_diagnosed_with_its_path_whose_it_is_and_how_to_raise_it_C2():
    assert limit_text("perIssue.maxCost", 2.0, 2.5, None, "AUTH-1") == (
        "stopped by limits.perIssue.maxCost = 2 for AUTH-1: 2.5 was spent or reserved; raise it, or use cheaper models "
        "(--set limits.perIssue.maxCost=…)"
    )
    assert limit_text("agents.coder.limits.maxTokens", 10, 12, None, "coder").startswith(
        "stopped by agents.coder.limits.maxTokens = 10 for coder: 12 tokens"
    )


def test_the_summary_says_what_an_issue_that_is_done_cost():
    tape = [started(), spawned("root"), usage("root", 900, 100, 3.0)]
    told = events.SessionSummary(
        status="completed",
        exit_code=0,
        summary="done",
        turns=1,
        errors=0,
        usage={"input": 900, "output": 100},
        cost=3.0,
        issues={"A-1": "done", "A-2": "done"},
        stalled=(),
        agents=1,
        cost_per_done=1.5,
        tokens_per_done=500.0,
    )
    assert "1,000 tokens, 3; 500 tokens, 1.5 for each issue done" in text_of(summary_lines(fold([*tape, told]), WIDE))
    assert "for each issue done" not in text_of(summary_lines(fold(tape), WIDE))


def test_the_slot_of_one_that_waits_for_its_provider_counts_as_taken():
    view = fold([started(), spawned("root"), GOES_ON, WAITS])
    view.run = "261130-1405-k3f"
    assert "slots 1/4" in frame_lines(view, WIDE, rows=10, slots=4, elapsed=1.0)[0]
    view.apply(events.AgentState(agent="root", state="waiting", waiting_on="A-1"))
    assert "slots 0/4" in frame_lines(view, WIDE, rows=10, slots=4, elapsed=1.0)[0]
