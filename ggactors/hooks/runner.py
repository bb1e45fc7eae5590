"""The hooks of one agent, or of the session: asked in order at an event, each one's answer told to the stream (G1, G2).

Law: the first that blocks ends the check, and what earlier ones had to say still counts. A runner keeps no verdict: every
ending is checked anew. Cancelled at any point: no process and no file of a hook is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio
from attrs import define, evolve, field

from ggactors.hooks.kinds import Bench, Hook, ObjectHook, hook_of
from ggactors.hooks.subject import Subject  # noqa: TC001 - attrs reads it
from ggactors.hooks.verdict import clip, same, verdict_of
from ggactors.hooks.verify import VERIFY_COMPLETION, Verification, VerifyHook
from ggactors.protocol.events import Hook as HookEvent
from ggactors.protocol.events import Log
from ggactors.protocol.hooks import (
    AGENT_EVENTS,
    OBJECT_EVENTS,
    RUN_EVENTS,
    SILENT,
    STARTING,
    BuiltInAction,
    HookOutcome,
    NoVerdict,
)
from ggactors.protocol.values import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ggactors.hooks.pins import Pin
    from ggactors.ports import HookObject, Processes
    from ggactors.protocol.events import Event
    from ggactors.protocol.hooks import Finding, HookSpec, HookVerdict

EVENTS = (*RUN_EVENTS, *AGENT_EVENTS, *OBJECT_EVENTS)
NOTHING = HookOutcome()
AGAIN = "This is the same answer as the last time: nothing that this check looks at has changed since."


def hook_object_problems(objects: Sequence[HookObject]) -> tuple[Problem, ...]:
    """List why hook objects of the embedding program cannot be used: one that hears no event."""
    return tuple(
        Problem(
            path=f"hooks[{index}]",
            what=f"{type(one).__name__} defines no event",
            remedy=f"define one of {', '.join(map(_method, EVENTS))}",
        )
        for index, one in enumerate(objects)
        if not any(callable(getattr(one, _method(event), None)) for event in EVENTS)
    )


def _verified(outcome: HookOutcome, verified: bool | None, verdict: HookVerdict) -> HookOutcome:
    """Add what a check of completion said; of two, one that was given up on counts."""
    match verified:
        case None:
            return outcome
        case False:
            return evolve(outcome, verified=False, unverified=verdict.reason)
        case True:
            return outcome if outcome.verified is False else evolve(outcome, verified=True)


def _method(event: str) -> str:
    return event.replace("-", "_")


@define(kw_only=True)
class HookRunner:
    """The hooks of one subject. ``mask`` keeps the values of keys out of a text; ``env`` is the agent's commands' environment.

    ``blocks`` counts how often the agent's ending was blocked, whatever it did in between (H35).
    """

    subject: Subject
    processes: Processes
    emit: Callable[[Event], None]
    hooks: Sequence[HookSpec] = ()
    objects: Sequence[HookObject] = ()
    env: Mapping[str, str] = field(factory=dict)
    scratch: str = "."
    crew_folder: str = "."
    pins: Mapping[str, Pin] = field(factory=dict)
    verification: Verification | None = None
    """The check of completion, for where a hook is bound to it (G5)."""
    mask: Callable[[str], str] = str
    blocks: int = 0
    _bound: dict[str, list[Hook]] = field(init=False)
    _last: dict[str, str] = field(factory=dict, init=False)
    _completion: str | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        """Bind every hook to its event: the crew's in their order, then the objects in theirs."""
        bench = Bench(
            subject=self.subject,
            processes=self.processes,
            env=self.env,
            scratch=self.scratch,
            crew_folder=self.crew_folder,
            pins=self.pins,
            say=self._say,
        )
        self._bound = {event: [] for event in EVENTS}
        for spec in self.hooks:
            self._bound[spec.event].append(self._hook(spec, bench))
        for event in EVENTS:
            self._bound[event] += self._listening(event)

    def _hook(self, spec: HookSpec, bench: Bench) -> Hook:
        if self.verification is not None and spec.action == BuiltInAction(script=VERIFY_COMPLETION):
            return VerifyHook(spec=spec, verification=self.verification, bench=bench)
        return hook_of(spec, bench)

    def _listening(self, event: str) -> Iterable[Hook]:
        method = _method(event)
        return (
            ObjectHook(object=one, method=method, complete=self._complete)
            for one in self.objects
            if callable(getattr(one, method, None))
        )

    def listens(self, *events: str) -> bool:
        """Tell whether a hook is bound to one of these events, so that what it costs to fire one need not be spent."""
        return any(self._bound[event] for event in events)

    async def fire(self, event: str, payload: Mapping[str, Any] | None = None) -> HookOutcome:
        """Ask every hook of an event. ``payload`` holds the fields of this event, as the hooks' page documents them.

        Cancelled: the hook that was running leaves nothing behind, and is in no event.
        """
        hooks = self._bound[event]
        if not hooks:
            return NOTHING
        told = self.subject.payload(event, payload or {}, blocks=self.blocks)
        outcome = NOTHING
        for hook in hooks:
            began = trio.current_time()
            answer = await hook.ask(told)
            verdict = verdict_of(
                event,
                hook.name,
                answer.finding,
                exit_code=answer.exit_code,
                millis=round((trio.current_time() - began) * 1000),
                mask=self.mask,
            )
            self._tell(event, hook, verdict)
            outcome = _verified(self._after(outcome, event, answer.finding, verdict), answer.verified, verdict)
            if outcome.blocked is not None or outcome.failed is not None:
                return outcome
        self._last.pop(event, None)
        return outcome

    def take_completion(self) -> str | None:
        """Take the summary with which a hook object ends the session, if one did (``SessionComplete``). It is given once."""
        summary, self._completion = self._completion, None
        return summary

    def _complete(self, summary: str) -> None:
        self._completion = self.mask(summary)

    # ------------------------------------------------------------ what an answer brings about

    def _after(self, outcome: HookOutcome, event: str, finding: Finding, verdict: HookVerdict) -> HookOutcome:
        reason = verdict.reason or ""
        match verdict.outcome:
            case "blocked":
                return evolve(outcome, blocked=self._blocked(event, reason))
            case "message" if event not in SILENT:
                return evolve(outcome, messages=(*outcome.messages, reason))
            case "failed" if event in STARTING and isinstance(finding, NoVerdict):
                return evolve(outcome, failed=f"{event}: {reason}")
            case _:
                return outcome

    def _blocked(self, event: str, reason: str) -> str:
        """Count a block, and point out that it is the same as the last one (H34)."""
        if event == "agent-stop":
            self.blocks += 1
        repeated = same(reason, self._last.get(event))
        self._last[event] = reason
        return f"{reason}\n{AGAIN}" if repeated else reason

    def _tell(self, event: str, hook: Hook, verdict: HookVerdict) -> None:
        """Tell the stream what a hook came to, and the operator what nobody else will read."""
        agent = self.subject.agent
        if event in OBJECT_EVENTS and verdict.outcome == "passed":
            return
        self.emit(
            HookEvent(
                agent=agent,
                event=event,
                name=hook.name,
                outcome=verdict.outcome,
                reason=verdict.reason,
                exit_code=verdict.exit_code,
                duration_ms=verdict.duration_ms,
            )
        )
        if verdict.outcome == "failed":
            self._say(f"the hook {hook.name} at {event} failed: {verdict.reason}", level="warning")
        elif verdict.outcome == "message" and event in SILENT:
            self._say(f"the hook {hook.name} at {event}: {verdict.reason}")

    def _say(self, message: str, level: str = "info") -> None:
        self.emit(Log(agent=self.subject.agent, level=level, message=clip(self.mask(message))))
