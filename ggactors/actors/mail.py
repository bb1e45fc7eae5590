"""What became of every text that was sent to an agent: queued, delivered to its model, withdrawn, or never read (H46).

Law: a text that was accepted has exactly one fate, and each change of it is an event. What is delivered or withdrawn is never
delivered again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from ggactors.protocol.agent import Say
from ggactors.protocol.events import Message
from ggactors.protocol.values import MessageState

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.protocol.events import Event


@define(kw_only=True)
class Posted:
    """One text on its way. ``queued`` marks a prompt that waits until the work under way is done."""

    id: str
    agent: str
    text: str
    sender: str
    queued: bool = False
    state: MessageState = MessageState.QUEUED


@define(kw_only=True)
class Mail:
    """The run's post office. Texts that have met their fate are forgotten here; whoever holds their ``Posted`` still sees it."""

    emit: Callable[[Event], None]
    _on_the_way: dict[str, Posted] = field(factory=dict)
    _deaf: set[str] = field(factory=set)
    """The agents that read nothing any more."""
    _count: int = 0

    def reads(self, agent: str) -> bool:
        """Tell whether an agent still comes to read what is sent to it."""
        return agent not in self._deaf

    def ends(self, agent: str) -> None:
        """Take note that an agent is about to tell what it leaves unread; nothing is accepted for it from now on."""
        self._deaf.add(agent)

    def post(self, agent: str, text: str, sender: str, *, queued: bool = False) -> tuple[Posted, Say]:
        """Take a text in for an agent; answer its record and the letter that carries it."""
        self._count += 1
        posted = Posted(id=f"m{self._count}", agent=agent, text=text, sender=sender, queued=queued)
        self._on_the_way[posted.id] = posted
        self._tell(posted)
        return posted, Say(text=text, sender=sender, id=posted.id, queued=queued)

    def pending(self, agent: str) -> tuple[Posted, ...]:
        """List what an agent's model has not been shown yet, in the order it was sent."""
        return tuple(posted for posted in self._on_the_way.values() if posted.agent == agent)

    def is_wanted(self, said: Say) -> bool:
        """Tell whether a letter is still to be delivered: it was not withdrawn."""
        return not said.id or said.id in self._on_the_way

    def deliver(self, said: Say) -> bool:
        """Take note that the model is shown a text from now on; False when it was withdrawn meanwhile."""
        return self._settle(said.id, MessageState.DELIVERED) or not said.id

    def withdraw(self, message: str) -> bool:
        """Take a text back that was not delivered yet. Tell whether that came in time."""
        return self._settle(message, MessageState.WITHDRAWN)

    def unread(self, said: Say) -> bool:
        """Take note that an agent ended without reading a text; False when it was withdrawn."""
        return self._settle(said.id, MessageState.UNREAD) or not said.id

    def close(self) -> None:
        """Take note that nobody reads any more: the run was cut off."""
        for message in tuple(self._on_the_way):
            self._settle(message, MessageState.UNREAD)

    def _settle(self, message: str, state: MessageState) -> bool:
        posted = self._on_the_way.pop(message, None)
        if posted is None:
            return False
        posted.state = state
        self._tell(posted)
        return True

    def _tell(self, posted: Posted) -> None:
        self.emit(
            Message(
                agent=posted.agent,
                message=posted.id,
                state=posted.state,
                sender=posted.sender,
                queued=posted.queued,
                text=posted.text,
            )
        )
