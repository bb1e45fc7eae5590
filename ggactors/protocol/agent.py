"""The agents' page: what an agent is told to be, the letters it takes, the facts of its life."""

from __future__ import annotations

from attrs import frozen

from ggactors.protocol.model import Message, ModelReply, ToolResult  # noqa: TC001 - cattrs needs them at run time
from ggactors.protocol.values import Kind, Role, Status  # noqa: TC001 - cattrs needs them at run time


@frozen(kw_only=True)
class AgentOrder:
    """Everything a new agent is made from. ``issue`` is the one it works for; ``workdir`` is where its tools are rooted."""

    id: str
    profile: str
    kind: Kind
    role: Role
    brief: str
    workdir: str
    parent: str | None = None
    issue: str | None = None
    branch: str | None = None
    notes: str = ""
    """Text for the system prompt that only this agent needs (uncommitted changes of the operator, W11)."""


# ---------------------------------------------------------------- endings (E1)


@frozen(kw_only=True)
class Finished:
    """A standard agent says its work is done, and what it did."""

    summary: str


@frozen(kw_only=True)
class Approved:
    """A reviewer approves the commit it saw."""


@frozen(kw_only=True)
class ChangesRequested:
    """A reviewer asks for these changes; trimmed, none blank, at least one (E5)."""

    items: tuple[str, ...]


Ending = Finished | Approved | ChangesRequested


# ---------------------------------------------------------------- letters


@frozen(kw_only=True)
class Wake:
    """Something an agent waits for may have changed. Carries nothing: the truth is asked for."""


@frozen(kw_only=True)
class Stop:
    """Wind down at the next turn boundary."""


OPERATOR = "operator"
"""Who speaks for the person, as ``Say.sender``."""


@frozen(kw_only=True)
class Say:
    """A text for the agent's next turn: of the operator, the embedding program or an agent. ``sender`` is shown to the model."""

    text: str
    sender: str = OPERATOR
    id: str = ""
    """Under which what became of it is told; empty for one that nobody follows."""
    queued: bool = False
    """It waits until the work under way is done, in an interactive session (G4)."""


@frozen(kw_only=True)
class GoOn:
    """The person has the floor and lets the agent go on with the texts that wait."""


@frozen(kw_only=True)
class Leave:
    """The person leaves: the session ends once the floor is theirs and nothing is queued."""


AgentLetter = Wake | Stop | Say | GoOn | Leave


# ---------------------------------------------------------------- facts (journaled)


@frozen(kw_only=True)
class AgentSpawned:
    """An agent was made from this order."""

    order: AgentOrder


@frozen(kw_only=True)
class ReplyTaken:
    """A model's reply was taken as turn ``turn`` of an agent."""

    agent: str
    turn: int
    reply: ModelReply


@frozen(kw_only=True)
class CallsAnswered:
    """The calls of a turn were answered, and how the turn was judged."""

    agent: str
    turn: int
    results: tuple[ToolResult, ...]
    outcome: str


@frozen(kw_only=True)
class TextHeard:
    """A text reached an agent's conversation: the runtime's feedback or, ``said``, a message of the operator or an agent."""

    agent: str
    text: str
    said: bool = False


@frozen(kw_only=True)
class WindowCompacted:
    """An agent's conversation was put in fewer words: from here on it is the system prompt and these messages."""

    agent: str
    messages: tuple[Message, ...]
    fallback: bool


@frozen(kw_only=True)
class AgentEnded:
    """An agent came to its end."""

    agent: str
    status: Status
    summary: str
    turns: int


AgentFact = AgentSpawned | ReplyTaken | CallsAnswered | TextHeard | WindowCompacted | AgentEnded
