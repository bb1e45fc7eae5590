"""Main is walked for its own agents' work only where they were at work (M6)."""

from __future__ import annotations

import trio
from centre_kit import simulated

from ggactors.actors.presence import Presence
from ggactors.ports import RepositoryBroken
from ggactors.testing.crews import finish, issue, shell, turn, wait, write
from ggactors.testing.memory import MemoryRepository, broken
from ggactors.testing.simulation import Simulation


async def test_main_counts_as_untouched_until_somebody_works_there_and_again_once_that_is_committed(autojump_clock):
    presence = Presence(repository=MemoryRepository(), emit=lambda _: None, private=True)
    assert await presence.look()
    async with presence.working():
        assert not await presence.look()
        presence.committed()
        assert not await presence.look()
    assert not await presence.look()
    presence.committed()
    assert await presence.look()


async def test_work_in_main_that_was_cut_short_is_looked_at_before_main_counts_as_untouched(autojump_clock):
    presence = Presence(repository=MemoryRepository(), emit=lambda _: None, private=True)
    with trio.CancelScope() as scope:
        async with presence.working():
            scope.cancel()
    presence.committed()
    assert not await presence.look()
    presence.committed()
    assert await presence.look()


async def test_in_the_operators_own_directory_or_where_it_is_not_known_main_never_counts_as_untouched(autojump_clock):
    assert not await Presence(repository=MemoryRepository(), emit=lambda _: None).look()
    repository = MemoryRepository()

    def faults(step: str) -> None:
        if step == "restore_main":
            raise broken(step)

    repository.faults = faults
    said = []
    presence = Presence(repository=repository, emit=said.append, private=True)
    assert not await presence.look()
    assert len(said) == 1
    assert isinstance(broken("x"), RepositoryBroken)


def steps_of(root):
    repository, steps = MemoryRepository(), []
    repository.faults = steps.append
    issues = [turn(write("a.txt", "a")), finish()]
    outcome = simulated(Simulation(script={"root": root, "ISSUE-*": issues}, repository=repository))
    assert outcome.exit_code == 0
    return [step for step in steps if step in ("commit_main", "merge")]


def test_a_merge_commits_what_main_s_agents_changed_and_is_made_without_where_they_changed_nothing_M6():
    planned = [turn(issue("A"), issue("B")), wait("ISSUE-1", "ISSUE-2"), finish()]
    only_at_its_end = ["merge", "merge", "commit_main", "commit_main"]  # as its ending passes the gate, and as it ends
    assert steps_of(planned) == only_at_its_end
    worked = [turn(shell("make"), issue("A"), issue("B")), wait("ISSUE-1", "ISSUE-2"), finish()]
    assert steps_of(worked) == ["commit_main", *only_at_its_end]
