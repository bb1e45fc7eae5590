"""The conversation: what a person types meets the run, and the run's story meets the screen.

Law: every line that is typed has an answer or an effect, in order; Ctrl-C is heard at once, whatever a command waits for. Plain
text belongs to the root: it begins a run where there is none, and is never lost (G7, H46).
"""

from __future__ import annotations

import math
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, assert_never

import trio

from ggactors.protocol.attention import AttentionKind
from ggactors.repl.acts import Acts
from ggactors.repl.bar import Standing, bar_pieces
from ggactors.repl.commands import Order, Say, Unknown, read_line
from ggactors.repl.face import Given, Known, Leaving, Pressed, Typed
from ggactors.repl.live import Live
from ggactors.repl.looking import tell_end
from ggactors.repl.told import ROOT, number_of
from ggactors.telemetry.plaintext import one_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from ggactors.protocol.events import Event
    from ggactors.repl.face import Face
    from ggactors.repl.opening import Opening

AGAIN_SECS = 3.0
"""Within this time a second Ctrl-C is meant as one."""
BAR_SECS = 0.2
WAITED_FOR = (AttentionKind.APPROVAL, AttentionKind.QUESTION)
"""What somebody waits for an answer to."""
CANCELLED = 130
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGWINCH"))


class Session:
    """One prompt, from its opening to its end."""

    def __init__(self, opening: Opening, face: Face, *, sink: Callable[[Event], None] | None = None) -> None:
        self.opening, self.face = opening, face
        self.live: Live | None = None
        """The run that lives; None between runs."""
        self.last: Live | None = None
        """The last run that ended."""
        self.code = 0
        self.listeners: list[Callable[[Event], None]] = [] if sink is None else [sink]
        """Called with every event of every run."""
        self._acts = Acts(self)
        self._over = trio.Event()
        self._pressed_at = -math.inf
        self._asked_to_leave = False
        self._leaving = False
        self._gone = False
        self._asked = trio.Event()
        self._dirty = trio.Event()
        self._nursery: trio.Nursery | None = None

    # ------------------------------------------------------------ life

    async def converse(self) -> int:
        """Talk until the person leaves. Give the exit code. Cancelled: the run is stopped at once, the terminal restored."""
        async with self.face.opened() as given:
            self._greet()
            lines, todo = trio.open_memory_channel[str | None](math.inf)
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._heed_signals)
                nursery.start_soon(self._keep_bar)
                nursery.start_soon(self._work_off, todo)
                nursery.start_soon(self._listen, given, lines)
                self.stir()
                if self.opening.tasks:
                    self.begin(self.opening.tasks[0], interactive=True)
                await self._over.wait()
                nursery.cancel_scope.cancel()
        return self.code

    async def _listen(self, given: AsyncIterator[Given], lines: trio.MemorySendChannel[str | None]) -> None:
        """Take what the person does: keys at once, lines in order behind each other."""
        async for one in given:
            match one:
                case Typed(text=text):
                    self._pressed_at = -math.inf
                    lines.send_nowait(text)
                case Pressed():
                    self.interrupt()
                case Leaving(gone=True):
                    lines.send_nowait(None)
                case Leaving():
                    await self.leave()
                case _ as never:
                    assert_never(never)

    async def _work_off(self, todo: trio.MemoryReceiveChannel[str | None]) -> None:
        async for text in todo:
            if text is None:
                await self._close_quietly()
                return
            await self._take(text)
            if self.face.scripted:
                await self._settled()

    async def _take(self, text: str) -> None:
        """Do what a line says."""
        line = read_line(text)
        if not (isinstance(line, Order) and line.name == "quit"):
            self._asked_to_leave = False
        match line:
            case Say(text=""):
                self._acts.go_on()
            case Say(text=said):
                await self._say(said)
            case Order(name=name, rest=rest):
                try:
                    await self._acts.carry_out(name, rest)
                except OSError as error:
                    self.tell(f"/{name} failed: {one_line(str(error))}", style="red")
            case Unknown(name=name, near=near):
                hint = f"; did you mean {' or '.join(f'/{one}' for one in near)}?" if near else "."
                self.tell(f"There is no /{name}{hint} /help lists what there is.")
            case _ as never:
                assert_never(never)

    async def _settled(self) -> None:
        """Wait until the person has the floor or is asked, or no run lives: what a script does between its lines."""
        live = self.live
        if live is None:
            return
        await live.began.wait()
        async with trio.open_nursery() as nursery:

            async def first(wait: Callable[[Live], Awaitable[None]]) -> None:
                await wait(live)
                nursery.cancel_scope.cancel()

            for wait in (self._until_spoken, self._until_asked, lambda live: live.gone.wait()):
                nursery.start_soon(first, wait)

    async def _until_spoken(self, live: Live) -> None:
        if live.run is None or not (live.interactive and await live.run.persons_turn()):
            await live.gone.wait()

    async def _until_asked(self, live: Live) -> None:
        """Wait until somebody waits for an answer that a script's next line may give."""
        while live.run is None or not any(item.kind in WAITED_FOR for item in live.run.attention()):
            await self._asked.wait()

    # ------------------------------------------------------------ runs

    def begin(self, task: str, *, interactive: bool) -> Live:
        """Launch a run and let it go on beside the conversation."""
        assert self._nursery is not None
        live = self.live = Live(interactive=interactive, verbose=self.opening.verbose)
        self.face.busy = True  # at once: the bar is composed a little later, and a Ctrl-C may come before
        self._nursery.start_soon(self._drive, live, task)
        self.stir()
        return live

    async def _drive(self, live: Live, task: str) -> None:
        try:
            await live.drive(self.opening, task, heard=self._hear, note=lambda text: self.tell(text, style="dim"))
        finally:
            if self.live is live:
                self.live = None
            self.last = live
            tell_end(self, live)
            self.stir()
        if self.opening.once or self._leaving:
            if live.outcome is not None:
                self.code = live.outcome.exit_code if self.opening.once else 0
            elif live.problems:
                self.code = 2
            else:
                self.code = CANCELLED
            self._over.set()

    def _hear(self, live: Live, event: Event) -> None:
        """Show an event, and hand it on."""
        if event.type == "attention":
            self._asked.set()
            self._asked = trio.Event()
            if self._gone:
                self._settle_alone(live)
        lines = live.telling.lines(event, self.face.look())
        if lines:
            urgent = event.type in ("attention", "task_ended") or (
                event.type == "assistant_message" and event.agent == ROOT
            )
            self.face.show(lines, kept=urgent)
        for listener in self.listeners:
            listener(event)
        self.stir()

    async def _say(self, text: str) -> None:
        """Hand plain text to the root, which is made for it where there is none."""
        live = self.live
        if live is None:
            self.begin(text, interactive=True)
            return
        await live.began.wait()
        if live.run is None:
            self.begin(text, interactive=True)
            return
        busy = not live.persons_turn
        receipt = live.run.send(ROOT, text)
        if receipt.accepted:
            live.last_sent = receipt.id
            if busy and not self.face.scripted:
                self.tell("It is read at the root's next turn.", style="dim")
            return
        others = live.others()
        if others:
            at_work = f"{others} agent{'s are' if others > 1 else ' is'} still at work"
            self.tell(f"The root has ended, and {at_work}; /say AGENT TEXT reaches them. /cancel ends the run.")
            return
        await self.until_ended(live)
        self.begin(text, interactive=True)

    async def until_ended(self, live: Live) -> None:
        """Wait until a run is over and told of."""
        await live.gone.wait()
        while self.live is live:
            await trio.lowlevel.checkpoint()

    # ------------------------------------------------------------ stopping and leaving

    def interrupt(self) -> None:
        """Take a Ctrl-C: first the turn, then the run, then at once (H45)."""
        live, now = self.live, trio.current_time()
        again, self._pressed_at = now - self._pressed_at < AGAIN_SECS, now
        if live is None:
            self.tell("Nothing runs. Ctrl-D or /quit leaves.", style="dim")
        elif live.run is None or live.stopping:
            self.stop_at_once(live)
        elif again:
            self.cancel(live)
        elif live.run.interrupt().accepted:
            waiting = len(live.run.pending())
            kept = f" {waiting} of your texts wait: Enter sends them, /unsay takes one back." if waiting else ""
            self.tell(f"Interrupted; Ctrl-C again cancels the run.{kept}", style="yellow")
        else:
            others = live.others()
            at_work = f"; {others} agents are at work" if others else ""
            self.tell(f"No turn of yours is under way{at_work}. Ctrl-C again cancels the run.", style="yellow")

    def cancel(self, live: Live) -> None:
        """Ask the run to stop."""
        if live.run is not None:
            live.stopping = True
            live.run.cancel()
            self.tell("Cancelling the run at its agents' turn boundaries; Ctrl-C again stops at once.", style="yellow")
            self.stir()

    def stop_at_once(self, live: Live) -> None:
        """Stop the run where it stands."""
        live.stopping = True
        live.at_once.cancel()
        self.tell("Stopping at once.", style="yellow")

    async def leave(self) -> None:
        """Leave; where that would stop work, only when it is asked for twice."""
        live = self.live
        if live is None:
            self._over.set()
            return
        if live.run is not None and live.resting():
            self._leaving = True
            live.run.close()
            return
        if self._asked_to_leave:
            self._leaving = True
            if live.run is None or live.stopping:
                self.stop_at_once(live)
            else:
                self.cancel(live)
            return
        self._asked_to_leave = True
        what = "The run is being launched" if live.run is None else f"Run {live.run.id} lives"
        self.tell(f"{what}. Ctrl-D or /quit again stops it and leaves; anything else stays.", style="yellow")

    async def _close_quietly(self) -> None:
        """Leave at the end of the input: once what was begun has come to its end."""
        self._leaving = self._gone = True
        live = self.live
        if live is None:
            self._over.set()
            return
        await live.began.wait()
        if live.run is not None:
            self._settle_alone(live)
            if live.interactive:
                live.run.close()

    def _settle_alone(self, live: Live) -> None:
        """Give what would wait for ever its default: nobody is there to answer."""
        run = live.run
        for item in () if run is None else run.attention():
            if run is not None and item.deadline_secs is None and item.kind in WAITED_FOR:
                choice = item.default if item.default in (item.options or (item.default,)) else item.options[-1]
                run.answer(item.id, choice, "nobody is at the prompt")

    async def _heed_signals(self) -> None:
        wanted = [one for one in SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]
        with trio.open_signal_receiver(*wanted) as signals:
            async for number in signals:
                if number == signal.SIGWINCH:
                    self.face.resized()
                elif number == signal.SIGINT:
                    self.interrupt()
                else:
                    self.code = CANCELLED
                    self._leaving = True
                    if self.live is None:
                        self._over.set()
                    else:
                        self.live.at_once.cancel()

    # ------------------------------------------------------------ showing

    def tell(self, *lines: str, style: str = "") -> None:
        """Show lines that answer the person."""
        look = self.face.look()
        self.face.show([look.paint(line, style) for text in lines for line in text.split("\n")])

    def stir(self) -> None:
        """Have the bar composed anew."""
        self._dirty.set()

    async def _keep_bar(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty = trio.Event()
            self._compose_bar()
            await trio.sleep(BAR_SECS)

    def _compose_bar(self) -> None:
        live = self.live
        self.face.busy = live is not None
        crew = self.opening.reading.crew
        phase, style = self._phase(live)
        standing = Standing(
            crew=crew.name if crew is not None else "?",
            slots=crew.limits.max_parallel if crew is not None else 0,
            phase=phase,
            style=style,
            waiting=len(live.run.attention()) if live is not None and live.run is not None else 0,
            unread=len(live.run.pending()) if live is not None and live.run is not None else 0,
        )
        self.face.bar = bar_pieces(live.view if live is not None else None, standing)
        self.face.refresh()

    def _phase(self, live: Live | None) -> tuple[str, str]:
        if live is None:
            return "ready", "good"
        if live.run is None:
            return "launching", "strong"
        if live.stopping:
            return "stopping", "warn"
        if live.paused:
            return "paused", "warn"
        if live.persons_turn:
            return "your turn", "good"
        return "working", "strong"

    def known(self) -> Known:
        """Name what may be typed now. Called from the face's thread: it copies, and holds nothing."""
        live = self.live or self.last
        crew = self.opening.reading.crew
        models = tuple(spec.key for spec in crew.models) if crew is not None else ()
        if live is None:
            return Known(models=models)
        with suppress(RuntimeError):
            agents = [agent.id for agent in list(live.view.agents_by_id.values()) if agent.state != "ended"]
            waiting = live.run.attention() if live.run is not None and live is self.live else ()
            return Known(
                agents=tuple(agents),
                issues=tuple(live.view.issues),
                waiting=tuple(number_of(item.id) for item in waiting),
                models=models,
            )
        return Known(models=models)

    def _greet(self) -> None:
        crew = self.opening.reading.crew
        if crew is None:
            return
        look = self.face.look()
        members = ", ".join(profile.id for profile in crew.profiles)
        self.face.show(
            [
                f"{look.paint('ggactors', 'bold')}  {crew.name}: {members}",
                look.paint("Say what you want. /help lists the commands; Ctrl-C cuts a turn, Ctrl-D leaves.", "dim"),
            ]
        )
