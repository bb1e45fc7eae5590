"""The crew page names every key the launch check knows, and no other."""

from __future__ import annotations

import re

import pytest
from house_pages import REFERENCE, first_cells, sections

from ggactors.protocol.crew import CAPABILITIES, BoardGrant, Crew, ModelSpec, Profile, RosterEntry
from ggactors.protocol.values import Code, Scope
from ggactors.rules import launch, launch_agents, launch_limits, launch_models, launch_tools
from ggactors.tools import board, builtin, delegation, endings, memories, toolbox

PAGE = REFERENCE / "crew.md"


@pytest.mark.parametrize(
    ("section", "keys"),
    [
        ("Top level", launch.KEYS),
        ("Limits", launch_limits.KEYS),
        ("Models", launch_models.PROVIDERS),
        ("Profiles", launch_agents.KEYS),
    ],
)
def test_every_key_of_the_document_is_on_its_page_and_no_other(section, keys):
    assert sorted(first_cells(sections(PAGE, 2)[section])) == sorted(keys)


def test_every_capability_is_on_the_page():
    text = sections(PAGE, 2)["Capabilities"]
    assert [capability for capability in CAPABILITIES if f"`{capability}`" not in text] == []


def operations():
    """List every operation of this version, as a profile with the whole board and subagents sees them."""
    lead = Profile(
        id="lead",
        name="Lead",
        model=ModelSpec(key="m", provider="script", name="m.json"),
        board=BoardGrant(),
        capabilities=("subagents",),
        roster=(RosterEntry(agent="lead", scopes=(Scope.SUBAGENT,)),),
    )
    crew = Crew(name="crew", profiles=(lead,))
    return [
        *board.operations_of(lead, crew),
        *builtin.WORKBENCH,
        *delegation.operations_of(lead, crew),
        *(operation for operation in toolbox.OF_KITS if operation not in memories.OPERATIONS),
        *memories.AS_TOOLS,
        *endings.ENDINGS,
    ]


def documented_tools() -> dict[str, str]:
    """Map each tool on the page to the cell that tells its arguments."""
    table, _, _ = sections(PAGE, 2)["Tools"].partition("| code |")
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", table, flags=re.MULTILINE))


def test_every_tool_of_this_version_is_on_the_page_and_no_other():
    later = {"submit_program"}
    assert sorted(documented_tools()) == sorted(operation.tool for operation in operations())
    assert sorted(documented_tools()) == sorted(set(launch_tools.TOOLS) - later)


@pytest.mark.parametrize("operation", operations(), ids=lambda operation: operation.tool)
def test_a_tool_takes_the_arguments_its_page_tells(operation):
    told = re.findall(r"`(\w+)`(\??)", documented_tools()[operation.tool].split(";")[0])
    optional = {"status", "title", "description", "inScope", "outOfScope", "completionCriteria", "epicId"}
    for param in operation.params:
        mark = "" if param.required or (operation.tool == "update_issue" and param.sent_as in optional) else "?"
        assert (param.sent_as, mark) in told
    assert len(told) == len(operation.params)


def test_every_code_of_a_refusal_is_on_the_page():
    _, _, codes = sections(PAGE, 2)["Tools"].partition("| code |")
    assert sorted(first_cells(codes)) == sorted(Code)
