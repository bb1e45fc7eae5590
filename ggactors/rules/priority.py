"""Who is served first where calls to a provider queue: whoever holds up the longest chain of open issues. Law: pure.

``Chains`` knows the longest chain of open issues behind each: worked out when it is asked for, once, and forgotten only for what
stands before an issue that changes. A change costs the edges it touches. ``pick`` chooses among those that wait, and lets
nobody be passed for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field, frozen

from ggactors.protocol.events import BoardChanged
from ggactors.protocol.values import IssueState, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ggactors.protocol.events import Event

STARVE_AFTER = 8
"""How often in a row the one that waits longest may be passed."""

FINISHED = (IssueState.DONE, IssueState.FAILED)

_RANK = {Kind.MERGER: 3, Kind.ROOT: 2, Kind.REVIEWER: 1}
"""Among equal chains: a merge agent holds main for everybody, the root plans, a review is nearer to its issue's end than work."""

Weight = tuple[int, int]
"""The chain an agent holds up, its own issue included, and its rank among those that hold up as much. More is first."""

NOTHING: Weight = (0, 0)

EVERY_CHAIN = 1 << 62
"""Longer than any chain."""


@define
class _Node:
    """One issue: what holds it back, and what it holds back."""

    blockers: tuple[str, ...] = ()
    dependents: dict[str, None] = field(factory=dict)
    open: bool = False
    epic: str | None = None


@define
class Chains:
    """The chains of a board. What was worked out is kept until an issue behind it changes.

    Law: whatever is known of an issue is known of every open issue behind it, so that forgetting may stop at the first issue of
    which nothing is known.
    """

    _nodes: dict[str, _Node] = field(factory=dict)
    _behind: dict[str, int] = field(factory=dict)

    def behind(self, issue: str) -> int:
        """Give how many open issues stand in the longest chain behind an issue; 0 for one never heard of."""
        known = self._behind
        todo = [issue]
        while todo:
            at = todo[-1]
            node = self._nodes.get(at)
            waiting = [one for one in node.dependents if self._nodes[one].open] if node is not None else []
            unknown = [one for one in waiting if one not in known]
            if unknown and at not in known:
                todo.extend(unknown)
                continue
            todo.pop()
            if node is not None:
                known[at] = max([known[one] + 1 for one in waiting], default=0)
        return known.get(issue, 0)

    def epic_of(self, issue: str) -> str | None:
        """Give the epic an issue is grouped under now, if any."""
        node = self._nodes.get(issue)
        return None if node is None else node.epic

    def changed(self, issue: str, state: IssueState, blockers: Iterable[str], epic: str | None = None) -> None:
        """Take note of an issue as it stands now."""
        node = self._nodes.setdefault(issue, _Node())
        node.epic = epic
        now, is_open = tuple(dict.fromkeys(blockers)), state not in FINISHED
        if now == node.blockers and is_open == node.open:
            return
        self._forget((*node.blockers, *now))
        for blocker in node.blockers:
            if blocker not in now:
                del self._nodes[blocker].dependents[issue]
        for blocker in now:
            self._nodes.setdefault(blocker, _Node()).dependents[issue] = None
        node.blockers, node.open = now, is_open

    def hear(self, event: Event) -> None:
        """Take note of what an event of the board tells of an issue; every other tells nothing."""
        if not isinstance(event, BoardChanged) or event.issue is None:
            return
        told = event.issue
        issue = str(told.get("id"))
        if event.op == "remove_issue":
            self.removed(issue)
        else:
            state = IssueState(told.get("state", IssueState.OPEN))
            self.changed(issue, state, told.get("blockedBy") or (), told.get("epic"))

    def removed(self, issue: str) -> None:
        """Take note that an issue is no more."""
        node = self._nodes.get(issue)
        if node is None:
            return
        self._forget((issue, *node.blockers))
        for blocker in node.blockers:
            del self._nodes[blocker].dependents[issue]
        for dependent in node.dependents:
            other = self._nodes[dependent]
            other.blockers = tuple(blocker for blocker in other.blockers if blocker != issue)
        del self._nodes[issue]

    def _forget(self, issues: Iterable[str]) -> None:
        """Forget what was worked out of these issues and of whatever holds them back."""
        todo = [issue for issue in issues if self._behind.pop(issue, None) is not None]
        while todo:
            node = self._nodes[todo.pop()]
            todo += [blocker for blocker in node.blockers if self._behind.pop(blocker, None) is not None]


def weight(chains: Chains, kind: Kind, issue: str | None) -> Weight:
    """Weigh an agent by what it holds up. The root and merge agents hold up every chain there is, whatever they are at."""
    chain = EVERY_CHAIN if issue is None or kind is Kind.MERGER else chains.behind(issue) + 1
    return chain, _RANK.get(kind, 0)


@frozen(kw_only=True)
class Waiting:
    """One that waits: what it holds up, and since when, as a number that grows."""

    weight: Weight
    since: int


def pick(waiting: Sequence[Waiting], passed: int) -> tuple[int, int]:
    """Choose who is served next, by its place in ``waiting``, which must not be empty: the heaviest, of equal ones the oldest.

    ``passed`` is how often in a row the oldest was passed over; the second answer is that count after this choice. At
    ``STARVE_AFTER`` the oldest is served whatever it weighs.
    """
    oldest = min(range(len(waiting)), key=lambda at: waiting[at].since)
    heaviest = max(range(len(waiting)), key=lambda at: (waiting[at].weight, -waiting[at].since))
    if heaviest == oldest or passed >= STARVE_AFTER:
        return oldest, 0
    return heaviest, passed + 1
