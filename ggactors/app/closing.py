"""The end of a run: landings on the way to it, the session's last hooks, and the account, also of a run that was cut off.

Law: the account is given once and is the last that is told. Landings happen while nobody works in main, and the account tells of
the checkout's whole move, however many landings it came in (W10).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import trio
from attrs import define, evolve, field

from ggactors.actors.gates import NoHooks
from ggactors.app.account import account_of, give_account, land
from ggactors.ports import JournalBroken
from ggactors.protocol.events import AgentState
from ggactors.protocol.git import Landing
from ggactors.protocol.run import RunClosed, RunFact
from ggactors.protocol.values import Status
from ggactors.wire import Tagged

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.actors.switch import Switch
    from ggactors.app.launch import Launch
    from ggactors.app.workplace import Workplace
    from ggactors.ports import Hooks
    from ggactors.protocol.run import Outcome
    from ggactors.runtime.fairlock import FairLock
    from ggactors.store.folder import RunFolder

_FACTS: Tagged[RunFact] = Tagged(RunFact)


@define(kw_only=True)
class Closing:
    """How one run ends. ``done`` is set once the account was given, and ``outcome`` holds it; ``totals`` is what was spent."""

    launch: Launch
    folder: RunFolder
    place: Workplace
    tree: FairLock
    switch: Switch
    totals: Callable[[], tuple[dict[str, int], float | None]]
    hooks: Hooks = field(factory=NoHooks)
    """The session's own."""
    outcome: Outcome | None = None
    done: trio.Event = field(factory=trio.Event)
    _stands: str | None = None
    """Where the operator's checkout was left by the last landing."""
    _moved_from: str | None = None
    """Where it stood before the first landing that moved it."""

    async def finish(self, outcome: Outcome) -> None:
        """Land what is done, run the session's last hooks, and give the account."""
        landing = await self.land() if self.launch.crew.land != "never" else None
        await self.hooks.fire("session-end", {"status": outcome.status.value})
        self._give(outcome, landing)

    async def land(self) -> Landing | None:
        """Move the operator's checkout forward while nobody works in main, and say what became of it (W10)."""
        repository = self.place.repository
        if repository is None:
            return None
        async with self.tree.alone():
            stands = self._stands or repository.facts.base
            landing = await land(repository, self.place.emit, run=self.folder.id, stands=stands)
        self._stands = landing.target
        if landing.source != landing.target and self._moved_from is None:
            self._moved_from = landing.source
        return landing

    async def land_each(self) -> None:
        """Land after a merge."""
        await self.land()

    def give_broken(self, reason: str) -> None:
        """Give the account of a run whose own actor is not there to do it."""
        status = self.switch.status or Status.INTERNAL_ERROR
        usage, cost = self.totals()
        self._give(account_of(self.place.view, status=status, summary=reason, usage=usage, cost=cost), None)

    def give_cut_off(self, reason: str) -> None:
        """Give the account of a run that was cut off, after the end of every agent that could not tell its own."""
        for agent in self.place.view.agents():
            if agent.state != "ended":
                self.place.emit(AgentState(agent=agent.id, state="ended", status=Status.CANCELED.value, summary=reason))
        self.give_broken(reason)

    def _give(self, outcome: Outcome, landing: Landing | None) -> None:
        if self._moved_from is not None:
            moved = Landing(source=self._moved_from, target=self._stands or self._moved_from)
            landing = moved if landing is None else evolve(landing, source=moved.source)
        self.outcome = give_account(outcome, landing, folder=self.folder, emit=self.place.emit)
        closed = RunClosed(status=self.outcome.status, exit_code=self.outcome.exit_code)
        with suppress(JournalBroken):
            self.place.journal.append("run", [_FACTS.pack(closed)])
        self.done.set()
