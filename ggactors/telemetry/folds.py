"""What a run looks like, folded from its events and from nothing else (T2).

Law: pure. The same events give the same view, live and after the run, so everything that shows a run (console, ``show``,
``runs``, reports) folds here and asks nobody. A view only grows by ``apply``; it reads no clock.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, assert_never

from attrs import define, evolve, field

from ggactors.protocol import events
from ggactors.protocol.values import THE_PROVIDER, IssueState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LOGS_KEPT = 50
DEEPEST = 64
"""Parents that are asked for the issue of a subagent; a file that is not sound may name them in a circle."""


@define(kw_only=True)
class Spend:
    """Tokens by class, and their cost; ``cost`` is None while no call had a price."""

    input: int = 0
    cached_input: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """Count what ``maxTokens`` counts: input and output together."""
        return self.input + self.output

    def add(self, spent: events.UsageSpent) -> None:
        """Add one model call."""
        self.input += spent.input
        self.cached_input += spent.cached_input
        self.output += spent.output
        self.reasoning += spent.reasoning
        if spent.cost is not None:
            self.cost = (self.cost or 0.0) + spent.cost


@define(kw_only=True)
class AgentView:
    """One agent: who it is, where it stands, what it has used.

    ``doing`` is the tool whose answer is awaited, or the wait for a model's passing fault. ``lost`` marks an agent of an
    earlier segment that never came to its end.
    """

    id: str
    profile: str
    profile_name: str
    kind: str
    role: str
    parent: str | None
    issue: str | None
    branch: str | None
    workdir: str
    state: str = "queued"
    waiting_on: str | None = None
    doing: str | None = None
    status: str | None = None
    summary: str | None = None
    verified: bool | None = None
    turns: int = 0
    errors: int = 0
    model: str | None = None
    spend: Spend = field(factory=Spend)
    lost: bool = False
    since: str = ""
    """When it was made, and (``changed``) when its state last changed."""
    changed: str = ""


@define(kw_only=True)
class EpicView:
    """One epic."""

    id: str
    title: str
    description: str | None = None


@define(kw_only=True)
class IssueView:
    """One issue, with the review rounds held on it and what became of its worktree."""

    id: str
    title: str = ""
    state: IssueState = IssueState.OPEN
    agent: str = ""
    reviewers: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    epic: str | None = None
    attempts: int = 0
    rounds: int = 0
    reason: str | None = None
    reviews: list[events.IssueReview] = field(factory=list)
    merge: events.WorktreeMerged | None = None


class RunView:
    """A run as its events so far tell it. ``apply`` takes the next event."""

    def __init__(self) -> None:
        self.run = ""
        self.crew = ""
        self.workspace = ""
        self.version = ""
        self.segments = 0
        self.started = ""
        """Times are those on the events: of the first, and of the last so far."""
        self.latest = ""
        self.ended = False
        self.status: str | None = None
        self.agents_by_id: dict[str, AgentView] = {}
        self.epics: dict[str, EpicView] = {}
        self.issues: dict[str, IssueView] = {}
        self.spend = Spend()
        self.limits: list[events.LimitExceeded] = []
        self.landing: events.CheckoutMoved | None = None
        self.summary: events.SessionSummary | None = None
        self.logs: deque[events.Log] = deque(maxlen=LOGS_KEPT)
        self._removed: set[str] = set()
        self.running = 0
        """Agents that hold a slot now, and (``most_running``) the most there have been at once."""
        self.most_running = 0

    def apply(self, event: events.Event) -> None:  # noqa: C901 - one case an event
        """Fold one event in. Events of agents or issues never heard of before are taken as they are."""
        self.latest = event.time
        match event:
            case events.AgentState():
                self._state(event)
            case events.UsageSpent():
                self.spend.add(event)
                agent = self._agent(event)
                agent.model = event.model
                agent.spend.add(event)
            case events.TurnOutcome():
                agent = self._agent(event)
                agent.turns = event.turns
                agent.doing = None
                agent.errors += event.outcome == "error"
            case events.ToolCalled():
                self._agent(event).doing = event.tool
            case events.ToolAnswered() | events.CodeExecution():
                self._agent(event).doing = None
            case events.AssistantMessage() | events.Hook() | events.Stuck() | events.Compacted():
                pass
            case events.Message() | events.TaskEnded() | events.Attention():
                pass
            case events.RetryWait():
                self._agent(event).doing = waits_text(event)
            case events.AgentSpawned():
                self._spawned(event)
            case events.BoardChanged():
                self._board(event)
            case events.BoardStalled():
                pass  # read off the board itself, since nothing says when a stall is over
            case events.IssueReview():
                if event.issue not in self._removed:
                    issue = self._issue(event.issue)
                    issue.reviews.append(event)
                    issue.rounds = max(issue.rounds, event.round)
            case events.WorktreeMerged():
                if event.issue not in self._removed:  # a failed issue's worktree may go after the issue itself went
                    self._issue(event.issue).merge = event
            case events.CheckoutMoved():
                self.landing = event
            case events.LimitExceeded():
                self.limits.append(event)
            case events.Log():
                self.logs.append(event)
            case events.SessionStarted():
                self._started(event)
            case events.SessionSummary():
                self.summary = event
            case events.SessionEnded():
                self.ended, self.status = True, event.status
                self._lose_the_living()
            case _:
                assert_never(event)

    # ------------------------------------------------------------ questions

    def agents(self) -> tuple[AgentView, ...]:
        """Copy every agent as it stands, in the order they were made."""
        return tuple(evolve(agent, spend=evolve(agent.spend)) for agent in self.agents_by_id.values())

    def tree(self) -> tuple[tuple[int, AgentView], ...]:
        """List the agents with their depth: those without a parent beside each other, subagents under theirs."""
        below: dict[str | None, list[AgentView]] = {}
        for agent in self.agents_by_id.values():
            parent = agent.parent if agent.parent in self.agents_by_id and agent.parent != agent.id else None
            below.setdefault(parent, []).append(agent)
        found: list[tuple[int, AgentView]] = []
        seen: set[str] = set()
        todo = [(0, agent) for agent in reversed(below.get(None, []))]
        while todo:
            depth, agent = todo.pop()
            if agent.id in seen:
                continue
            seen.add(agent.id)
            found.append((depth, agent))
            todo += [(depth + 1, child) for child in reversed(below.get(agent.id, []))]
        return tuple(found)

    def held(self) -> int:
        """Count the slots in use: who waits for its provider keeps its slot."""
        return self.running + self.at_provider()

    def at_provider(self) -> int:
        """Count the agents that wait for their model's provider."""
        return sum(agent.waiting_on == THE_PROVIDER for agent in self.agents_by_id.values())

    def issue_of(self, agent_id: str | None) -> str | None:
        """Give the issue an agent works at, or the one that made it; None for who works at none."""
        agent = self.agents_by_id.get(agent_id or "")
        for _ in range(DEEPEST):
            if agent is None or agent.issue is not None or agent.parent is None:
                break
            agent = self.agents_by_id.get(agent.parent)
        return None if agent is None else agent.issue

    def issues_by_epic(self) -> dict[str | None, list[IssueView]]:
        """Sort the issues by epic: the epics in the order they were filed, those without issues too, then issues of none."""
        groups: dict[str | None, list[IssueView]] = {epic: [] for epic in self.epics}
        for issue in self.issues.values():
            groups.setdefault(issue.epic, []).append(issue)
        return groups

    def issue_states(self) -> dict[str, IssueState]:
        """Give the state of every issue on the board."""
        return {issue.id: issue.state for issue in self.issues.values()}

    def stalls(self) -> dict[str, str]:
        """Give every open issue that can never be dispatched, with the failed one it stands behind (D6)."""
        dependents: dict[str, list[str]] = {}
        for issue in self.issues.values():
            if issue.state is IssueState.OPEN:
                for blocker in issue.blocked_by:
                    dependents.setdefault(blocker, []).append(issue.id)
        found: dict[str, str] = {}
        for failed in self.issues.values():
            todo = [failed.id] if failed.state is IssueState.FAILED else []
            while todo:
                for behind in dependents.get(todo.pop(), ()):
                    if behind not in found:
                        found[behind] = failed.id
                        todo.append(behind)
        return found

    # ------------------------------------------------------------ folding

    def _agent(self, event: events.Event) -> AgentView:
        agent_id = event.agent or "?"
        agent = self.agents_by_id.get(agent_id)
        if agent is None:
            # Never emitted by a sound run; a file that lost its beginning must still be readable.
            agent = self.agents_by_id[agent_id] = AgentView(
                id=agent_id,
                profile="?",
                profile_name="?",
                kind="?",
                role="?",
                parent=None,
                issue=None,
                branch=None,
                workdir="",
            )
        return agent

    def _issue(self, issue_id: str) -> IssueView:
        return self.issues.setdefault(issue_id, IssueView(id=issue_id))

    def _started(self, event: events.SessionStarted) -> None:
        self.run, self.crew, self.workspace, self.version = event.run, event.crew, event.workspace, event.version
        self.started = self.started or event.time
        self.segments += 1
        self.ended, self.status, self.summary = False, None, None
        self._lose_the_living()

    def _lose_the_living(self) -> None:
        """End the agents of a segment that is over: nobody is left to tell how they ended."""
        for agent in self.agents_by_id.values():
            if agent.state != "ended":
                agent.state, agent.lost, agent.doing, agent.waiting_on = "ended", True, None, None
        self.running = 0

    def _spawned(self, event: events.AgentSpawned) -> None:
        agent_id = event.agent or "?"
        self.agents_by_id[agent_id] = AgentView(
            id=agent_id,
            profile=event.profile,
            profile_name=event.profile_name,
            kind=event.kind,
            role=event.role,
            parent=event.parent,
            issue=event.issue,
            branch=event.branch,
            workdir=event.workdir,
            since=event.time,
            changed=event.time,
        )

    def _state(self, event: events.AgentState) -> None:
        agent = self._agent(event)
        self.running += (event.state == "running") - (agent.state == "running")
        self.most_running = max(self.most_running, self.running)
        agent.state, agent.waiting_on, agent.changed = event.state, event.waiting_on, event.time
        if event.state == "running":
            agent.doing = None  # whatever it waited for is over
        if event.state == "ended":
            agent.status, agent.summary, agent.verified = event.status, event.summary, event.verified
            agent.doing = None

    def _board(self, event: events.BoardChanged) -> None:
        if event.epic is not None:
            epic_id = str(event.epic.get("id"))
            if event.op == "remove_epic":
                self.epics.pop(epic_id, None)
            else:
                self.epics[epic_id] = EpicView(
                    id=epic_id, title=str(event.epic.get("title", "")), description=event.epic.get("description")
                )
        if event.issue is not None:
            issue_id = str(event.issue.get("id"))
            if event.op == "remove_issue":
                self.issues.pop(issue_id, None)
                self._removed.add(issue_id)
            else:
                _rewrite(self._issue(issue_id), event.issue)


def _rewrite(issue: IssueView, told: Mapping[str, Any]) -> None:
    issue.title = str(told.get("title", ""))
    issue.state = IssueState(told.get("state", IssueState.OPEN))
    issue.agent = str(told.get("agent", ""))
    issue.reviewers = tuple(told.get("reviewers") or ())
    issue.blocked_by = tuple(told.get("blockedBy") or ())
    issue.epic = told.get("epic")
    issue.attempts = int(told.get("attempts") or 0)
    issue.rounds = int(told.get("rounds") or 0)
    issue.reason = told.get("reason")


def waits_text(event: events.RetryWait) -> str:
    """Say what a model's passing fault is and how long it is waited out; not made safe."""
    if event.reason:
        why = f": {event.reason}"
    else:  # streams of earlier versions
        why = f" answered {event.status}" if event.status is not None else " could not be reached"
    return f"waits {event.wait_secs:g} s: {event.model}{why}"


def fold(stream: Iterable[events.Event]) -> RunView:
    """Fold a whole stream into a view."""
    view = RunView()
    for event in stream:
        view.apply(event)
    return view
