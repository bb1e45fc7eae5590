"""Who holds up the longest chain goes first, and nobody is passed for ever."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol.values import IssueState, Kind
from ggactors.rules.priority import STARVE_AFTER, Chains, Waiting, pick, weight

OPEN, DONE = IssueState.OPEN, IssueState.DONE


def test_an_issue_weighs_what_stands_behind_it():
    chains = Chains()
    chains.changed("A-1", OPEN, ())
    chains.changed("A-2", OPEN, ("A-1",))
    chains.changed("A-3", OPEN, ("A-2",))
    chains.changed("B-1", OPEN, (), "B")
    assert [chains.behind(issue) for issue in ("A-1", "A-2", "A-3", "B-1", "none")] == [2, 1, 0, 0, 0]
    assert chains.epic_of("B-1") == "B"
    chains.changed("A-3", DONE, ("A-2",))
    assert chains.behind("A-1") == 1
    chains.removed("A-2")
    assert chains.behind("A-1") == 0
    chains.removed("A-2")
    chains.changed("B-1", OPEN, ("A-1",))
    assert chains.behind("A-1") == 1


def test_merge_agents_and_the_root_hold_up_the_longest_chain_and_a_review_goes_before_work():
    chains = Chains()
    chains.changed("A-1", OPEN, ())
    chains.changed("A-2", OPEN, ("A-1",))
    chains.changed("B-1", OPEN, ())
    order = [
        weight(chains, Kind.IMPLEMENTER, "B-1"),
        weight(chains, Kind.REVIEWER, "B-1"),
        weight(chains, Kind.IMPLEMENTER, "A-1"),
        weight(chains, Kind.ROOT, None),
        weight(chains, Kind.MERGER, "B-1"),
    ]
    assert order == sorted(order)
    assert len(set(order)) == len(order)


MOVES = st.lists(
    st.tuples(
        st.integers(0, 11),
        st.sampled_from(["open", "done", "failed", "in_progress", "gone"]),
        st.sets(st.integers(0, 11)),
        st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(moves=MOVES)
def test_chains_kept_by_change_are_those_worked_out_afresh(moves):
    chains = Chains()
    board: dict[int, tuple[IssueState, tuple[int, ...]]] = {}
    for number, state, wanted, asks in moves:
        if state == "gone":
            chains.removed(str(number))
            board.pop(number, None)
            board = {one: (s, tuple(b for b in blockers if b != number)) for one, (s, blockers) in board.items()}
            continue
        blockers = tuple(sorted(other for other in wanted if other < number and other in board))
        if asks:
            chains.behind(str(number))
        board[number] = (IssueState(state), blockers)
        chains.changed(str(number), IssueState(state), map(str, blockers))

    def length(number: int) -> int:
        if board[number][0] in (IssueState.DONE, IssueState.FAILED):
            return 0
        return 1 + behind(number)

    def behind(number: int) -> int:
        return max((length(other) for other, (_, blockers) in board.items() if number in blockers), default=0)

    for number in board:
        assert chains.behind(str(number)) == behind(number)


@settings(max_examples=100, deadline=None)
@given(weights=st.lists(st.integers(0, 5), min_size=1, max_size=12), later=st.lists(st.integers(0, 9), max_size=150))
def test_whoever_waits_is_served_however_heavy_those_are_that_come_later(weights, later):
    waiting = [Waiting(weight=(one, 0), since=at) for at, one in enumerate(weights)]
    first, passed, grants = waiting[0], 0, 0
    coming = iter(later)
    while first in waiting:
        at, passed = pick(waiting, passed)
        grants += 1
        chosen = waiting.pop(at)
        assert passed <= STARVE_AFTER
        if passed:
            assert chosen.weight == max(one.weight for one in [*waiting, chosen])
        heavier = next(coming, None)
        if heavier is not None:
            waiting.append(Waiting(weight=(heavier + 6, 0), since=len(weights) + grants))
    assert grants <= STARVE_AFTER + 1
