"""Subagents, end to end on real repositories and directories: where they work, what they leave, what stopping does to them."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from subagents_kit import (
    Listening,
    answers,
    children,
    crew,
    ends,
    message,
    most_running,
    outputs,
    place,
    spawn,
)

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, of_type, run_to_end, shell, turn, wait, write, write_crew
from ggactors.testing.repos import Repo, make_repo


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state"


async def test_with_one_slot_a_root_that_waits_on_its_subagent_completes_and_both_works_land_S6(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    script = {
        "root": [
            turn(write("root.txt", "root\n"), spawn("coder", "Write child.txt.")),
            turn(children()),
            finish("both"),
        ],
        "root.0s": [turn(shell("cat root.txt > child.txt")), finish("wrote child.txt")],
    }
    path = write_crew(tmp_path / "crew", script, **crew(limits={"maxParallel": 1}))
    outcome, events = await run_to_end(path, repo.path, home=home)

    assert (outcome.status, outcome.exit_code) == (Status.COMPLETED, 0)
    assert most_running(events) == 1
    assert outputs(events, "root", "spawn_subagent") == [{"id": "root.0s"}]
    told = [{"id": "root.0s", "status": "completed", "summary": "wrote child.txt"}]
    assert outputs(events, "root", "wait_for_subagents") == [told]
    assert (repo.show("root.txt"), repo.show("child.txt")) == ("root", "root")
    assert "root.0s" in repo.git("log", "-1", "--format=%B", "--", "child.txt")
    spawned = {event.agent: event for event in of_type(events, "agent_spawned")}
    child, root = spawned["root.0s"], spawned["root"]
    assert (child.kind, child.role, child.parent, child.issue) == ("subagent", "standard", "root", None)
    assert (child.profile, child.brief) == ("coder", "Write child.txt.")
    assert (child.workdir, child.branch) == (root.workdir, root.branch)
    assert child.tools[-4:] == ("spawn_subagent", "wait_for_subagents", "send_message", "finish")
    waited = [event.waiting_on for event in of_type(events, "agent_state", "root") if event.state == "waiting"]
    assert waited == ["root.0s"]


async def test_an_implementers_subagent_works_in_the_issues_worktree_and_settles_no_issue_D1_W4(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    script = {
        "root": [turn(issue("Both halves")), wait("ISSUE-1"), turn(shell("cat half.txt other.txt")), finish()],
        "ISSUE-1.0i": [
            turn(write("half.txt", "half\n"), spawn("coder", "The other half.")),
            turn(children("ISSUE-1.0i.0s")),
            turn(shell("cat half.txt other.txt > whole.txt")),
            finish("whole"),
        ],
        "ISSUE-1.0i.0s": [turn(shell("cat half.txt && echo other > other.txt && pwd")), finish("other half")],
    }
    path = write_crew(tmp_path / "crew", script, **crew())
    outcome, events = await run_to_end(path, repo.path, home=home)

    assert outcome.exit_code == 0
    spawned = {event.agent: event for event in of_type(events, "agent_spawned")}
    child, parent = spawned["ISSUE-1.0i.0s"], spawned["ISSUE-1.0i"]
    assert (child.workdir, child.branch, child.issue) == (parent.workdir, parent.branch, "ISSUE-1")
    assert child.workdir != spawned["root"].workdir
    assert parent.workdir in answers(events, "ISSUE-1.0i.0s", "shell")[0].output
    assert (repo.show("whole.txt"), repo.show("other.txt")) == ("half\nother", "other")
    over = place(events, agent="ISSUE-1.0i.0s", type="agent_state", state="ended")
    changes = [event for event in of_type(events, "board_changed") if event.issue is not None]
    handed_back = next(event for event in changes if event.issue["state"] == "in_review")
    assert place(events, agent="ISSUE-1.0i", type="agent_state", state="running") < over < events.index(handed_back)
    assert outcome.issues == {"ISSUE-1": "done"}


async def test_without_a_board_subagents_work_in_the_workspace_itself_B12(tmp_path, home):
    workspace = tmp_path / "plain"
    workspace.mkdir()
    script = {
        "root": [turn(spawn(), spawn("lead")), turn(children()), finish()],
        "root.0s": [turn(write("zero", "0")), finish()],
        "root.1s": [turn(write("one", "1")), finish()],
    }
    path = write_crew(tmp_path / "crew", script, **crew(board=False))
    outcome, events = await run_to_end(path, workspace, home=home)
    assert outcome.exit_code == 0
    assert sorted(one.name for one in workspace.iterdir()) == ["one", "zero"]
    assert {event.workdir for event in of_type(events, "agent_spawned")} == {str(workspace.resolve())}


async def test_what_a_subagent_left_is_saved_with_a_failed_issue_W5(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    script = {
        "root": [turn(issue("Hopeless")), wait("ISSUE-1"), finish()],
        "*.0s": [turn(write("child.txt", "kept\n")), finish()],
        "*i": [turn(spawn()), turn(children()), {"error": {"status": 400}}],
    }
    path = write_crew(tmp_path / "crew", script, **crew())
    outcome, events = await run_to_end(path, repo.path, home=home)
    assert outcome.issues == {"ISSUE-1": "failed"}
    (merged,) = of_type(events, "worktree_merged")
    assert Repo(Path(outcome.folder) / "repo.git").git("show", f"{merged.saved_ref}:child.txt") == "kept"


EVERYBODY = ("root", "root.0s", "root.0s.0s", "ISSUE-1.0i", "ISSUE-1.0i.0s")


async def test_cancelling_stops_subagents_at_any_depth_and_asks_no_model_again_H43(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    busy = turn(shell("echo $$"), repeat=1000)
    source = Listening(
        {
            "root": [turn(issue("Long"), spawn()), turn(children()), finish()],
            "root.0s": [turn(spawn()), busy],
            "ISSUE-1.0i": [turn(spawn()), busy],
            "*s": [busy],
        }
    )
    path = write_crew(tmp_path / "crew", {}, **crew(limits={"maxParallel": 8}))
    spawned: set[str] = set()
    asked: list[int] = []

    def stop(run, event):
        if event.type == "agent_spawned":
            spawned.add(event.agent)
        if len(spawned) == len(EVERYBODY) and not asked:
            asked.append(len(source.requests))
            run.cancel()

    outcome, events = await run_to_end(path, repo.path, home=home, during=stop, models={"script/script.json": source})
    assert (outcome.status, outcome.exit_code) == (Status.CANCELED, 130)
    assert ends(events) == dict.fromkeys(EVERYBODY, "canceled")
    assert outcome.issues == {"ISSUE-1": "in_progress"}
    assert not of_type(events, "worktree_merged")
    # Whoever had passed its turn boundary when the run was cancelled may ask once more, nobody twice.
    assert len(source.requests) <= asked[0] + len(EVERYBODY)


class Pause:
    """A tool that goes on once it is let."""

    name, description = "pause", "Wait."
    schema = {"type": "object"}  # noqa: RUF012 - as an embedding program writes it

    def __init__(self) -> None:
        self.over = trio.Event()

    async def call(self, args: dict) -> str:
        await self.over.wait()
        return "went on"


async def test_five_messages_during_a_batch_of_calls_all_arrive_in_order_before_the_next_turn_H46(tmp_path, home):
    workspace = tmp_path / "plain"
    workspace.mkdir()
    texts = [f"message {n}\nof five" for n in range(5)]
    source = Listening(
        {
            "root": [turn(spawn()), turn(("pause", {}), write("after", "x")), turn(children()), finish()],
            "root.0s": [turn(*(message("root", text) for text in texts)), finish()],
        }
    )
    pause = Pause()

    def go_on(_, event):
        if event.type == "agent_state" and event.agent == "root.0s" and event.state == "ended":
            pause.over.set()

    path = write_crew(tmp_path / "crew", {}, **crew(board=False))
    outcome, events = await run_to_end(
        path, workspace, home=home, during=go_on, models={"script/script.json": source}, tools=[pause]
    )
    assert outcome.exit_code == 0
    assert [answer.ok for answer in answers(events, "root.0s", "send_message")] == [True] * 5
    heard = source.heard_by("root", 3)
    assert heard == [f"Message from root.0s:\n{text}" for text in texts]
    assert source.heard_by("root", 4) == []
