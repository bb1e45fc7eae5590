"""Hooks as a crew declares them: every mistake at its place, and what is read when nothing is wrong (P4, reference/crew.md)."""

from __future__ import annotations

import pytest
from crew_samples import check_document, lines, problems_of, valid

from ggactors.crew import reading_of
from ggactors.protocol.hooks import BuiltInAction, CommandAction, HookSpec, ScriptAction


@pytest.mark.parametrize(
    ("hook", "path", "word"),
    [
        ({"action": {"type": "command", "command": "x"}}, ".event", "is missing"),
        ({"event": "agent-stop"}, ".action", "is missing"),
        ({"event": "agent-stops", "action": {"type": "command", "command": "x"}}, ".event", "did you mean"),
        (
            {"event": "session-start", "action": {"type": "command", "command": "x"}},
            ".event",
            "move it to the hooks of the whole",
        ),
        ({"event": "agent-stop", "when": 1, "action": {"type": "command", "command": "x"}}, ".when", "unknown key"),
        ({"event": "agent-stop", "action": {"type": "custom"}}, ".action.type", "known types"),
        ({"event": "agent-stop", "action": {"type": "command"}}, ".action.command", "is missing"),
        ({"event": "agent-stop", "action": {"type": "command", "command": " "}}, ".action.command", "blank"),
        (
            {"event": "agent-stop", "action": {"type": "command", "command": "x", "timeoutSecs": 0}},
            ".action.timeoutSecs",
            "greater",
        ),
        (
            {"event": "agent-stop", "action": {"type": "command", "command": "x", "file": "y"}},
            ".action.file",
            "unknown key",
        ),
        ({"event": "agent-stop", "action": {"type": "script"}}, ".action", "exactly one"),
        ({"event": "agent-stop", "action": {"type": "script", "source": "x", "file": "y"}}, ".action", "exactly one"),
        ({"event": "agent-stop", "action": {"type": "script", "source": ""}}, ".action.source", "blank"),
        (
            {"event": "agent-stop", "action": {"type": "built-in", "script": "trce"}},
            ".action.script",
            "did you mean 'trace'",
        ),
        ({"event": "agent-stop", "action": {"type": "built-in"}}, ".action.script", "is missing"),
        ({"event": "agent-stop", "action": "true"}, ".action", "must be an object"),
        *(
            ({"event": "agent-stop", "action": {"type": "script", "file": file}}, ".action.file", "crew's folder")
            for file in ("/etc/passwd", "../gate.sh", "a/../../gate.sh", "a\0b")
        ),
        (
            {"event": "pre-write", "action": {"type": "built-in", "script": "verify-completion"}},
            ".action.script",
            "bind it to 'agent-stop'",
        ),
        (
            {"event": "pre-shell", "action": {"type": "built-in", "script": "refuse-empty-write"}},
            ".action.script",
            "bind it to 'pre-write'",
        ),
        (
            {"event": "pre-write", "action": {"type": "built-in", "script": "guard-destructive-shell"}},
            ".action.script",
            "bind it to 'pre-shell'",
        ),
    ],
)
def test_one_mistake_in_a_hook_is_named_alone_at_its_path_P4(hook, path, word):
    document = valid()
    document["agents"][1]["hooks"] = [hook]
    problems = {problem.path: str(problem) for problem in check_document(document)}
    assert set(problems) == {f"agents[1].hooks[0]{path}"}
    assert word in problems[f"agents[1].hooks[0]{path}"]


def test_hooks_are_read_in_their_order_named_after_what_they_run_with_a_minute_each():
    document = valid()
    document["hooks"] = [{"event": "session-end", "action": {"type": "command", "command": "notify-send over"}}]
    document["agents"][1]["hooks"] = [
        {"event": "agent-stop", "name": "tests", "action": {"type": "command", "command": "t", "timeoutSecs": 0.5}},
        {"event": "agent-stop", "action": {"type": "command", "command": f"a\n  b {'c' * 80}"}},
        {"event": "pre-write", "action": {"type": "script", "source": "exit 0", "timeoutSecs": 5}},
        {"event": "post-write", "action": {"type": "script", "file": "checks/gate.py"}},
        {"event": "pre-shell", "action": {"type": "built-in", "script": "guard-destructive-shell"}},
        {"event": "agent-start", "action": {"type": "built-in", "script": "trace"}},
    ]
    reading = reading_of(document, folder=".")
    crew = reading.crew
    assert crew is not None
    coder = crew.profile("coder")
    assert crew.hooks == (
        HookSpec(
            event="session-end",
            name="notify-send over",
            action=CommandAction(command="notify-send over", timeout_secs=60.0),
            path="hooks[0]",
        ),
    )
    assert [(hook.event, hook.name, hook.path) for hook in coder.hooks] == [
        ("agent-stop", "tests", "agents[1].hooks[0]"),
        ("agent-stop", f"a b {'c' * 55}…", "agents[1].hooks[1]"),
        ("pre-write", "script", "agents[1].hooks[2]"),
        ("post-write", "checks/gate.py", "agents[1].hooks[3]"),
        ("pre-shell", "guard-destructive-shell", "agents[1].hooks[4]"),
        ("agent-start", "trace", "agents[1].hooks[5]"),
    ]
    assert coder.hooks[0].action == CommandAction(command="t", timeout_secs=0.5)
    assert coder.hooks[2].action == ScriptAction(source="exit 0", timeout_secs=5)
    assert coder.hooks[3].action == ScriptAction(file="checks/gate.py", timeout_secs=60.0)
    assert coder.hooks[5].action == BuiltInAction(script="trace")
    assert reading.hooks == crew.every_hook == (*crew.hooks, *coder.hooks)


def test_hooks_that_could_be_read_are_told_also_when_the_rest_is_wrong_P2():
    document = valid()
    document["checkout"] = "public"
    document["agents"][1]["hooks"] = [
        {"event": "agent-stop", "action": {"type": "script", "file": "gate.py"}},
        {"event": "agent-stop", "action": {"type": "script"}},
    ]
    reading = reading_of(document, folder=".")
    assert reading.crew is None
    assert [hook.path for hook in reading.hooks] == ["agents[1].hooks[0]"]


def test_an_agent_event_on_the_run_says_where_it_belongs():
    problems = problems_of('hooks=[{"event":"pre-shell","action":{"type":"command","command":"x"}}]')
    assert "move it to an agent's hooks" in lines(problems)
