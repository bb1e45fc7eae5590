"""Mailboxes: what crosses from one actor to another, and how the answer finds its way back.

Law: a mailbox carries bytes, packed by the sender and unpacked by the receiver. Putting a letter in never blocks (actors that
wait for room in each other's boxes deadlock), so a box has no bound, only a high-water mark that is reported once. A letter
wakes a waiting receiver and an answer wakes its asker by one reschedule each: task switches are what messages cost. Nothing
is left hanging: when an actor ends, every ask in its box or in its hands is answered with ActorGone.

Everything here belongs to the thread of the trio run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from trio.lowlevel import Abort, checkpoint, current_task, wait_task_rescheduled

from ggactors.runtime.wake import NOTHING, reschedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio.lowlevel import RaiseCancelT, Task

L = TypeVar("L")
A = TypeVar("A")

_BREATH = 64
"""So many letters may be taken without a wait before others get their turn: a full box must not starve the loop."""


class ActorGone(Exception):  # noqa: N818 - it is news of an actor, not a fault of the asker
    """The actor that was asked has ended, or ended before it answered. ``name`` is whose."""

    def __init__(self, name: str) -> None:
        super().__init__(f"actor {name!r} is gone")
        self.name = name


class LetterCodec(Protocol[L, A]):
    """What turns letters and answers into what crosses a mailbox, and back."""

    @property
    def pack_letter(self) -> Callable[[L], bytes]:
        """Give the function that packs a letter; it runs in the sender's task."""

    @property
    def unpack_letter(self) -> Callable[[bytes], L]:
        """Give the function that unpacks a letter; it runs in the receiver's task."""

    @property
    def pack_answer(self) -> Callable[[A], bytes]:
        """Give the function that packs an answer; it runs in the receiver's task."""

    @property
    def unpack_answer(self) -> Callable[[bytes], A]:
        """Give the function that unpacks an answer; it runs in the asker's task."""


class Post:
    """What all mailboxes of one system share: the count of dead letters, the high-water mark, and who is told.

    ``on_dead_letter(name, letter)`` and ``on_high_water(name, letters)`` are called in the sender's task and must not raise.
    """

    __slots__ = ("dead_letters", "high_water", "on_dead_letter", "on_high_water")

    def __init__(
        self,
        on_dead_letter: Callable[[str, Any], None] | None = None,
        on_high_water: Callable[[str, int], None] | None = None,
        high_water: int = 10_000,
    ) -> None:
        self.dead_letters = 0
        self.on_dead_letter = on_dead_letter
        self.on_high_water = on_high_water
        self.high_water = high_water

    def bury(self, name: str, letter: object) -> None:
        """Count a letter nobody will read, and tell who wants to know."""
        self.dead_letters += 1
        if self.on_dead_letter is not None:
            self.on_dead_letter(name, letter)


class Envelope(Generic[L, A]):
    """A letter as its receiver holds it. This one was told: nobody waits for an answer."""

    __slots__ = ("letter",)

    letter: L
    wants_answer = False
    """Whether somebody waits for ``answer``."""

    def __init__(self, letter: L) -> None:
        self.letter = letter

    def answer(self, answer: A) -> None:
        """Answer the asker, packing the answer here. Does nothing for a letter that was told.

        An asker that was cancelled, or was told meanwhile that this actor is gone, does not get it. Raises RuntimeError
        for a second answer.
        """


class Asked(Envelope[L, A]):
    """A letter whose sender waits. Sender and receiver share this one object: the answer travels in it."""

    __slots__ = ("_asker", "_inbox", "packed", "reply")

    wants_answer = True
    packed: bytes
    reply: bytes | None
    _inbox: Inbox[L, A] | None
    _asker: Task | None

    def __init__(self, packed: bytes, inbox: Inbox[L, A], asker: Task) -> None:
        self.packed = packed
        self.reply = None
        self._inbox = inbox
        self._asker = asker

    def answer(self, answer: A) -> None:
        """Answer the asker: see Envelope.answer."""
        inbox = self._inbox
        if inbox is None:
            raise RuntimeError(f"a second answer to {self.letter!r}")
        asker = self._asker
        if asker is not None:
            self.reply = inbox.codec.pack_answer(answer)
            self._asker = None
            reschedule(asker, NOTHING)
        self._inbox = None
        if inbox.unanswered is not None:
            inbox.unanswered.discard(self)

    def fail(self) -> None:
        """Tell the asker that there will be no answer."""
        asker, self._asker = self._asker, None
        if asker is not None:
            reschedule(asker, NOTHING)

    def forget(self, _: RaiseCancelT) -> Abort:
        """Let the asker go: it was cancelled. The letter stays where it is, its answer will reach nobody."""
        self._asker = None
        return Abort.SUCCEEDED


class Inbox(Generic[L, A]):
    """An actor's mailbox. The actor receives from it, one task at a time; only refs put letters in."""

    __slots__ = (
        "_handed",
        "_high",
        "_later",
        "_post",
        "_receiver",
        "_soon",
        "_streak",
        "closed",
        "codec",
        "name",
        "owner",
        "unanswered",
    )

    def __init__(self, name: str, codec: LetterCodec[L, A], post: Post) -> None:
        self.name = name
        """Whose it is."""
        self.codec = codec
        self.closed = False
        """Whether the actor has ended: nothing put in now would ever be read."""
        self.owner: Task | None = None
        """The actor's own task, once it runs."""
        self.unanswered: set[Asked[L, A]] | None = None
        """Asks in the actor's hands; made with the first, since most idle actors never had one."""
        # Two stacks make a queue whose ends both cost nothing and which weighs a tenth of a deque: put onto _later, take
        # off _soon, turn one over into the other.
        self._later: list[bytes | Asked[L, A]] = []
        self._soon: list[bytes | Asked[L, A]] = []
        self._receiver: Task | None = None
        self._handed: bytes | Asked[L, A] | None = None
        """A letter on its way to the receiver that was woken for it."""
        self._post = post
        self._high = post.high_water
        self._streak = 0

    # ------------------------------------------------------------ for the actor

    async def receive(self) -> Envelope[L, A]:
        """Take the oldest letter, waiting for one if there is none. Cancelled: no letter was taken.

        Yields only when it waits, and once every few dozen letters. Raises WireError when the letter cannot be read (it is
        dropped then, and its asker told) and RuntimeError when another task is receiving or the actor has ended.
        """
        if not self._later and not self._soon:
            await wait_task_rescheduled(self._park())
            return self._open(self._handed_over())
        if self._out_of_breath():
            await checkpoint()
        soon = self._soon
        if not soon:
            soon = self._later
            if len(soon) > 1:
                soon.reverse()
                self._soon, self._later = soon, self._soon
        return self._open(soon.pop())

    async def drain(self) -> list[Envelope[L, A]]:
        """Take every letter there is, oldest first, waiting for one if there is none. Cancelled: no letter was taken."""
        if not self._later and not self._soon:
            await wait_task_rescheduled(self._park())
            self._soon.append(self._handed_over())
        elif self._out_of_breath():
            await checkpoint()
        return self.drain_nowait()

    def drain_nowait(self) -> list[Envelope[L, A]]:
        """Take every letter there is, oldest first; an empty list when there is none."""
        items = self._soon[::-1] + self._later if self._soon else self._later
        self._soon, self._later = [], []
        taken: list[Envelope[L, A]] = []
        try:
            for item in items:
                taken.append(self._open(item))  # noqa: PERF401 - what was opened before a bad one is not lost
        except BaseException:
            # The bad one is dropped; the others go back, so that whoever deals with the error may still serve them.
            del items[len(taken)]
            self._soon = items[::-1]
            raise
        return taken

    def _park(self) -> Callable[[RaiseCancelT], Abort]:
        """Put the current task down as the receiver, and give what takes it back."""
        if self.closed:
            raise RuntimeError(f"the mailbox of {self.name!r} is closed: the actor has ended")
        if self._receiver is not None:
            raise RuntimeError(f"two tasks receive from the mailbox of {self.name!r}")
        self._streak = 0
        self._receiver = current_task()
        return self._leave

    def _handed_over(self) -> bytes | Asked[L, A]:
        item, self._handed = self._handed, None
        if item is None:
            raise RuntimeError(f"the mailbox of {self.name!r} was closed: the actor has ended")
        return item

    def _leave(self, _: RaiseCancelT) -> Abort:
        self._receiver = None
        return Abort.SUCCEEDED

    def _out_of_breath(self) -> bool:
        self._streak = (self._streak + 1) % _BREATH
        return not self._streak

    def _open(self, item: bytes | Asked[L, A]) -> Envelope[L, A]:
        if not isinstance(item, Asked):
            return Envelope(self.codec.unpack_letter(item))
        try:
            item.letter = self.codec.unpack_letter(item.packed)
        except BaseException:
            item.fail()
            raise
        if self.unanswered is None:
            self.unanswered = set()
        self.unanswered.add(item)
        return item

    # ------------------------------------------------------------ for refs and the system

    def put(self, item: bytes | Asked[L, A]) -> None:
        """Put a letter in, or hand it to the receiver if it waits, which then has it whatever is cancelled."""
        receiver = self._receiver
        if receiver is not None:
            self._receiver = None
            self._handed = item
            reschedule(receiver, NOTHING)
            return
        later = self._later
        later.append(item)
        if len(later) == self._high:
            self._high = 0  # said once
            if self._post.on_high_water is not None:
                self._post.on_high_water(self.name, len(later))

    def refuse(self, letter: L) -> None:
        """Take note of a letter that came after the actor's end."""
        self._post.bury(self.name, letter)

    def close(self) -> None:
        """Take nothing any more, and tell everybody who waits for an answer that there will be none."""
        self.closed = True
        receiver, self._receiver = self._receiver, None
        if receiver is not None:  # a task the actor left behind
            reschedule(receiver, NOTHING)
        if self._later or self._soon or self._handed is not None:
            self._clear_out()
        if self.unanswered is not None:
            for asked in self.unanswered:
                asked.fail()
            self.unanswered = None

    def _clear_out(self) -> None:
        left = self._soon[::-1] + self._later
        if self._handed is not None:  # to a task the actor left behind
            left.insert(0, self._handed_over())
        self._soon, self._later = [], []
        for item in left:
            if isinstance(item, Asked):
                item.fail()
            self._bury(item.packed if isinstance(item, Asked) else item)

    def _bury(self, packed: bytes) -> None:
        letter: object = packed
        if self._post.on_dead_letter is not None:
            try:
                letter = self.codec.unpack_letter(packed)
            except Exception:  # noqa: BLE001 - then it is reported as the bytes it is
                letter = packed
        self._post.bury(self.name, letter)
