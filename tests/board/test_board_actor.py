"""The board's actor on the real kernel: nothing leaves before the commit, and a commit that fails takes the board with it."""

from __future__ import annotations

from contextlib import suppress

import pytest
import trio
from attrs import define, field
from boardkit import CHARTER
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from ggactors.actors.board import FACTS, STREAM, BoardActor, replay
from ggactors.ports import JournalBroken
from ggactors.protocol.board import (
    BoardAnswer,
    BoardLetter,
    CreateEpic,
    CreateIssue,
    HandBack,
    IssueFiled,
    ListReady,
    ReadBoard,
    ReadyIssue,
    SetIssueBlockedBy,
    SettleMerge,
    StartIssue,
    StopDispatch,
    WaitForIssue,
)
from ggactors.protocol.values import Refused
from ggactors.rules.board import Board, dump
from ggactors.runtime.mailbox import ActorGone
from ggactors.runtime.system import open_system
from ggactors.wire import Codec

CODEC: Codec = Codec(BoardLetter, BoardAnswer)


@define
class HeldJournal:
    """A journal in memory whose commits wait until they are let through, and that breaks at an appointed commit."""

    breaks_at: int | None = None
    batches: list = field(factory=list)
    asked: int = 0
    gate: trio.Event = field(factory=trio.Event)

    async def commit(self, stream, entries):
        self.asked += 1
        await trio.lowlevel.checkpoint()
        await self.gate.wait()
        if self.asked == self.breaks_at:
            raise JournalBroken("no space left on device")
        assert stream == STREAM
        self.batches.append([FACTS.unpack(entry) for entry in entries])

    def append(self, stream, entries):
        raise AssertionError("the board hands nothing over that it does not wait for")

    def hold(self):
        self.gate = trio.Event()

    @property
    def facts(self):
        return [fact for batch in self.batches for fact in batch]


@define
class Bench:
    """A board actor with everything it lets out written down, in order."""

    journal: HeldJournal = field(factory=HeldJournal)
    board: Board = field(factory=Board)
    out: list = field(factory=list)

    def actor(self, charter=CHARTER):
        return BoardActor(
            charter,
            self.journal,
            emit=lambda event: self.out.append(("event", event.op if hasattr(event, "op") else event.type)),
            wake=lambda agent: self.out.append(("wake", agent)),
            nudge=lambda: self.out.append(("nudge",)),
            board=self.board,
        )

    async def ask(self, ref, letter, name):
        answer = await ref.ask(letter)
        self.out.append(("answer", name))
        return answer


def issue(*blocked_by, **more):
    given = {"by": "root", "profile": "lead", "title": "t", "in_scope": "i", "out_of_scope": "o"}
    return CreateIssue(**(given | {"completion_criteria": "c", "agent": "coder", "blocked_by": blocked_by} | more))


async def test_nothing_leaves_before_the_commit():
    bench = Bench()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn("board", bench.actor(), CODEC)
        nursery.start_soon(bench.ask, ref, issue(), "filed")
        await wait_all_tasks_blocked()
        assert bench.journal.asked == 1
        assert bench.out == []
        bench.journal.gate.set()
        await wait_all_tasks_blocked()
        assert bench.out == [("event", "create_issue"), ("nudge",), ("answer", "filed")]


async def test_a_batch_without_facts_needs_no_commit():
    bench = Bench()
    async with open_system() as system:
        ref = system.spawn("board", bench.actor(), CODEC)
        assert (await ref.ask(ReadBoard())).issues == ()
        assert isinstance(await ref.ask(StartIssue(issue="ISSUE-1")), Refused)
        assert (bench.journal.asked, bench.out) == (0, [])


async def test_letters_gather_while_a_commit_is_under_way_and_the_next_takes_them_all():
    bench = Bench()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn("board", bench.actor(), CODEC)
        nursery.start_soon(ref.ask, issue())
        await wait_all_tasks_blocked()
        for _ in range(20):
            nursery.start_soon(ref.ask, issue())
        await wait_all_tasks_blocked()
        bench.journal.gate.set()
        await wait_all_tasks_blocked()
        assert [len(batch) for batch in bench.journal.batches] == [1, 20]
        assert bench.out.count(("nudge",)) == 2
        assert [fact.issue for fact in bench.journal.facts] == [f"ISSUE-{number}" for number in range(1, 22)]


async def test_answers_and_events_come_out_in_the_order_of_the_letters_and_wakes_last():
    bench = Bench()
    bench.journal.gate.set()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn("board", bench.actor(), CODEC)
        await ref.ask(issue())
        await ref.ask(issue("ISSUE-1"))
        await ref.ask(WaitForIssue(by="root", issue="ISSUE-1"))
        agent = (await ref.ask(StartIssue(issue="ISSUE-1"))).agent
        bench.journal.hold()
        bench.out.clear()
        ref.tell(HandBack(issue="ISSUE-1", agent=agent, commit="c", summary="s"))
        await wait_all_tasks_blocked()
        ref.tell(SettleMerge(issue="ISSUE-1", commit="m"))
        nursery.start_soon(bench.ask, ref, ListReady(), "ready")
        await wait_all_tasks_blocked()
        assert bench.out == []
        bench.journal.gate.set()
        await wait_all_tasks_blocked()
        assert bench.out == [
            ("event", "hand_back"),
            ("event", "accept"),
            ("nudge",),
            ("event", "done"),
            ("wake", "root"),
            ("nudge",),
            ("answer", "ready"),
        ]
        assert (await ref.ask(ListReady())).issues == (ReadyIssue(id="ISSUE-2", begun=False),)


async def test_each_event_of_a_batch_shows_its_own_moment():
    states = []
    bench = Bench()
    async with open_system() as system:
        actor = BoardActor(
            CHARTER, bench.journal, lambda event: states.append(event.issue["state"]), print, lambda: None
        )
        ref = system.spawn("board", actor, CODEC)
        for letter in (
            issue(),
            StartIssue(issue="ISSUE-1"),
            HandBack(issue="ISSUE-1", agent="ISSUE-1.0i", commit="c", summary="s"),
            SettleMerge(issue="ISSUE-1", commit="m"),
        ):
            ref.tell(letter)
        await wait_all_tasks_blocked()
        bench.journal.gate.set()
        await wait_all_tasks_blocked()
    assert states == ["open", "in_progress", "in_review", "in_review", "done"]
    assert [len(batch) for batch in bench.journal.batches] == [5]


async def test_a_failed_commit_ends_the_actor_and_nobody_is_answered():
    bench = Bench(journal=HeldJournal(breaks_at=2))
    bench.journal.gate.set()
    crashes, gone = [], []

    async def ask(ref, letter):
        try:
            await ref.ask(letter)
        except ActorGone:
            gone.append(letter)

    async with open_system(on_crash=lambda name, crash: crashes.append((name, type(crash)))) as system:
        async with trio.open_nursery() as nursery:
            ref = system.spawn("board", bench.actor(), CODEC)
            await ref.ask(issue())
            bench.out.clear()
            bench.journal.hold()
            nursery.start_soon(ask, ref, issue())
            await wait_all_tasks_blocked()
            nursery.start_soon(ask, ref, ReadBoard())
            await wait_all_tasks_blocked()
            bench.journal.gate.set()
        with pytest.raises(ActorGone):
            await ref.ask(ReadBoard())
    assert crashes == [("board", JournalBroken)]
    assert len(gone) == 2
    assert bench.out == []
    assert [fact.issue for fact in bench.journal.facts] == ["ISSUE-1"]


async def test_a_cancelled_commit_releases_nothing():
    bench = Bench()
    async with open_system() as system:
        ref = system.spawn("board", bench.actor(), CODEC)
        ref.tell(issue())
        await wait_all_tasks_blocked()
    assert bench.out == []


async def test_only_what_can_matter_to_dispatch_or_merge_nudges():
    bench = Bench()
    bench.journal.gate.set()
    async with open_system() as system:
        ref = system.spawn("board", bench.actor(), CODEC)
        await ref.ask(CreateEpic(by="root", profile="lead", prefix="AUTH", title="t"))
        await ref.ask(issue())
        await ref.ask(WaitForIssue(by="root", issue="ISSUE-1"))
        await ref.ask(StartIssue(issue="ISSUE-1"))
        assert bench.out.count(("nudge",)) == 1
        await ref.ask(StopDispatch(defect="boom"))
        assert bench.out[-2:] == [("wake", "root"), ("nudge",)]


async def test_a_board_replayed_from_its_entries_goes_on_where_it_was_B5():
    bench = Bench()
    bench.journal.gate.set()
    async with open_system() as system:
        ref = system.spawn("board", bench.actor(), CODEC)
        for letter in (issue(), issue("ISSUE-1"), StartIssue(issue="ISSUE-1")):
            await ref.ask(letter)
    again = Bench(board=replay(FACTS.pack(fact) for fact in bench.journal.facts), journal=bench.journal)
    assert dump(again.board) == dump(bench.board)
    async with open_system() as system:
        ref = system.spawn("board", again.actor(), CODEC)
        assert (await ref.ask(issue())).issue == "ISSUE-3"
        done = HandBack(issue="ISSUE-1", agent="ISSUE-1.0i", commit="c", summary="s")
        assert not isinstance(await ref.ask(done), Refused)


async def test_fifty_creates_at_once_get_fifty_ids_H22():
    bench = Bench()
    bench.journal.gate.set()
    ids = []

    async def file(ref):
        ids.append((await ref.ask(issue())).issue)

    async with open_system() as system:
        ref = system.spawn("board", bench.actor(), CODEC)
        async with trio.open_nursery() as nursery:
            for _ in range(38):
                nursery.start_soon(file, ref)
    assert sorted(ids) == sorted(f"ISSUE-{number}" for number in range(1, 39))


# ---------------------------------------------------------------- crash at every write

LETTERS = [
    issue(),
    issue(),
    issue("ISSUE-1"),
    issue("ISSUE-1", "ISSUE-2"),
    issue("ISSUE-9"),
    SetIssueBlockedBy(by="root", profile="lead", issue="ISSUE-2", blocked_by=("ISSUE-3",)),
    SetIssueBlockedBy(by="root", profile="lead", issue="ISSUE-1", blocked_by=("ISSUE-2",)),
    WaitForIssue(by="root", issue="ISSUE-3"),
    StartIssue(issue="ISSUE-1"),
    HandBack(issue="ISSUE-1", agent="ISSUE-1.0i", commit="c", summary="s"),
    SettleMerge(issue="ISSUE-1", commit="m"),
    StartIssue(issue="ISSUE-3"),
    StopDispatch(defect="boom"),
]


async def play_until_it_breaks(letters, breaks_at, together):
    """Send the letters, some of them together, until the journal breaks; answer what was released and what was kept."""
    bench = Bench(journal=HeldJournal(breaks_at=breaks_at))
    answered = []

    async def ask(ref, letter):
        with suppress(ActorGone):
            answered.append(await ref.ask(letter))

    async with open_system(on_crash=lambda name, crash: None) as system:
        ref = system.spawn("board", bench.actor(), CODEC)
        for start in range(0, len(letters), together):
            bench.journal.hold()
            async with trio.open_nursery() as nursery:
                for letter in letters[start : start + together]:
                    nursery.start_soon(ask, ref, letter)
                    await wait_all_tasks_blocked()
                bench.journal.gate.set()
    return bench, answered


@pytest.mark.parametrize("breaks_at", range(1, 12))
@pytest.mark.parametrize("together", [1, 3])
async def test_what_was_released_is_what_the_journal_kept_wherever_it_breaks(breaks_at, together):
    bench, answered = await play_until_it_breaks(LETTERS, breaks_at, together)
    kept = replay(FACTS.pack(fact) for fact in bench.journal.facts)
    filed = [answer.issue for answer in answered if isinstance(answer, IssueFiled)]
    assert sorted(filed) == list(kept.issues), "every id that was told is kept, and no other"
    told = [line[1] for line in bench.out if line[0] == "event"]
    assert told.count("create_issue") == len(kept.issues)
    assert told.count("start") == sum(issue.attempts for issue in kept.issues.values())
    assert told.count("done") == sum(issue.state == "done" for issue in kept.issues.values())
    assert (("wake", "root") in bench.out) == (kept.defect is not None)


@settings(max_examples=25, deadline=None)
@given(
    breaks_at=st.integers(min_value=1, max_value=9),
    together=st.integers(min_value=1, max_value=5),
    order=st.permutations(LETTERS),
)
def test_the_same_holds_in_any_order(breaks_at, together, order):
    bench, answered = trio.run(play_until_it_breaks, order, breaks_at, together)
    kept = replay(FACTS.pack(fact) for fact in bench.journal.facts)
    assert sorted(answer.issue for answer in answered if isinstance(answer, IssueFiled)) == list(kept.issues)
    assert sum(line == ("event", "start") for line in bench.out) == sum(
        issue.attempts for issue in kept.issues.values()
    )
