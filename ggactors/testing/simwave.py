"""What half of the simulator's worlds have beside agents and faults: provider accounts with storms and a model to fall back to,
budgets, small windows, and people: one at the root's prompt, one who approves calls, late or never.

Law: it is drawn from dice of its own, so that a world without any of it is what it would be if there were none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ggactors.protocol.crew import CodeGrant, CompactionSpec, ModelSpec, SpendLimits
from ggactors.protocol.program import Language
from ggactors.testing.simprograms import OPERATIONS

if TYPE_CHECKING:
    import random

    from ggactors.protocol.crew import Crew, Profile

MAIN, SPARE = "main", "spare"
"""The keys of a model that names another to fall back to, and of that one."""
GHOST_ID = "ghost"


@frozen(kw_only=True)
class Storm:
    """A time, in seconds of the run, in which an account refuses: with a status, None for a lost connection."""

    begins: float
    ends: float
    status: int | None
    retry_after: float | None


@frozen(kw_only=True)
class Wave:
    """All of it; what is empty or None is not there."""

    account: str = ""
    storms: tuple[Storm, ...] = ()
    spare_storms: tuple[Storm, ...] = ()
    fallback: bool = False
    bounded: bool = False
    """Whether it can be told beforehand what a call spends at most."""
    window: int | None = None
    window_known: bool = True
    factor: float = 1.0
    """How many tokens the models make of what the runtime estimates to be one."""
    per_issue: SpendLimits | None = None
    per_epic: SpendLimits | None = None
    own: SpendLimits | None = None
    """What all coders may spend between them."""
    person: bool = False
    """Whether a person is at the root's prompt; ``confirms``: they said yes to everything beforehand."""
    confirms: bool = False
    speaks_first: bool = False
    ask: tuple[str, ...] = ()
    ask_secs: float | None = None
    coded: tuple[str, ...] = ()
    """The profiles that answer with programs."""
    rings: float = 0.0
    """Chance that an agent does the same thing over and over (G6)."""

    @property
    def nothing(self) -> bool:
        """Tell whether there is none of it."""
        return self == Wave()


def wave_of(chance: random.Random) -> Wave:
    """Draw what a world has of it: nothing for half of all worlds."""
    if chance.random() < 0.5:
        return Wave()
    wave = Wave(rings=chance.choice((0.0, 0.0, 0.15)))
    if chance.random() < 0.5:
        wave = evolve(
            wave,
            account="account",
            storms=_storms(chance),
            fallback=chance.random() < 0.5,
            spare_storms=chance.choice(((), _storms(chance))),
        )
    if chance.random() < 0.35:
        wave = evolve(
            wave,
            window=chance.choice((3200, 3600, 4200)),
            window_known=chance.random() < 0.7,
            factor=chance.choice((0.8, 1.0, 1.1)),
        )
    if chance.random() < 0.35:
        # What one call spends is about the window, or twenty-five.
        call = 25 if wave.window is None else wave.window
        wave = evolve(
            wave,
            bounded=chance.random() < 0.5,
            per_issue=_spend(chance, call * 8),
            per_epic=_spend(chance, call * 12),
            own=_spend(chance, call * 30),
        )
    if chance.random() < 0.5:
        wave = evolve(wave, person=True, confirms=chance.random() < 0.3, speaks_first=chance.random() < 0.2)
    if chance.random() < 0.4:
        asks = chance.choice((("write_file",), ("write_file", "create_issue"), ("list_dir", "spawn_subagent")))
        wave = evolve(wave, ask=asks, ask_secs=chance.choice((None, 5.0, 60.0)))
    if chance.random() < 0.3:
        wave = evolve(wave, coded=chance.choice((("lead",), ("coder",), ("lead", "coder", "critic", "merger"))))
    return wave


def _storms(chance: random.Random) -> tuple[Storm, ...]:
    found = []
    begins = 0.0
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        begins += chance.choice((0.0, 0.5, 3.0, 40.0))
        ends = begins + chance.choice((0.5, 3.0, 20.0, 200.0))
        status = chance.choice((429, 429, 529, 500, None, 402))
        after = chance.choice((None, 1.0, 10.0, 7200.0)) if status in (429, 529) else None
        found.append(Storm(begins=begins, ends=ends, status=status, retry_after=after))
        begins = ends
    return tuple(found)


def _spend(chance: random.Random, tokens: int) -> SpendLimits | None:
    return chance.choice((None, SpendLimits(max_tokens=tokens), SpendLimits(max_tokens=tokens * 3)))


def in_wave(crew: Crew, wave: Wave) -> Crew:
    """Give a crew what the wave has of windows, models, approvals and budgets."""
    if wave.nothing:
        return crew
    limits = evolve(crew.limits, per_issue=wave.per_issue, per_epic=wave.per_epic)
    if limits.max_tokens is not None and wave.window is not None:
        limits = evolve(limits, max_tokens=limits.max_tokens * wave.window // 20)
    models = crew.models
    main = None
    if wave.fallback:
        main = ModelSpec(key=MAIN, provider="script", name="sim.json", options={"fallback": SPARE})
        models = (*models, main, ModelSpec(key=SPARE, provider="script", name="spare.json"))
    profiles = tuple(_profile(profile, wave, main) for profile in crew.profiles)
    return evolve(crew, limits=limits, models=models, profiles=profiles)


def _profile(profile: Profile, wave: Wave, main: ModelSpec | None) -> Profile:
    return evolve(
        profile,
        model=profile.model if main is None or profile.id == GHOST_ID else main,
        compaction=profile.compaction if wave.window is None else CompactionSpec(keep_turns=2),
        limits=wave.own if profile.id == "coder" else profile.limits,
        code=CodeGrant(language=Language.PYTHON) if profile.id in wave.coded else profile.code,
        ask=tuple(OPERATIONS[tool] for tool in wave.ask) if profile.id in wave.coded else wave.ask,
        ask_secs=wave.ask_secs,
    )
