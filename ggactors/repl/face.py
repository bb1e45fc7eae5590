"""What the conversation needs of a terminal, whichever kind it is. Law: records in, lines out; nothing here waits for a person.

Two faces obey it: ``terminal`` (prompt_toolkit, on a real terminal) and ``plain`` (lines, where there is none or a dumb one).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from contextlib import AbstractAsyncContextManager

    import trio

    from ggactors.telemetry.plaintext import Look


@frozen
class Typed:
    """A line, or several, that the person handed in."""

    text: str


@frozen
class Pressed:
    """Ctrl-C."""


@frozen
class Leaving:
    """Ctrl-D on an empty line, or the end of what is piped in. ``gone``: nobody can be asked any more."""

    gone: bool = False


Given = Typed | Pressed | Leaving


@frozen(kw_only=True)
class Known:
    """What the face may offer while a command is typed: names, as they stand now."""

    agents: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


class CannotHere(Exception):  # noqa: N818 - said to the person
    """This face cannot do what was asked; the message says why."""


class Face(Protocol):
    """A terminal as the conversation sees it."""

    scripted: bool
    """Whether lines come from a file or a pipe: each then waits for what the one before it began."""
    busy: bool
    """Whether Ctrl-C has something to stop; set by the conversation."""
    bar: tuple[tuple[str, str], ...]
    """The bottom bar as ``(style, text)`` pieces, set by the conversation; ``refresh`` shows it."""

    def opened(self) -> AbstractAsyncContextManager[trio.MemoryReceiveChannel[Given]]:
        """Own the terminal for as long as the block lasts, and give what the person does. It is left as it was found."""

    def look(self) -> Look:
        """Say how wide lines may be now, and whether colours are wanted."""

    def show(self, lines: Iterable[str], *, kept: bool = True) -> None:
        """Show lines above the prompt. ``kept`` ones are never left out, however fast others come."""

    def refresh(self) -> None:
        """Draw the bar anew, soon."""

    def resized(self) -> None:
        """Take note that the terminal has another size."""

    def put_back(self, text: str) -> None:
        """Put a text into the line, before what stands there."""

    def setting(self, name: str, value: str) -> str | None:
        """Change ``editing`` or ``theme``, and keep that; say what went wrong with keeping it. Raises CannotHere."""

    async def instead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Give the terminal to ``work``, an asyncio function, in place of the prompt. Raises CannotHere. Line and history stay."""
