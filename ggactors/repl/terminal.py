"""The prompt on a real terminal: one thread with prompt_toolkit's loop, which alone reads and draws.

Law: one owner of the output (H52). Lines are printed above the prompt at most ``RATE`` times a second, in one write together
with the prompt, and the terminal stays in raw mode throughout, so nothing that is typed is echoed by anybody else, torn or
lost. However the block ends, the terminal is left as it was found.
"""

from __future__ import annotations

import asyncio
import io
import math
import os
import sys
import termios
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout, suppress
from functools import partial
from typing import TYPE_CHECKING, TextIO

import trio
from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.input import create_input
from prompt_toolkit.output.vt100 import Vt100_Output

from ggactors.repl.backlog import Backlog
from ggactors.repl.completing import is_completed
from ggactors.repl.face import CannotHere, Given, Leaving, Pressed, Typed
from ggactors.repl.keys import bindings
from ggactors.repl.looks import THEMES, style_of
from ggactors.repl.output import HeldOutput, leave_plain, reflow, size_of
from ggactors.telemetry.plaintext import Look, safe

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

    from prompt_toolkit.completion import Completer
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History

    from ggactors.repl.settings import Settings

RATE = 20
"""How often a second something is printed above the prompt."""
STORY, MOST = 12, 120
"""Lines of the story, and lines in all, printed at once: more could not be read, and a slow terminal would hold up the keys."""
MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} "
TURN_SECS = 0.0005
"""How long the other thread may compute before this one has its turn, while there is a prompt."""
_EDITING = {"emacs": EditingMode.EMACS, "vi": EditingMode.VI}


class TerminalFace:
    """A face on this process's terminal."""

    scripted = False

    def __init__(self, *, settings: Settings, history: History, completer: Completer, colour: bool) -> None:
        self.busy = False
        self.bar: tuple[tuple[str, str], ...] = ()
        self._settings, self._history, self._completer = settings, history, completer
        self._colour = colour
        self._out: TextIO = sys.stdout
        self._backlog = Backlog()
        self._stirred = False
        self._measure()
        self._send: trio.MemorySendChannel[Given] | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._work: Callable[[], Awaitable[None]] | None = None
        self._worked: tuple[trio.Event, list[BaseException]] | None = None
        self._working: asyncio.Future[None] | None = None

    # ------------------------------------------------------------ from trio's thread

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[trio.MemoryReceiveChannel[Given]]:
        """Own the terminal for as long as the block lasts."""
        self._send, receive = trio.open_memory_channel[Given](math.inf)
        self._token = trio.lowlevel.current_trio_token()
        self._loop = asyncio.new_event_loop()
        stopping = asyncio.Event()
        into, out = sys.stdin.fileno(), sys.stdout.fileno()
        found, turns = termios.tcgetattr(into), sys.getswitchinterval()
        # A key passes through several system calls, and after each the thread waits for its turn.
        sys.setswitchinterval(min(turns, TURN_SECS))
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._host, stopping)
                try:
                    with redirect_stdout(_Lines(self)), redirect_stderr(_Lines(self)):
                        yield receive
                finally:
                    self._call(stopping.set)
        finally:
            sys.setswitchinterval(turns)
            leave_plain(out)
            with suppress(termios.error, OSError):
                termios.tcsetattr(into, termios.TCSANOW, found)

    def look(self) -> Look:
        """Say how wide lines may be: one column less than there are, so that no terminal wraps by itself."""
        return self._look

    def _measure(self) -> None:
        width = size_of(self._out.fileno()).columns
        self._look = Look(width=max(1, width - 1), colour=self._colour and self._settings.theme != "plain")

    def show(self, lines: Iterable[str], *, kept: bool = True) -> None:
        """Show lines above the prompt, soon. Any thread may call it."""
        self._backlog.put(lines, kept=kept)
        self._stir()

    def refresh(self) -> None:
        """Draw the bar anew, soon."""
        self._stir()

    def resized(self) -> None:
        """Draw everything for the new size."""
        self._measure()
        self._call(self._redraw_resized)

    def put_back(self, text: str) -> None:
        """Put a text into the line, before what stands there."""
        self._call(lambda: self._insert(text))

    def setting(self, name: str, value: str) -> str | None:
        """Change the editing mode or the theme, and keep it; say what went wrong with keeping it. Raises CannotHere."""
        allowed = {"editing": tuple(_EDITING), "theme": THEMES}.get(name)
        if allowed is None or value not in allowed:
            raise CannotHere(f"{name} is one of {', '.join(allowed or ())}")
        wrong = self._settings.keep(name, value)
        self._call(lambda: self._apply(name, value))
        return wrong

    async def instead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run an asyncio function on the terminal in place of the prompt. Cancelled: it is cancelled too, and waited for."""
        done, errors = trio.Event(), list[BaseException]()
        self._worked = (done, errors)

        def begin() -> None:
            if self._app.is_running:
                self._work = work
                self._app.exit(result="")
            else:
                self._worked_off()

        self._call(begin)
        try:
            await done.wait()
        except BaseException:
            self._call(self._stop_work)
            with trio.CancelScope(shield=True):
                await done.wait()
            raise
        for error in errors:
            raise error

    async def _host(self, stopping: asyncio.Event) -> None:
        # Not to be cancelled: the thread ends by itself once it is told to, and must have ended before the terminal is restored.
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._thread, stopping)

    # ------------------------------------------------------------ to the other thread

    def _call(self, work: Callable[[], object]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(work)

    def _stir(self) -> None:
        if not self._stirred:
            self._stirred = True
            self._call(self._news.set)

    def _post(self, given: Given) -> None:
        """Hand to trio's thread what the person did."""
        if self._token is not None and self._send is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._send.send_nowait, given)

    # ------------------------------------------------------------ in the other thread

    def _thread(self, stopping: asyncio.Event) -> None:
        loop = self._loop
        assert loop is not None
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(self._serve(stopping))

    async def _serve(self, stopping: asyncio.Event) -> None:
        """Prompt until told to stop, printing above the prompt. An input that ends leaves."""
        session = self._session = self._new_session()
        self._app = session.app
        self._app.terminal_size_polling_interval = None  # the signal tells, and only ``reflow`` knows what it means
        self._news.set()  # what was shown before there was a prompt
        with self._input.raw_mode():
            prompting = asyncio.create_task(self._prompt(session))
            printing = asyncio.create_task(self._print())
            told = asyncio.create_task(stopping.wait())
            try:
                await asyncio.wait((prompting, printing, told), return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (prompting, printing, told):
                    task.cancel()
                ended = await asyncio.gather(  # noqa: ASYNC102 - asyncio: all three are cancelled
                    prompting, printing, told, return_exceptions=True
                )
                with suppress(OSError):
                    self._output.write_raw("".join(f"{line}\r\n" for line in self._rest()))
                    self._output.released()
            for error in ended:
                if isinstance(error, Exception):
                    raise error

    def _new_session(self) -> PromptSession[str]:
        self._output = HeldOutput.on(self._out, term=os.environ.get("TERM"))
        self._input = create_input(sys.stdin)
        session: PromptSession[str] = PromptSession(
            message=[("class:mark", MARK)],
            prompt_continuation=lambda _width, _line, wraps: [("class:more", "  " if wraps else "· ")],
            multiline=True,
            history=self._history,
            completer=self._completer,
            complete_while_typing=Condition(self._offers),
            bottom_toolbar=self._bar,
            style=style_of(self._settings.theme),
            editing_mode=_EDITING[self._settings.editing],
            key_bindings=bindings(self),
            reserve_space_for_menu=7,
            erase_when_done=True,
            enable_open_in_editor=True,
            tempfile_suffix=".md",
            input=self._input,
            output=self._output,
        )
        return session

    async def _prompt(self, session: PromptSession[str]) -> None:
        text, at = "", 0
        while True:
            try:
                await session.prompt_async(
                    default=text,
                    pre_run=partial(self._place_cursor, at),
                    handle_sigint=False,
                    set_exception_handler=False,
                )
            except EOFError:
                self._post(Leaving(gone=True))
                return
            buffer = session.default_buffer
            text, at = buffer.text, buffer.cursor_position
            await self._do_work()

    def _offers(self) -> bool:
        """Tell whether what is typed is offered more of by itself; room for it is made below the line only then."""
        return is_completed(self._session.default_buffer.document.text_before_cursor)

    def _place_cursor(self, at: int) -> None:
        self._session.default_buffer.cursor_position = at

    async def _do_work(self) -> None:
        """Do what is to be done in place of the prompt, and tell how it ended."""
        work, self._work = self._work, None
        if work is None or self._worked is None:
            self._worked_off()  # it was called off before it began
            return
        errors = self._worked[1]
        # What is drawn there has the terminal to itself: neither our streams nor our way of drawing.
        plain = Vt100_Output.from_pty(self._out, term=os.environ.get("TERM"))
        with create_app_session(input=self._input, output=plain):
            self._working = asyncio.ensure_future(work())
        try:
            await self._working
        except asyncio.CancelledError:  # noqa: ASYNC103 - its own work was called off, not this task
            task = asyncio.current_task()
            if not self._working.cancelled() or (task is not None and task.cancelling()):
                raise
        except Exception as error:  # noqa: BLE001 - it is told where the work was ordered
            errors.append(error)
        finally:
            self._worked_off()

    def _worked_off(self) -> None:
        if self._token is not None and self._worked is not None:
            with suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._worked[0].set)

    def _stop_work(self) -> None:
        self._work = None
        if self._working is not None:
            self._working.cancel()

    async def _print(self) -> None:
        """Print what waits, then rest, again and again."""
        while True:
            await self._news.wait()
            self._news.clear()
            self._stirred = False
            self._measure()
            if self._app.is_running and not self._app._running_in_terminal:
                self._draw(self._backlog.take(story=STORY, most=MOST))
            if self._backlog:
                self._news.set()
            await asyncio.sleep(1 / RATE)

    def _draw(self, lines: list[str]) -> None:
        """Print lines above the prompt, and the prompt, in one write."""
        with self._output.held():
            if reflow(self._app.renderer) or lines:
                self._app.renderer.erase()
                self._output.write_raw("".join(f"{line}\r\n" for line in lines))
            self._app._redraw()  # at once: ``invalidate`` would draw it in a write of its own

    def _rest(self) -> Iterator[str]:
        while self._backlog:
            yield from self._backlog.take(story=STORY, most=MOST)

    def _redraw_resized(self) -> None:
        if self._app.is_running:
            with self._output.held():
                reflow(self._app.renderer)
                self._app._on_resize()  # what prompt_toolkit does on the signal, which only the main thread gets

    def _insert(self, text: str) -> None:
        buffer = self._session.default_buffer
        typed = buffer.text
        buffer.text = f"{text}\n{typed}" if typed else text
        buffer.cursor_position = len(buffer.text)

    def _apply(self, name: str, value: str) -> None:
        if name == "editing":
            self._session.editing_mode = _EDITING[value]
        else:
            self._session.style = style_of(value)

    def _bar(self) -> StyleAndTextTuples:
        return [("class:bar", " "), *self.bar]

    # ------------------------------------------------------------ what the keys do

    def enter(self, text: str) -> None:
        """Take what was typed: shown above the prompt as it stood, and handed on."""
        mark, more = ("\x1b[36;1m", "\x1b[0m") if self.look().colour else ("", "")
        first, *others = safe(text).split("\n")
        self._backlog.put([f"{mark}{MARK}{more}{first}", *(f"  {line}" for line in others)], kept=True)
        self._stir()
        self._post(Typed(text))

    def press(self) -> None:
        """Take a Ctrl-C."""
        self._post(Pressed())

    def leave(self) -> None:
        """Take a Ctrl-D on an empty line."""
        self._post(Leaving())

    def remark(self, text: str) -> None:
        """Say what a key does not do."""
        self.show([text])


class _Lines(io.TextIOBase):
    """Takes what is written to a standard stream while the prompt has the terminal, and shows it as lines."""

    def __init__(self, face: TerminalFace) -> None:
        self._face, self._begun = face, ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *whole, self._begun = (self._begun + text).split("\n")
        if whole:
            self._face.show([safe(line) for line in whole])
        return len(text)

    def flush(self) -> None:
        return
