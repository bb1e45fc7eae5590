"""Streams of events for the report: a small run with everything in it, and one as large as runs get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from ggactors.protocol import events
from ggactors.telemetry.reportboard import FileStat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HOSTILE = "</pre><script>document.title='owned'</script><img src=http://evil.invalid/x onerror=alert(1)>\u202e\x1b[31m"


def stamped(stream: Iterable[events.Event], every: float = 0.5) -> Iterator[events.Event]:
    """Give each event its number and its time, ``every`` so many seconds."""
    for seq, event in enumerate(stream, 1):
        secs = seq * every
        time = f"2026-01-01T{int(secs // 3600):02}:{int(secs // 60) % 60:02}:{secs % 60:06.3f}Z"
        yield evolve(event, seq=seq, time=time, run="260101-0000-abc")


def spawned(agent: str, kind: str, issue: str | None = None, parent: str | None = None, **more: Any) -> events.Event:
    """Tell that an agent was made."""
    values: dict[str, Any] = {
        "profile": kind,
        "profile_name": kind.title(),
        "role": "review" if kind == "reviewer" else "standard",
        "workdir": "/w",
        "brief": f"Do what {agent} does.",
        "tools": ("finish",),
        "operations": (),
    }
    return events.AgentSpawned(agent=agent, kind=kind, issue=issue, parent=parent, **(values | more))


def state(agent: str, now: str, **more: Any) -> events.Event:
    """Tell an agent's state."""
    return events.AgentState(agent=agent, state=now, **more)


def board(issue: str, now: str, op: str = "x", **more: Any) -> events.Event:
    """Tell an issue's state."""
    values = {"id": issue, "title": f"Make {issue}", "state": now, "agent": "coder", "reviewers": ["critic"]}
    prefix = issue.split("-", maxsplit=1)[0]
    values |= {
        "blockedBy": [],
        "epic": None if prefix == "ISSUE" else prefix,
        "attempts": 1,
        "rounds": 0,
        "reason": None,
    }
    return events.BoardChanged(op=op, issue=values | more)


def used(agent: str, cost: float | None = 0.01) -> events.Event:
    """Tell of a model call."""
    return events.UsageSpent(
        agent=agent, profile="coder", model="big", input=1200, cached_input=200, output=300, reasoning=0, cost=cost
    )


def life(
    agent: str, kind: str, issue: str | None = None, status: str = "completed", **more: Any
) -> Iterator[events.Event]:
    """Tell a whole life."""
    yield spawned(agent, kind, issue, **more)
    yield state(agent, "queued")
    yield state(agent, "running")
    yield used(agent)
    yield events.TurnOutcome(agent=agent, outcome="progressed", consecutive_errors=0, turns=1)
    yield state(agent, "ended", status=status, summary=f"{agent} is done.")


def epic(name: str, title: str) -> events.Event:
    """Tell of an epic."""
    return events.BoardChanged(op="create_epic", epic={"id": name, "title": title, "description": None})


START = events.SessionStarted(crew="a crew", workspace="/home/somebody/work", version="1.0", resumed=False)


def small() -> list[events.Event]:
    """A run in which something of everything happened, some of it with hostile words."""
    merged = {"branch": "b", "conflicts": (), "one_sided": False, "empty_change": False}
    stream: list[events.Event] = [
        START,
        spawned("root", "root", brief=HOSTILE),
        state("root", "queued"),
        state("root", "running"),
        used("root"),
        epic("AUTH", f"Sign in {HOSTILE}"),
        epic("VOID", "Nothing yet"),
        board("AUTH-1", "open"),
        board("AUTH-2", "open", blockedBy=["AUTH-1"]),
        board("ISSUE-1", "open"),
        board("ISSUE-2", "open", title=HOSTILE, blockedBy=["ISSUE-1"]),
        state("root", "waiting", waiting_on="AUTH-1"),
        board("AUTH-1", "in_progress"),
        *life("AUTH-1.0i", "implementer", "AUTH-1"),
        *life("AUTH-1.0i.0s", "subagent", "AUTH-1", parent="AUTH-1.0i"),
        board("AUTH-1", "in_review"),
        *life("AUTH-1.0i.0r", "reviewer", "AUTH-1"),
        events.IssueReview(
            issue="AUTH-1",
            round=1,
            verdict="changes_requested",
            reviewer={"agent": "AUTH-1.0i.0r", "profile": "critic", "profileName": "Critic"},
            approvals=(),
            items=("Say why.", HOSTILE),
            commit="c" * 40,
            empty_change=False,
        ),
        events.IssueReview(
            issue="AUTH-1",
            round=2,
            verdict="approved",
            reviewer=None,
            approvals=({"agent": "AUTH-1.0i.0r", "profile": "critic", "profileName": "Critic"},),
            items=(),
            commit="d" * 40,
            empty_change=False,
        ),
        events.WorktreeMerged(issue="AUTH-1", merged=True, commit="e" * 40, merge_agent="AUTH-1.0m", **merged),
        board("AUTH-1", "done", rounds=2),
        board("AUTH-2", "in_progress"),
        *life("ISSUE-1.0i", "implementer", "ISSUE-1", status="exhausted"),
        events.LimitExceeded(agent="ISSUE-1.0i", limit="maxTurns", threshold=5, observed=5, turns=5),
        board("ISSUE-1", "failed", reason=f"it was not to be done {HOSTILE}"),
        events.BoardStalled(issue="ISSUE-2", blocker="ISSUE-1"),
        state("root", "running"),
        events.Log(level="warning", message=HOSTILE),
        events.Attention(
            agent="root",
            item="Q-1",
            kind="question",
            state="open",
            title=f"Which one? {HOSTILE}",
            detail="",
            options=(),
            default="deny",
        ),
        events.CheckoutMoved(source="a" * 40, target="a" * 40, held=("x.py",), reason="dirty"),
        state("root", "ended", status="completed", summary=HOSTILE),
    ]
    return list(stamped(stream))


DIFFS = {"AUTH-1": (FileStat(path="a.py", added=12, removed=3), FileStat(path=HOSTILE, added=None, removed=None))}


def large(issues: int = 2000, agents: int = 500) -> Iterator[events.Event]:
    """A run of many issues and agents."""

    def stream() -> Iterator[events.Event]:
        yield START
        yield spawned("root", "root")
        yield state("root", "running")
        for number in range(20):
            yield epic(f"EP{chr(65 + number)}", f"Part {number + 1}")
        names = [f"EP{chr(65 + at % 20)}-{at // 20 + 1}" for at in range(issues)]
        for name in names:
            yield board(name, "open")
        states = ("done", "done", "done", "in_review", "in_progress", "open", "failed")
        for at, name in enumerate(names[: agents - 1]):
            yield board(name, "in_progress")
            yield from life(f"{name}.0i", "implementer", name)
            yield board(name, states[at % len(states)], reason="it broke" if at % 7 == 6 else None)

    yield from stamped(stream(), every=0.9)
