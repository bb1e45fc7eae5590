"""Who is served first where calls to a provider queue: whoever holds up the longest chain of open issues. Law: pure.

``Chains`` keeps for every open issue the length of the longest chain of issues behind it, told of one change at a time: a change
costs the edges it touches, and what it moves further up. Nothing is ever listed. ``pick`` chooses among those that wait, and lets
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


@define
class _Node:
    """One issue. ``chains`` counts the open issues it holds back by the length of the chain each begins."""

    blockers: tuple[str, ...] = ()
    dependents: dict[str, None] = field(factory=dict)
    chains: dict[int, int] = field(factory=dict)
    open: bool = False
    behind: int = 0
    epic: str | None = None

    @property
    def chain(self) -> int:
        """Give the length of the chain it begins, its own link included; 0 once it is finished."""
        return self.behind + 1 if self.open else 0


@define
class Chains:
    """The chains of a board."""

    _nodes: dict[str, _Node] = field(factory=dict)
    _lengths: dict[int, int] = field(factory=dict)
    """How many open issues begin a chain of each length."""
    longest: int = 0
    """The longest chain of the board."""

    def behind(self, issue: str) -> int:
        """Give how many issues stand in the longest chain behind an issue; 0 for one never heard of."""
        node = self._nodes.get(issue)
        return 0 if node is None else node.behind

    def epic_of(self, issue: str) -> str | None:
        """Give the epic an issue is grouped under now, if any."""
        node = self._nodes.get(issue)
        return None if node is None else node.epic

    def changed(self, issue: str, state: IssueState, blockers: Iterable[str], epic: str | None = None) -> None:
        """Take note of an issue as it stands now."""
        node = self._nodes.setdefault(issue, _Node())
        node.epic = epic
        self._reblock(issue, node, dict.fromkeys(blockers))
        was = node.chain
        node.open = state not in FINISHED
        self._rechain([(issue, was, node.chain)])

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
        self._reblock(issue, node, {})
        was, node.open = node.chain, False
        self._rechain([(issue, was, 0)])
        for dependent in node.dependents:
            other = self._nodes[dependent]
            other.blockers = tuple(blocker for blocker in other.blockers if blocker != issue)
        del self._nodes[issue]

    def _reblock(self, issue: str, node: _Node, blockers: dict[str, None]) -> None:
        """Replace the blockers of an issue; only edges that come or go are touched."""
        moved: list[tuple[str, int, int]] = []
        for blocker in node.blockers:
            if blocker not in blockers:
                other = self._nodes[blocker]
                del other.dependents[issue]
                moved += self._heard(blocker, other, node.chain, 0)
        for blocker in blockers:
            other = self._nodes.setdefault(blocker, _Node())
            if issue not in other.dependents:
                other.dependents[issue] = None
                moved += self._heard(blocker, other, 0, node.chain)
        node.blockers = tuple(blockers)
        self._rechain(moved)

    def _rechain(self, moved: list[tuple[str, int, int]]) -> None:
        """Carry changed chains (issue, length before, length now) to what holds them back, as far as anything changes."""
        while moved:
            issue, was, now = moved.pop()
            if was == now:
                continue
            self.longest = _recount(self._lengths, self.longest, was, now)
            for blocker in self._nodes[issue].blockers:
                moved += self._heard(blocker, self._nodes[blocker], was, now)

    def _heard(self, issue: str, node: _Node, was: int, now: int) -> list[tuple[str, int, int]]:
        """Let an issue hear that a chain behind it changed; what its own chain becomes of it."""
        before = node.chain
        node.behind = _recount(node.chains, node.behind, was, now)
        return [(issue, before, node.chain)] if node.chain != before else []


def _recount(counts: dict[int, int], longest: int, was: int, now: int) -> int:
    """Move one chain from one length to another, 0 being none, and give the longest there is then."""
    if was:
        counts[was] -= 1
        if not counts[was]:
            del counts[was]
    if now:
        counts[now] = counts.get(now, 0) + 1
        longest = max(longest, now)
    while longest and longest not in counts:
        longest -= 1
    return longest


def weight(chains: Chains, kind: Kind, issue: str | None) -> Weight:
    """Weigh an agent by what it holds up. Root and merge agents hold up the longest chain there is, whatever they are at."""
    chain = chains.longest if issue is None or kind is Kind.MERGER else chains.behind(issue) + 1
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
