"""Models with a window, for runs whose conversations outgrow it, and what must hold of every request they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio
import trio.testing
from attrs import define, field

from ggactors.app.staff import AGENT_FACTS
from ggactors.ports import ModelFault
from ggactors.protocol.model import ModelReply, ModelTraits, ToolCall, Usage
from ggactors.rules.compaction import PINS, SUMMARY
from ggactors.rules.retelling import messages_of
from ggactors.testing.crews import of_type
from ggactors.testing.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.protocol.model import ModelRequest

ASKED = "Your conversation is about to be compacted"
HANDS = [{"id": "files"}, {"id": "shell"}]


def compaction(**params: Any) -> dict[str, Any]:
    """Write the capability."""
    return {"id": "compaction", "params": params}


def size(request: ModelRequest) -> int:
    """Count a request's characters the way a provider would count its tokens: all of them."""
    return sum(
        len(m.text) + sum(len(r.output) for r in m.results) + sum(len(str(c.args)) for c in m.calls)
        for m in request.messages
    )


def asks_summary(request: ModelRequest) -> bool:
    """Tell a request for a summary."""
    return request.messages[-1].text.startswith(ASKED)


def call(turn: int, tool: str, **args: Any) -> ModelReply:
    """Write a reply of one call."""
    return ModelReply(
        text=f"turn {turn}",
        calls=(ToolCall(id=f"c{turn}", tool=tool, args=args),),
        usage=Usage(input=0, output=1),
    )


def done(turn: int = 0, summary: str = "done") -> ModelReply:
    """Write a reply that finishes."""
    return call(turn, "finish", summary=summary)


@define(kw_only=True)
class Windowed:
    """A source of models with a window: ``answer`` replies; a request of more than ``limit`` characters overflows."""

    answer: Callable[[ModelRequest], ModelReply]
    traits: ModelTraits = field(factory=ModelTraits)
    limit: int | None = None
    label: str = "windowed"
    seen: list[ModelRequest] = field(factory=list)
    """The requests that were answered."""
    refused: int = 0

    def model_for(self, agent: str, profile: str) -> Windowed:
        """Serve every agent."""
        return self

    def bound(self, request: ModelRequest) -> Usage | None:
        """Have no bound."""
        return None

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer, unless the request is too long."""
        await trio.lowlevel.checkpoint()
        if self.limit is not None and size(request) > self.limit:
            self.refused += 1
            raise ModelFault("prompt is too long", status=400, overflow=True)
        self.seen.append(request)
        return self.answer(request)

    def turns(self, agent: str = "root") -> list[ModelRequest]:
        """List the requests for a turn, those for a summary left out."""
        return [one for one in self.seen if one.agent == agent and not asks_summary(one)]


def working(
    turns: int, *, weight: int = 4000, summary: Callable[[ModelRequest], ModelReply] | None = None
) -> Callable[[ModelRequest], ModelReply]:
    """Write a model that writes a file of some weight each turn, then finishes; asked for a summary it gives one."""

    def answer(request: ModelRequest) -> ModelReply:
        if asks_summary(request):
            return ModelReply(text="I wrote files.") if summary is None else summary(request)
        if request.turn > turns:
            return done(request.turn)
        return call(request.turn, "write_file", path=f"f{request.turn}", contents=f"{request.turn} " + "y" * weight)

    return answer


def play(source: Windowed, *, capabilities: list[Any] | None = None, **more: Any):
    """Play a lead of its own with that model; give the outcome and the run."""
    on = [*HANDS, compaction()] if capabilities is None else capabilities
    document = {
        "board": False,
        "agents": {"lead": {"capabilities": on, **more.pop("profile", {})}},
        **more.pop("document", {}),
    }
    run = Simulation(source=source, document=document, **more)

    async def main():
        return await run.run()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)), run


def check(source: Windowed, run: Simulation, agent: str = "root") -> None:
    """Check what holds of every conversation, compacted or not, and that its facts retell it."""
    asked = source.turns(agent)
    first = asked[0].messages
    breaks = 0
    for before, request in zip([None, *asked], asked, strict=False):
        messages = request.messages
        assert messages[:2] == first[:2], "system prompt and brief are verbatim"
        assert [tool.name for tool in request.tools] == [tool.name for tool in asked[0].tools], (
            "nothing is withheld (E3)"
        )
        called: list[str] = []
        for message in messages:
            if message.role == "tool":
                assert [result.call_id for result in message.results] == called
            else:
                assert not called, "a call was left without its result"
            called = [one.id for one in message.calls]
        assert not called
        pins = [message for message in messages if message.text.startswith(PINS)]
        assert len(pins) <= 1
        assert sum(message.text.startswith(SUMMARY) for message in messages) <= 1
        breaks += before is not None and messages[: len(before.messages)] != before.messages
    assert breaks <= len(of_type(run.events, "compacted", agent)), "the prefix is stable between compactions"
    facts = [AGENT_FACTS.unpack(packed) for packed in run.journal.stream("agents")]
    retold = messages_of(facts, agent, system=first[0].text)
    last = asked[-1].messages
    assert retold[: len(last)] == last


WINDOW = ModelTraits(window=8000)


def pinned(request):
    return next((m.text for m in request.messages if m.text.startswith(PINS)), "")


def summed_up(request):
    return next((m.text for m in request.messages if m.text.startswith(SUMMARY)), "")
