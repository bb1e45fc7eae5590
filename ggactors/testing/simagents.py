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
from ggactors.protocol.crew import SUBMIT_PROGRAM
from ggactors.protocol.model import ModelReply, ModelTraits, ToolCall, Usage
from ggactors.rules.window import estimate, tokens_of_tools
from ggactors.testing import simhabits, simsteady
from ggactors.testing.simprograms import SimPrograms, written
from ggactors.testing.simprovider import Account

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
    programs: SimPrograms = field(factory=SimPrograms)

    @property
    def codes(self) -> bool:
        """Tell whether it answers with programs."""
        return self.request is not None and any(spec.name == SUBMIT_PROGRAM for spec in self.request.tools)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """Return what the last turn's calls came to, in their order."""
        if self.codes:
            return tuple(self.programs.results.get(self.id, ()))
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
        if self.request is None:
            return False
        said = self.codes and f"{tool}(" in self.request.messages[0].text
        return said or any(spec.name == tool for spec in self.request.tools)

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
class Served:
    """One agent as its models serve it: they share its mind and its habit, whichever answers."""

    mind: Mind
    habit: Iterator[Move]


@define
class RandomModel:
    """Serves one agent by its habit. Obeys ``ports.Model``."""

    served: Served
    account: Account
    calls_at: Callable[[str], None]
    seen: Callable[[ModelRequest], None]
    label: str = "random"
    _spent: Usage | None = None

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Make the next move, after its delay. Raises the ModelFault it makes, and what the world plants."""
        mind, world = self.served.mind, self.served.mind.world
        self.seen(request)
        call = self.account.begin(request.agent)
        try:
            if not world.wave.nothing:
                self._spent = Usage(input=2)
            await trio.sleep(mind.chance.choice(world.temper.pace) * world.speed)
            self._spent = None
            reply = self._answer(request)
        except ModelFault as fault:
            self.account.faulted(call, fault)
            raise
        except BaseException:
            self.account.cut(call)
            raise
        self.account.answered(call)
        return reply

    def _answer(self, request: ModelRequest) -> ModelReply:
        mind, world = self.served.mind, self.served.mind.world
        self.calls_at("model")
        storm = self.account.storm()
        if storm is not None:
            raise storm
        if not world.steady and mind.likely(world.temper.passing):
            raise simhabits.passing_fault(mind.chance)
        tokens = _tokens(request, world)
        if world.wave.window is not None and tokens > world.wave.window:
            raise ModelFault("the request is too long", status=400, overflow=True)
        if request.messages[-1].text.startswith(SUMMARY_ASKED):
            mind.request = mind.request or request
            return _summary(mind, tokens, request.turn)
        mind.hear(request)
        move = next(self.served.habit, "I have nothing more to say.")
        match move:
            case ModelFault():
                raise move
            case str():
                return ModelReply(text=move, usage=Usage(input=tokens, output=5))
            case _:
                return _said(mind, move, request.turn, tokens)

    def take_spent(self) -> Usage | None:
        """Give what the last call spent if it was cut off."""
        spent, self._spent = self._spent, None
        return spent

    def bound(self, request: ModelRequest) -> Usage | None:
        """Give a bound where the world has one; else how much a reply spends is known when it is there."""
        world = self.served.mind.world
        return Usage(input=_tokens(request, world), output=100) if world.wave.bounded else None


SUMMARY_ASKED = "Your conversation is about to be compacted"


def _tokens(request: ModelRequest, world: SimWorld) -> int:
    """Count a request as the world's models do; where they have no window every one counts alike."""
    if world.wave.window is None:
        return 20
    return round((estimate(request.messages) + tokens_of_tools(request.tools)) * world.wave.factor)


def _summary(mind: Mind, tokens: int, turn: int) -> ModelReply:
    """Sum up, or do what is asked of nobody: say nothing, call a tool, say far too much, end the session."""
    usage = Usage(input=tokens, output=5)
    match mind.chance.randrange(8):
        case 0:
            return ModelReply(text=" ", usage=usage)
        case 1:
            return _said(mind, [("list_dir", {})], turn, tokens)
        case 2:
            return ModelReply(text="at length " * 3000, usage=usage)
        case 3 if mind.has("finish"):
            return _said(mind, [("finish", {"summary": f"{mind.id} is done"})], turn, tokens)
        case _:
            return ModelReply(text=f"{mind.id} did this and that", usage=usage)


def _said(mind: Mind, calls: list[Call], turn: int, tokens: int) -> ModelReply:
    """Make calls, or submit a program or two that makes them."""
    if not mind.codes:
        return _reply(calls, turn, tokens)
    parts = [calls[:1], calls[1:]] if len(calls) > 1 and mind.likely(0.2) else [calls]
    programs: list[Call] = [(SUBMIT_PROGRAM, {"program": written(mind.id, part, mind.chance)}) for part in parts]
    return _reply(programs, turn, tokens)


def _reply(calls: list[Call], turn: int, tokens: int) -> ModelReply:
    return ModelReply(
        calls=tuple(
            ToolCall(id=f"call-{turn}-{number}", tool=tool, args=dict(args))
            for number, (tool, args) in enumerate(calls, start=1)
        ),
        usage=Usage(input=tokens, output=5 * len(calls)),
    )


@define
class RandomAgents:
    """Serves every agent of a world. ``calls_at(site)`` is called before each reply and may raise what is planted there;
    ``seen`` looks at each request.
    """

    world: SimWorld
    calls_at: Callable[[str], None] = field(default=lambda _: None)
    seen: Callable[[ModelRequest], None] = field(default=lambda _: None)
    label: str = "random"
    account: Account = field(init=False)
    programs: SimPrograms = field(factory=SimPrograms)
    everybody: dict[str, Served] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Open the account."""
        wave = self.world.wave
        self.account = Account(storms=wave.storms, shared=bool(wave.account))

    @property
    def traits(self) -> ModelTraits:
        """Give what is known of the model."""
        wave = self.world.wave
        return ModelTraits(account=wave.account, window=wave.window if wave.window_known else None)

    def model_for(self, agent: str, profile: str) -> RandomModel:
        """Make the model of one agent."""
        if agent not in self.everybody:
            mind = Mind(id=agent, world=self.world, chance=self.world.chance(agent), programs=self.programs)
            habits: Any = simsteady if self.world.steady else simhabits
            self.everybody[agent] = Served(mind, habits.habit_of(mind))
        return RandomModel(self.everybody[agent], self.account, self.calls_at, self.seen, self.label)


@define
class SpareAgents:
    """Serves the agents of a world by another account, for when the first is in trouble."""

    agents: RandomAgents
    account: Account
    label: str = "spare"

    @property
    def traits(self) -> ModelTraits:
        """Give what is known of the model."""
        traits = self.agents.traits
        return ModelTraits(account="spare account", window=traits.window)

    def model_for(self, agent: str, profile: str) -> RandomModel:
        """Make the model of one agent: the same one, reached another way."""
        model = self.agents.model_for(agent, profile)
        model.account, model.label = self.account, self.label
        return model
