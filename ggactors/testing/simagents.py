"""The agents of a simulated world: models that decide by dice what to call, from the seed, their own id and what they were told.

Law: every habit comes to an end of its own, by an ending call or by falling silent, so that a run that does not end is never
its agents' doing. A habit is a generator: it yields moves (calls, prose, or a fault of the model) and looks at ``mind.results``
for what its last calls came to.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field

from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelReply, ToolCall, Usage
from ggactors.testing import simhabits, simsteady

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from ggactors.protocol.model import ModelRequest, ToolResult
    from ggactors.testing.simhabits import Call, Move
    from ggactors.testing.simworld import SimWorld

_ISSUE = re.compile(r"\b[A-Z]{3,6}-\d+\b(?!\.)")


@define(kw_only=True)
class Mind:
    """What one agent knows: its dice, what it was told last, which issues it heard of."""

    id: str
    world: SimWorld
    chance: random.Random
    request: ModelRequest | None = None
    issues: list[str] = field(factory=list)
    """Ids it has seen in results, oldest first."""
    epics: list[str] = field(factory=list)
    states: dict[str, str] = field(factory=dict)
    """The states it was told of issues, newest word."""

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Return what the last turn's calls came to, in their order."""
        messages = self.request.messages if self.request is not None else ()
        for message in reversed(messages):
            if message.role == "tool":
                return message.results
            if message.role == "assistant":
                break
        return ()

    @property
    def brief(self) -> str:
        """Return the text it was dispatched with."""
        messages = self.request.messages if self.request is not None else ()
        return next((message.text for message in messages if message.role == "user"), "")

    def has(self, tool: str) -> bool:
        """Tell whether it is offered a tool."""
        return self.request is not None and any(spec.name == tool for spec in self.request.tools)

    def likely(self, chance: float) -> bool:
        """Throw the dice."""
        return self.chance.random() < chance

    def hear(self, request: ModelRequest) -> None:
        """Take in a request: what it may call, and the issues its last results speak of."""
        self.request = request
        for result in self.results:
            if not result.ok:
                continue
            if result.tool == "create_epic":
                self.epics.append(json.loads(result.output)["id"])
            elif result.tool in ("create_issue", "read_board"):
                self.issues += [one for one in dict.fromkeys(_ISSUE.findall(result.output)) if one not in self.issues]
            elif result.tool == "wait_for_issue":
                told = json.loads(result.output)
                self.states[told["id"]] = told["state"]


@define
class RandomModel:
    """Serves one agent by its habit. Obeys ``ports.Model``."""

    mind: Mind
    habit: Iterator[Move]
    calls_at: Callable[[str], None]
    label: str = "random"
    _begun: bool = False

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Make the next move, after its delay. Raises the ModelFault it makes, and what the world plants."""
        mind, world = self.mind, self.mind.world
        await trio.sleep(mind.chance.choice(world.temper.pace) * world.speed)
        self.calls_at("model")
        if not world.steady and mind.likely(world.temper.passing):
            raise simhabits.passing_fault(mind.chance)
        mind.hear(request)
        move = next(self.habit, "I have nothing more to say.")
        match move:
            case ModelFault():
                raise move
            case str():
                return ModelReply(text=move, usage=Usage(input=20, output=5))
            case _:
                return _reply(move, request.turn)

    def bound(self, request: ModelRequest) -> Usage | None:
        """Give no bound: how much a reply spends is known when it is there."""
        return None


def _reply(calls: list[Call], turn: int) -> ModelReply:
    return ModelReply(
        calls=tuple(
            ToolCall(id=f"call-{turn}-{number}", tool=tool, args=dict(args))
            for number, (tool, args) in enumerate(calls, start=1)
        ),
        usage=Usage(input=20, output=5 * len(calls)),
    )


@define
class RandomAgents:
    """Serves every agent of a world. ``calls_at(site)`` is called before each reply and may raise what is planted there."""

    world: SimWorld
    calls_at: Callable[[str], None] = field(default=lambda _: None)
    label: str = "random"

    def model_for(self, agent: str, profile: str) -> RandomModel:
        """Make the model of one agent."""
        mind = Mind(id=agent, world=self.world, chance=self.world.chance(agent))
        habits: Any = simsteady if self.world.steady else simhabits
        return RandomModel(mind, habits.habit_of(mind), self.calls_at)
