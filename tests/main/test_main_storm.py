"""Twenty agents on a real HTTP provider that refuses them all for a while (C1)."""

from __future__ import annotations

import json
import time
from importlib.util import find_spec

import pytest
import trio

from ggactors.models.script import script_of
from ggactors.protocol.values import Status
from ggactors.testing.crews import crew_document, finish, run_to_end, turn
from ggactors.testing.provider import Scripted, open_provider, refused

pytestmark = pytest.mark.skipif(find_spec("openai") is None, reason="the extra [openai] is not installed")

STORM_SECS = 2.0
FLEET = 20


class Storm:
    """Refuses every subagent from the first one's first request on, for two seconds."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.refused: list[str] = []

    def __call__(self, asked, _number):
        if asked.agent == "root":
            return None
        now = time.monotonic()
        self.began = self.began or now
        if now - self.began < STORM_SECS:
            self.refused.append(asked.agent)
            left = STORM_SECS - (now - self.began)
            return refused(429, retry_after_ms=str(int(left * 1000) + 1))
        return None


async def test_twenty_agents_meeting_a_storm_of_a_real_provider_all_finish_C1(tmp_path):
    script = {
        "root": [
            turn(*(("spawn_subagent", {"agent": "lead", "prompt": f"part {n}"}) for n in range(FLEET))),
            turn(("wait_for_subagents", {})),
            finish("all in"),
        ],
        "root.*s": [turn(("list_dir", {})), finish()],
    }
    read, problems = script_of(json.dumps({"agents": script}).encode(), "script.json", "storm")
    assert problems == ()
    storm = Storm()
    async with open_provider(Scripted(read, storm)) as provider:
        lead = {
            "capabilities": [{"id": "files"}, {"id": "subagents", "params": {"maxDepth": 1}}],
            "roster": [{"agent": "lead", "scopes": ["subagent"]}],
        }
        document = crew_document(
            model="big",
            board=False,
            models={"big": {"provider": "openai-compatible", "name": "open-test", "baseUrl": f"{provider.url}/v1"}},
            limits={"maxParallel": FLEET + 1, "maxConsecutiveErrors": 1},
            agents={"lead": lead},
        )
        crew = tmp_path / "crew.json"
        crew.write_text(json.dumps(document))
        (tmp_path / "place").mkdir()
        with trio.fail_after(120):
            outcome, events = await run_to_end(crew, tmp_path / "place", home=tmp_path / "state")
    assert (outcome.status, outcome.exit_code, outcome.agents) == (Status.COMPLETED, 0, FLEET + 1)
    # Those on their way when the first refusal came are refused too, nobody twice: what was said then holds for all.
    assert storm.refused
    assert len(set(storm.refused)) == len(storm.refused)
    assert {event.outcome for event in events if event.type == "turn_outcome"} <= {"progressed", "finished"}
    waited = {event.agent for event in events if event.type == "agent_state" and event.waiting_on == "the provider"}
    assert waited >= set(storm.refused)
