"""Agents and their subagents: who was spawned by whom, what became of them, who may be told what (delegation).

Law: a subagent shares its parent's directory and issue, and must have ended before its parent's work is committed (W4). A parent
that goes to its end takes its subagents with it at their turn boundaries; whoever is spawned meanwhile is caught too (H44).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from ggactors.actors.desk import CannotDispatch
from ggactors.protocol.agent import AgentOrder
from ggactors.protocol.values import Code, Kind, Refused, Role, Scope, Status
from ggactors.rules.briefs import clipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.protocol.crew import Crew

MOST_TOLD = 64 * 1024
"""The most characters of summaries one wait brings."""
LEAST_TOLD = 400
"""The characters each summary may have, however many there are."""


@define(kw_only=True)
class Member:
    """One agent as its family knows it. ``status`` is None while it lives."""

    order: AgentOrder
    depth: int
    children: list[str] = field(factory=list)
    ending: bool = False
    """Set when it goes to its end."""
    status: Status | None = None
    summary: str = ""


@define(kw_only=True)
class Family:
    """Every agent of the run. ``max_depth`` None is no bound."""

    crew: Crew
    spawn: Callable[[AgentOrder], None]
    """Makes a subagent's actor; raises CannotDispatch."""
    wake: Callable[[str], None]
    release: Callable[[str], None]
    """Stops one agent at its next turn boundary and releases whatever it waits for."""
    members: dict[str, Member] = field(factory=dict)

    def joined(self, order: AgentOrder) -> None:
        """Take note of a new agent."""
        parent = self.members.get(order.parent) if order.parent is not None else None
        self.members[order.id] = Member(order=order, depth=0 if parent is None else parent.depth + 1)
        if parent is not None:
            parent.children.append(order.id)
        while parent is not None:
            if parent.ending:
                self.release(order.id)
            parent = self.members.get(parent.order.parent) if parent.order.parent is not None else None

    def ended(self, agent: str, status: Status, summary: str) -> None:
        """Take note of an agent's end, and wake whoever may wait for it."""
        member = self.members.get(agent)
        if member is None:
            return
        member.status, member.summary = status, summary
        if member.order.parent is not None:
            self.wake(member.order.parent)

    def lives(self, agent: str) -> bool:
        """Tell whether an agent has not ended."""
        member = self.members.get(agent)
        return member is not None and member.status is None

    def living_children(self, agent: str) -> tuple[str, ...]:
        """List the subagents of an agent that have not ended."""
        member = self.members.get(agent)
        children = member.children if member is not None else ()
        return tuple(child for child in children if self.members[child].status is None)

    def resolves_a_merge(self, agent: str) -> bool:
        """Tell whether an agent is a merge agent or works for one, through its parents: main is locked until it has ended (Q7)."""
        member = self.members.get(agent)
        while member is not None:
            if member.order.kind is Kind.MERGER:
                return True
            member = self.members.get(member.order.parent) if member.order.parent is not None else None
        return False

    def leaving(self, agent: str) -> None:
        """Take note that an agent goes to its end: whoever works for it stops at its next turn boundary."""
        member = self.members.get(agent)
        if member is None:
            return
        member.ending = True
        for child in self._below(member):
            self.release(child)

    def _below(self, member: Member) -> list[str]:
        found: list[str] = []
        todo = list(member.children)
        while todo:
            child = todo.pop()
            found.append(child)
            todo.extend(self.members[child].children)
        return found

    # ------------------------------------------------------------ calls

    def delegate(self, parent: str, profile_id: str, prompt: str) -> str | Refused:
        """Spawn a subagent under one of the parent's rostered profiles and give its id."""
        member = self.members[parent]
        profile = self.crew.profile(member.order.profile)
        spawnable = tuple(entry.agent for entry in profile.rostered(Scope.SUBAGENT)) if profile is not None else ()
        if profile_id not in spawnable:
            names = ", ".join(spawnable) or "none"
            message = f"{profile_id!r} is not on your roster as a subagent; you may spawn: {names}"
            return Refused(code=Code.INVALID_ARGUMENT, message=message)
        if not prompt.strip():
            return Refused(code=Code.INVALID_ARGUMENT, message="prompt is blank; say what the subagent is to do")
        deepest = self.crew.max_depth
        if deepest is not None and member.depth >= deepest:
            message = f"you are at depth {member.depth} and maxDepth is {deepest}: do this work yourself"
            return Refused(code=Code.LIMIT_EXCEEDED, message=message)
        order = AgentOrder(
            id=f"{parent}.{len(member.children)}s",
            profile=profile_id,
            kind=Kind.SUBAGENT,
            role=Role.STANDARD,
            brief=prompt,
            workdir=member.order.workdir,
            parent=parent,
            issue=member.order.issue,
            branch=member.order.branch,
        )
        try:
            self.spawn(order)
        except CannotDispatch as error:
            return Refused(code=Code.IO_ERROR, message=f"{order.id} could not be started: {error}")
        return order.id

    def awaited(self, agent: str, names: tuple[str, ...] | None) -> tuple[str, ...] | Refused:
        """Give the subagents a wait is for: those named, or all of the agent's, in the order they were spawned."""
        children = self.members[agent].children
        if names is None:
            return tuple(children)
        for name in names:
            if name not in children:
                known = ", ".join(children) or "none"
                return Refused(code=Code.NOT_FOUND, message=f"{name!r} is no subagent of yours; yours are: {known}")
        return names

    def report(self, names: tuple[str, ...]) -> list[dict[str, str | None]]:
        """Say what became of subagents, in the order asked; ``status`` is None for one that still lives.

        What they say is shared out over ``MOST_TOLD`` characters, so that no number of them floods who waited (H48).
        """
        most = max(MOST_TOLD // max(len(names), 1), LEAST_TOLD)
        return [
            {
                "id": name,
                "status": None if self.members[name].status is None else str(self.members[name].status),
                "summary": clipped(self.members[name].summary, most),
            }
            for name in names
        ]

    def addressee(self, sender: str, name: str) -> Refused | None:
        """Say why a message to an agent cannot be delivered, or None when it can."""
        member = self.members.get(name)
        if member is None or name == sender:
            return Refused(code=Code.NOT_FOUND, message=f"there is no other agent {name!r} in this run")
        if member.status is not None:
            return Refused(code=Code.CONFLICT, message=f"{name} has ended ({member.status}) and reads nothing any more")
        return None
