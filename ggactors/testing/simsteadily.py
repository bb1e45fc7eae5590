"""Steady worlds played several times: under two schedules in memory, and over real git in a throw-away repository.

Law: whatever the schedule and whatever lies beneath, the same board and the same tree come of a steady world. The run over git is a
launch like any other: journal, worktrees, commits, merges, landing, and agents with the file tools and the shell of this machine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import trio
from attrs import asdict, evolve, frozen

from ggactors.testing.repos import make_repo
from ggactors.testing.simagents import RandomAgents
from ggactors.testing.simplay import Player
from ggactors.testing.simworld import GHOST, MODEL, SimWorld

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.telemetry.folds import IssueView
    from ggactors.testing.memory import Tree
    from ggactors.testing.simlaws import Violation

GIT_EVERY = 50
"""One seed in so many is played over real git as well."""
_START = {"README.md": "hello\n"}


@frozen(kw_only=True)
class Came:
    """What came of a steady world: nothing in it depends on who ran when."""

    status: str
    exit_code: int
    issues: dict[str, tuple[str, int, int]]
    """State, attempts and review rounds of each issue."""
    tree: Tree
    """The files of the operator's commit after the run."""


def play_steadily(seed: int) -> list[str]:
    """Play the steady world of a seed in memory, twice, and over git. Lists what differs or breaks a law; mostly nothing."""
    first, violations = in_memory(_world(seed))
    again, more = in_memory(_world(seed, schedule=seed + 1))
    wrong = [str(violation) for violation in (*violations, *more)]
    if wrong:
        return wrong
    with tempfile.TemporaryDirectory(prefix="ggactors-sim-") as folder:
        real = over_git(_world(seed), Path(folder))
    return [
        *differences("another schedule", first, again),
        *differences("real git", first, real),
    ]


def _world(seed: int, *, schedule: int | None = None) -> SimWorld:
    """Make a steady world that lands what it made, so that its tree can be looked at from outside."""
    world = SimWorld(seed, steady=True)
    if world.crew.land == "never":
        world.crew = evolve(world.crew, land="end")
    if schedule is not None:
        world.schedule = schedule
    return world


def in_memory(world: SimWorld) -> tuple[Came, Sequence[Violation]]:
    """Play a steady world in memory, watched by the laws."""
    player = Player(world, start=_START)
    played = player.play()
    outcome, staff = played.outcome, played.run.staff
    if outcome is None or staff is None:
        return Came(status="hung", exit_code=1, issues={}, tree={}), played.violations
    repository = played.run.repository
    came = Came(
        status=outcome.status.value,
        exit_code=outcome.exit_code,
        issues=_issues(staff.place.view.issues),
        tree=dict(repository.commits[repository.operator].tree),
    )
    return came, played.violations


def over_git(world: SimWorld, folder: Path) -> Came:
    """Play a steady world over a repository in an empty folder, without a pause."""
    from ggactors.app import open_run

    repo = make_repo(folder / "repo", _START)
    crew_folder = folder / "crew"
    crew_folder.mkdir()
    for model in (MODEL, GHOST):
        (crew_folder / model.removeprefix("script/")).write_text('{"agents": {}}', encoding="utf-8")
    world.speed = 0.0
    crew = evolve(world.crew, folder=str(crew_folder))

    async def main() -> Came:
        models = {MODEL: RandomAgents(world)}
        async with open_run(crew, workspace=repo.path, home=folder / "home", task="do the work", models=models) as run:
            outcome = await run.outcome()
            board = run.board()
        return Came(
            status=outcome.status.value,
            exit_code=outcome.exit_code,
            issues=_issues({issue.id: issue for issue in board.issues}),
            tree={path: f"{repo.show(path)}\n" for path in repo.files()},
        )

    came = trio.run(main)
    status = repo.status()
    return (
        came
        if not status
        else evolve(came, status=f"{came.status}, and the operator's checkout is not clean: {status}")
    )


def _issues(views: Mapping[str, IssueView]) -> dict[str, tuple[str, int, int]]:
    return {issue.id: (issue.state.value, issue.attempts, issue.rounds) for issue in views.values()}


def differences(what: str, one: Came, other: Came) -> list[str]:
    """List in what two plays of one world differ."""
    left, right = asdict(one), asdict(other)
    return [
        f"{what}: {name} is {right[name]}, in memory it is {left[name]}"
        for name in ("status", "exit_code", "issues", "tree")
        if left[name] != right[name]
    ]
