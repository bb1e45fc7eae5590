"""One run at the prompt, from its launch to its last event. Law: its end is always told, however it came.

The follower of the events stands outside the scope that stops the run, so that it hears the last of them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from attrs import define, field

from ggactors.app import open_run
from ggactors.ports import LaunchRefused
from ggactors.repl.told import ROOT, YOU, Telling
from ggactors.store.folder import RunFolder
from ggactors.telemetry.folds import RunView

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.app import Outcome, Run
    from ggactors.protocol.events import Event
    from ggactors.protocol.values import Problem
    from ggactors.repl.opening import Opening


@define(kw_only=True)
class Live:
    """A run, from before it is launched. ``began`` is set once it is there or was refused; ``gone`` once nothing of it is left."""

    interactive: bool
    verbose: bool = False
    view: RunView = field(factory=RunView)
    telling: Telling = field(init=False)
    run: Run | None = None
    outcome: Outcome | None = None
    problems: tuple[Problem, ...] = ()
    began: trio.Event = field(factory=trio.Event)
    gone: trio.Event = field(factory=trio.Event)
    at_once: trio.CancelScope = field(factory=trio.CancelScope)
    stopping: bool = False
    """Whether the run was asked to stop."""
    paused: bool = False
    last_sent: str | None = None
    """The id of what the person said last."""

    def __attrs_post_init__(self) -> None:
        """Make what tells it."""
        self.telling = Telling(view=self.view, verbose=self.verbose)

    async def drive(
        self, opening: Opening, task: str, *, heard: Callable[[Live, Event], None], note: Callable[[str], None]
    ) -> None:
        """Launch the run and see it to its end. Cancelled: it is stopped at once, and nothing of it is left."""
        token = trio.lowlevel.current_trio_token()
        try:
            async with trio.open_nursery() as follower:
                with self.at_once:
                    try:
                        async with open_run(
                            opening.reading,
                            workspace=opening.workspace,
                            task=task,
                            checkout=opening.checkout,
                            include_dirty=opening.include_dirty,
                            large_baseline=opening.large_baseline,
                            land=opening.land,
                            interactive=self.interactive,
                            confirm=opening.confirm,
                            prompts=opening.tasks[1:],
                            verify=opening.verification,
                            note=lambda text: token.run_sync_soon(note, text),
                        ) as run:
                            self.run = run
                            follower.start_soon(self._follow, run, heard)  # noqa: ASYNC111 - it hears the last events
                            self.began.set()
                            self.outcome = await run.outcome()
                    except LaunchRefused as refused:
                        self.problems = refused.problems
        finally:
            self.began.set()
            self.gone.set()

    async def _follow(self, run: Run, heard: Callable[[Live, Event], None]) -> None:
        async for event in run.events():
            self.view.apply(event)
            heard(self, event)

    # ------------------------------------------------------------ questions

    @property
    def folder(self) -> RunFolder:
        """The run's folder; there is one once it was launched."""
        assert self.run is not None
        return RunFolder(self.run.folder)

    @property
    def persons_turn(self) -> bool:
        """Whether the root waits for the person."""
        root = self.view.agents_by_id.get(ROOT)
        return root is not None and root.state == "waiting" and root.waiting_on == YOU

    @property
    def root_lives(self) -> bool:
        """Whether the root has not ended."""
        root = self.view.agents_by_id.get(ROOT)
        return root is None or root.state != "ended"

    def others(self) -> int:
        """Count the agents beside the root that have not ended."""
        return sum(agent.state != "ended" for agent in self.view.agents_by_id.values() if agent.id != ROOT)

    def resting(self) -> bool:
        """Tell whether leaving stops nothing: the person has the floor, nobody else works, nothing is queued."""
        if self.run is None or not self.interactive or self.stopping:
            return False
        open_issues = any(issue.state in ("in_progress", "in_review") for issue in self.view.issues.values())
        return self.persons_turn and not self.others() and not open_issues and not self.run.pending()
