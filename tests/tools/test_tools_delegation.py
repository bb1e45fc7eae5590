"""The delegation tools: who is offered what, what a call comes to, what is asked of the runtime and what never is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import toolskit
from attrs import define, field
from toolskit import call

from ggactors.protocol.crew import RosterEntry
from ggactors.protocol.values import Code, Refused, Scope
from ggactors.tools.delegation import DELEGATION_TOOLS, operations_of, parse_subagent_wait
from ggactors.tools.mask import Mask
from ggactors.tools.toolbox import AgentToolbox, build_toolbox, own_tool_problems

if TYPE_CHECKING:
    from ggactors.protocol.model import ToolResult


@define
class Office:
    """A runtime that answers every call the same way and remembers what it was asked."""

    spawned: str | Refused = "root.0s"
    sent: Refused | None = None
    asked: list[tuple[str, str, str]] = field(factory=list)

    def spawn(self, agent: str, prompt: str) -> str | Refused:
        self.asked.append(("spawn", agent, prompt))
        return self.spawned

    def send(self, agent: str, text: str) -> Refused | None:
        self.asked.append(("send", agent, text))
        return self.sent


def build(office: Office | None, **changes: Any) -> AgentToolbox:
    lead = toolskit.profile(**({"capabilities": ("subagents",), "board": None} | changes))
    return build_toolbox(
        lead,
        agent="root",
        workbench=None,
        ask_board=None,
        crew=toolskit.crew(lead),
        delegation=office,
        mask=Mask({"KEY": "sk-verysecret"}),
    )


def names(toolbox: AgentToolbox) -> list[str]:
    return [spec.name for spec in toolbox.specs]


def schema(toolbox: AgentToolbox, tool: str) -> dict[str, Any]:
    return next(spec.schema for spec in toolbox.specs if spec.name == tool)


async def refusal(toolbox: AgentToolbox, tool: str, **args: Any) -> ToolResult:
    answer = await toolbox.call(call(tool, **args))
    assert not answer.ok
    return answer


# ---------------------------------------------------------------- what is offered


def test_the_capability_gives_the_three_tools_in_the_contracts_order():
    assert names(build(Office())) == list(DELEGATION_TOOLS)


def test_without_the_capability_or_without_a_runtime_to_serve_them_there_are_none():
    assert names(build(Office(), capabilities=())) == []
    assert names(build(None)) == []


def test_an_allowlist_is_the_whole_grant_of_all_three():
    assert names(build(Office(), tools=())) == []
    for tool in DELEGATION_TOOLS:
        assert names(build(Office(), tools=(tool,))) == [tool]


def test_who_can_spawn_nobody_can_still_write_to_others():
    roster = (RosterEntry(agent="coder", scopes=(Scope.IMPLEMENTER,)),)
    assert names(build(Office(), roster=roster)) == ["send_message"]


@pytest.mark.parametrize("tool", DELEGATION_TOOLS)
def test_no_tool_of_an_embedding_program_may_take_one_of_their_names_P4(tool):
    class Own:
        name, description, schema = tool, "x", {"type": "object"}

    (problem,) = own_tool_problems([Own()])
    assert "already" in problem.what


def test_the_schema_closes_the_agent_to_the_callers_own_subagents_and_tells_of_them_A1():
    toolbox = build(Office())
    assert schema(toolbox, "spawn_subagent") == {
        "type": "object",
        "properties": {
            "agent": {"type": "string", "description": doc_of("agent"), "enum": ["coder", "scout"]},
            "prompt": {"type": "string", "description": doc_of("prompt")},
        },
        "required": ["agent", "prompt"],
        "additionalProperties": False,
    }
    told = toolbox.specs[0].description
    assert "- coder (Coder): writes code\n- scout (Scout): looks around" in told
    assert "critic" not in told
    assert "tester" not in told


def doc_of(name: str) -> str:
    lead = toolskit.profile(capabilities=("subagents",))
    spawn = operations_of(lead, toolskit.crew(lead))[0]
    return next(param.doc for param in spawn.params if param.name == name)


def test_waiting_names_agents_or_leaves_them_out():
    shape = schema(build(Office()), "wait_for_subagents")
    assert shape["required"] == []
    agents = shape["properties"]["agents"]
    assert (agents["type"], agents["items"], agents["minItems"]) == ("array", {"type": "string"}, 1)


def test_a_message_takes_any_agents_id_for_the_runtime_knows_who_lives():
    shape = schema(build(Office()), "send_message")
    assert shape["required"] == ["agent", "text"]
    assert "enum" not in shape["properties"]["agent"]


def test_none_of_them_touches_the_tree_M6():
    toolbox = build(Office())
    assert not any(toolbox.touches_tree(tool) for tool in DELEGATION_TOOLS)


# ---------------------------------------------------------------- calls


async def test_spawning_asks_the_runtime_and_gives_the_id():
    office = Office()
    answer = await build(office).call(call("spawn_subagent", agent="coder", prompt="Look into it."))
    assert (answer.ok, answer.code, json.loads(answer.output)) == (True, None, {"id": "root.0s"})
    assert office.asked == [("spawn", "coder", "Look into it.")]


async def test_a_message_is_handed_over_as_it_was_written():
    office = Office()
    answer = await build(office).call(call("send_message", agent="root.0s", text="  two\nlines "))
    assert (answer.ok, json.loads(answer.output)) == (True, {"ok": True})
    assert office.asked == [("send", "root.0s", "  two\nlines ")]


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({"agent": "critic", "prompt": "p"}, "one of coder, scout"),
        ({"agent": "codr", "prompt": "p"}, "did you mean `coder`"),
        ({"agent": "coder"}, "`prompt` is missing"),
        ({"agent": "coder", "prompt": " \n"}, "`prompt` must not be empty"),
        ({"agent": "coder", "prompt": "p", "issueId": "ISSUE-1"}, "no argument `issueId`"),
        ({"agent": ["coder"], "prompt": "p"}, "`agent` must be one of"),
    ],
)
async def test_a_wrong_spawn_is_refused_and_spawns_nobody_B10(args, named):
    office = Office()
    answer = await refusal(build(office), "spawn_subagent", **args)
    assert answer.code == "invalid-argument"
    assert named in answer.output
    assert office.asked == []


@pytest.mark.parametrize("args", [{"agent": "root.0s"}, {"agent": "root.0s", "text": ""}, {"text": "hello"}, {}])
async def test_a_wrong_message_is_refused_and_sent_to_nobody_B10(args):
    office = Office()
    assert (await refusal(build(office), "send_message", **args)).code == "invalid-argument"
    assert office.asked == []


async def test_what_the_runtime_refuses_is_refused_with_its_code_and_words_B10():
    deep = Refused(code=Code.LIMIT_EXCEEDED, message="maxDepth is 1")
    ended = Refused(code=Code.CONFLICT, message="root.0s has ended")
    toolbox = build(Office(spawned=deep, sent=ended))
    spawn = await refusal(toolbox, "spawn_subagent", agent="coder", prompt="p")
    assert (spawn.code, spawn.output) == ("limit-exceeded", "maxDepth is 1")
    message = await refusal(toolbox, "send_message", agent="root.0s", text="t")
    assert (message.code, message.output) == ("conflict", "root.0s has ended")


async def test_a_refusal_that_quotes_a_key_is_masked():
    toolbox = build(Office(spawned=Refused(code=Code.IO_ERROR, message="sk-verysecret did not do")))
    assert (await refusal(toolbox, "spawn_subagent", agent="coder", prompt="p")).output == "[masked:KEY] did not do"


async def test_a_call_the_allowlist_withholds_is_unavailable_and_asks_nothing():
    office = Office()
    toolbox = build(office, tools=("send_message",))
    answer = await refusal(toolbox, "spawn_subagent", agent="coder", prompt="p")
    assert answer.code == "unavailable"
    assert "`send_message`" in answer.output
    assert office.asked == []


async def test_a_wait_is_declared_here_and_served_by_the_agent():
    assert (await refusal(build(Office()), "wait_for_subagents")).code == "unavailable"


# ---------------------------------------------------------------- what a wait names


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ({}, None),
        ({"agents": None}, None),
        ({"agents": ["root.0s"]}, ("root.0s",)),
        ({"agents": ["root.1s", "root.0s", "root.1s"]}, ("root.1s", "root.0s")),
    ],
)
def test_a_wait_names_subagents_once_each_in_the_order_asked_or_is_for_all(args, named):
    assert parse_subagent_wait(call("wait_for_subagents", **args)) == named


@pytest.mark.parametrize(
    "args", [{"agents": []}, {"agents": "root.0s"}, {"agents": [""]}, {"agents": [1]}, {"ids": []}]
)
def test_a_wait_for_nobody_or_of_another_shape_is_refused_B10(args):
    refused = parse_subagent_wait(call("wait_for_subagents", **args))
    assert isinstance(refused, Refused)
    assert refused.code is Code.INVALID_ARGUMENT
