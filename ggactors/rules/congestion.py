"""How many calls one provider account takes at once, and from when on (C1). Law: pure; the clock and the chance are handed in.

An account is *open* until it says that it is asked too much (429, 503, 529), or until several calls in a row come to nothing and
none is answered between them. Then it is *shut*: nobody asks it before the wait is over, and then one call goes first, the probe.
Answered, it opens the account two calls wide; each answer then widens it by one up to half of what it bore before, and beyond
that by one for every round of answers (slow start, then additive increase). Each new sign of congestion halves and shuts again.

Calls carry the *era* they were let go in. One congestion is told by every call that was under way when it began: only the first
of them begins a new era, the others may lengthen the wait and never shorten or repeat anything. So a storm costs one halving.
"""

from __future__ import annotations

import math

from attrs import evolve, frozen

from ggactors.rules.backoff import wait_secs

CONGESTED = frozenset({429, 503, 529})
"""Statuses by which a provider says that the account, or the whole service, is asked too much."""

OUTAGE_AFTER = 3
"""How many other passing faults in a row (500, 502, a lost connection), with no answer between them, count as an outage."""

LAST_FOR = 3
"""How many congestions in a row make an account count as down: calls that can go elsewhere stop waiting for it."""

PATIENCE = 30.0
"""Seconds beyond which a wait counts as lasting for a call that can go elsewhere."""


@frozen(kw_only=True)
class Flow:
    """One account's traffic. ``width`` is how many calls may be under way at once, ``goal`` where it stops doubling.

    ``shut_until`` is in seconds of the run's clock; ``level`` counts congestions since the last answer, ``streak`` the other
    passing faults since then. ``probe`` tells whether the one call that goes first is under way.
    """

    width: float = math.inf
    goal: float = math.inf
    under_way: int = 0
    shut: bool = False
    shut_until: float = 0.0
    probe: bool = False
    level: int = 0
    streak: int = 0
    era: int = 0


@frozen(kw_only=True)
class Leave:
    """What a call that was let go carries until it returns."""

    era: int
    probe: bool = False


def opens_at(flow: Flow, now: float) -> float:
    """Tell from when on the next call may go: ``now`` or earlier, later, or infinity when another must return first."""
    if now < flow.shut_until:
        return flow.shut_until
    if flow.shut:
        return math.inf if flow.probe else now
    return now if flow.under_way + 1 <= flow.width else math.inf


def is_down(flow: Flow, now: float) -> bool:
    """Tell whether the account's trouble lasts, so that a call that can go elsewhere should (fail-over)."""
    return (flow.shut and flow.level >= LAST_FOR) or flow.shut_until - now > PATIENCE


def let_go(flow: Flow) -> tuple[Flow, Leave]:
    """Let one call go, which ``opens_at`` has allowed."""
    leave = Leave(era=flow.era, probe=flow.shut)
    return _counted(flow, flow.under_way + 1, probe=flow.probe or flow.shut), leave


def left(flow: Flow, leave: Leave) -> Flow:
    """Take back a call that told nothing of the account: cancelled, or refused for what it asked."""
    return _counted(flow, flow.under_way - 1, probe=flow.probe and not (leave.probe and leave.era == flow.era))


def _counted(flow: Flow, under_way: int, *, probe: bool) -> Flow:
    """Copy a flow with another count. Written out, since every call passes here twice: ``evolve`` takes three times as long."""
    return Flow(
        width=flow.width,
        goal=flow.goal,
        under_way=under_way,
        shut=flow.shut,
        shut_until=flow.shut_until,
        probe=probe,
        level=flow.level,
        streak=flow.streak,
        era=flow.era,
    )


def answered(flow: Flow, leave: Leave) -> Flow:
    """Take note of an answer: the account bears what it is asked. One to a call of an earlier era tells nothing of this one."""
    if leave.era != flow.era:
        return left(flow, leave)
    under_way = flow.under_way - 1
    if flow.shut:
        return evolve(flow, under_way=under_way, shut=False, probe=False, level=0, streak=0, width=2.0)
    # An unused width is no evidence that more would be borne.
    full = flow.under_way + 1 > flow.width
    if not (full or flow.level or flow.streak):
        return _counted(flow, under_way, probe=flow.probe)
    step = 0.0 if not full else 1.0 if flow.width < flow.goal else 1.0 / flow.width
    return evolve(flow, under_way=under_way, level=0, streak=0, width=flow.width + step)


def faulted(
    flow: Flow, leave: Leave, now: float, *, status: int | None, retry_after: float | None, jitter: float
) -> Flow:
    """Take note of a passing fault. ``jitter`` in 0..1 only ever lengthens the wait."""
    back = left(flow, leave)
    streak = flow.streak + 1
    if status not in CONGESTED and not flow.shut and streak < OUTAGE_AFTER:
        return evolve(back, streak=streak)
    asked = now + retry_after if retry_after is not None and math.isfinite(retry_after) else now
    if leave.era != flow.era:
        return evolve(back, shut_until=max(back.shut_until, asked))
    level = flow.level + 1
    wait = wait_secs(level, retry_after=retry_after, jitter=jitter)
    return evolve(
        back,
        shut=True,
        probe=False,
        shut_until=max(back.shut_until, now + wait),
        level=level,
        streak=streak,
        era=flow.era + 1,
        width=1.0,
        goal=flow.goal if flow.shut else max(2.0, flow.under_way / 2),
    )


def told(flow: Flow, now: float, *, remaining: int | None, resets_in: float | None) -> Flow:
    """Take note of a rate header: with nothing left, nobody asks before the count is reset. No congestion, so nothing halves."""
    if remaining is None or remaining > 0 or resets_in is None or not math.isfinite(resets_in) or resets_in <= 0:
        return flow
    return evolve(flow, shut_until=max(flow.shut_until, now + resets_in))
