"""An agent's way out: its subagents waited for, its tools closed, its work carried away, its end told, its seat handed on.

Law: in this order, so that nobody takes the seat of an agent that still works or that the stream still shows running (S3). What
was begun is gone through with, also when the run is stopped meanwhile; no text that was taken is dropped in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define

from ggactors.actors.sharing import sharing_tree
from ggactors.actors.stations import SessionEnd
from ggactors.protocol.board import DropWaits
from ggactors.protocol.values import Status

if TYPE_CHECKING:
    from ggactors.actors.agent import AgentActor
    from ggactors.actors.conversation import Conversation

CLOSING_SECS = 5
"""How long a cancelled agent's tools may take to end their processes."""


@define(kw_only=True)
class Leaving:
    """One agent's way out of the run."""

    agent: AgentActor
    talk: Conversation

    async def leave(self, end: SessionEnd) -> None:
        """Wait for the subagents' ends, close the tools, carry the work away, say so, and only then hand the seat on."""
        agent = self.agent
        family = agent.desk.family
        family.leaving(agent.id)
        living = family.living_children(agent.id)
        if living:
            agent.give_up_slot(", ".join(living))
        while family.living_children(agent.id):
            await agent.next_letter()
        await agent.toolbox.close()
        await self.drop_waits()
        async with sharing_tree(agent, force=True):
            await agent.station.ended(end)
        self.gone(end)

    async def drop_waits(self) -> None:
        """Take back from the board the waits that nobody will read."""
        agent = self.agent
        if agent.waits_open and agent.desk.board is not None:
            await agent.desk.board.ask(DropWaits(by=agent.id))
            agent.waits_open = False

    async def close_tools(self) -> None:
        """Leave no process of the agent's tools behind, also when it was cancelled or broke down."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSING_SECS):
            await self.agent.toolbox.close()

    def gone(self, end: SessionEnd) -> None:
        """Record the end, tell it, and hand the seat on."""
        showing = self.agent.showing
        showing.record(end)
        self._unread()
        showing.ended(end)
        self.agent.seat.give_back()
        showing.gone(end)

    def broke_down(self, error: Exception) -> None:
        """Tell of a defect: the stream must not show the agent running once its slot is somebody else's."""
        self._unread()
        summary = f"it broke down: {type(error).__name__}"
        self.agent.showing.ended(SessionEnd(status=Status.INTERNAL_ERROR, summary=summary))

    def _unread(self) -> None:
        """Say of every text that no turn follows to read it; whoever hears of it can send no other."""
        agent = self.agent
        agent.desk.mail.ends(agent.id)
        agent.read_letters()
        agent.showing.unread((*self.talk.waiting, *agent.floor.prompts))
        self.talk.waiting.clear()
        agent.floor.prompts.clear()
