"""The gate of an agent: its hooks at a session's start, between turns, and before any ending stands (G1, docs/reference/hooks.md).

Law: an ending passes the hooks first and the station after them, the tree shared meanwhile. Nothing but both lets it stand.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from attrs import define

from ggactors.actors.sharing import sharing_tree
from ggactors.actors.stations import SessionEnd
from ggactors.ports import RepositoryBroken
from ggactors.protocol.agent import Finished
from ggactors.protocol.hooks import HookOutcome
from ggactors.protocol.values import Status
from ggactors.rules.briefs import gate_blocked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.actors.agent import AgentActor
    from ggactors.ports import Hooks
    from ggactors.protocol.agent import Ending
    from ggactors.protocol.model import ToolCall

_NOTHING = HookOutcome()


class NoHooks:
    """Obeys ``ports.Hooks`` and has nothing bound to anything."""

    def listens(self, *events: str) -> bool:  # noqa: ARG002
        """Tell that nothing listens."""
        return False

    async def fire(self, event: str, payload: Mapping[str, Any] | None = None) -> HookOutcome:  # noqa: ARG002
        """Let everything pass."""
        return _NOTHING

    def take_completion(self) -> str | None:
        """Have nothing to end the session with."""
        return None


@define(kw_only=True)
class Gate:
    """One agent's gate. ``tell`` adds a text to what its model reads next."""

    agent: AgentActor
    tell: Callable[[str], None]
    _verified: bool | None = None
    """What the check of completion said of the last ending that was admitted."""
    _unverified: str | None = None

    async def open(self) -> SessionEnd | None:
        """Run the session's and the agent's starting hooks; one that could not be run ends the session (C4)."""
        for hooks, event in ((self.agent.opening, "session-start"), (self.agent.hooks, "agent-start")):
            outcome = await self._fire(hooks, event)
            if outcome.failed is not None:
                return SessionEnd(status=Status.HOOK_ERROR, summary=outcome.failed)
            self._tell_all(outcome.messages)
        return await self._completed()

    async def between_turns(self, event: str) -> SessionEnd | None:
        """Let hook objects hear of an event between turns, and end the session if one of them says so."""
        await self._heard(event, {"turns": self.agent.tally.turns})
        return await self._completed()

    async def compaction(self, event: str, told: Mapping[str, Any]) -> None:
        """Let hooks hear that the conversation is about to be compacted, or was; nothing can be blocked there."""
        await self._heard(event, told)

    async def _completed(self) -> SessionEnd | None:
        """End the session that a hook object completed, through the gate like any ending (docs/reference/embedding.md)."""
        summary = self.agent.hooks.take_completion() or self.agent.opening.take_completion()
        if summary is None:
            return None
        ending = Finished(summary=summary)
        held = self.children_left() or await self.admit(ending, summary, None)
        if held is None:
            return self.stands(ending, summary)
        self.tell(gate_blocked(held))
        return None

    def stands(self, ending: Ending, summary: str) -> SessionEnd:
        """Give the end of a session whose ending was just admitted, with what the check of completion said of it (G5)."""
        told = summary if self._unverified is None else f"{summary}\n[{self._unverified}]"
        return SessionEnd(status=Status.COMPLETED, summary=told, ending=ending, verified=self._verified)

    def children_left(self) -> str | None:
        """Say that subagents have not ended, which no ending may leave behind (W4), or None."""
        living = self.agent.desk.family.living_children(self.agent.id)
        if not living:
            return None
        return f"your subagents {', '.join(living)} have not ended; wait for them with `wait_for_subagents`, then end"

    async def admit(self, ending: Ending, summary: str, call: ToolCall | None) -> str | None:
        """Pass an ending through the gate; give the reason it is held back, or None.

        ``call`` is what declared it, None when a hook object did. A disk that refuses holds it back like any gate.
        """
        agent = self.agent
        try:
            async with sharing_tree(agent):
                ended_by = None if call is None else {"tool": call.tool, "args": call.args}
                declared = {"call": ended_by, "task": agent.floor.task}
                outcome = await self._fire(agent.hooks, "agent-stop", declared)
                self._verified, self._unverified = outcome.verified, outcome.unverified
                held = outcome.blocked if outcome.blocked is not None else await agent.station.admit(ending, summary)
                return None if held is None else "\n".join((*outcome.messages, held))
        except RepositoryBroken as error:
            return f"the work could not be committed: {error}"

    async def _heard(self, event: str, told: Mapping[str, Any]) -> None:
        """Let the agent's hooks hear of an event where nothing can be blocked."""
        if self.agent.hooks.listens(event):
            self._tell_all((await self._fire(self.agent.hooks, event, told)).messages)

    async def _fire(self, hooks: Hooks, event: str, told: Mapping[str, Any] | None = None) -> HookOutcome:
        """Run hooks; what they do where the agent works is marked as its own work."""
        async with self.agent.station.working() if hooks.listens(event) else nullcontext():
            return await hooks.fire(event, told)

    def _tell_all(self, messages: tuple[str, ...]) -> None:
        for message in messages:
            self.tell(message)
