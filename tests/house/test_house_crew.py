"""The crew page names every key the launch check knows, and no other."""

from __future__ import annotations

import pytest
from house_pages import REFERENCE, first_cells, sections

from ggactors.protocol.crew import CAPABILITIES
from ggactors.protocol.values import Code
from ggactors.rules import launch, launch_agents, launch_limits, launch_models, launch_tools

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


def test_every_tool_of_this_version_is_on_the_page_and_no_other():
    later = {"spawn_subagent", "wait_for_subagents", "send_message", "submit_program"}
    tools, _, _ = sections(PAGE, 2)["Tools"].partition("| code |")
    assert sorted(first_cells(tools)) == sorted(set(launch_tools.TOOLS) - later)


def test_every_code_of_a_refusal_is_on_the_page():
    _, _, codes = sections(PAGE, 2)["Tools"].partition("| code |")
    assert sorted(first_cells(codes)) == sorted(Code)
