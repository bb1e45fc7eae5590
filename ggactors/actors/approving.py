"""Calls a person has to approve before they are carried out (crew key ``ask``).

Law: the agent waits without its slot and without the tree; nobody's answer in time is a refusal. A refused call did nothing.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from attrs import define, field

from ggactors.protocol.attention import ALWAYS, APPROVALS, APPROVE, REFUSE, AttentionItem, AttentionKind
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.actors.agent import AgentActor
    from ggactors.actors.attention import Attention
    from ggactors.protocol.attention import Answered

_SHOWN = 4000
"""Characters of a call's arguments that a person is shown."""


@define(kw_only=True)
class Approvals:
    """What one agent has to ask for: names of tools, or ids of operations. ``seconds`` is how long it waits for an answer."""

    attention: Attention | None = None
    asks: frozenset[str] = frozenset()
    seconds: float | None = None
    _always: set[str] = field(factory=set)

    async def refusal(self, agent: AgentActor, name: str, args: Mapping[str, Any]) -> Refused | None:
        """Ask for a call, if it has to be asked for; None when it may be carried out. A stop raises WindDown."""
        attention = self.attention
        if attention is None or name not in self.asks or name in self._always:
            return None
        # The run may not be kept beyond its ceiling by a person who does not come.
        seconds = min(math.inf if self.seconds is None else self.seconds, agent.desk.secs_left())
        item = AttentionItem(
            id="",
            kind=AttentionKind.APPROVAL,
            title=f"{agent.id} wants to call {name}",
            detail=_told(agent.desk.clean(dict(args))),
            agent=agent.id,
            issue=agent.order.issue,
            options=APPROVALS,
            default=REFUSE,
            deadline_secs=None if math.isinf(seconds) else seconds,
        )
        answers: list[Answered] = []

        async def wait() -> None:
            answers.append(await attention.ask(item))

        await agent.suspend(f"approval of {name}", wait)
        answer = answers[0]
        if answer.choice == ALWAYS:
            self._always.add(name)
        if answer.choice in (APPROVE, ALWAYS):
            return None
        said = f"nobody answered within {seconds:g} s" if answer.expired else "the operator refused this call"
        note = f": {answer.note}" if answer.note else ""
        message = f"{name}: {said}{note}. It was not carried out; do without it, or say in your ending what is left."
        return Refused(code=Code.REFUSED, message=message)


def _told(args: Mapping[str, Any]) -> str:
    match args:
        case {"command": str() as command}:
            text = command
        case _:
            text = json.dumps(dict(args), ensure_ascii=False, indent=1, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
