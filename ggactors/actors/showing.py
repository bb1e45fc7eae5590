"""What the stream, the journal and the run hear of one agent: that it was made, where it stands, what it came to.

Law: it tells and decides nothing. Of an agent that was told of, exactly one end is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ggactors.ports import JournalBroken
from ggactors.protocol.agent import AgentEnded, AgentSpawned
from ggactors.protocol.events import AgentSpawned as AgentSpawnedEvent
from ggactors.protocol.events import AgentState as AgentStateEvent
from ggactors.protocol.events import Log
from ggactors.protocol.run import AgentGone
from ggactors.protocol.values import AgentState, Status
from ggactors.rules.briefs import unread_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.actors.agent import AgentActor
    from ggactors.actors.stations import SessionEnd
    from ggactors.protocol.agent import Say


@define(kw_only=True)
class Showing:
    """One agent as others see it."""

    agent: AgentActor
    _living: bool = False
    """Whether the stream shows it as living."""

    def announce(self, tools: tuple[str, ...], operations: tuple[str, ...]) -> None:
        """Tell that it was made, and what its model is offered."""
        desk, order, profile = self.agent.desk, self.agent.order, self.agent.profile
        desk.journal.append("agents", [desk.pack(AgentSpawned(order=order))])
        desk.emit(
            AgentSpawnedEvent(
                agent=order.id,
                profile=profile.id,
                profile_name=profile.name,
                role=order.role,
                kind=order.kind,
                parent=order.parent,
                issue=order.issue,
                workdir=order.workdir,
                branch=order.branch,
                brief=order.brief,
                tools=tools,
                operations=operations,
            )
        )
        self._living = True
        self.state(AgentState.QUEUED)

    def state(
        self,
        state: AgentState,
        *,
        waiting_on: str | None = None,
        status: Status | None = None,
        summary: str | None = None,
        verified: bool | None = None,
    ) -> None:
        """Tell where it stands."""
        self.agent.desk.emit(
            AgentStateEvent(
                agent=self.agent.id,
                state=state,
                waiting_on=waiting_on,
                status=status,
                summary=summary,
                verified=verified,
            )
        )

    def provider(self, waiting_on: str | None) -> None:
        """Tell that its model's provider is waited for, its slot in hand, or (None) that it goes on."""
        self.state(AgentState.RUNNING if waiting_on is None else AgentState.WAITING, waiting_on=waiting_on)

    def unread(self, texts: Sequence[Say]) -> None:
        """Tell which messages it ends without reading: none that was taken is dropped in silence."""
        desk, agent = self.agent.desk, self.agent.id
        for said in texts:
            if desk.mail.unread(said):
                note = unread_note(agent, said.text, said.sender)
                desk.emit(Log(agent=agent, level="warning", message=note))

    def ended(self, end: SessionEnd) -> None:
        """Tell the stream its end, once."""
        if self._living:
            self._living = False
            self.state(AgentState.ENDED, status=end.status, summary=end.summary, verified=end.verified)

    def record(self, end: SessionEnd) -> None:
        """Put its end into the journal."""
        desk, agent = self.agent.desk, self.agent
        ended = AgentEnded(agent=agent.id, status=end.status, summary=end.summary, turns=agent.tally.turns)
        try:
            desk.journal.append("agents", [desk.pack(ended)])
        except JournalBroken as error:
            # The run ends of it, and this agent has ended all the same: whoever waits for that must hear of it.
            desk.stop_run(Status.INTERNAL_ERROR, str(error))

    def gone(self, end: SessionEnd) -> None:
        """Tell the run that it is gone."""
        agent = self.agent
        agent.desk.gone(
            AgentGone(
                agent=agent.id,
                kind=agent.order.kind,
                status=end.status,
                summary=end.summary,
                turns=agent.tally.turns,
                errors=agent.tally.errors,
                verified=end.verified,
                limit=None if agent.limit is None else agent.limit.as_dict(agent.id),
            )
        )
