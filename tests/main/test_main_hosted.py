"""The main job on models behind an address: filed, implemented, reviewed, merged on real git, over each provider's wire."""

import json
from importlib.util import find_spec

import pytest
import trio

from ggactors.models.script import script_of
from ggactors.testing.crews import crew_document, finish, issue, run_to_end, turn, wait, write
from ggactors.testing.provider import Answer, End, Scripted, cut, open_provider, refused
from ggactors.testing.repos import make_repo
from ggactors.testing.wireshapes import Said

KEY = "sk-fake-0123456789abcdef"
PROVIDERS = {
    "anthropic": {"provider": "anthropic", "name": "claude-test"},
    "chat": {"provider": "openai", "name": "gpt-test"},
    "responses": {"provider": "openai", "name": "gpt-test", "api": "responses"},
    "compatible": {"provider": "openai-compatible", "name": "open-test"},
}
SCRIPT = {
    "root": [
        turn(issue("A", reviewers=["critic"]), issue("B")),
        wait("ISSUE-1", "ISSUE-2"),
        finish("both are there"),
    ],
    "ISSUE-1.*i": [turn(write("a.py", "print('a')\n"), write("b.txt", "of A\n")), finish("wrote a.py")],
    "ISSUE-2.*i": [turn(write("b.txt", "of B\n")), finish("wrote b.txt")],
    "*r": [turn(("approve", {}))],
    "*m": [
        turn(("shell", {"command": "printf 'of A\\nof B\\n' > b.txt && git add b.txt && git commit -qm both"})),
        finish("kept both"),
    ],
}


def there(name):
    client = "anthropic" if name == "anthropic" else "openai"
    missing = pytest.mark.skipif(find_spec(client) is None, reason=f"the extra [{client}] is not installed")
    return pytest.param(name, marks=missing)


def write_hosted(folder, url, name, script, **more):
    """Write a crew whose one model is served at an address; give its path and what answers there."""
    folder.mkdir()
    model = {**PROVIDERS[name], "baseUrl": url if name == "anthropic" else f"{url}/v1", "price": PRICE, **more}
    document = crew_document(model="m", models={"m": model})
    path = folder / "crew.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    read, problems = script_of(json.dumps({"agents": script}).encode(), "script.json", "script")
    assert not problems
    return path, read


PRICE = {"inputPerMTok": 1.0, "outputPerMTok": 10.0}


async def do_the_job(tmp_path, monkeypatch, name, spoil=None, script=SCRIPT):
    """Run the main job against a provider; give the outcome, the events, the repository and the provider."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    repo = make_repo(tmp_path / "repo", {"README.md": "hello\n", "b.txt": ""})
    async with open_provider(lambda asked: Answer()) as provider:
        crew, read = write_hosted(tmp_path / "crew", provider.url, name, script)
        provider.answer = Scripted(read) if spoil is None else Scripted(read, spoil)
        outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
        # The run's connections go with the run.
        with trio.fail_after(10):
            await provider.settled()
    return outcome, events, repo, provider


@pytest.mark.parametrize("name", [there(name) for name in PROVIDERS])
async def test_the_main_job_is_done_over_every_wire(name, tmp_path, monkeypatch):
    outcome, events, repo, provider = await do_the_job(tmp_path, monkeypatch, name)
    assert outcome.exit_code == 0, outcome.summary
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "done"}
    assert repo.git("show", "HEAD:a.py") == "print('a')"
    assert repo.git("show", "HEAD:b.txt") == "of A\nof B"
    spent = [event for event in events if event.type == "usage"]
    # Every turn was one request, asked under the name of its agent.
    assert sorted(event.agent for event in spent) == sorted(asked.agent for asked in provider.asked)
    assert {asked.headers["x-ggactors-run"] for asked in provider.asked} == {outcome.run}
    assert all(event.cost == pytest.approx((100 * 1.0 + 20 * 10.0) / 1e6) for event in spent)
    written = "".join(path.read_bytes().decode("latin-1") for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert "ISSUE-1.0i" in written
    assert KEY not in written


SPOILT = {
    "a storm of refusals": lambda asked: refused(429, retry_after_ms="5"),
    "replies cut off": lambda asked: cut(
        asked, Said(text="not to be kept", calls=(("x", "finish", {}),)), end=End.RESET
    ),
    "a server in trouble": lambda asked: refused(529, "<html>overloaded</html>", retry_after_ms="5"),
}


@pytest.mark.parametrize(("name", "kind"), list(zip(["anthropic", "chat", "responses"], SPOILT, strict=True)))
async def test_faults_of_the_wire_in_the_middle_of_a_run_cost_no_turn_and_no_issue_C1(
    name, kind, tmp_path, monkeypatch
):
    client = "anthropic" if name == "anthropic" else "openai"
    pytest.importorskip(client, reason=f"the extra [{client}] is not installed")

    def spoil(asked, number):
        return SPOILT[kind](asked) if number in (2, 5, 9) else None

    outcome, events, repo, _ = await do_the_job(tmp_path, monkeypatch, name, spoil)
    assert outcome.exit_code == 0, outcome.summary
    assert repo.git("show", "HEAD:b.txt") == "of A\nof B"
    waits = [event for event in events if event.type == "retry_wait"]
    assert len(waits) == 3
    assert not [event for event in events if event.type == "turn_outcome" and event.outcome == "error"]
    assert {issue["attempts"] for issue in _issues(events)} <= {0, 1}
    assert "not to be kept" not in "".join(str(event) for event in events)


def _issues(events):
    return [event.issue for event in events if event.type == "board_changed" and event.issue is not None]


@pytest.mark.parametrize("name", [there("anthropic"), there("compatible")])
async def test_a_refused_key_ends_the_run_and_says_what_to_do_C4(name, tmp_path, monkeypatch):
    outcome, events, _, provider = await do_the_job(
        tmp_path, monkeypatch, name, lambda asked, number: refused(401, {"error": {"message": f"bad key {KEY}"}})
    )
    assert (outcome.status, outcome.exit_code) == ("auth_error", 1)
    assert "check the key" in outcome.summary
    assert KEY not in "".join(str(event) for event in events)
    assert len(provider.asked) == 1


async def test_a_call_that_cannot_be_read_is_answered_and_the_turn_goes_on(tmp_path, monkeypatch):
    pytest.importorskip("openai", reason="the extra [openai] is not installed")
    from ggactors.testing.provider import whole

    def spoil(asked, number):
        if number == 1:
            calls = (("x1", "create_issue", '{"title": '), ("x2", "read_board", {}))
            return whole(asked, Said(text="trying", calls=calls))
        if number == 2:
            return whole(asked, Said(text="", calls=(("x3", "finish", {"summary": "cut"}),), stop="length"))
        return None

    outcome, events, _, provider = await do_the_job(tmp_path, monkeypatch, "chat", spoil, {"root": [finish()]})
    assert outcome.exit_code == 0
    answered = {event.call_id: event for event in events if event.type == "tool_result"}
    assert (answered["x1"].ok, answered["x1"].code) == (False, "invalid-argument")
    assert "not valid JSON" in answered["x1"].output
    assert answered["x2"].ok
    assert (answered["x3"].ok, answered["x3"].code) == (False, "invalid-argument")
    assert outcome.summary == "done"
    assert "cut off" in provider.asked[-1].record["messages"][-1]["content"]
    assert [event.outcome for event in events if event.type == "turn_outcome"] == [
        "progressed",
        "progressed",
        "finished",
    ]
