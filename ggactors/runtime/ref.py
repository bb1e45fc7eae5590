"""Refs: the only hold anybody has on an actor from outside. Law: tell never blocks, ask always ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from trio.lowlevel import current_task, wait_task_rescheduled

from ggactors.runtime.mailbox import ActorGone, Asked

if TYPE_CHECKING:
    from ggactors.runtime.mailbox import Inbox

L_contra = TypeVar("L_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)


class Ref(Generic[L_contra, A_co]):
    """An actor as others know it: a name, and a mailbox to put letters in."""

    __slots__ = ("_inbox", "_pack")

    def __init__(self, inbox: Inbox[L_contra, A_co]) -> None:
        self._inbox = inbox
        self._pack = inbox.codec.pack_letter

    def __repr__(self) -> str:
        return f"<Ref {self.name}{'' if self.alive else ' (gone)'}>"

    @property
    def name(self) -> str:
        """Name the actor."""
        return self._inbox.name

    @property
    def alive(self) -> bool:
        """Tell whether the actor still takes letters."""
        return not self._inbox.closed

    def tell(self, letter: L_contra) -> bool:
        """Put a letter into the actor's mailbox; never blocks. False: the actor is gone, the letter is a dead one.

        Raises WireError when the letter cannot be packed.
        """
        inbox = self._inbox
        if inbox.closed:
            inbox.refuse(letter)
            return False
        inbox.put(self._pack(letter))
        return True

    async def ask(self, letter: L_contra) -> A_co:
        """Put a letter into the actor's mailbox and wait for its answer.

        Raises ActorGone when the actor has ended or ends without answering, WireError when a side cannot be packed or read,
        RuntimeError when an actor asks itself, which would wait for ever. Cancelled: the letter may have been delivered and
        be acted on; its answer is dropped.
        """
        inbox = self._inbox
        if inbox.closed:
            inbox.refuse(letter)
            raise ActorGone(inbox.name)
        task = current_task()
        if task is inbox.owner:
            raise RuntimeError(f"actor {inbox.name!r} asks itself and would wait for ever")
        asked = Asked(self._pack(letter), inbox, task)
        inbox.put(asked)
        await wait_task_rescheduled(asked.forget)
        if asked.reply is None:
            raise ActorGone(inbox.name)
        return inbox.codec.unpack_answer(asked.reply)
