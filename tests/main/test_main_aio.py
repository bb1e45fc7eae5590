"""ggactors.aio: the same calls for asyncio programs."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import TYPE_CHECKING

import pytest

from ggactors import Run, aio
from ggactors.testing.crews import finish, issue, shell, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {"root": [turn(issue()), wait("ISSUE-1"), finish("all in")], "ISSUE-1.*": [turn(write("n", "1\n")), finish()]}
ENDLESS = {"root": [{**turn(shell("echo $$")), "repeat": 100_000}]}


@pytest.fixture
def place(tmp_path: Path):
    repo = make_repo(tmp_path / "repo")

    def opened(script, **options):
        crew = write_crew(tmp_path / "crew", script, limits={"maxTurns": None}, stuckDetection={"enabled": False})
        return aio.open_run(crew, workspace=repo.path, home=tmp_path / "state", task="t", **options)

    opened.repo = repo
    yield opened
    assert [thread.name for thread in threading.enumerate() if thread.name == "ggactors-trio"] == []


def test_a_run_is_opened_followed_and_awaited_from_asyncio(place):
    async def main():
        async with place(SMALL) as run:
            types = [event.type async for event in run.events()]
            again = [event.type async for event in run.events()]
            outcome = await run.outcome()
            board, agents = await run.board(), await run.agents()
        return types, again, outcome, board, agents, run

    types, again, outcome, board, agents, run = asyncio.run(main())
    assert types == again
    assert (types[0], types[-1]) == ("session_started", "session_ended")
    assert (outcome.status, outcome.summary) == ("completed", "all in")
    assert [one.state for one in board.issues] == ["done"]
    assert [agent.id for agent in agents] == ["root", "ISSUE-1.0i"]
    assert (run.folder / "events.jsonl").is_file()
    assert (place.repo.path / "n").read_text() == "1\n"


def test_a_refused_launch_is_raised_with_every_problem(place):
    async def main():
        async with place({}, land="perhaps", checkout="borrowed"):
            pass

    with pytest.raises(aio.LaunchRefused) as refused:
        asyncio.run(main())
    assert {problem.path for problem in refused.value.problems} >= {"land", "checkout"}


def test_asyncio_goes_on_while_the_run_works_and_cancel_ends_it(place):
    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0)
                ticks += 1

        async with place(ENDLESS) as run:
            ticking = asyncio.create_task(tick())
            events = run.events()
            async for event in events:
                if event.type == "turn_outcome":
                    break
            await run.cancel()
            outcome = await run.outcome()
            await events.aclose()
            ticking.cancel()
        return outcome, ticks

    outcome, ticks = asyncio.run(main())
    assert (outcome.status, outcome.exit_code) == ("canceled", 130)
    assert ticks > 10


def test_cancelling_a_wait_leaves_the_run_alone_and_leaving_the_block_stops_it(place):
    async def main():
        async with place(ENDLESS) as run:
            waiting = asyncio.create_task(run.outcome())
            async for event in run.events():
                if event.type == "turn_outcome":
                    break
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert (await run.send("root", "hello")).accepted
            assert not (await run.send("nobody", "hello")).accepted
        with pytest.raises(aio.RunClosed):
            await run.board()
        return run

    run = asyncio.run(main())
    assert '"session_ended"' in (run.folder / "events.jsonl").read_text()


def test_a_block_that_is_cancelled_or_raises_still_ends_its_run(place):
    async def cancelled():
        async with place(ENDLESS) as run:
            async for event in run.events():
                if event.type == "turn_outcome":
                    asyncio.current_task().cancel()
                    await asyncio.Event().wait()

    async def raising():
        async with place(ENDLESS):
            raise KeyError("mine")

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    with pytest.raises(KeyError, match="mine"):
        asyncio.run(raising())


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_a_launch_called_off_at_any_moment_leaves_no_thread(place, steps):
    async def main():
        async def launch():
            async with place(ENDLESS):
                await asyncio.Event().wait()

        launching = asyncio.create_task(launch())
        for _ in range(steps):
            await asyncio.sleep(0)
        launching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await launching

    asyncio.run(main())


def test_an_own_hook_is_called_in_the_trio_thread(place):
    threads = set()

    class Hook:
        def after_turn(self, told):
            threads.add(threading.current_thread().name)

    async def main():
        async with place(SMALL, hooks=[Hook()]) as run:
            return await run.outcome()

    assert asyncio.run(main()).status == "completed"
    assert threads == {"ggactors-trio"}


def test_every_public_call_of_a_run_is_there_for_asyncio_with_the_same_arguments():
    def calls(cls):
        return {name: call for name, call in vars(cls).items() if not name.startswith("_")}

    ours, theirs = calls(aio.Run), calls(Run)
    assert ours.keys() == theirs.keys()
    for name, call in theirs.items():
        if isinstance(call, property):
            assert isinstance(ours[name], property), name
            continue
        given, taken = inspect.signature(call).parameters, inspect.signature(ours[name]).parameters
        assert [(one.name, one.kind, one.default) for one in given.values()] == [
            (one.name, one.kind, one.default) for one in taken.values()
        ], name


def test_what_waits_for_a_person_is_listed_and_answered_from_asyncio(place):
    async def main():
        heard = []
        async with place(ENDLESS) as run:
            await run.add_sink(lambda event: heard.append((event.type, threading.current_thread().name)))
            asked = asyncio.create_task(run.ask("Which way?", options=("left", "right")))
            while not (items := await run.attention()):
                await asyncio.sleep(0)
            with pytest.raises(ValueError, match="left, right"):
                await run.answer(items[0].id, "up")
            assert (await run.answer(items[0].id, "left", "shorter")).accepted
            assert not (await run.answer(items[0].id, "right")).accepted
            answered = await asked
            unheard = asyncio.create_task(run.ask("Still there?"))
            while not await run.attention():
                await asyncio.sleep(0)
            unheard.cancel()
            with pytest.raises(asyncio.CancelledError):
                await unheard
            while await run.attention():
                await asyncio.sleep(0)
        return answered, heard

    answered, heard = asyncio.run(main())
    assert (answered.choice, answered.note) == ("left", "shorter")
    assert ("attention", "ggactors-trio") in heard


def test_what_is_merged_is_landed_from_asyncio_while_the_run_goes_on(place):
    script = {
        "root": [turn(issue()), wait("ISSUE-1"), {**turn(shell("echo $$")), "repeat": 100_000}],
        "ISSUE-1.*": [turn(write("n", "1\n")), finish()],
    }

    async def main():
        async with place(script) as run:
            async for event in run.events():
                if event.type == "board_changed" and event.op == "done":
                    break
            return await run.land()

    landing = asyncio.run(main())
    assert (landing.reason, landing.source != landing.target) == (None, True)
    assert (place.repo.path / "n").read_text() == "1\n"
