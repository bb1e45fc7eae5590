"""What the prompt tells of a run as it happens: the root's words in full, everything else one line an event. Law: pure.

Text from outside is made safe first; what a followed agent does is told in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ggactors.protocol import events
from ggactors.protocol.values import Kind
from ggactors.telemetry.closeup import call_lines
from ggactors.telemetry.plaintext import Look, cut, one_line, wrapped
from ggactors.telemetry.story import headline, local_time, tell

if TYPE_CHECKING:
    from ggactors.telemetry.folds import RunView

ROOT = Kind.ROOT.value
YOU = "you"
BULLET = "● "
CALL_SHOWN = 400
WIDE = Look(width=10_000)
COLOURS = {"done": "green", "fail": "red", "warning": "yellow", "error": "red"}


@define(kw_only=True)
class Telling:
    """Tells a run's events. ``view`` has folded each in already; ``followed`` is the agent whose turns are told in full."""

    view: RunView
    root: str = "root"
    followed: str | None = None
    verbose: bool = False

    def lines(self, event: events.Event, look: Look) -> list[str]:
        """Tell an event; empty for what says nothing."""
        if event.agent is not None and event.agent == self.followed and event.agent != self.root:
            told = in_full(event, look)
            return [look.paint(f"{one_line(event.agent)} │ ", "dim") + line for line in told if line.strip()]
        if event.agent == self.root:
            own = self._of_root(event, look)
            if own is not None:
                return own
        match event:
            case events.Attention():
                return attention_lines(event, look)
            case events.AssistantMessage():
                text = one_line(event.text)
                return [self._line(event, f"{one_line(event.agent or '')}: {text}", look, "dim")] if text else []
            case _:
                said = headline(event, self.view, verbose=self.verbose)
                return (
                    [] if said is None else [self._line(event, line, look, _colour(event)) for line in said.split("\n")]
                )

    def _of_root(self, event: events.Event, look: Look) -> list[str] | None:
        """Tell what the root says and does; None for what is told as of any agent."""
        match event:
            case events.AssistantMessage():
                return said_lines(event.text, look)
            case events.ToolCalled():
                call = one_line(call_lines(event, WIDE)[0][:CALL_SHOWN])
                return [look.paint(cut(f"  {call}", look.width), "dim")]
            case events.ToolAnswered(ok=False):
                said = one_line(f"{event.code or 'failed'}: {event.output[:CALL_SHOWN]}")
                return [look.paint(cut(f"    ✗ {said}", look.width), "red")]
            case events.AgentState(state="waiting", waiting_on="you") | events.AgentSpawned():
                return []
            case events.TaskEnded():
                return _task_lines(event, look)
            case _:
                return None

    def _line(self, event: events.Event, text: str, look: Look, colour: str) -> str:
        clock = local_time(event.time)
        return f"{look.paint(clock, 'dim')} {look.paint(cut(text, look.width - len(clock) - 1), colour)}"


def in_full(event: events.Event, look: Look) -> list[str]:
    """Tell an event of an agent's turn in full, calls laid out to be read."""
    match event:
        case events.ToolCalled():
            return call_lines(event, look)
        case _:
            return tell(event, look)


def said_lines(text: str, look: Look) -> list[str]:
    """Tell what the root says: all of it, wrapped, marked at its beginning."""
    if not text.strip():
        return []
    first, *others = wrapped(text.strip(), look, indent=len(BULLET))
    return [look.paint(BULLET, "green") + first.removeprefix(" " * len(BULLET)), *others]


def _task_lines(event: events.TaskEnded, look: Look) -> list[str]:
    well = event.status == "completed" and event.verified is not False
    end = "closed unverified" if event.verified is False else one_line(event.status)
    more = f"; {event.queued} queued" if event.queued else ""
    head = look.paint(f"{'✓' if well else '✗'} task {event.task}: {end}{more}", "green" if well else "yellow")
    return [head, *wrapped(event.summary.strip(), look, indent=2)] if event.summary.strip() else [head]


def _colour(event: events.Event) -> str:
    match event:
        case events.BoardChanged():
            return COLOURS.get(event.op, "")
        case events.Log():
            return COLOURS.get(event.level, "dim")
        case events.LimitExceeded() | events.BoardStalled() | events.Stuck() | events.RetryWait():
            return "yellow"
        case events.WorktreeMerged():
            return "yellow"
        case events.AgentSpawned() | events.AgentState() | events.SessionStarted() | events.SessionEnded():
            return "dim"
        case _:
            return ""


# ---------------------------------------------------------------- what waits for the person


def number_of(item: str) -> str:
    """Give the number that an item of the attention queue has at the prompt."""
    return item.removeprefix("a")


def attention_lines(event: events.Attention, look: Look) -> list[str]:
    """Tell that something waits, with what it says and how it is answered; later what became of it."""
    number = number_of(event.item)
    if event.state == "open":
        return item_lines(
            number,
            event.kind,
            event.title,
            event.detail,
            options=event.options,
            default=event.default,
            deadline_secs=event.deadline_secs,
            look=look,
        )
    fate = {"answered": event.answer or "", "expired": f"{event.answer or ''}, since nobody answered in time"}
    said = one_line(fate.get(event.state, event.state))
    return [look.paint(cut(f"⚑ {number} {one_line(event.title)}: {said}", look.width), "dim")]


def item_lines(
    number: str,
    kind: str,
    title: str,
    detail: str,
    *,
    options: tuple[str, ...],
    default: str,
    deadline_secs: float | None,
    look: Look,
) -> list[str]:
    """Tell one item: what it is, what it says, how to answer, and what happens when nobody does."""
    if kind == "approval":
        how = f"/approve {number}, /approve {number} always, or /reject {number} WHY"
    elif kind == "question":
        how = f"/answer {number} {'|'.join(map(one_line, options)) if options else 'TEXT'}"
    else:
        how = f"/approve {number} marks it as seen"
    until = ""
    if kind in ("approval", "question"):
        until = f"; without an answer in {span(deadline_secs)}: {one_line(default)}" if deadline_secs else "; it waits"
    head = look.paint(cut(f"⚑ {number} {one_line(title)}", look.width), "yellow")
    shown = detail.split("\n")
    told = [look.paint(cut(f"    {one_line(line)}", look.width), "bold") for line in shown[:8] if line.strip()]
    more = [f"    … {len(shown) - 8} lines more (/waiting {number})"] if len(shown) > 8 else []
    return [head, *told, *more, look.paint(cut(f"    {how}{until}", look.width), "dim")]


def span(seconds: float) -> str:
    """Write a span of time."""
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:.0f} min"
