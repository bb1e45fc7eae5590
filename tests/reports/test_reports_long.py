"""What users reported of sessions that go on and on: gates that never yield, prose, loops, windows that overflow (H numbers)."""

from __future__ import annotations

import json

import trio
import trio.testing
from attrs import define, field

from ggactors.protocol.model import Kept, ModelReply, ModelTraits, ToolCall, Usage
from ggactors.testing.crews import finish, issue, run_to_end, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo
from ggactors.testing.simulation import Simulation


def simulate(script=None, **more):
    run = Simulation(script=script or {}, **more)

    async def main():
        return await run.run()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)), run


def of_type(events, kind, agent=None):
    return [event for event in events if event.type == kind and agent in (None, event.agent)]


ENDING = ("finish", {"summary": "done"})


class Never:
    """A gate that never opens, and remembers what it was told."""

    def __init__(self):
        self.blocks = []

    def agent_stop(self, told):
        if told["agentId"] == "root":
            return None
        self.blocks.append(told["blocks"])
        return {"action": "block", "reason": "the tests fail"}


def test_a_gate_that_always_blocks_ends_by_the_ceiling_and_the_same_feedback_is_pointed_out_H34():
    outcome, run = simulate(
        {"root": [turn(issue("A")), wait("ISSUE-1"), finish()], "*i": [turn(ENDING, repeat=50)]},
        document={"limits": {"maxTurns": 5}, "params": {"maxRetries": 0}},
        hooks=(Never(),),
    )
    assert (outcome.exit_code, outcome.issues) == (4, {"ISSUE-1": "failed"})
    assert not run.repository.merged
    answers = [event.output for event in of_type(run.events, "tool_result", "ISSUE-1.0i")]
    assert len(answers) == 5
    assert all("the tests fail" in text for text in answers)
    assert ["the same answer as the last time" in text for text in answers] == [False, True, True, True, True]


def test_blocks_are_counted_per_ending_whatever_is_done_in_between_H35():
    gate = Never()
    replies = [one for n in range(20) for one in (turn(write("a", f"try {n}")), turn(ENDING))]
    outcome, run = simulate(
        {"root": [turn(issue("A")), wait("ISSUE-1"), finish()], "*i": replies},
        document={"limits": {"maxTurns": 40}, "params": {"maxRetries": 0}},
        hooks=(gate,),
    )
    assert outcome.issues == {"ISSUE-1": "failed"}
    assert gate.blocks == list(range(20))
    (end,) = [one for one in of_type(run.events, "agent_state", "ISSUE-1.0i") if one.state == "ended"]
    assert end.status == "exhausted"
    assert not of_type(run.events, "stuck"), "each edit is a new one: that is progress, if of no use"


def test_a_model_that_only_says_there_is_nothing_to_do_is_stopped_and_the_operator_is_told_why_H36():
    outcome, run = simulate({"root": [{"text": "No task for me here.", "repeat": 90}]}, document={"board": False})
    assert (outcome.status, outcome.exit_code) == ("limit_exceeded", 3)
    assert "5 of its 5 replies called no tool" in outcome.summary
    assert '"No task for me here."' in outcome.summary
    assert of_type(run.events, "session_summary")[0].summary == outcome.summary
    honest, _ = simulate({"root": [finish("there is nothing to do")]}, document={"board": False})
    assert honest.exit_code == 0


@define
class Replies:
    """A source whose models give these replies in turn, the last one for ever."""

    replies: list[ModelReply]
    label: str = "replies"
    traits: ModelTraits = field(factory=ModelTraits)

    def model_for(self, agent, profile):
        return Replies(list(self.replies))

    def bound(self, request):
        return None

    async def reply(self, request):
        await trio.lowlevel.checkpoint()
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def test_replies_without_a_call_are_counted_by_what_they_are_and_not_by_their_wording_H37():
    thought = Kept(adapter="fake", items=({"type": "thinking", "text": "I should call finish."},))
    silent = [
        ModelReply(text="Let me think about it."),
        ModelReply(text="", kept=thought),
        ModelReply(text=""),
        ModelReply(text="finish(summary='done')"),
    ]
    spoken = ModelReply(calls=(ToolCall(id="c", tool="list_dir", args={}),))
    outcome, run = simulate(
        source=Replies([silent[0], spoken, *silent]),
        document={"board": False, "limits": {"maxConsecutiveErrors": 4}},
    )
    assert (outcome.status, outcome.exit_code) == ("limit_exceeded", 3)
    turns = of_type(run.events, "turn_outcome")
    assert [one.error_type for one in turns] == [
        "missing_completion_no_call",
        None,
        *["missing_completion_no_call"] * 4,
    ]
    assert [one.consecutive_errors for one in turns] == [1, 0, 1, 2, 3, 4]
    assert "5 of its 6 replies called no tool" in outcome.summary


def flooding(request):
    """Run 21 commands that print five megabytes each, then finish; the root has a subagent do the same."""
    turn_number = request.turn
    if request.messages[-1].text.startswith("Your conversation is about to be compacted"):
        return ModelReply(text=f"{request.agent} printed a lot.", usage=Usage(output=9))
    if request.agent == "root" and turn_number == 1:
        tool, args = "spawn_subagent", {"agent": "lead", "prompt": "print a lot"}
    elif turn_number <= 22:
        tool, args = "shell", {"command": f"echo {turn_number}; head -c 5000000 /dev/zero | tr '\\0' x; echo end"}
    elif request.agent == "root" and turn_number == 23:
        tool, args = "wait_for_subagents", {}
    else:
        tool, args = "finish", {"summary": "printed it all"}
    call = ToolCall(id=f"{request.agent}-{turn_number}", tool=tool, args=args)
    return ModelReply(calls=(call,), usage=Usage(output=9))


@define
class Flooding:
    """A source of models whose window holds a few such outputs, and that refuse a longer request."""

    label: str = "flooding"
    traits: ModelTraits = field(default=ModelTraits(window=24_000))
    longest: int = 0
    summaries: list[str] = field(factory=list)

    def model_for(self, agent, profile):
        return self

    def bound(self, request):
        return None

    async def reply(self, request):
        await trio.lowlevel.checkpoint()
        size = sum(len(m.text) + sum(len(r.output) for r in m.results) for m in request.messages)
        self.longest = max(self.longest, size)
        if request.messages[-1].text.startswith("Your conversation is about"):
            self.summaries.append(request.agent)
        return flooding(request)


async def test_five_megabytes_of_output_twenty_one_times_over_are_cut_compacted_and_survived_by_subagents_too_H48(
    tmp_path,
):
    hands = [{"id": "files"}, {"id": "shell"}]
    lead = {
        "capabilities": [*hands, {"id": "subagents", "params": {"maxDepth": 1}}, {"id": "compaction"}],
        "roster": [{"agent": "lead", "scopes": ["subagent"]}],
    }
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(tmp_path / "crew", {}, board=False, agents={"lead": lead})
    source = Flooding()
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state", models={"script/script.json": source})
    assert (outcome.exit_code, outcome.summary) == (0, "printed it all")
    for agent in ("root", "root.0s"):
        told = of_type(events, "compacted", agent)
        assert len(told) >= 2
        assert all(one.after < one.before for one in told)
        assert len([one for one in of_type(events, "tool_result", agent) if "left out" in one.output]) >= 21
    assert set(source.summaries) == {"root", "root.0s"}
    assert source.longest < 24_000 * 4
    (waited,) = [
        one for one in of_type(events, "tool_result", "root") if "root.0s" in one.output and "status" in one.output
    ]
    assert [(one["id"], one["status"]) for one in json.loads(waited.output)] == [("root.0s", "completed")]


def test_a_child_that_is_stopped_is_never_reported_as_an_empty_success_H51():
    subagents = {"id": "subagents", "params": {"maxDepth": 1}}
    lead = {
        "capabilities": [{"id": "files"}, subagents],
        "roster": [{"agent": "coder", "scopes": ["subagent"]}],
    }
    spawn = ("spawn_subagent", {"agent": "coder", "prompt": "try"})
    script = {
        "root": [turn(spawn, spawn, spawn), turn(("wait_for_subagents", {})), finish("seen")],
        "root.0s": [{"text": "All is well, nothing to report.", "repeat": 50}],
        "root.1s": [turn(("read_file", {"path": "nothing"}), repeat=50)],
        "root.2s": [turn(write(f"f{n}", "x")) for n in range(50)],
    }
    outcome, run = simulate(script, document={"board": False, "limits": {"maxTurns": 8}, "agents": {"lead": lead}})
    assert (outcome.exit_code, outcome.summary) == (0, "seen")
    (waited,) = [
        one for one in of_type(run.events, "tool_result", "root") if "root.2s" in one.output and "status" in one.output
    ]
    ends = {one["id"]: one for one in json.loads(waited.output)}
    assert {name: one["status"] for name, one in ends.items()} == {
        "root.0s": "limit_exceeded",
        "root.1s": "stuck",
        "root.2s": "exhausted",
    }
    assert "5 of its 5 replies called no tool" in ends["root.0s"]["summary"]
    assert "read_file" in ends["root.1s"]["summary"]
    assert "maxTurns" in ends["root.2s"]["summary"]
