"""Actors: letters in, answers out, and what becomes of both when an actor ends."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from kernel_kit import CODEC, Add, Counter, Crash, Hold, Quit, Total, cancelled_at_every_step
from trio.testing import wait_all_tasks_blocked

from ggactors.runtime.mailbox import ActorGone, Inbox
from ggactors.runtime.ref import Ref
from ggactors.runtime.system import open_system
from ggactors.wire import Codec, WireError


async def test_an_ask_is_answered_and_a_tell_is_not() -> None:
    async with open_system() as system:
        counter = system.spawn("counter", Counter(), CODEC)
        assert counter.tell(Add(by=2)) is True
        assert await counter.ask(Add(by=3)) == Total(value=5)
        assert counter.name == "counter"
        assert counter.alive
        assert system.living == ("counter",)
        assert system.find("counter") is counter
        assert repr(counter) == "<Ref counter>"


async def test_what_crosses_a_mailbox_is_bytes_and_arrives_as_a_copy() -> None:
    crossed: list[object] = []

    class Spy(Codec[Any, Any]):
        def __init__(self) -> None:
            super().__init__(Add | Crash | Quit | Hold, Total)
            letter_in, answer_in = self.unpack_letter, self.unpack_answer
            self.unpack_letter = lambda packed: (crossed.append(packed), letter_in(packed))[1]
            self.unpack_answer = lambda packed: (crossed.append(packed), answer_in(packed))[1]

    class Keeper:
        letter: Any

        async def run(self, inbox: Inbox[Any, Any]) -> None:
            envelope = await inbox.receive()
            self.letter = envelope.letter
            envelope.answer(Total(value=1))

    sent, keeper = Add(by=9), Keeper()
    async with open_system() as system:
        await system.spawn("keeper", keeper, Spy()).ask(sent)
    assert keeper.letter == sent
    assert keeper.letter is not sent
    assert [type(item) for item in crossed] == [bytes, bytes]


async def test_letters_arrive_in_the_order_they_were_sent_however_they_are_taken() -> None:
    taken: list[int] = []

    class Taker:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            while len(taken) < 300:
                taken.append((await inbox.receive()).letter.by)
                if len(taken) % 7 == 0:
                    taken.extend(envelope.letter.by for envelope in inbox.drain_nowait()[:])
                if len(taken) % 5 == 0:
                    taken.extend(envelope.letter.by for envelope in await inbox.drain())

    async with open_system() as system:
        taker = system.spawn("taker", Taker(), CODEC)
        for number in range(400):
            taker.tell(Add(by=number))
            if number % 13 == 0:
                await trio.lowlevel.checkpoint()
        await wait_all_tasks_blocked()
        assert taken == list(range(len(taken)))
        assert len(taken) >= 300


async def test_drain_waits_for_one_letter_and_takes_all_there_are() -> None:
    batches: list[list[int]] = []

    class Drainer:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            assert inbox.drain_nowait() == []
            while True:
                batches.append([envelope.letter.by for envelope in await inbox.drain()])

    async with open_system() as system:
        drainer = system.spawn("drainer", Drainer(), CODEC)
        await wait_all_tasks_blocked()
        assert batches == []
        for number in range(3):
            drainer.tell(Add(by=number))
        await wait_all_tasks_blocked()
        drainer.tell(Add(by=3))
        await wait_all_tasks_blocked()
    assert batches == [[0, 1, 2], [3]]


async def test_a_tell_has_no_use_for_an_answer_and_a_second_answer_is_an_error() -> None:
    seen: list[bool] = []

    class Twice:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            for _ in range(2):
                envelope = await inbox.receive()
                seen.append(envelope.wants_answer)
                envelope.answer(Total(value=1))
                if envelope.wants_answer:
                    with pytest.raises(RuntimeError, match="second answer to Add"):
                        envelope.answer(Total(value=2))
                else:
                    envelope.answer(Total(value=2))

    async with open_system() as system:
        twice = system.spawn("twice", Twice(), CODEC)
        twice.tell(Add())
        assert await twice.ask(Add()) == Total(value=1)
    assert seen == [False, True]


async def test_an_answer_may_be_given_later_and_from_another_task() -> None:
    counter = Counter()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn("counter", counter, CODEC)
        answers: list[Any] = []

        async def ask() -> None:
            answers.append(await ref.ask(Hold()))

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        counter.held[0].answer(Total(value=7))
        await wait_all_tasks_blocked()
        assert answers == [Total(value=7)]


async def test_a_crash_ends_one_actor_and_is_reported_and_its_siblings_live() -> None:
    crashes: list[tuple[str, BaseException]] = []
    async with open_system(on_crash=lambda name, error: crashes.append((name, error))) as system:
        good, bad = system.spawn("good", Counter(), CODEC), system.spawn("bad", Counter(), CODEC)
        with pytest.raises(ActorGone, match="actor 'bad' is gone") as gone:
            await bad.ask(Crash(word="ouch"))
        assert gone.value.name == "bad"
        assert not bad.alive
        assert repr(bad) == "<Ref bad (gone)>"
        assert await good.ask(Add()) == Total(value=1)
        assert system.living == ("good",)
    (crash,) = crashes
    assert crash[0] == "bad"
    assert str(crash[1]) == "ouch"


async def test_a_successor_may_be_spawned_under_the_name_from_inside_the_report() -> None:
    async with open_system(on_crash=lambda name, _: system.spawn(name, Counter(), CODEC)) as system:
        system.spawn("phoenix", Counter(), CODEC).tell(Crash())
        await wait_all_tasks_blocked()
        phoenix = system.find("phoenix")
        assert phoenix is not None
        assert await phoenix.ask(Add()) == Total(value=1)


async def test_crashes_nobody_is_told_of_are_raised_when_the_block_is_left() -> None:
    with pytest.raises(ExceptionGroup) as raised:
        async with open_system() as system:
            system.spawn("bad", Counter(), CODEC).tell(Crash(word="ouch"))
            await wait_all_tasks_blocked()
    assert [str(error) for error in raised.value.exceptions] == ["ouch"]


async def test_an_error_out_of_the_block_comes_as_it_is_and_names_the_crashes_behind_it() -> None:
    with pytest.raises(ActorGone) as raised:
        async with open_system() as system:
            await system.spawn("bad", Counter(), CODEC).ask(Crash(word="ouch"))
    assert raised.value.__notes__ == ["actor 'bad' had crashed: ValueError('ouch')"]


async def test_letters_to_an_actor_that_ended_are_dead_and_counted() -> None:
    dead: list[tuple[str, Any]] = []
    async with open_system(on_dead_letter=lambda name, letter: dead.append((name, letter))) as system:
        counter = system.spawn("counter", Counter(), CODEC)
        counter.tell(Quit())
        counter.tell(Add(by=1))
        await wait_all_tasks_blocked()
        assert dead == [("counter", Add(by=1))]
        assert counter.tell(Add(by=2)) is False
        with pytest.raises(ActorGone):
            await counter.ask(Add(by=3))
        assert dead == [("counter", Add(by=n)) for n in (1, 2, 3)]
        assert system.dead_letters == 3


async def test_every_ask_left_with_an_actor_that_ends_is_answered() -> None:
    fates: list[str] = []
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn("counter", Counter(), CODEC)

        async def ask(letter: Any) -> None:
            try:
                await ref.ask(letter)
            except ActorGone:
                fates.append(type(letter).__name__)

        nursery.start_soon(ask, Hold())  # in the actor's hands when it ends
        await wait_all_tasks_blocked()
        ref.tell(Quit())
        for _ in range(3):
            nursery.start_soon(ask, Add())  # still in its box
        await wait_all_tasks_blocked()
    assert sorted(fates) == ["Add", "Add", "Add", "Hold"]


async def test_an_answer_given_after_the_actor_ended_reaches_nobody_and_breaks_nothing() -> None:
    counter = Counter()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn("counter", counter, CODEC)

        async def ask() -> None:
            with pytest.raises(ActorGone):
                await ref.ask(Hold())

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        ref.tell(Quit())
        await wait_all_tasks_blocked()
        counter.held[0].answer(Total(value=1))


async def test_an_actor_that_asks_itself_is_told_at_once() -> None:
    class Narcissus:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            envelope = await inbox.receive()
            ref = system.find("narcissus")
            assert ref is not None
            with pytest.raises(RuntimeError, match="'narcissus' asks itself"):
                await ref.ask(Add())
            envelope.answer(Total(value=0))

    async with open_system() as system:
        assert await system.spawn("narcissus", Narcissus(), CODEC).ask(Add()) == Total(value=0)


async def test_two_tasks_may_not_receive_from_one_mailbox() -> None:
    class Pair:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(inbox.receive)
                nursery.start_soon(inbox.drain)

    crashes: list[BaseException] = []
    async with open_system(on_crash=lambda _, error: crashes.append(error)) as system:
        system.spawn("pair", Pair(), CODEC)
        await wait_all_tasks_blocked()
    (group,) = crashes
    assert isinstance(group, ExceptionGroup)
    assert "two tasks receive" in str(group.exceptions[0])


async def test_names_are_unique_among_the_living_alone() -> None:
    async with open_system() as system:
        system.spawn("a", Counter(), CODEC)
        with pytest.raises(ValueError, match="'a' is alive"):
            system.spawn("a", Counter(), CODEC)
        first = system.find("a")
        assert first is not None
        first.tell(Quit())
        await wait_all_tasks_blocked()
        assert await system.spawn("a", Counter(), CODEC).ask(Add()) == Total(value=1)
        assert not first.alive


async def test_a_letter_that_cannot_be_packed_is_the_senders_error() -> None:
    async with open_system() as system:
        counter = system.spawn("counter", Counter(), CODEC)
        for send in (counter.tell, counter.ask):
            with pytest.raises(WireError, match="str: not one of"):
                result = send("hello")
                if result is not False:
                    await result  # type: ignore[misc]
        assert await counter.ask(Add()) == Total(value=1)


async def test_an_unreadable_letter_is_dropped_and_its_asker_told_and_the_others_are_kept() -> None:
    blind: Codec[Any, Any] = Codec(Add, Total)
    seen: list[int] = []

    class Hardy:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            await wait_all_tasks_blocked()
            for take in (inbox.receive, inbox.drain, inbox.drain):
                with pytest.raises(WireError):
                    await take()
            while True:
                envelope = await inbox.receive()
                seen.append(envelope.letter.by)
                envelope.answer(Total(value=0))

    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn("hardy", Hardy(), blind)
        foreign: Ref[Any, Any] = Ref(ref._inbox)
        foreign._pack = CODEC.pack_letter
        told: list[str] = []

        async def ask(letter: Any) -> None:
            try:
                await foreign.ask(letter)
                told.append("answered")
            except ActorGone:
                told.append("gone")

        foreign.tell(Add(by=1))
        nursery.start_soon(ask, Quit())
        await trio.lowlevel.checkpoint()
        foreign.tell(Add(by=2))
        nursery.start_soon(ask, Add(by=3))
        await trio.lowlevel.checkpoint()
        foreign._inbox._soon += [CODEC.pack_letter(Quit())] * 2
        await wait_all_tasks_blocked()
        await wait_all_tasks_blocked()
        assert sorted(told) == ["answered", "gone"]
    assert seen == [1, 2, 3]


async def test_a_cancelled_asker_leaves_the_actor_working() -> None:
    counter = Counter()
    async with open_system() as system:
        ref = system.spawn("counter", counter, CODEC)

        async def scenario() -> None:
            await ref.ask(Add())
            with trio.CancelScope() as scope:
                scope.cancel()
                await ref.ask(Hold())
            await ref.ask(Add())

        async def check() -> None:
            await wait_all_tasks_blocked()
            before = counter.total
            assert await ref.ask(Add()) == Total(value=before + 1)
            for envelope in counter.held:  # asked by somebody who is long gone
                envelope.answer(Total(value=0))
            counter.held.clear()

        assert await cancelled_at_every_step(scenario, check) >= 3
        assert ref._inbox.unanswered == set()


async def test_an_actor_cancelled_at_any_step_answers_or_fails_every_ask() -> None:
    served: list[str] = []

    async def scenario() -> None:
        async with open_system() as system, trio.open_nursery() as nursery:
            ref = system.spawn("counter", Counter(), CODEC)

            async def ask(letter: Any) -> None:
                try:
                    served.append(type(await ref.ask(letter)).__name__)
                except ActorGone:
                    served.append("gone")

            for letter in (Add(), Hold(), Add(), Quit(), Add()):
                nursery.start_soon(ask, letter)

    async def check() -> None:
        served.clear()

    assert await cancelled_at_every_step(scenario, check) >= 4
    await scenario()
    assert len(served) == 5


async def test_a_cancelled_receiver_loses_no_letter(autojump_clock: trio.testing.MockClock) -> None:
    got: list[int] = []

    class Patient:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            while True:
                for take in (inbox.receive, inbox.drain):
                    with trio.move_on_after(1):
                        taken = await take()
                        got.extend(each.letter.by for each in (taken if isinstance(taken, list) else [taken]))

    async with open_system() as system:
        patient = system.spawn("patient", Patient(), CODEC)
        sent = 0
        for pause in (0.5, 1, 0.3, 1, 1, 2.5, 1, 0.1) * 4:
            await trio.sleep(pause)
            patient.tell(Add(by=sent))
            sent += 1
        await trio.sleep(5)
    assert got == list(range(sent))


async def test_a_full_box_does_not_starve_others() -> None:
    class Greedy:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            while True:
                await inbox.receive()

    async with open_system() as system:
        greedy = system.spawn("greedy", Greedy(), CODEC)
        for _ in range(2000):
            greedy.tell(Add())
        turns = 0
        while len(greedy._inbox._soon) + len(greedy._inbox._later):
            await trio.lowlevel.checkpoint()
            turns += 1
        assert turns >= 2000 // 64 - 1


async def test_the_high_water_mark_is_reported_once_per_box() -> None:
    marks: list[tuple[str, int]] = []

    class Tidal:
        async def run(self, inbox: Inbox[Any, Any]) -> None:
            while True:
                await inbox.drain()

    async with open_system(on_high_water=lambda *mark: marks.append(mark), high_water=10) as system:
        tidal = [system.spawn(name, Tidal(), CODEC) for name in ("x", "y")]
        for _ in range(2):
            for _ in range(50):
                tidal[0].tell(Add())
            tidal[1].tell(Add())
            await wait_all_tasks_blocked()
        assert marks == [("x", 10)]
