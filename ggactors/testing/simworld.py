"""Worlds of the simulator: what a run is made of, drawn from a seed (crew, tempers, injected faults, schedule).

Law: a world follows from its seed alone, on every machine. What an agent does follows from the seed and its id, and from what
it was told; who runs when follows from the seed's schedule.
"""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from ggactors.crew import crew_from_document
from ggactors.protocol.crew import Limits
from ggactors.testing.simwave import Wave, in_wave, wave_of

if TYPE_CHECKING:
    from ggactors.protocol.crew import BoardParams, Crew

MODEL, GHOST = "script/sim.json", "script/ghost.json"
"""The model all agents are served from, and one that cannot be resolved (D7)."""
REPOSITORY_STEPS = (
    *("open_worktree", "seal", "describe", "discard", "changes", "check_out", "commit_main", "guard_main"),
    *("merge", "begin_conflict", "resolution", "abort_conflict", "land"),
)
THEMES = ("", "", "", "", "revive", "main", "dead ends", "family")
"""Half of all worlds are about nothing in particular; else: failed issues revived at once, work in main while others merge,
issues in a row behind ones that fail, subagents of subagents.
"""
CRASH_SITES = ("model", "bench", "repository", "journal")


@frozen(kw_only=True)
class Temper:
    """How the agents of a world behave; chances from 0 to 1."""

    trouble: float = 0.1
    """Of an agent to end badly, or without what it was sent for."""
    passing: float = 0.03
    """Of a model call to fail in passing (C1)."""
    changes: float = 0.2
    """Of a reviewer to ask for changes."""
    meddling: float = 0.4
    """Of whoever has board tools to edit what is there."""
    company: float = 0.15
    """Of an agent to spawn subagents."""
    pace: tuple[float, ...] = (0.0, 0.1, 1.0)
    """Seconds a reply may take."""


@frozen(kw_only=True)
class Faults:
    """What is injected. Steps, commits, events and task steps are counted from 1."""

    broken_steps: tuple[tuple[str, int], ...] = ()
    """Steps of the repository whose n-th call the disk refuses."""
    journal_breaks_at: int | None = None
    cancel_at: int | None = None
    """The event at which the operator cancels."""
    cut_at: int | None = None
    """The task step at which the whole run is cancelled at once."""
    crash: tuple[str, int] | None = None
    """Where an exception that nobody expects is raised, and at which call there (D8)."""
    messages_at: tuple[int, ...] = ()
    """Events at which the operator sends a text to somebody."""

    @property
    def none(self) -> bool:
        """Tell whether nothing goes wrong but by the agents' own doing."""
        return self == Faults(messages_at=self.messages_at)


@define
class SimWorld:
    """The world of a seed. ``steady`` ones come to the same board and tree under every schedule: agents change files in ways
    that commute, nothing is injected, and nobody edits the board while others work.
    """

    seed: int
    steady: bool = False
    speed: float = 1.0
    """What the pace of replies is multiplied by; 0 over real git."""
    crew: Crew = field(init=False)
    temper: Temper = field(init=False)
    faults: Faults = field(init=False)
    schedule: int = field(init=False)
    theme: str = field(init=False)
    """What the world is about: its root and its tempers lean towards that."""
    lag: tuple[float, ...] = field(init=False)
    """Seconds a step of the repository, the journal or a workbench may take."""
    gate: float = field(init=False)
    """Chance that a hook at ``agent-stop`` blocks an ending (G1)."""
    wave: Wave = field(init=False)
    """Providers, budgets, windows and people, where the world has any."""

    def __attrs_post_init__(self) -> None:
        """Draw everything, in a fixed order."""
        chance = self.chance("world")
        self.theme = "" if self.steady else chance.choice(THEMES)
        self.temper = _steady_temper(chance) if self.steady else _temper(chance, self.theme)
        self.crew = _crew_of(chance, steady=self.steady)
        self.faults = Faults() if self.steady else _faults(chance)
        self.gate = chance.choice((0.0, 0.0, 0.0, 0.15)) if not self.steady else 0.0
        self.lag = chance.choice(((0.0,), (0.0, 0.01), (0.0, 0.0, 0.1, 2.0)))
        if self.theme in ("revive", "main"):
            self.lag = (0.0, 0.1, 2.0)
        self.schedule = chance.getrandbits(32)
        self.wave = Wave() if self.steady else wave_of(self.chance("wave"))
        self.crew = in_wave(self.crew, self.wave)

    @property
    def reviewers_required(self) -> bool:
        """Tell whether the lead must name reviewers (F1)."""
        grant = self.crew.root.board
        return grant is not None and grant.reviewers_required

    def chance(self, what: str) -> random.Random:
        """Give the dice of one thing of this world; the same each time it is asked for."""
        return random.Random(f"{self.seed}/{what}")


def _temper(chance: random.Random, theme: str) -> Temper:
    temper = Temper(
        trouble=chance.choice((0.0, 0.05, 0.15, 0.4)),
        passing=chance.choice((0.0, 0.02, 0.1)),
        changes=chance.choice((0.0, 0.2, 0.5)),
        meddling=chance.choice((0.0, 0.3, 0.8)),
        company=chance.choice((0.0, 0.0, 0.1, 0.3)),
        pace=chance.choice(((0.0,), (0.0, 0.1, 1.0), (0.0, 0.5, 5.0), (1.0,))),
    )
    match theme:
        case "revive":
            return evolve(temper, trouble=0.4, pace=(0.0,))
        case "dead ends":
            return evolve(temper, trouble=0.4)
        case "family":
            return evolve(temper, company=0.6)
        case _:
            return temper


def _steady_temper(chance: random.Random) -> Temper:
    return Temper(
        trouble=chance.choice((0.0, 0.1, 0.25)),
        passing=0.0,
        changes=chance.choice((0.0, 0.3)),
        meddling=0.0,
        company=chance.choice((0.0, 0.2)),
        pace=(0.0, 0.1, 1.0),
    )


def _faults(chance: random.Random) -> Faults:
    """Draw what is injected: nothing for half of all worlds, else mostly one thing, sometimes two."""
    faults = Faults(messages_at=tuple(chance.randrange(1, 300) for _ in range(chance.choice((0, 0, 0, 1, 3)))))
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
        match chance.choice(("disk", "disk", "journal", "cancel", "cancel", "cut", "crash", "crash")):
            case "disk":
                steps = tuple(
                    (chance.choice(REPOSITORY_STEPS), chance.randrange(1, 5)) for _ in range(chance.randrange(1, 4))
                )
                faults = evolve(faults, broken_steps=steps)
            case "journal":
                faults = evolve(faults, journal_breaks_at=chance.randrange(2, 150))
            case "cancel":
                faults = evolve(faults, cancel_at=chance.randrange(2, 350))
            case "cut":
                faults = evolve(faults, cut_at=chance.randrange(1, 1500))
            case _:
                faults = evolve(faults, crash=(chance.choice(CRASH_SITES), chance.randrange(1, 40)))
    return faults


# ---------------------------------------------------------------- crews


def _crew_of(chance: random.Random, *, steady: bool) -> Crew:
    errors = chance.choice((1, 2, 3))
    turns = chance.choice((10, 20, 40))
    runtime = None if steady else chance.choice((None,) * 9 + (5.0, 30.0))
    tokens = None if steady else chance.choice((None,) * 9 + (300, 3000))
    limits = Limits(
        max_parallel=chance.choice((1, 1, 2, 3, 4, 8)),
        max_turns=40 if steady else turns,
        max_consecutive_errors=errors,
        max_error_rate=None,
        error_rate_window=None,
        max_runtime_secs=runtime,
        max_tokens=tokens,
    )
    merge_agent = "merger" if steady else chance.choice(("merger",) * 9 + ("ghost",))
    crew = _crew(not steady and chance.random() < 0.4, merge_agent, chance.random() < 0.2)
    retries, land = chance.randrange(3), chance.choice(("end", "end", "each", "never"))
    board: BoardParams | None = crew.board
    assert board is not None
    return evolve(crew, limits=limits, land=land, board=evolve(board, max_retries=retries))


@lru_cache(maxsize=16)
def _crew(filing: bool, merge_agent: str, reviewers_required: bool) -> Crew:
    """Make the crew. ``filing``: coders have the board too; ``reviewers_required``: the lead must name one."""
    hands: list[Any] = [{"id": "files"}, {"id": "shell"}, {"id": "subagents", "params": {"maxDepth": 2}}]
    params = {"mergeAgentId": merge_agent, "maxEpics": 3, "maxIssues": 12, "maxRetries": 1}

    def board(*, reviewers: bool) -> dict[str, Any]:
        return {"id": "project-management", "params": {**params, "reviewers": reviewers}}

    anybody = [{"agent": "coder", "scopes": ["subagent", "implementer"]}]
    agents: list[dict[str, Any]] = [
        {
            "id": "lead",
            "root": True,
            "capabilities": [*hands, board(reviewers=reviewers_required)],
            "roster": [
                *anybody,
                {"agent": "lead", "scopes": ["subagent"]},
                {"agent": "builder", "scopes": ["implementer"]},
                {"agent": "ghost", "scopes": ["implementer", "reviewer", "subagent"]},
                {"agent": "critic", "scopes": ["reviewer"]},
                {"agent": "judge", "scopes": ["reviewer"]},
            ],
        },
        {"id": "coder", "capabilities": [*hands, *([board(reviewers=False)] if filing else [])], "roster": anybody},
        {"id": "builder", "capabilities": hands[:2]},
        {"id": "critic", "capabilities": hands, "roster": anybody},
        {"id": "judge", "capabilities": hands[:2]},
        {"id": "merger", "capabilities": hands, "roster": anybody},
        {"id": "ghost", "capabilities": hands[:2], "model": GHOST},
    ]
    document: dict[str, Any] = {"name": "simulated", "agents": [{"model": MODEL, **agent} for agent in agents]}
    return crew_from_document(document, folder=Path.cwd())
