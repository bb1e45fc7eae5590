"""Values of keys come no further than memory: no event, journal, prompt, error or file of a run has one (O4)."""

from __future__ import annotations

import zlib
from contextlib import suppress
from importlib.util import find_spec

import pytest
from dulwich import porcelain

import ggactors
from ggactors.crew import crew_from_document
from ggactors.testing.provider import open_provider, refused, whole
from ggactors.testing.wireshapes import Said

needs_client = pytest.mark.skipif(find_spec("openai") is None, reason="the extra [openai] is not installed")
KEY = "quiet-otter-4242-lantern"
PRINTED = "second-heron-1717-anchor"
CAPABILITIES = [{"id": "files"}, {"id": "shell", "params": {"env": ["LOCAL_KEY"]}}]
BOARD = {
    "id": "project-management",
    "params": {"mergeAgentId": "coder", "maxEpics": 1, "maxIssues": 3, "maxRetries": 0},
}


def holding(folder, *values):
    """List the files of a folder that hold one of some values, in clear or deflated as git's objects are."""
    found = []
    for path in folder.rglob("*"):
        if not path.is_file() or path.is_symlink():
            continue
        content = path.read_bytes()
        with suppress(zlib.error):
            content += zlib.decompress(content)
        found += [(str(path.relative_to(folder)), value) for value in values if value.encode() in content]
    return found


def crew(folder, url):
    model = {"provider": "openai-compatible", "name": "open", "baseUrl": f"{url}/v1"}
    models = {
        "lead": {**model, "apiKeyEnv": "LOCAL_KEY"},
        "coder": {**model, "apiKeyCommand": f"printf %s {PRINTED[:12]}; echo {PRINTED[12:]}"},
    }
    lead = {"id": "lead", "root": True, "model": "lead", "capabilities": [*CAPABILITIES, BOARD]}
    lead["roster"] = [{"agent": "coder", "scopes": ["implementer"]}]
    agents = [lead, {"id": "coder", "model": "coder", "capabilities": CAPABILITIES}]
    return crew_from_document({"limits": {"maxRuntimeSecs": 60}, "models": models, "agents": agents}, folder=folder)


def provider_that_echoes():
    """Answer as a careless gateway would: with the keys it was asked with, in texts, calls and errors."""
    turns = {"root": 0, "ISSUE-1.0i": 0}
    both = f"{KEY} and {PRINTED}"
    issue = {"title": f"Use {both}", "inScope": "-", "outOfScope": "-", "completionCriteria": KEY, "agent": "coder"}
    scripts = {
        "root": [
            Said(
                text=f"your key is {both}", calls=(("1", "shell", {"command": "echo is $LOCAL_KEY; env | grep KEY"}),)
            ),
            Said(calls=(("2", "create_issue", issue),)),
            Said(calls=(("3", "wait_for_issue", {"issueId": "ISSUE-1"}),)),
            Said(calls=(("4", "finish", {"summary": f"done with {both}"}),)),
        ],
        "ISSUE-1.0i": [Said(calls=(("5", "shell", {"command": f"echo {PRINTED} >&2; exit 3"}),))],
    }

    def answer(asked):
        turn = turns[asked.agent]
        turns[asked.agent] += 1
        if turn >= len(scripts[asked.agent]):
            return refused(400, {"error": {"message": f"not with {both}"}})
        return whole(asked, scripts[asked.agent][turn])

    return answer


@needs_client
async def test_no_file_of_a_run_and_no_prompt_ever_holds_the_value_of_a_key(tmp_path, own_home, monkeypatch):
    monkeypatch.setenv("LOCAL_KEY", KEY)
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.py").write_text("a = 1\n")
    porcelain.init(work).close()
    async with open_provider(provider_that_echoes()) as provider:
        made = crew(tmp_path, provider.url)
        task = f"Use the key {KEY}."
        async with ggactors.open_run(made, workspace=work, task=task, home=own_home) as run:
            run.send("root", f"Remember: {KEY}.")
            outcome = await run.outcome()
            events = [event async for event in run.events()]
            folder = run.folder
        asked = provider.asked
    assert outcome.status == "completed"
    assert outcome.summary == "done with [masked:LOCAL_KEY] and [masked:coder]"
    assert outcome.issues == {"ISSUE-1": "failed"}
    results = [event for event in events if event.type == "tool_result"]
    assert "is [masked:LOCAL_KEY]" in results[0].output, "the command was given the key and printed it"
    assert "not with [masked:LOCAL_KEY] and [" in repr(events), "the error was told, without the keys in it"
    assert {ask.headers["authorization"] for ask in asked} == {f"Bearer {KEY}", f"Bearer {PRINTED}"}
    assert [ask for ask in asked if KEY.encode() in ask.body or PRINTED.encode() in ask.body] == []
    assert any(b"Remember: [masked:LOCAL_KEY]." in ask.body for ask in asked)
    assert (folder / "events.jsonl").stat().st_size > 0
    # The command that prints a key is part of the crew; this one is written so that its text is not the key.
    assert holding(own_home, KEY, PRINTED) == []
    assert KEY not in repr(events)
    assert PRINTED not in repr(events)


class Broken:
    """A model with a defect that quotes a key."""

    label = "broken"

    def model_for(self, agent, profile):
        return self

    def bound(self, request):
        return None

    async def reply(self, request):
        raise RuntimeError(f"while asking with {KEY}")


async def test_the_traceback_of_a_defect_is_written_without_the_value_of_a_key_D8(tmp_path, own_home, monkeypatch):
    monkeypatch.setenv("LOCAL_KEY", KEY)
    agent = {"id": "lead", "root": True, "model": "own", "capabilities": CAPABILITIES}
    own = {"provider": "openai-compatible", "name": "x", "baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "NOT_THERE"}
    made = crew_from_document({"models": {"own": own}, "agents": [agent]}, folder=tmp_path)
    (tmp_path / "work").mkdir()
    opened = ggactors.open_run(
        made, workspace=tmp_path / "work", task="Do it.", home=own_home, models={"own": Broken()}
    )
    async with opened as run:
        outcome = await run.outcome()
        crash = (run.folder / "crash-1.txt").read_text()
    assert outcome.status == "internal_error"
    assert "RuntimeError: while asking with [masked:LOCAL_KEY]" in crash
    assert holding(own_home, KEY) == []
