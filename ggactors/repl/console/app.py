"""The console on a terminal: prompt_toolkit draws the screen, an asyncio task folds what comes.

Law: the terminal is left as it was found, however the console ends; leaving it does nothing to the run. Folding and drawing
take turns in pieces of a few milliseconds, so a key never waits for a flood of events.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.layout import Layout
from prompt_toolkit.styles import Style

from ggactors.repl.console.canvas import Canvas
from ggactors.repl.console.diffs import Diffs
from ggactors.repl.console.keys import Hand, bindings
from ggactors.repl.console.painting import LOOKS
from ggactors.repl.console.screen import Screen
from ggactors.repl.console.state import Looking
from ggactors.telemetry.watchfold import WatchFold

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from ggactors.app.diffing import IssueDiff
    from ggactors.repl.console.sources import Source
    from ggactors.telemetry.folds import IssueView

BATCH = 150
"""Events folded in one piece: about three milliseconds."""
LONG_BATCH = 400
"""The same while a long file is read that was there before: a key may wait a little longer then."""
MOSTLY = 0.98
"""How much of a file has to be read until it is no longer called so; and how often it is drawn until then."""
CATCHING_UP_SECS = 0.25
POLL_SECS = 0.05
FRAME_SECS = 1 / 32
DRAWING_SHARE = 3
"""A frame that takes long is drawn so seldom that all but this part of the time goes to everything else: one in three."""
ESCAPE_SECS = 0.05


class Console:
    """A console over one source. ``run`` shows it until the person leaves."""

    def __init__(
        self,
        source: Source,
        *,
        slots: int = 0,
        diff: Callable[[IssueView], IssueDiff] | None = None,
        looking: Looking | None = None,
        alone: bool = False,
        input: Input | None = None,  # noqa: A002 - prompt_toolkit's word
        output: Output | None = None,
    ) -> None:
        """Make a console. ``slots``: how many agents may run at once; ``diff``: works out an issue's diff, blocking;
        ``alone``: the process does nothing else, so Ctrl-Z may stop it.
        """
        self.fold = WatchFold()
        self.source = source
        self.diffs = Diffs(diff) if diff is not None else None
        self.screen = Screen(self.fold, looking or Looking(), slots=slots, diffs=self.diffs)
        self.hand = Hand(self.screen, self.leave)
        self.frames = 0
        self.cost = 0.0
        """Seconds that the last frame took, from layout to written, and (``cpu``) how much of it this thread worked."""
        self.cpu = 0.0
        self._drawn = 0.0
        self._began = self._worked = 0.0
        self.app: Application[None] = Application(
            layout=Layout(Canvas(self.screen.draw, self.hand.mouse)),
            key_bindings=bindings(self.hand, alone=alone),
            style=Style.from_dict(LOOKS),
            full_screen=True,
            mouse_support=True,
            max_render_postpone_time=0,
            input=input,
            output=output,
            before_render=self._before,
            after_render=self._after,
        )
        self.app.ttimeoutlen = self.app.timeoutlen = ESCAPE_SECS

    def leave(self) -> None:
        """Close the console. Doing it twice is fine."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def looking_at(self) -> tuple[str, int]:
        """Say which row is chosen, on which tab."""
        return self.screen.looking.tab, self.screen.looking.list.at

    def drawn_at(self) -> float:
        """Say when the last frame was written, by the performance counter, in seconds."""
        return self._drawn

    async def run(self) -> None:
        """Show until the person leaves or the terminal is gone. Raises what reading the source raises.

        Cancelled: the terminal is as before.
        """
        tasks = [asyncio.ensure_future(self._fold_on())]
        if self.diffs is not None:
            tasks.append(asyncio.ensure_future(self.diffs.serve(self.app.invalidate)))
        for task in tasks:
            task.add_done_callback(lambda _: self.leave())  # they end only by a fault
        try:
            with suppress(EOFError):
                await self.app.run_async(set_exception_handler=False)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            self.source.close()
        for error in ended:
            if isinstance(error, Exception):
                raise error

    async def _fold_on(self) -> None:
        """Fold what comes, in pieces; have it drawn, at most so many times a second."""
        stale = alive = True
        catching_up = False
        while True:
            events = self.source.take(LONG_BATCH if catching_up else BATCH)
            for event in events:
                self.fold.take(event)
            now_alive = self.source.alive()
            stale = stale or bool(events) or now_alive is not alive
            alive = self.screen.alive = now_alive
            read = self.source.progress()
            catching_up = bool(events) and read < MOSTLY
            self.screen.note = f"reading … {read:.0%}" if catching_up else ""
            pause = max(CATCHING_UP_SECS if catching_up and self.frames > 1 else FRAME_SECS, self.cpu * DRAWING_SHARE)
            if stale and time.perf_counter() - self._began >= pause:
                stale = False
                self.app.invalidate()
            await asyncio.sleep(0 if events else FRAME_SECS / 4 if stale else POLL_SECS)

    def _before(self, _: object) -> None:
        self._began, self._worked = time.perf_counter(), time.thread_time()

    def _after(self, _: object) -> None:
        self.frames += 1
        self._drawn = time.perf_counter()
        self.cost, self.cpu = self._drawn - self._began, time.thread_time() - self._worked
