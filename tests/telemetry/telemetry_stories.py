"""A run written down by hand, event by event, for the tests of folds and renderings."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from ggactors.protocol import events

RUN = "261130-1405-k3f"


class Tape:
    """Stamps events as the bus does, and keeps them."""

    def __init__(self) -> None:
        self.events: list[events.Event] = []

    def put(self, *more: events.Event) -> None:
        for event in more:
            seq = len(self.events) + 1
            self.events.append(evolve(event, seq=seq, time=f"2026-11-30T14:05:{seq % 60:02}.000Z", run=RUN))


def started(**more: Any) -> events.SessionStarted:
    return events.SessionStarted(
        **{"crew": "demo", "workspace": "/home/op/shop", "version": "0.1.0", "resumed": False} | more
    )


def spawned(agent: str, profile: str = "coder", **more: Any) -> events.AgentSpawned:
    given = {
        "profile": profile,
        "profile_name": profile.capitalize(),
        "role": "standard",
        "kind": "implementer",
        "workdir": f"/runs/{agent}",
        "brief": f"# Brief of {agent}",
        "tools": ("finish",),
        "operations": (),
    }
    return events.AgentSpawned(agent=agent, **given | more)


def state(agent: str, state: str, **more: Any) -> events.AgentState:
    return events.AgentState(agent=agent, state=state, **more)


def issue(op: str, issue_id: str, state: str = "open", **more: Any) -> events.BoardChanged:
    told = {
        "id": issue_id,
        "title": f"Title of {issue_id}",
        "state": state,
        "agent": "coder",
        "reviewers": [],
        "blockedBy": [],
        "epic": None,
        "attempts": 0,
        "rounds": 0,
        "reason": None,
    }
    return events.BoardChanged(op=op, issue=told | more)


def epic(op: str, epic_id: str, title: str) -> events.BoardChanged:
    return events.BoardChanged(op=op, epic={"id": epic_id, "title": title, "description": None}, by="root")


def usage(agent: str, given: int, output: int, cost: float | None = None) -> events.UsageSpent:
    return events.UsageSpent(
        agent=agent,
        profile="coder",
        model="script/x",
        input=given,
        cached_input=1,
        output=output,
        reasoning=2,
        cost=cost,
    )


def turn(agent: str, turns: int, outcome: str = "progressed", error: str | None = None) -> events.TurnOutcome:
    errors = 1 if error else 0
    return events.TurnOutcome(agent=agent, outcome=outcome, error_type=error, consecutive_errors=errors, turns=turns)


def merged(issue_id: str, **more: Any) -> events.WorktreeMerged:
    given = {
        "branch": f"ggactors/{issue_id}",
        "merged": True,
        "commit": "0123456789abcdef",
        "conflicts": (),
        "one_sided": False,
        "empty_change": False,
    }
    return events.WorktreeMerged(issue=issue_id, **given | more)


def summary(**more: Any) -> events.SessionSummary:
    given = {
        "status": "completed",
        "exit_code": 0,
        "summary": "All is in.",
        "turns": 4,
        "errors": 0,
        "usage": {"input": 1000, "output": 200},
        "issues": {},
        "stalled": (),
        "agents": 2,
    }
    return events.SessionSummary(**given | more)


def whole_run() -> list[events.Event]:
    """A run with two epics, a merge, a failure with its stall, a subagent, spend, and a landing that was held."""
    tape = Tape()
    tape.put(
        started(),
        spawned("root", "lead", kind="root", branch="main"),
        state("root", "queued"),
        state("root", "running"),
        usage("root", 1000, 200, 0.5),
        epic("create_epic", "AUTH", "Signing in"),
        issue("create_issue", "AUTH-1", epic="AUTH", reviewers=["critic"]),
        issue("create_issue", "AUTH-2", epic="AUTH", blockedBy=["AUTH-1"]),
        issue("create_issue", "ISSUE-1"),
        issue("create_issue", "ISSUE-2", blockedBy=["ISSUE-1", "AUTH-1"]),
        turn("root", 1),
        state("root", "waiting", waiting_on="AUTH-2"),
        issue("start", "AUTH-1", "in_progress", epic="AUTH", reviewers=["critic"], attempts=1),
        spawned("AUTH-1.0i", issue="AUTH-1"),
        state("AUTH-1.0i", "queued"),
        state("AUTH-1.0i", "running"),
        issue("start", "ISSUE-1", "in_progress", attempts=1),
        spawned("ISSUE-1.0i", issue="ISSUE-1"),
        state("ISSUE-1.0i", "running"),
        spawned("ISSUE-1.0i.0s", kind="subagent", parent="ISSUE-1.0i"),
        state("ISSUE-1.0i.0s", "running"),
        events.ToolCalled(agent="AUTH-1.0i", call_id="c", tool="shell", args={"command": "make"}),
        events.ToolAnswered(agent="AUTH-1.0i", call_id="c", ok=True, output="made"),
        usage("AUTH-1.0i", 300, 50),
        turn("AUTH-1.0i", 1, "finished"),
        issue("hand_back", "AUTH-1", "in_review", epic="AUTH", reviewers=["critic"], attempts=1),
        state("AUTH-1.0i", "ended", status="completed", summary="Signed in."),
        events.IssueReview(
            issue="AUTH-1",
            round=1,
            verdict="changes_requested",
            reviewer={"agent": "AUTH-1.0i.0r", "profile": "critic", "profileName": "Critic"},
            approvals=(),
            items=("a", "b"),
            empty_change=False,
        ),
        merged("AUTH-1"),
        issue("done", "AUTH-1", "done", epic="AUTH", reviewers=["critic"], attempts=1, rounds=1),
        events.LimitExceeded(agent="ISSUE-1.0i", limit="maxTurns", threshold=60.0, observed=60.0, turns=60),
        state("ISSUE-1.0i.0s", "ended", status="completed", summary="Looked."),
        state("ISSUE-1.0i", "ended", status="exhausted", summary="stopped"),
        merged(
            "ISSUE-1",
            merged=False,
            commit=None,
            reason="it failed",
            saved_ref="refs/ggactors/saved/ISSUE-1",
        ),
        issue("fail", "ISSUE-1", "failed", attempts=1, reason="no attempt finished it"),
        events.BoardStalled(issue="ISSUE-2", blocker="ISSUE-1"),
        state("root", "ended", status="completed", summary="All is in."),
        events.CheckoutMoved(source="a" * 40, target="a" * 40, held=("shop.py",), reason="dirty"),
        events.Log(level="warning", message="mind \x1b[31mthis"),
        summary(exit_code=4, issues={"AUTH-1": "done", "ISSUE-1": "failed"}),
        events.SessionEnded(status="completed"),
    )
    return tape.events
