"""The page of the program SDK is true: every call with its signature and the fields it gives, every kind of error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from programs_kit import PYTHON

from ggactors.programs import membrane
from ggactors.programs.logs import MOST_BYTES, MOST_LINES
from ggactors.programs.sdk import Sdk
from ggactors.protocol.crew import BoardGrant, Crew, ModelSpec, Profile, RosterEntry
from ggactors.protocol.values import Code, Scope
from ggactors.rules import telling
from ggactors.tools import board, builtin, delegation, endings, toolbox, views

TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "programs.md").read_text(encoding="utf-8")
LEAD = Profile(
    id="lead",
    name="Lead",
    model=ModelSpec(key="m", provider="script", name="m.json"),
    board=BoardGrant(),
    capabilities=("subagents",),
    roster=(RosterEntry(agent="lead", scopes=(Scope.SUBAGENT,)),),
)
CREW = Crew(name="crew", profiles=(LEAD,))
SPECS = [
    one.program_spec
    for one in (
        *builtin.WORKBENCH,
        *board.every_operation(LEAD, CREW),
        *delegation.every_operation(LEAD, CREW),
        *endings.ENDINGS,
        *toolbox.OF_KITS,
        *views.VIEWING,
    )
]
SDK = Sdk(SPECS, PYTHON)


def section(module: str) -> str:
    """Give the part of the page that is about a module."""
    found = re.search(rf"^### [^\n]*`gg\.{module}`[^\n]*\n(.*?)(?=^##)", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert found, f"there is no section on gg.{module}"
    return found[1]


def signature(spec) -> str:
    return re.sub(r" -> .*", "", SDK.signature(spec, types=False))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_the_page_has_every_call_with_its_signature_and_fields(spec):
    text = section(spec.module)
    prefix = f"{spec.module}." if spec.module in ("views", "docs") else ""
    assert f"| `{prefix}{signature(spec)}` |" in text
    assert [one.name for one in spec.result.fields if f"`{one.name}`" not in text] == []


def test_the_page_has_no_other_call():
    calls = re.findall(r"^\| `[a-z_.]+\(", TEXT, flags=re.MULTILINE)
    assert len(calls) == len(SPECS)


def test_the_page_names_every_module_every_code_and_the_ceilings_in_force():
    assert {spec.module for spec in SPECS} | {"tools"} == set(
        re.findall(r"^###.*?`gg\.(\w+)`", TEXT, flags=re.MULTILINE)
    ) | {"docs"}
    assert [code for code in Code if f"| `{code}` |" not in TEXT] == []
    for number in (membrane.MOST_CALLS, membrane.MOST_VALUES, telling.MOST_CALLS, views.MOST_OPEN, MOST_LINES):
        assert f"{number:,}" in TEXT
    for mebibytes in (membrane.MOST_REQUEST, membrane.MOST_REPLY, telling.MOST_TOGETHER, views.MOST_TURN):
        assert f"{mebibytes >> 20} MiB" in TEXT
    assert f"{MOST_BYTES >> 10} KiB" in TEXT
    assert f"{membrane.MOST_DEPTH} deep" in TEXT
