"""The tree of the main workspace, shared by the agents that work in it; a merge holds it alone (M6).

Law: whoever waits for a merge waits without a slot. Cancelled or stopped while waiting: nothing is held.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from ggactors.actors.agent import AgentActor
    from ggactors.runtime.fairlock import FairLock

T = TypeVar("T")

_A_MERGE = "a merge into the main workspace"


@asynccontextmanager
async def sharing_tree(agent: AgentActor, *, force: bool = False) -> AsyncIterator[None]:
    """Share the tree, where an agent works in one that is shared, for as long as the block lasts.

    A stop while a merge is waited for raises WindDown. ``force`` waits through it, for the last commit of the agent's work, and
    takes no slot again, since no turn follows.
    """
    tree = agent.station.tree
    if tree is None:
        yield
        return
    if not tree.try_shared():
        if force:
            agent.give_up_slot(_A_MERGE)
            await tree.take_shared()
        else:
            await _suspended(agent, tree)
    try:
        yield
    finally:
        tree.give_shared()


async def at_work(
    agent: AgentActor, tool: str, work: Callable[[], Awaitable[T]], *, touches_tree: bool
) -> tuple[T, str | None]:
    """Do what a call asks for, sharing the tree with merges if it touches it; give with it what the model must be told (M6)."""
    if agent.station.tree is None or not touches_tree:
        return await work(), None
    async with sharing_tree(agent), agent.station.working():
        done = await work()
        return done, await agent.station.after_call(tool)


async def _suspended(agent: AgentActor, tree: FairLock) -> None:
    """Wait for the tree without a slot, and take one again; the tree is given back where that is cut short."""
    got = False

    async def wait() -> None:
        nonlocal got
        await tree.take_shared()
        got = True

    try:
        await agent.suspend(_A_MERGE, wait)
    except BaseException:
        if got:
            tree.give_shared()
        raise
