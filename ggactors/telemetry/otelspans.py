"""The event stream as spans, by the GenAI conventions of OpenTelemetry (T1).

Law: one trace a segment: the run, its issues, its agents, and under each agent its model calls and tool calls. Times are
those on the events. What was said (prompts, answers, arguments, results) is in no span unless it was asked for, and then masked.

A run: ``invoke_workflow``; an agent: ``invoke_agent``; a model call: ``chat``; a tool call: ``execute_tool``. What belongs to the
board is under names of our own, ``gg.…``.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from attrs import define, field

from ggactors.protocol import events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.trace import Span, Tracer

LONGEST_TEXT = 16_384
"""Characters of one attribute; a longer text is cut."""
TERMINAL = ("done", "failed")


@define
class _Agent:
    """An agent's open span, and when what it does now began."""

    span: Span
    since: int
    calls: dict[str, Span] = field(factory=dict)
    said: str | None = None
    input: int = 0
    output: int = 0
    turns: int = 0


@define(kw_only=True)
class SpanBook:
    """Opens and closes spans as events come in. ``providers`` maps a profile to its model's provider."""

    tracer: Tracer
    providers: Mapping[str, str]
    mask: Callable[[str], str]
    content: bool = False
    _run: Span | None = None
    _agents: dict[str, _Agent] = field(factory=dict)
    _issues: dict[str, Span] = field(factory=dict)
    _at: int = 0

    def take(self, event: events.Event) -> None:  # noqa: C901 - one case an event
        """Take the next event."""
        self._at = at = max(nanoseconds(event.time), self._at)
        match event:
            case events.SessionStarted():
                self._begin(event)
            case events.AgentSpawned():
                self._spawned(event)
            case events.AgentState():
                self._state(event)
            case events.AssistantMessage():
                agent = self._agents.get(event.agent or "")
                if agent is not None and self.content:
                    agent.said = event.text
            case events.UsageSpent():
                self._model_call(event)
            case events.ToolCalled():
                self._called(event)
            case events.ToolAnswered():
                self._answered(event)
            case events.TurnOutcome():
                self._turn(event)
            case events.BoardChanged():
                self._board(event)
            case events.IssueReview():
                self._tell(self._issues.get(event.issue), "gg.issue.review", _review(event))
            case events.WorktreeMerged():
                told: dict[str, Any] = {
                    "gg.merged": event.merged,
                    "gg.merge.commit": event.commit,
                    "gg.reason": event.reason,
                }
                told |= {"gg.merge.conflicts": list(event.conflicts), "gg.merge.agent": event.merge_agent}
                self._tell(self._issues.get(event.issue), "gg.worktree_merged", told)
            case events.BoardStalled():
                self._tell(self._issues.get(event.issue), "gg.board_stalled", {"gg.blocker": event.blocker})
            case events.SessionSummary():
                self._sum_up(event)
            case events.SessionEnded():
                self._end(event.status, at)
            case _:
                self._other(event)

    def close(self) -> None:
        """End every span that is open, at the last event's time: whoever was to end it is gone."""
        self._end(None, self._at)

    # ------------------------------------------------------------ the run

    def _begin(self, event: events.SessionStarted) -> None:
        self._end(None, self._at)
        told = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.provider.name": "ggactors",
            "gen_ai.workflow.name": event.crew,
            "gen_ai.conversation.id": event.run,
            "gg.run.id": event.run,
            "gg.run.resumed": event.resumed,
            "gg.version": event.version,
        }
        self._run = self._open(f"invoke_workflow {event.crew}", None, told)

    def _sum_up(self, event: events.SessionSummary) -> None:
        told: dict[str, Any] = {
            "gg.run.exit_code": event.exit_code,
            "gg.run.turns": event.turns,
            "gg.run.agents": event.agents,
            "gg.run.cost": event.cost,
            "gg.run.stalled": len(event.stalled),
            "gg.run.verified": event.verified,
        }
        if self.content:
            told["gg.run.summary"] = event.summary
        self._attribute(self._run, told)

    def _end(self, status: str | None, at: int) -> None:
        for agent in self._agents.values():
            for call in agent.calls.values():
                call.end(at)
            agent.span.end(at)
        for issue in self._issues.values():
            issue.end(at)
        if self._run is not None:
            if status is not None:
                self._attribute(self._run, {"gg.run.status": status})
                _settle(self._run, status)
            self._run.end(at)
        self._agents, self._issues, self._run = {}, {}, None

    # ------------------------------------------------------------ agents

    def _spawned(self, event: events.AgentSpawned) -> None:
        name = event.agent or "?"
        told = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": self.providers.get(event.profile, "ggactors"),
            "gen_ai.agent.id": name,
            "gen_ai.agent.name": event.profile_name,
            "gen_ai.conversation.id": event.run,
            "gg.agent.kind": event.kind,
            "gg.agent.role": event.role,
            "gg.agent.profile": event.profile,
            "gg.issue.id": event.issue,
            "gg.branch": event.branch,
        }
        if self.content:
            told["gen_ai.input.messages"] = _message("user", event.brief)
        parent = self._agents.get(event.parent or "")
        above = parent.span if parent is not None else self._issues.get(event.issue or "", self._run)
        self._agents[name] = _Agent(self._open(f"invoke_agent {event.profile_name}", above, told), self._at)

    def _state(self, event: events.AgentState) -> None:
        agent = self._agents.get(event.agent or "")
        if agent is None:
            return
        agent.since = self._at
        self._tell(agent.span, "gg.agent.state", {"gg.state": event.state, "gg.waiting_on": event.waiting_on})
        if event.state != "ended":
            return
        told = {
            "gen_ai.usage.input_tokens": agent.input,
            "gen_ai.usage.output_tokens": agent.output,
            "gg.agent.turns": agent.turns,
            "gg.agent.status": event.status,
            "gg.agent.verified": event.verified,
        }
        if self.content and event.summary:
            told["gen_ai.output.messages"] = _message("assistant", event.summary)
        self._attribute(agent.span, told)
        _settle(agent.span, event.status or "")
        for call in agent.calls.values():
            call.end(self._at)
        agent.span.end(self._at)
        del self._agents[event.agent or ""]

    def _turn(self, event: events.TurnOutcome) -> None:
        agent = self._agents.get(event.agent or "")
        if agent is None:
            return
        agent.since, agent.turns, agent.said = self._at, event.turns, None
        if event.outcome in ("error", "fatal"):
            told = {"error.type": event.error_type or event.outcome, "gg.consecutive_errors": event.consecutive_errors}
            self._tell(agent.span, "gg.error_turn", told)

    def _model_call(self, event: events.UsageSpent) -> None:
        """Tell of a model call once it is over: it began when the agent had nothing else left to do."""
        agent = self._agents.get(event.agent or "")
        if agent is None:
            return
        agent.input += event.input
        agent.output += event.output
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.providers.get(event.profile, "ggactors"),
            "gen_ai.request.model": event.model,
            "gen_ai.agent.id": event.agent,
            "gen_ai.conversation.id": event.run,
            "gen_ai.usage.input_tokens": event.input,
            "gen_ai.usage.output_tokens": event.output,
            "gen_ai.usage.cache_read.input_tokens": event.cached_input,
            "gen_ai.usage.reasoning.output_tokens": event.reasoning,
            "gg.cost": event.cost,
        }
        self._open(f"chat {event.model}", agent.span, told, start=agent.since, client=True).end(self._at)
        agent.since = self._at

    # ------------------------------------------------------------ tools

    def _called(self, event: events.ToolCalled) -> None:
        agent = self._agents.get(event.agent or "")
        if agent is None:
            return
        told = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.provider.name": "ggactors",
            "gen_ai.tool.name": event.tool,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": event.call_id,
            "gen_ai.agent.id": event.agent,
            "gen_ai.conversation.id": event.run,
        }
        if self.content:
            told["gen_ai.tool.call.arguments"] = json.dumps(event.args, ensure_ascii=False, default=str)
            if agent.said:
                self._tell(agent.span, "gen_ai.output.messages", {"gg.content": _message("assistant", agent.said)})
                agent.said = None
        agent.calls[event.call_id] = self._open(f"execute_tool {event.tool}", agent.span, told)

    def _answered(self, event: events.ToolAnswered) -> None:
        agent = self._agents.get(event.agent or "")
        span = None if agent is None else agent.calls.pop(event.call_id, None)
        if agent is None or span is None:
            return
        agent.since = self._at
        if self.content:
            self._attribute(span, {"gen_ai.tool.call.result": event.output})
        if not event.ok:
            self._attribute(span, {"error.type": event.code or "error"})
            _fail(span, event.code or "error")
        span.end(self._at)

    # ------------------------------------------------------------ the board, and the rest

    def _board(self, event: events.BoardChanged) -> None:
        if event.issue is None:
            told = {"gg.epic.id": (event.epic or {}).get("id"), "gg.board.op": event.op, "gg.by": event.by}
            self._tell(self._run, "gg.board_changed", told)
            return
        name, state = str(event.issue.get("id")), str(event.issue.get("state"))
        told = {
            "gg.issue.state": state,
            "gg.attempt": event.issue.get("attempts"),
            "gg.review.round": event.issue.get("rounds"),
        }
        span = self._issues.get(name)
        if span is None:
            if state in TERMINAL:
                return
            about = {
                "gg.issue.id": name,
                "gg.epic.id": event.issue.get("epic"),
                "gg.agent.profile": event.issue.get("agent"),
            }
            about["gg.issue.blocked_by"] = list(event.issue.get("blockedBy") or ())
            if self.content:
                about["gg.issue.title"] = event.issue.get("title")
            span = self._issues[name] = self._open("gg.issue", self._run, about)
        self._tell(span, "gg.board_changed", {**told, "gg.board.op": event.op, "gg.by": event.by})
        self._attribute(span, told)
        if state in TERMINAL or event.op == "remove_issue":
            if state == "failed":
                self._attribute(span, {"error.type": "issue_failed", "gg.reason": event.issue.get("reason")})
                _fail(span, "failed")
            span.end(self._at)
            del self._issues[name]

    def _other(self, event: events.Event) -> None:
        """Tell of what has no span of its own as a moment in the life of its agent, or of the run."""
        if isinstance(event, events.Log) and event.level not in ("warning", "error"):
            return
        agent = self._agents.get(event.agent or "")
        fields = {name: getattr(event, name, None) for name in PLAIN.get(event.type, ())}
        told = {f"gg.{name}": value for name, value in fields.items()}
        self._tell(self._run if agent is None else agent.span, f"gg.{event.type}", told)
        if agent is not None:
            match event:
                case events.RetryWait(wait_secs=seconds):
                    agent.since = self._at + int(seconds * 1e9)
                case events.CodeExecution():
                    agent.since = self._at
                case _:
                    pass

    # ------------------------------------------------------------ spans

    def _open(
        self, name: str, above: Span | None, told: Mapping[str, Any], *, start: int | None = None, client: bool = False
    ) -> Span:
        from opentelemetry.context import Context
        from opentelemetry.trace import SpanKind, set_span_in_context

        context = Context() if above is None else set_span_in_context(above, Context())
        return self.tracer.start_span(
            self._safe(name),
            context=context,
            kind=SpanKind.CLIENT if client else SpanKind.INTERNAL,
            attributes=self._safe_all(told),
            start_time=min(start or self._at, self._at),
        )

    def _tell(self, span: Span | None, name: str, told: Mapping[str, Any]) -> None:
        if span is not None:
            span.add_event(name, self._safe_all(told), self._at)

    def _attribute(self, span: Span | None, told: Mapping[str, Any]) -> None:
        if span is not None:
            span.set_attributes(self._safe_all(told))

    def _safe_all(self, told: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._safe(value) for name, value in told.items() if value is not None}

    def _safe(self, value: Any) -> Any:
        match value:
            case bool() | int() | float():
                return value
            case list() | tuple():
                return [self._safe(str(item)) for item in value]
            case _:
                text = str(value).encode("utf-8", "replace").decode()
                text = self.mask(text)
                return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


PLAIN: dict[str, tuple[str, ...]] = {
    "limit_exceeded": ("limit", "threshold", "observed", "turns"),
    "hook": ("event", "name", "outcome", "exit_code", "duration_ms"),
    "retry_wait": ("model", "status", "wait_secs", "attempt"),
    "checkout_moved": ("source", "target", "reason"),
    "code_execution": ("ok", "finished", "revoked", "superseded", "duration_ms"),
    "stuck": ("repeats", "cause", "nudges"),
    "compacted": ("before", "after", "fallback"),
    "log": ("level",),
    "attention": ("item", "kind", "state", "issue"),
    "message": ("state", "sender"),
    "task_ended": ("task", "status"),
}
"""What is told of an event without a span of its own: its plain fields, none that holds what somebody said."""


def nanoseconds(stamp: str) -> int:
    """Read an event's time; an unreadable one is 0."""
    try:
        return int(datetime.fromisoformat(stamp).timestamp() * 1000) * 1_000_000
    except ValueError:
        return 0


def _review(event: events.IssueReview) -> dict[str, Any]:
    return {
        "gg.review.round": event.round,
        "gg.review.verdict": event.verdict,
        "gg.review.reviewer": (event.reviewer or {}).get("agent"),
        "gg.review.items": len(event.items),
        "gg.review.commit": event.commit,
    }


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)


def _settle(span: Span, status: str) -> None:
    """Mark the span of what did not end well."""
    if status not in ("", "completed"):
        span.set_attribute("error.type", status)
        _fail(span, status)


def _fail(span: Span, what: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_status(Status(StatusCode.ERROR, what))
