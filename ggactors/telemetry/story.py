"""Events in words: the lines a run prints while it goes on, and the story of one agent.

Law: pure; text from outside is made safe; an event nobody needs to read gives no line.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, assert_never

from ggactors.protocol import events
from ggactors.telemetry.folds import waits_text
from ggactors.telemetry.plaintext import Look, one_line, safe, shell_word, wrapped

if TYPE_CHECKING:
    from ggactors.telemetry.folds import RunView

NOTEWORTHY_OPS = {
    "create_epic": "filed",
    "create_issue": "filed",
    "revive_issue": "is open again",
    "remove_issue": "was removed",
    "retry_wait": "goes to another agent",
    "hand_back": "is in review",
    "done": "is done",
    "fail": "failed",
}
QUIET_LEVELS = ("debug", "info")
LONGEST_RESULT = 2000


def headline(event: events.Event, view: RunView, *, verbose: bool = False) -> str | None:  # noqa: C901 - one case an event
    """Say a noteworthy event in one line, or None. ``view`` has folded it in already; ``verbose`` adds the log below warnings."""
    who = one_line(event.agent or "")
    match event:
        case events.SessionStarted():
            again = "goes on" if event.resumed else "begins"
            return f"run {one_line(event.run)} {again}: crew {one_line(event.crew)} in {one_line(event.workspace)}"
        case events.AgentSpawned():
            on = f" on {one_line(event.issue)}" if event.issue else ""
            return f"{who}: {one_line(event.profile_name)} was made{on}"
        case events.AgentState():
            return _state(event, who)
        case events.BoardChanged():
            return _board(event)
        case events.BoardStalled():
            return f"{one_line(event.issue)} is stalled: {one_line(event.blocker)} failed"
        case events.IssueReview():
            return _review(event)
        case events.WorktreeMerged():
            return None if event.merged else _unmerged(event)
        case events.CheckoutMoved():
            return landing_text(event)
        case events.LimitExceeded():
            return f"{who or 'the run'}: {breach_text(event)}"
        case events.RetryWait():
            agent = view.agents_by_id.get(event.agent or "")
            return f"{who}: {one_line(agent.doing or '') if agent else 'waits'} (try {event.attempt})"
        case events.Stuck():
            return f"{who}: {stuck_text(event)}"
        case events.Compacted():
            return f"{who}: {compacted_text(event)}"
        case events.Hook():
            blocked = f"{who}: {one_line(event.name)} held back at {one_line(event.event)}"
            return f"{blocked}: {one_line(event.reason or '')}" if event.outcome == "blocked" else None
        case events.Log():
            quiet = event.level in QUIET_LEVELS and not verbose
            return None if quiet else f"{one_line(event.level)}: {safe(event.message)}"
        case events.TurnOutcome():
            failed = event.outcome in ("error", "fatal")
            return f"{who}: turn {event.turns} was an error ({one_line(event.error_type or '')})" if failed else None
        case events.Message():
            return None if event.state != "unread" else f"{who}: a message from {one_line(event.sender)} was not read"
        case events.Attention():
            return _attention(event)
        case events.TaskEnded():
            return f"{who}: task {event.task} {_task_end(event)}: {one_line(event.summary)}"
        case events.SessionEnded():
            return f"run {one_line(event.run)} ended: {one_line(event.status)}"
        case events.CodeExecution():
            return _executed(event, who)
        case events.AssistantMessage() | events.ToolCalled() | events.ToolAnswered():
            return None
        case events.UsageSpent() | events.SessionSummary():
            return None
        case _:
            assert_never(event)


def _attention(event: events.Attention) -> str | None:
    """Say what waits for the operator, and what became of it; what only tells of another event says nothing more."""
    if event.kind not in ("question", "approval"):
        return None
    what = f"{one_line(event.title)} ({one_line(event.item)})"
    match event.state:
        case "open":
            detail = f": {one_line(_shortened(event.detail))}" if event.detail else ""
            until = f"; {one_line(event.default)} after {event.deadline_secs:g} s" if event.deadline_secs else ""
            return f"asks you: {what}{detail}{until}"
        case "answered" | "expired":
            return f"{what}: {one_line(event.answer or '')}{' (nobody answered in time)' if event.state == 'expired' else ''}"
        case _:
            return f"{what}: {one_line(event.state)}"


def _task_end(event: events.TaskEnded) -> str:
    return "closed unverified" if event.verified is False else f"ended: {one_line(event.status)}"


def _executed(event: events.CodeExecution, who: str) -> str | None:
    """Say what only the operator hears of: an ending that its program's failure took back, or that later ones replaced (E8)."""
    if event.revoked:
        return f"{who}: its ending was revoked, since the program failed after it"
    if event.superseded:
        return f"{who}: {event.superseded} of its endings gave way to a later one of the same program"
    return None


def _state(event: events.AgentState, who: str) -> str | None:
    match event.state:
        case "waiting":
            return f"{who}: waits on {one_line(event.waiting_on or '')}"
        case "ended":
            summary = f": {one_line(event.summary)}" if event.summary else ""
            return f"{who}: {one_line(event.status or 'ended')}{summary}"
        case _:
            return None


def _board(event: events.BoardChanged) -> str | None:
    what = event.issue or event.epic or {}
    said = NOTEWORTHY_OPS.get(event.op)
    if said is None:
        return None
    title = one_line(str(what.get("title") or ""))
    reason = f": {one_line(str(what['reason']))}" if event.op == "fail" and what.get("reason") else ""
    return f"{one_line(str(what.get('id')))} {said}{reason or (f' ({title})' if title else '')}"


def _review(event: events.IssueReview) -> str:
    ends = {"approved": "approved", "changes_requested": f"{len(event.items)} changes requested"}
    said = ends.get(event.verdict, f"not held: {one_line(event.reason or '')}")
    return f"{one_line(event.issue)}: review {event.round}: {said}"


def _unmerged(event: events.WorktreeMerged) -> str:
    where = f" on {', '.join(map(one_line, event.conflicts))}" if event.conflicts else ""
    return f"{one_line(event.issue)} was not merged: {one_line(event.reason or 'conflict')}{where}"


def landing_text(event: events.CheckoutMoved) -> str:
    """Say what became of the operator's checkout."""
    if event.source != event.target:
        return f"your checkout moved from {one_line(event.source[:10])} to {one_line(event.target[:10])}"
    held = f": {', '.join(map(one_line, event.held[:5]))}{', …' if len(event.held) > 5 else ''}" if event.held else ""
    return f"your checkout was left where it is ({one_line(event.reason or 'nothing to move')}{held})"


_READ_IT = "read what it did with `{show}`, then mend or raise it"
LIMITS = {
    "maxTurns": ("turns were taken", "raise it, or cut the task into smaller issues"),
    "maxConsecutiveErrors": ("error turns in a row", _READ_IT),
    "maxErrorRate": ("of the last turns were errors", _READ_IT),
    "maxRuntimeSecs": ("seconds had passed", "raise it, or give the run less to do"),
    "maxCost": ("was spent or reserved", "raise it, or use cheaper models"),
    "maxTokens": ("tokens were spent or reserved", "raise it, or give the run less to do"),
}


def breach_text(event: events.LimitExceeded) -> str:
    """Diagnose what reached a ceiling, as ``limit_text`` does, with the command that shows the agent's story."""
    who = shell_word(one_line(event.agent or "root"))
    show = f"ggactors show {shell_word(one_line(event.run or 'last'))} --agent {who}"
    return limit_text(event.limit, event.threshold, event.observed, event.window, event.budget, show=show)


def limit_text(
    limit: str,
    threshold: float,
    observed: float,
    window: int | None = None,
    budget: str | None = None,
    *,
    show: str = "ggactors show last",
) -> str:
    """Diagnose a ceiling in plain words: which, where it stood, what was seen, what to change (C2). ``show`` is a command."""
    seen, remedy = LIMITS.get(limit.rpartition(".")[2], ("was seen", "raise it"))
    remedy = remedy.format(show=show)
    over = f" (window of {window})" if window else ""
    path = one_line(limit if limit.startswith("agents.") else f"limits.{limit}")
    whose = f" for {one_line(budget)}" if budget else ""
    return f"stopped by {path} = {threshold:g}{whose}: {observed:g} {seen}{over}; {remedy} (--set {path}=…)"


def tell(event: events.Event, look: Look) -> list[str]:  # noqa: C901 - one case an event
    """Tell one event of an agent's life in full; empty for what says nothing more."""
    match event:
        case events.AgentSpawned():
            on = f", on {one_line(event.issue)}" if event.issue else ""
            head = f"{one_line(event.agent or '')}: {one_line(event.profile_name)} ({one_line(event.kind)}{on})"
            return [look.paint(head, "bold"), f"  in {one_line(event.workdir)}", *wrapped(event.brief, look, indent=2)]
        case events.AssistantMessage():
            return ["", *wrapped(event.text, look, indent=0)] if event.text.strip() else []
        case events.ToolCalled():
            return [look.paint(_call(event), "cyan")]
        case events.ToolAnswered():
            verdict = "" if event.ok else f"{one_line(event.code or 'failed')}: "
            return wrapped(verdict + _shortened(event.output), look, indent=4)
        case events.CodeExecution():
            return _program(event, look)
        case events.TurnOutcome():
            said = f"  turn {event.turns}: {one_line(event.outcome)}"
            return [look.paint(said + (f" ({one_line(event.error_type)})" if event.error_type else ""), "dim")]
        case events.AgentState():
            more = one_line(event.waiting_on or event.status or "")
            return [
                look.paint(f"  {one_line(event.state)}{f' {more}' if more else ''}", "dim"),
                *_last_words(event, look),
            ]
        case events.LimitExceeded():
            return wrapped(breach_text(event), look, indent=2)
        case events.RetryWait():
            return wrapped(one_line(f"{waits_text(event)} (try {event.attempt})"), look, indent=2)
        case events.Stuck():
            return wrapped(stuck_text(event), look, indent=2)
        case events.Compacted():
            return [f"  {compacted_text(event)}"]
        case events.Message():
            head = f"{one_line(event.sender)}, {one_line(event.state)}:"
            return [look.paint(head, "bold"), *wrapped(event.text, look, indent=2)] if event.state != "queued" else []
        case events.Attention():
            asked = _attention(event)
            return wrapped(asked, look, indent=2) if asked else []
        case events.TaskEnded():
            head = f"  task {event.task} {_task_end(event)}"
            return [look.paint(head, "dim"), *wrapped(event.summary, look, indent=2)]
        case events.Hook():
            said = f"{event.event}: {event.name} {event.outcome}{f': {event.reason}' if event.reason else ''}"
            return wrapped(_shortened(said), look, indent=2)
        case events.Log():
            return wrapped(f"{event.level}: {event.message}", look, indent=2)
        case events.UsageSpent() | events.BoardChanged() | events.BoardStalled() | events.IssueReview():
            return []
        case events.WorktreeMerged() | events.CheckoutMoved():
            return []
        case events.SessionStarted() | events.SessionSummary() | events.SessionEnded():
            return []
        case _:
            assert_never(event)


def stuck_text(event: events.Stuck) -> str:
    """Say that an agent repeats itself."""
    cause = one_line(event.cause)
    return f"repeats itself ({event.repeats} times, nudge {event.nudges}), likely {cause}: {one_line(event.evidence)}"


def compacted_text(event: events.Compacted) -> str:
    """Say that a conversation was compacted."""
    how = "shortened without a summary" if event.fallback else "summed up"
    return f"its conversation was {how}: from about {event.before} tokens to {event.after}"


def _program(event: events.CodeExecution, look: Look) -> list[str]:
    end = "ran" if event.ok else "failed"
    more = [
        word for word, true in (("its ending stands", event.finished), ("its ending is revoked", event.revoked)) if true
    ]
    if event.superseded:
        more.append(f"{event.superseded} endings superseded")
    if event.untold:
        more.append(f"{event.untold} of its {event.calls} calls are not told")
    more_said = ", ".join(more)
    head = f"  program {end} in {event.duration_ms} ms{f' ({more_said})' if more else ''}"
    printed = wrapped(_shortened("\n".join(event.logs)), look, indent=4) if event.logs else []
    error = wrapped(_shortened(event.error), look, indent=4) if event.error else []
    return [look.paint(head, "dim"), *printed, *error]


def _last_words(event: events.AgentState, look: Look) -> list[str]:
    return wrapped(event.summary, look, indent=2) if event.state == "ended" and event.summary else []


def _call(event: events.ToolCalled) -> str:
    try:
        args = json.dumps(event.args, ensure_ascii=False)
    except (TypeError, ValueError):
        args = str(event.args)
    return f"  → {one_line(event.tool)} {one_line(args)}"


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return text
    return f"{text[:LONGEST_RESULT]}\n… {len(text) - LONGEST_RESULT:,} characters more (`--events` has them all)"


def local_time(stamp: str, form: str = "%H:%M:%S") -> str:
    """Write an event's time in the local zone; an unreadable one as a dash."""
    try:
        return datetime.fromisoformat(stamp).astimezone().strftime(form)
    except ValueError:
        return "-"
