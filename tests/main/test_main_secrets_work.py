"""What an agent does is as its model said it, whatever the keys in use; only copies that are kept or shown are masked (O4)."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from test_main_secrets import holding

import ggactors
from ggactors.crew import crew_from_document
from ggactors.programs.artifacts import problems
from ggactors.protocol.program import Language
from ggactors.testing.repos import make_repo

needs_sandbox = pytest.mark.skipif(
    bool(problems([Language.PYTHON])), reason="the extra [code] is not installed: pip install 'ggactors[code]'"
)
KEY = "sk-fakefakefake123456"
BOARD = {
    "id": "project-management",
    "params": {"mergeAgentId": "lead", "maxEpics": 3, "maxIssues": 9, "maxRetries": 0},
}
HANDS = [{"id": "files"}, {"id": "shell"}]
ROSTER = [{"agent": "lead", "scopes": ["implementer", "subagent"], "description": "Does it."}]
ISSUE = {"title": f"Use {KEY}", "inScope": KEY, "outOfScope": "-", "completionCriteria": "It works", "agent": "lead"}


def calls(*made: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"tool": tool, "args": args} for tool, args in made]}


def crew(folder, script, *, capabilities, **profile):
    (folder / "s.json").write_text(json.dumps({"agents": script}))
    models = {
        "keyed": {
            "provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:9/v1", "apiKeyEnv": "FAKE_KEY"
        },
        "script": {"provider": "script", "name": "s.json"},
    }  # fmt: skip
    lead = {"id": "lead", "root": True, "model": "script", "capabilities": capabilities, **profile}
    return crew_from_document({"models": models, "agents": [lead]}, folder=folder)


async def played(tmp_path, own_home, made, **more):
    (tmp_path / "work").mkdir(exist_ok=True)
    async with ggactors.open_run(made, workspace=tmp_path / "work", task="go", home=own_home, **more) as run:
        outcome = await run.outcome()
        return outcome, [event async for event in run.events()]


class Note:
    """A tool of the embedding program that keeps what it was given."""

    name = "note"
    description = "Notes."

    def __init__(self) -> None:
        self.schema = {"type": "object"}
        self.given: list[Any] = []

    async def call(self, args):
        self.given.append(args)
        return f"noted {args}"


async def test_every_tool_that_acts_gets_its_arguments_as_the_model_sent_them_and_no_copy_holds_the_key(
    tmp_path, own_home, monkeypatch
):
    monkeypatch.setenv("FAKE_KEY", KEY)
    note = Note()
    script = {
        "root": [
            calls(
                ("write_file", {"path": "a.txt", "contents": f"one {KEY}\n"}),
                ("edit_file", {"path": "a.txt", "oldString": f"one {KEY}", "newString": f"two {KEY}"}),
                ("shell", {"command": f"echo {KEY} > b.txt; cat b.txt"}),
                ("write_file", {"path": f"{KEY}.txt", "contents": "named\n"}),
                ("read_file", {"path": "a.txt"}),
                ("note", {"a": [{KEY: KEY}]}),
                ("write_file", {KEY: 1, "path": "c.txt", "contents": "c"}),
                (f"tool-{KEY}", {"deep": [{KEY: {KEY: KEY}}]}),
            ),
            calls(("finish", {"summary": f"with {KEY}", KEY: 1})),
            calls(("finish", {"summary": f"with {KEY}"})),
        ]
    }
    outcome, events = await played(tmp_path, own_home, crew(tmp_path, script, capabilities=HANDS), tools=[note])
    assert outcome.summary == "with [masked:FAKE_KEY]"
    work = tmp_path / "work"
    assert (work / "a.txt").read_text() == f"two {KEY}\n"
    assert (work / "b.txt").read_text() == f"{KEY}\n"
    assert (work / f"{KEY}.txt").read_text() == "named\n"
    assert note.given == [{"a": [{KEY: KEY}]}]
    called = [event.args for event in events if event.type == "tool_call"]
    assert called[5] == {"a": [{"[masked:FAKE_KEY]": "[masked:FAKE_KEY]"}]}
    results = [event for event in events if event.type == "tool_result"]
    assert "two [masked:FAKE_KEY]" in results[4].output
    assert [one.ok for one in results] == [True, True, True, True, True, True, False, False, False, True]
    assert holding(own_home, KEY) == []
    assert KEY not in repr(events)


async def test_what_tells_others_is_masked_on_its_way_and_landed_work_is_not(tmp_path, own_home, monkeypatch):
    monkeypatch.setenv("FAKE_KEY", KEY)
    make_repo(tmp_path / "work", {"a.txt": "a\n"})
    script = {
        "root": [
            calls(("create_issue", ISSUE), ("spawn_subagent", {"agent": "lead", "prompt": f"Look at {KEY}"})),
            calls(("wait_for_issue", {"issueId": "ISSUE-1"}), ("wait_for_subagents", {})),
            calls(("finish", {"summary": f"all of {KEY}"})),
        ],
        "root.0s": [calls(("finish", {"summary": f"looked at {KEY}"}))],
        "ISSUE-1.0i": [
            calls(("write_file", {"path": "client.py", "contents": f"key = '{KEY}'\n"})),
            calls(("finish", {"summary": f"wrote {KEY}"})),
        ],
    }
    made = crew(
        tmp_path, script, capabilities=[*HANDS, BOARD, {"id": "subagents", "params": {"maxDepth": 1}}], roster=ROSTER
    )
    outcome, events = await played(tmp_path, own_home, made)
    assert (outcome.status, outcome.issues) == ("completed", {"ISSUE-1": "done"})
    assert (tmp_path / "work/client.py").read_text() == f"key = '{KEY}'\n"
    assert KEY not in repr(events)
    log = subprocess.run(
        ["git", "log", "--format=%B"], cwd=tmp_path / "work", capture_output=True, text=True, check=True
    )
    assert "[masked:FAKE_KEY]" in log.stdout
    assert KEY not in log.stdout
    # The work itself is in the run's repository; its journal, its events and its board are clean.
    kept = {path for path, _ in holding(own_home, KEY)}
    assert all("/repo.git/" in path or path.endswith("client.py") for path in kept), kept


@needs_sandbox
async def test_a_program_runs_as_it_was_submitted_and_its_calls_act_as_it_made_them(tmp_path, own_home, monkeypatch):
    monkeypatch.setenv("FAKE_KEY", KEY)
    program = (
        f"import gg\ngg.files.write_file('a.txt', '{KEY}')\n"
        f"assert len('{KEY}') == {len(KEY)}\ngg.session.finish('wrote {KEY}')"
    )
    code = {"id": "responses-as-code", "params": {"language": "python"}}
    made = crew(tmp_path, {"root": [{"program": program}]}, capabilities=[*HANDS, code])
    outcome, events = await played(tmp_path, own_home, made)
    assert (outcome.status, outcome.summary) == ("completed", "wrote [masked:FAKE_KEY]")
    assert (tmp_path / "work/a.txt").read_text() == KEY
    assert KEY not in repr(events)
    assert holding(own_home, KEY) == []


async def test_a_person_who_is_asked_for_a_call_is_shown_it_without_the_key(tmp_path, own_home, monkeypatch):
    monkeypatch.setenv("FAKE_KEY", KEY)
    script = {"root": [calls(("shell", {"command": f"echo {KEY} > b.txt"})), calls(("finish", {"summary": "x"}))]}
    made = crew(tmp_path, script, capabilities=HANDS, ask=["shell"])
    (tmp_path / "work").mkdir()
    async with ggactors.open_run(made, workspace=tmp_path / "work", task="go", home=own_home) as run:
        async for event in run.events():
            if event.type == "attention" and event.state == "open":
                (item,) = run.attention()
                assert run.answer(item.id, "approve").accepted
        await run.outcome()
    assert item.detail == "echo [masked:FAKE_KEY] > b.txt"
    assert (tmp_path / "work/b.txt").read_text() == f"{KEY}\n"


@pytest.mark.parametrize("word", ["ollama", "sk-no-key-required", "EMPTY"])
async def test_a_word_set_for_a_key_shreds_no_text_and_the_run_says_once_that_it_is_not_masked(
    tmp_path, own_home, monkeypatch, word
):
    monkeypatch.setenv("FAKE_KEY", word)
    script = {
        "root": [
            calls(("write_file", {"path": "a.py", "contents": f"import {word}\n"}), ("read_file", {"path": "a.py"})),
            calls(("finish", {"summary": f"with {word}"})),
        ]
    }
    outcome, events = await played(tmp_path, own_home, crew(tmp_path, script, capabilities=HANDS))
    assert outcome.summary == f"with {word}"
    assert (tmp_path / "work/a.py").read_text() == f"import {word}\n"
    assert "masked:" not in repr(events)
    (warned,) = [event for event in events if event.type == "log" and "not masked" in event.message]
    assert (warned.level, "FAKE_KEY" in warned.message, word in warned.message) == ("warning", True, False)
