"""What each command does. Law: the real thing, or a line that says why it cannot be now and what to do instead.

Steering the run is here; looking at it is in ``looking``, work in git and files in ``keeping``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ggactors.protocol.attention import ALWAYS, APPROVE, REFUSE, AttentionKind
from ggactors.repl import keeping, looking
from ggactors.repl.commands import help_lines
from ggactors.repl.face import CannotHere
from ggactors.repl.settings import CHOICES
from ggactors.repl.told import ROOT, item_lines, number_of
from ggactors.telemetry.plaintext import cut, one_line, wrapped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ggactors.app import Run
    from ggactors.protocol.attention import AttentionItem
    from ggactors.repl.session import Session

NO_RUN = "No run lives; say what you want, or /run TASK, to begin one."


class Acts:
    """The commands, on one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        own: dict[str, Callable[[str], Awaitable[None]]] = {
            "help": self._help,
            "run": self._run_task,
            "queue": self._queue,
            "say": self._say,
            "unsay": self._unsay,
            "waiting": self._waiting,
            "approve": self._approve,
            "reject": self._reject,
            "answer": self._answer_question,
            "pause": self._pause,
            "resume": self._resume,
            "cancel": self._cancel,
            "quit": self._quit,
            "set": self._set,
        }
        others = (*looking.ACTS.items(), *keeping.ACTS.items())
        self._does = own | {name: partial(act, session) for name, act in others}

    async def carry_out(self, name: str, rest: str) -> None:
        """Carry a command out."""
        await self._does[name](rest)

    def _tell(self, *lines: str, style: str = "") -> None:
        self._session.tell(*lines, style=style)

    async def _run(self) -> Run | None:
        """Give the living run, once it has been launched; None when there is none, which is said."""
        live = self._session.live
        if live is not None:
            await live.began.wait()
            if live.run is not None:
                return live.run
        self._tell(NO_RUN)
        return None

    # ------------------------------------------------------------ talking

    def go_on(self) -> None:
        """Take an Enter on an empty line: texts that wait since an interrupt are handed over."""
        live = self._session.live
        if live is not None and live.run is not None and live.run.go_on().accepted:
            self._tell("Your texts are with the root.", style="dim")

    async def _help(self, rest: str) -> None:
        look = self._session.face.look()
        for line in help_lines(rest):
            self._session.face.show([cut(line, look.width)] if line.startswith(" ") else wrapped(line, look))

    async def _run_task(self, rest: str) -> None:
        live = self._session.live
        if not rest:
            self._tell("Say what is to be done: /run TASK")
        elif live is not None and live.run is not None and live.resting():
            live.run.close()
            await self._session.until_ended(live)
            self._session.begin(rest, interactive=False)
        elif live is not None:
            self._tell("A run lives already. /queue TASK hands its root another task; /cancel stops it.")
        else:
            self._session.begin(rest, interactive=False)

    async def _queue(self, rest: str) -> None:
        if not rest:
            self._tell("Say what comes next: /queue TASK")
            return
        live = self._session.live
        if live is None:
            self._session.begin(rest, interactive=True)
            return
        run = await self._run()
        if run is None:
            return
        if not live.interactive:
            self._tell(
                "This run works by itself (/run) and takes no second task; /say root TEXT adds to the one it has."
            )
            return
        receipt = run.send(ROOT, rest, queue=True)
        if receipt.accepted:
            live.last_sent = receipt.id
            queued = sum(one.queued for one in run.pending())
            self._tell(f"Queued; {queued} wait." if queued else "It is taken up now.", style="dim")
        else:
            self._tell("The root has ended and takes no task; /quit or /cancel ends the run, then begin another.")

    async def _say(self, rest: str) -> None:
        agent, _, text = rest.partition(" ")
        run = await self._run() if text.strip() else None
        if not text.strip():
            self._tell("Say whom and what: /say AGENT TEXT")
        if run is None:
            return
        live = self._session.live
        receipt = run.send(agent, text.strip())
        if receipt.accepted:
            if live is not None:
                live.last_sent = receipt.id
            self._tell(f"{agent} reads it at its next turn.", style="dim")
        else:
            names = [one.id for one in run.agents() if one.state != "ended"]
            self._tell(f"No living agent is called {one_line(agent)}; there are {', '.join(names) or 'none'}.")

    async def _unsay(self, _: str) -> None:
        live = self._session.live
        run = await self._run()
        if run is None or live is None:
            return
        mine = [one for one in run.pending() if one.sender == "operator"]
        last = next((one for one in mine if one.id == live.last_sent), mine[-1] if mine else None)
        if last is not None and run.withdraw(last.id):
            self._session.face.put_back(last.text)
            self._tell("Taken back.", style="dim")
        else:
            self._tell("Nothing of yours waits: all of it was read.")

    # ------------------------------------------------------------ what waits for the person

    async def _waiting(self, rest: str) -> None:
        run = await self._run()
        if run is None:
            return
        look = self._session.face.look()
        items = run.attention()
        if not items:
            self._tell("Nothing waits for you.")
        for item in items:
            number = number_of(item.id)
            if rest and rest != number:
                continue
            shown = item_lines(
                number, item.kind, item.title, "" if rest else item.detail,
                options=item.options, default=item.default, deadline_secs=item.deadline_secs, look=look,
            )  # fmt: skip
            self._session.face.show(shown)
            if rest:
                self._tell(*(f"    {one_line(line)}" for line in item.detail.split("\n")))

    async def _approve(self, rest: str) -> None:
        item, more, run = await self._item(rest, "approve")
        if item is None or run is None:
            return
        word, _, note = more.partition(" ")
        match item.kind:
            case AttentionKind.APPROVAL:
                choice, said = (ALWAYS, note) if word.lower() == ALWAYS else (APPROVE, more)
            case AttentionKind.QUESTION:
                yes = next((one for one in item.options if one.lower() in (APPROVE, "yes", "y", "ok")), None)
                if yes is None:
                    self._tell(f"{number_of(item.id)} is a question: /answer {number_of(item.id)} {_choices(item)}")
                    return
                choice, said = yes, more
            case _:
                choice, said = item.options[0], more
        self._answer(run, item, choice, said)

    async def _reject(self, rest: str) -> None:
        item, more, run = await self._item(rest, "reject")
        if item is None or run is None:
            return
        no = next((one for one in item.options if one.lower() in (REFUSE, "reject", "no", "n")), None)
        if no is None:
            number = number_of(item.id)
            how = f"/answer {number} {_choices(item)}" if item.kind is AttentionKind.QUESTION else f"/approve {number}"
            self._tell(f"There is nothing to reject in {number}: {how}")
            return
        self._answer(run, item, no, more)

    async def _answer_question(self, rest: str) -> None:
        item, more, run = await self._item(rest, "answer")
        if item is None or run is None:
            return
        if not more:
            self._tell(f"Say what: /answer {number_of(item.id)} {_choices(item)}")
            return
        if not item.options:
            self._answer(run, item, more, "")
            return
        word, _, note = more.partition(" ")
        choice = next((one for one in item.options if one.lower() in (more.lower(), word.lower())), word)
        self._answer(run, item, choice, note if choice.lower() == word.lower() else "")

    async def _item(self, rest: str, verb: str) -> tuple[AttentionItem | None, str, Run | None]:
        """Find the item that a command means: by its number, or the only one there is."""
        run = await self._run()
        if run is None:
            return None, "", None
        items = {number_of(item.id): item for item in run.attention()}
        word, _, more = rest.partition(" ")
        number = word.lstrip("#").removeprefix("a")
        if number in items:
            return items[number], more.strip(), run
        if number.isdigit() or not items:
            self._tell(f"Nothing that waits has the number {number}." if items else "Nothing waits for you.")
        elif len(items) == 1:
            return next(iter(items.values())), rest, run
        else:
            self._tell(f"{len(items)} things wait: {', '.join(items)}. Say which: /{verb} N; /waiting lists them.")
        return None, "", None

    def _answer(self, run: Run, item: AttentionItem, choice: str, note: str) -> None:
        try:
            receipt = run.answer(item.id, choice, note)
        except ValueError as error:
            self._tell(one_line(str(error)))
            return
        if not receipt.accepted:
            self._tell(f"{number_of(item.id)} does not wait any more.")

    # ------------------------------------------------------------ the run

    async def _pause(self, _: str) -> None:
        run, live = await self._run(), self._session.live
        if run is None or live is None:
            return
        if run.pause().accepted:
            live.paused = True
            self._tell(
                "Paused: agents hold at their next turn boundaries, nothing is dispatched. /resume goes on.",
                style="yellow",
            )
        else:
            self._tell("The run is stopping." if live.stopping else "It is paused already; /resume goes on.")
        self._session.stir()

    async def _resume(self, _: str) -> None:
        run, live = await self._run(), self._session.live
        if run is None or live is None:
            return
        live.paused = False
        self._tell("It goes on." if run.unpause().accepted else "It is not paused.", style="dim")
        self._session.stir()

    async def _cancel(self, _: str) -> None:
        live = self._session.live
        if live is None:
            self._tell(NO_RUN)
        elif live.run is None or live.stopping:
            self._session.stop_at_once(live)
        else:
            self._session.cancel(live)

    async def _quit(self, _: str) -> None:
        await self._session.leave()

    async def _set(self, rest: str) -> None:
        name, _, value = rest.partition(" ")
        value = value.strip()
        if not value:
            self._tell(*(f"  /set {one} {'|'.join(choices)}" for one, choices in CHOICES.items()))
            return
        if value not in CHOICES.get(name, ()):
            self._tell(f"{one_line(name)} cannot be {one_line(value)}; /set lists what can be.")
            return
        try:
            wrong = self._session.face.setting(name, value)
        except CannotHere as cannot:
            self._tell(str(cannot))
            return
        self._tell(f"{name} is {value} now" + (f", but was not kept: {one_line(wrong)}" if wrong else "."), style="dim")


def _choices(item: AttentionItem) -> str:
    return " | ".join(map(one_line, item.options)) if item.options else "TEXT"
