"""The planted faults of calls and of people, each made from the whole code that it spoils.

Law: as for ``simspoilt``: each takes what it replaces and gives what is put there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ggactors.protocol.values import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.actors.conversation import Conversation
    from ggactors.actors.floor import Floor
    from ggactors.actors.spending import Hold
    from ggactors.actors.traffic import Lane, Pass
    from ggactors.protocol.model import Usage


def kept_reservation(whole: Callable[[Hold, Usage | None], None]) -> Callable[[Hold, Usage | None], None]:
    """Forget to give back what was reserved for a call that came to nothing."""

    def settle(self: Hold, usage: Usage | None) -> None:
        if usage is not None:
            whole(self, usage)

    return settle


def blind_to_others(_: object) -> Callable[[object, object], bool]:
    """Admit a call without a look at those under way."""
    return lambda _ledger, _bound: True


def kept_place(_: object) -> Callable[[Lane, Pass], None]:
    """Leave the line without giving back the leave that was given meanwhile."""

    def withdraw(self: Lane, place: Pass) -> None:
        self._waiting.pop(place.since, None)

    return withdraw


def deaf_to_storms(_: object) -> Callable[[Lane, Pass, object], None]:
    """Take a fault for an answer."""

    def faulted(self: Lane, place: Pass, fault: object) -> None:
        self.answered(place)

    return faulted


def texts_lost(_: object) -> Callable[[Conversation, Any], None]:
    """Say that texts are delivered and show them to nobody."""

    def hand_over(self: Conversation, words: Any) -> None:
        for said in self.waiting:
            words(said)
        self.waiting.clear()

    return hand_over


def deaf_to_refusals(whole: Any) -> Any:
    """Carry out what was asked for, whatever the answer was."""

    async def refusal(self: Any, agent: Any, name: str, args: Any) -> None:
        answer = await whole(self, agent, name, args)
        assert answer is None or isinstance(answer, Refused)

    return refusal


def never_cut(_: object) -> Callable[[Floor], bool]:
    """Take an interrupt without cutting what is under way."""

    def interrupt(self: Floor) -> bool:
        self._cut = self.person and not self.idle and not self.over
        return self._cut

    return interrupt
