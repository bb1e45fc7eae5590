"""Talking with the agents of a run: texts sent to them, and the floor of the one that has a person at its prompt (G4, G7, H46).

Law: nothing here waits but ``persons_turn``; a text that an agent takes has a record that says what became of it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from ggactors.actors.approving import Approvals
from ggactors.actors.attention import Attention
from ggactors.actors.floor import Floor
from ggactors.actors.mail import Mail
from ggactors.protocol.agent import OPERATOR, GoOn, Leave
from ggactors.protocol.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ggactors.actors.mail import Posted
    from ggactors.app.launch import Launch
    from ggactors.protocol.agent import AgentLetter, AgentOrder
    from ggactors.protocol.crew import Limits, Profile
    from ggactors.protocol.events import Event


@define(kw_only=True)
class Talk:
    """The run's side of every conversation. ``tell`` puts a letter into a living agent's box and tells whether it lives."""

    launch: Launch
    emit: Callable[[Event], None]
    tell: Callable[[str, AgentLetter], bool]
    lives: Callable[[str], bool]
    mask: Callable[[str], str]
    """Keeps the values of keys out of what a person says."""
    stalls: Callable[[], Mapping[str, str]] = dict
    """Gives every issue that is stalled, and the failed one it stands behind."""
    mail: Mail = field(init=False)
    attention: Attention = field(init=False)
    floors: dict[str, Floor] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Open the post office and the queue of what waits for a person."""
        self.mail = Mail(emit=self.emit)
        self.attention = Attention(emit=self.emit, stalls=self.stalls)

    @property
    def options(self) -> dict[str, Any]:
        """Give what the run was launched with, as far as it is about talking, for its journal."""
        launch = self.launch
        return {"interactive": launch.interactive, "confirm": launch.confirm, "prompts": list(launch.prompts)}

    def floor_of(self, order: AgentOrder) -> Floor:
        """Make the floor of a new agent: the root's has the person, if there is one, and the tasks that queue."""
        if order.kind is not Kind.ROOT:
            return Floor()
        launch = self.launch
        prompts = deque(self.mail.post(order.id, text, OPERATOR, queued=True)[1] for text in launch.prompts)
        floor = Floor(
            person=launch.interactive,
            confirms=launch.confirm,
            limits=_interactive_limits(launch) if launch.interactive else None,
            prompts=prompts,
        )
        self.floors[order.id] = floor
        return floor

    def approvals_of(self, profile: Profile) -> Approvals:
        """Make what an agent of a profile has to ask for: nothing where the person said yes to everything beforehand."""
        asks = frozenset() if self.launch.confirm else frozenset(profile.ask)
        return Approvals(attention=self.attention, asks=asks, seconds=profile.ask_secs)

    def send(self, agent: str, text: str, sender: str, *, queued: bool = False) -> Posted | None:
        """Hand a text to a living agent; None when there is none of that id."""
        if not self.lives(agent) or not self.mail.reads(agent):
            return None
        posted, letter = self.mail.post(agent, self.mask(text), sender, queued=queued)
        if not self.tell(agent, letter):
            self.mail.unread(letter)
            return None
        floor = self.floors.get(agent)
        if floor is not None and sender == OPERATOR:
            floor.spoken_to()
        return posted

    def interrupt(self, agent: str) -> bool:
        """Cut the turn an agent is in. False when it is in none, or nobody is at its prompt."""
        floor = self.floors.get(agent)
        return floor is not None and floor.interrupt()

    def go_on(self, agent: str) -> bool:
        """Let an agent go on with the texts that wait for it. False when none waits."""
        floor = self.floors.get(agent)
        if floor is None or not floor.idle or not self.mail.pending(agent) or not self.tell(agent, GoOn()):
            return False
        floor.spoken_to()
        return True

    def leave(self, agent: str) -> bool:
        """Let a session end once its person has the floor and nothing is queued. False when nobody is at its prompt."""
        floor = self.floors.get(agent)
        return floor is not None and floor.person and self.tell(agent, Leave())

    async def persons_turn(self, agent: str) -> bool:
        """Wait until the person has an agent's floor. False when its session is over, or has no person."""
        floor = self.floors.get(agent)
        return floor is not None and floor.person and await floor.persons_turn()


def _interactive_limits(launch: Launch) -> Limits:
    """Give the ceilings of an interactive agent: no error ceiling, and of turns only one the crew writes (C3, G7)."""
    limits = launch.crew.limits
    written = launch.crew.document.get("limits")
    turns = limits.max_turns if isinstance(written, dict) and "maxTurns" in written else None
    return evolve(limits, max_turns=turns, max_consecutive_errors=None, max_error_rate=None, error_rate_window=None)
