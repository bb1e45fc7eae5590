"""Hooks in whole runs on real repositories: gates, writes, commands, the session's own, objects of the embedding program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ggactors
from ggactors.ports import LaunchRefused, SessionComplete
from ggactors.protocol.values import Status
from ggactors.testing.crews import (
    crew_document,
    finish,
    issue,
    of_type,
    run_to_end,
    shell,
    turn,
    wait,
    write,
    write_crew,
)
from ggactors.testing.repos import make_repo

GO_ON = 'echo \'{"action": "continue"}\''


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state"


def hook(event: str, command: str | None = None, **action: Any) -> dict[str, Any]:
    """Declare a hook: a command, or another action."""
    return {"event": event, "action": {"type": "command", "command": command} if command is not None else action}


def one_issue(*replies: Any) -> dict[str, Any]:
    """Script a root that files one issue and waits, and the issue's agents."""
    return {"root": [turn(issue("Add a")), wait("ISSUE-1"), finish("all in")], "ISSUE-1.*": list(replies)}


# ---------------------------------------------------------------- gates


async def test_an_issue_reaches_review_only_once_its_gate_passes_G1_G3(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        one_issue(finish("too early"), turn(write("a.py", "print('a')\n")), finish("wrote a.py")),
        agents={"coder": {"hooks": [hook("agent-stop", "test -e a.py || { echo a.py is missing; exit 1; }")]}},
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert (outcome.exit_code, outcome.issues) == (0, {"ISSUE-1": "done"})
    assert repo.show("a.py") == "print('a')"
    ran = of_type(events, "hook")
    assert [(one.agent, one.event, one.outcome) for one in ran] == [
        ("ISSUE-1.0i", "agent-stop", "blocked"),
        ("ISSUE-1.0i", "agent-stop", "passed"),
    ]
    assert ran[0].reason == "a.py is missing"
    blocked = next(one for one in of_type(events, "tool_result") if one.code == "refused")
    assert "a.py is missing" in blocked.output
    reviewed = next(
        one.seq for one in of_type(events, "board_changed") if one.issue and one.issue["state"] == "in_review"
    )
    assert reviewed > ran[1].seq
    assert [one.outcome for one in of_type(events, "turn_outcome") if one.agent == "ISSUE-1.0i"] == [
        "progressed",
        "progressed",
        "finished",
    ]


async def test_a_gate_that_never_passes_takes_turns_until_a_ceiling_and_is_no_finish_G1_H34(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        one_issue({**turn(("finish", {"summary": "done"})), "repeat": 20}),
        limits={"maxTurns": 5},
        params={"maxRetries": 0},
        agents={"coder": {"hooks": [hook("agent-stop", "exit 1")]}},
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.issues == {"ISSUE-1": "failed"}
    assert [one.outcome for one in of_type(events, "hook")] == ["blocked"] * 5
    answers = [one.output for one in of_type(events, "tool_result") if one.agent == "ISSUE-1.0i"]
    assert ["the same answer" in one for one in answers] == [False, True, True, True, True]
    assert {one.limit for one in of_type(events, "limit_exceeded")} == {"maxTurns"}


@pytest.mark.parametrize("place", ["copy", "original"])
async def test_an_agent_that_disarms_its_gate_does_not_get_through_H39(tmp_path, home, place):
    repo = make_repo(tmp_path / "repo", {"gate.sh": 'echo \'{"action": "block", "reason": "not yet"}\'\n'})
    crew = write_crew(repo.path, {}, board=True)
    target = "gate.sh" if place == "copy" else str(repo.path / "gate.sh")
    disarm = f"printf '%s\\n' {json.dumps(GO_ON)} > {target}"
    document = crew_document(
        params={"maxRetries": 0},
        limits={"maxTurns": 4},
        agents={"coder": {"hooks": [hook("agent-stop", type="script", file="gate.sh")]}},
    )
    crew.write_text(json.dumps(document))
    script = one_issue(turn(shell(disarm)), {**turn(("finish", {"summary": "done"})), "repeat": 9})
    (repo.path / "script.json").write_text(json.dumps({"agents": script}))
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.issues == {"ISSUE-1": "failed"}
    reasons = {one.reason for one in of_type(events, "hook")}
    (reason,) = reasons
    assert ("not yet" if place == "copy" else "was changed after the launch") in reason


# ---------------------------------------------------------------- writes and commands


async def test_blocked_writes_and_commands_are_refused_and_change_nothing(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [
                turn(write("empty.py", ""), shell("git push"), write("a.py", "x\n"), shell("echo hi")),
                finish("done"),
            ]
        },
        agents={
            "lead": {
                "hooks": [
                    hook("pre-write", type="built-in", script="refuse-empty-write"),
                    hook("pre-shell", type="built-in", script="guard-destructive-shell"),
                    hook("post-write", "echo formatted"),
                ]
            }
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    results = [(one.ok, one.code) for one in of_type(events, "tool_result")]
    assert results[:4] == [(False, "refused"), (False, "refused"), (True, None), (True, None)]
    assert not (repo.path / "empty.py").exists()
    assert repo.show("a.py") == "x"
    written = next(one for one in of_type(events, "tool_result") if one.ok)
    assert json.loads(written.output)["messages"] == ["formatted"]


# ---------------------------------------------------------------- starting and ending


async def test_the_sessions_and_the_agents_starting_words_reach_the_model_and_its_end_is_heard(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    said = tmp_path / "end.json"
    crew = write_crew(
        tmp_path / "crew",
        {"root": [finish("done")]},
        hooks=[hook("session-start", "echo the build is red"), hook("session-end", f"cat > {said}")],
        agents={"lead": {"hooks": [hook("agent-start", "echo mind the cache")]}},
    )

    class Listener:
        def __init__(self) -> None:
            self.heard: list[str] = []

        def session_start(self, told: dict[str, Any]) -> None:
            self.heard.append(told["event"])

        def before_generation(self, told: dict[str, Any]) -> None:
            self.heard.append(f"{told['event']} of {told['agentId']}")

    listener = Listener()
    outcome, events = await run_to_end(crew, repo.path, home=home, hooks=[listener])
    assert outcome.exit_code == 0
    assert listener.heard == ["session-start", "before-generation of root"]
    ran = of_type(events, "hook")
    assert [(one.agent, one.event, one.outcome) for one in ran] == [
        (None, "session-start", "message"),
        (None, "session-start", "passed"),
        ("root", "agent-start", "message"),
        (None, "session-end", "passed"),
    ]
    told = json.loads(said.read_text())
    assert (told["status"], told["agentId"], told["session_id"]) == ("completed", None, outcome.run)
    assert ran[-1].seq < of_type(events, "session_summary")[0].seq


@pytest.mark.parametrize("level", ["session", "agent"])
async def test_a_starting_hook_that_could_not_be_run_ends_the_session_with_hook_error_C4(tmp_path, home, level):
    repo = make_repo(tmp_path / "repo")
    broken = hook(f"{level}-start", "no-such-program-at-all")
    crew = write_crew(
        tmp_path / "crew",
        {"root": [finish("done")]},
        hooks=[broken] if level == "session" else [],
        agents={"lead": {"hooks": [broken] if level == "agent" else []}},
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert (outcome.status, outcome.exit_code) == (Status.HOOK_ERROR, 1)
    assert "not found" in outcome.summary
    assert of_type(events, "usage") == []


# ---------------------------------------------------------------- objects


async def test_an_object_ends_a_session_through_the_gate_like_any_ending(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {"root": [turn(shell("touch a")), {**turn(shell("true")), "repeat": 20}]},
        agents={"lead": {"hooks": [hook("agent-stop", "test -e b")]}},
    )

    class Closer:
        def __init__(self) -> None:
            self.turns = 0

        async def after_turn(self, told: dict[str, Any]) -> None:
            self.turns += 1
            if self.turns == 2:
                Path(told["cwd"], "b").touch()
            raise SessionComplete("enough")

    closer = Closer()
    outcome, events = await run_to_end(crew, repo.path, home=home, hooks=[closer])
    assert (outcome.status, outcome.summary, closer.turns) == (Status.COMPLETED, "enough", 2)
    assert [one.outcome for one in of_type(events, "hook")] == ["blocked", "passed"]


async def test_what_cannot_be_used_as_a_hook_refuses_the_launch_in_one_go_P2(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {"root": [finish()]},
        checkout="nowhere",
        agents={"coder": {"hooks": [hook("agent-stop", type="script", file="missing.py")]}},
    )
    with pytest.raises(LaunchRefused) as refused:
        async with ggactors.open_run(crew, workspace=repo.path, home=home, task="x", hooks=[object()]):
            pass
    assert [problem.path for problem in refused.value.problems] == [
        "checkout",
        "agents[1].hooks[0].action.file",
        "hooks[0]",
    ]
