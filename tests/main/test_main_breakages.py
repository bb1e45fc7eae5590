"""What once broke a run, or made it tell what was not so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ggactors.app import open_run
from ggactors.ports import RepositoryBroken
from ggactors.protocol.events import AgentSpawned, AgentState, SessionEnded
from ggactors.protocol.values import Status
from ggactors.repo import opening
from ggactors.repo.service import open_repository
from ggactors.telemetry.folds import fold
from ggactors.telemetry.jsonl import read_events
from ggactors.telemetry.plaintext import Look
from ggactors.telemetry.whereabouts import whereabouts
from ggactors.testing.crews import finish, issue, run_to_end, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state"


EMPTY = {"root": [turn(issue("Nothing")), wait("ISSUE-1"), finish()], "ISSUE-1.*": [finish()]}
FILE = {"root": [turn(issue("A file")), wait("ISSUE-1"), finish()], "ISSUE-1.*": [turn(write("n", "x")), finish()]}
SLOW = {"root": [turn(issue("Slow")), wait("ISSUE-1"), finish()], "ISSUE-1.*": [turn(text="hm", delaySecs=600)]}


@pytest.mark.parametrize(("agent", "text", "sender"), [("root", 5, "me"), (None, "hi", "me"), ("root", "hi", b"me")])
async def test_what_is_no_text_is_refused_at_once_and_the_run_goes_on(tmp_path, home, agent, text, sender):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(tmp_path / "crew", FILE)
    async with open_run(crew, workspace=repo.path, home=home, task="t") as run:
        with pytest.raises(TypeError, match="must be a str, not"):
            run.send(agent, text, sender=sender)
        outcome = await run.outcome()
    assert outcome.status is Status.COMPLETED


async def test_an_empty_change_leaves_nothing_to_land_and_nobody_says_it_was_not_landed_W10(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    outcome, events = await run_to_end(write_crew(tmp_path / "crew", EMPTY), repo.path, home=home)
    assert outcome.landed is None
    assert [event.landed for event in events if event.type == "session_summary"] == [None]
    told = "\n".join(whereabouts(fold(events), Look(width=200), folder="f", repository=f"{outcome.folder}/repo.git"))
    assert "not landed" not in told


async def test_the_last_event_is_the_end_also_when_the_root_ends_before_an_empty_issue(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(tmp_path / "crew", {"root": [turn(issue("Nothing")), finish()], "ISSUE-1.*": [finish()]})
    _, events = await run_to_end(crew, repo.path, home=home)
    types = [event.type for event in events]
    assert types.count("worktree_merged") == 1
    assert types[-2:] == ["session_summary", "session_ended"]


async def test_landing_after_each_issue_is_summed_up_as_one_move_from_first_to_last_W10(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    script = {
        "root": [turn(issue("One")), wait("ISSUE-1"), turn(issue("Two")), wait("ISSUE-2"), finish()],
        "ISSUE-1.*": [turn(write("one", "1")), finish()],
        "ISSUE-2.*": [turn(write("two", "2")), finish()],
    }
    first = repo.git("rev-parse", "HEAD")
    outcome, events = await run_to_end(write_crew(tmp_path / "crew", script), repo.path, home=home, land="each")
    assert sum(event.type == "checkout_moved" for event in events) == 2
    assert outcome.landed == {"from": first, "to": repo.git("rev-parse", "HEAD"), "held": [], "reason": None}
    assert first != repo.git("rev-parse", "HEAD")


async def test_leaving_a_run_early_ends_every_living_agent_before_the_account(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(tmp_path / "crew", SLOW)
    async with open_run(crew, workspace=repo.path, home=home, task="t") as run:
        async for event in run.events():
            if event.type == "agent_state" and event.agent == "ISSUE-1.0i" and event.state == "running":
                break
    events = list(read_events(run.folder / "events.jsonl"))
    ends = {event.agent: event.status for event in events if event.type == "agent_state" and event.state == "ended"}
    assert ends == {"root": "canceled", "ISSUE-1.0i": "canceled"}
    assert [event.type for event in events][-2:] == ["session_summary", "session_ended"]
    assert {event.status for event in events[-2:]} == {"canceled"}
    spawned = sum(event.type == "agent_spawned" for event in events)
    assert spawned == sum(event.type == "agent_state" and event.state == "ended" for event in events)


def test_a_run_that_is_over_has_no_living_agents_whatever_its_events_left_out_T2():
    header = {"seq": 1, "time": "2026-01-01T00:00:00.000Z", "run": "r"}
    spawned = AgentSpawned(
        **header, agent="a", profile="coder", profile_name="Coder", role="standard", kind="implementer", workdir="/w",
        brief="b", tools=(), operations=(),
    )  # fmt: skip
    view = fold([spawned, AgentState(**header, agent="a", state="running"), SessionEnded(**header, status="canceled")])
    assert [(agent.state, agent.lost) for agent in view.agents()] == [("ended", True)]
    assert view.running == 0


async def test_a_launch_that_breaks_after_it_held_the_base_lets_go_of_it_P2(tmp_path, monkeypatch):
    repo = make_repo(tmp_path / "repo")
    held = []

    def full_disk(*_, **__):
        held.append(repo.git("for-each-ref", "refs/ggactors"))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(opening.own, "create", full_disk)
    with pytest.raises(RepositoryBroken):
        await open_repository(repo.path, run_id="r1", run_dir=tmp_path / "run", checkout="private")
    assert "refs/ggactors/r1/base" in held[0]
    assert repo.git("for-each-ref", "refs/ggactors") == ""
