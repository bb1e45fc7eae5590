"""Crews with subagents, short ways to write their calls and to play them, and models that remember what they were asked."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import trio.testing
from attrs import define, field

from ggactors.models.script import script_of
from ggactors.testing.crews import of_type
from ggactors.testing.memory import MemoryRepository
from ggactors.testing.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ggactors.models.script import Script
    from ggactors.ports import Model
    from ggactors.protocol.events import Event
    from ggactors.protocol.git import Merged, MergeFailed, Signature
    from ggactors.protocol.model import ModelReply, ModelRequest, Usage
    from ggactors.protocol.run import Outcome
    from ggactors.testing.crews import Entry

HANDS = [{"id": "files"}, {"id": "shell"}]
BOARD = {
    "id": "project-management",
    "params": {"mergeAgentId": "merger", "maxEpics": 5, "maxIssues": 50, "maxRetries": 1},
}


LOOK = ("list_dir", {})
"""A call that does nothing."""


def crew(*, depth: int = 3, board: bool = True, **document: Any) -> dict[str, Any]:
    """Write a crew whose lead, coder and critic may all spawn coders and leads. Doing the same again and again is no trouble."""
    spawning = {"id": "subagents", "params": {"maxDepth": depth}}
    anybody = [{"agent": name, "scopes": ["subagent"]} for name in ("coder", "lead")]
    roster = [
        *({"agent": name, "scopes": ["implementer"]} for name in ("coder", "lead")),
        {"agent": "critic", "scopes": ["reviewer"]},
        *anybody,
    ]
    agents = {
        "lead": {"capabilities": [*HANDS, spawning, *([BOARD] if board else [])], "roster": roster},
        "coder": {"capabilities": [*HANDS, spawning], "roster": anybody},
        "critic": {"capabilities": [*HANDS, spawning], "roster": anybody},
        "merger": {"capabilities": [*HANDS, spawning], "roster": anybody},
    }
    return {"board": board, "agents": agents, "stuckDetection": {"enabled": False}, **document}


def spawn(agent: str = "coder", prompt: str = "do your part") -> tuple[str, dict[str, Any]]:
    """Write a call that spawns a subagent."""
    return "spawn_subagent", {"agent": agent, "prompt": prompt}


def children(*names: str) -> tuple[str, dict[str, Any]]:
    """Write a call that waits for subagents, or for all of them."""
    return "wait_for_subagents", {"agents": list(names)} if names else {}


def message(agent: str, text: str) -> tuple[str, dict[str, Any]]:
    """Write a call that sends a message."""
    return "send_message", {"agent": agent, "text": text}


def ends(events: Sequence[Event]) -> dict[str, str]:
    """Map each agent that ended to its status."""
    return {event.agent: str(event.status) for event in of_type(events, "agent_state") if event.state == "ended"}


def answers(events: Sequence[Event], agent: str, tool: str) -> list[Any]:
    """List the answers to an agent's calls of one tool."""
    calls = {event.call_id for event in of_type(events, "tool_call", agent) if event.tool == tool}
    return [event for event in of_type(events, "tool_result", agent) if event.call_id in calls]


def outputs(events: Sequence[Event], agent: str, tool: str) -> list[Any]:
    """List what the answers to an agent's calls of one tool say, read as JSON."""
    return [json.loads(answer.output) for answer in answers(events, agent, tool) if answer.ok]


def place(events: Sequence[Event], **wanted: Any) -> int:
    """Find the place of the first event with these values in the stream."""
    return next(
        index
        for index, event in enumerate(events)
        if all(getattr(event, name, None) == value for name, value in wanted.items())
    )


def most_running(events: Sequence[Event]) -> int:
    """Replay the stream and count the most agents that were running at once."""
    running: set[str | None] = set()
    most = 0
    for event in of_type(events, "agent_state"):
        (running.add if event.state == "running" else running.discard)(event.agent)
        most = max(most, len(running))
    return most


def check_slots(staff: Any, event: Event) -> None:
    """Check at an event that no slot was given twice, by the pool's count and by what the stream tells."""
    assert staff.pool.held <= staff.pool.width
    if event.type == "agent_state":
        running = [agent for agent in staff.place.view.agents() if agent.state == "running"]
        assert len(running) <= staff.pool.width, f"{event.agent} makes {sorted(one.id for one in running)} run at once"


@define
class Listening:
    """A script's source that keeps every request made of it, and tells ``asked`` of each before it answers."""

    script: Mapping[str, Sequence[Entry]]
    asked: Callable[[ModelRequest], None] | None = None
    requests: list[ModelRequest] = field(factory=list)
    label: str = "listening"
    _script: Script = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._script, problems = script_of(json.dumps({"agents": self.script}).encode(), "script.json", "listening")
        assert problems == ()

    def model_for(self, agent: str, profile: str) -> Model:
        return _Ear(self, self._script.model_for(agent, profile))

    def heard_by(self, agent: str, turn: int) -> list[str]:
        """List what an agent's model was told since its reply before this turn, results of calls left out."""
        request = next(one for one in self.requests if (one.agent, one.turn) == (agent, turn))
        last = max(index for index, message in enumerate(request.messages) if message.role in ("assistant", "system"))
        return [message.text for message in request.messages[last + 1 :] if message.role == "user"]


@define
class _Ear:
    source: Listening
    model: Model
    label: str = "listening"

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.source.requests.append(request)
        if self.source.asked is not None:
            self.source.asked(request)
        return await self.model.reply(request)

    def bound(self, request: ModelRequest) -> Usage | None:
        return self.model.bound(request)


@define
class HeldMerges(MemoryRepository):
    """A repository whose merges go on once they are let, so that agents come upon the locked tree."""

    let: trio.Event = field(factory=trio.Event, kw_only=True)

    async def merge(self, issue: str, commit: str, signature: Signature, message: str) -> Merged | MergeFailed:
        await self.let.wait()
        return await super().merge(issue, commit, signature, message)


def play(
    script: Any,
    *,
    seed: int | None = None,
    watch: Any = check_slots,
    repository: MemoryRepository | None = None,
    **document: Any,
) -> tuple[Outcome, Simulation]:
    """Run a script to its end under the virtual clock, under the schedule of a seed if there is one."""
    source = script if isinstance(script, Listening) else Listening(script)
    run = Simulation(source=source, watch=watch, document=crew(**document), repository=repository or MemoryRepository())
    if seed is not None:
        trio._core._run._r = random.Random(seed)
    outcome = trio.run(run.run, clock=trio.testing.MockClock(autojump_threshold=0))
    assert run.staff is not None
    assert run.staff.pool.held == 0
    spawned = {event.agent for event in of_type(run.events, "agent_spawned")}
    assert spawned == set(ends(run.events)), "whoever was spawned ended"
    return outcome, run
