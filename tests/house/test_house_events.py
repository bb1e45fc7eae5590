"""The event page and the event records say the same."""

from __future__ import annotations

import ast
import re
from typing import get_args

import attrs
import pytest
from house_pages import REFERENCE, ROOT, first_cells, parsed, sections

from ggactors.protocol import events

PAGE = REFERENCE / "events.md"
HEADER = ("seq", "time", "run", "agent", "type")

# The published names, kept: adding a field here is fine, changing one is a breaking change.
PUBLISHED = {
    "session_started": "crew workspace version resumed",
    "agent_spawned": "profile profileName role kind parent issue workdir branch brief tools operations",
    "agent_state": "state waitingOn status summary verified",
    "assistant_message": "text",
    "tool_call": "callId tool args",
    "tool_result": "callId ok code output",
    "code_execution": "ok error finished revoked superseded logs durationMs",
    "turn_outcome": "outcome errorType consecutiveErrors turns",
    "usage": "profile model input cachedInput output reasoning cost",
    "hook": "event name outcome reason exitCode durationMs",
    "limit_exceeded": "limit threshold observed turns window",
    "board_changed": "op epic issue by",
    "board_stalled": "issue blocker",
    "issue_review": "issue round verdict reviewer approvals items commit emptyChange reason",
    "worktree_merged": "issue branch merged commit conflicts mergeAgent oneSided emptyChange reason savedRef",
    "checkout_moved": "from to held reason",
    "retry_wait": "model status waitSecs attempt reason",
    "message": "message state sender queued text",
    "attention": "item kind state issue title detail options default deadlineSecs answer note",
    "task_ended": "task status summary verified queued",
    "log": "level message",
    "session_summary": "status exitCode summary verified turns errors usage cost limitHit issues stalled agents landed",
    "session_ended": "status",
}


def wire_name(field: str) -> str:
    """Spell an attribute the way the stream does."""
    renamed = {"source": "from", "target": "to"}
    head, *tail = field.split("_")
    return renamed.get(field, head + "".join(part.capitalize() for part in tail))


def fields_of(record: type) -> set[str]:
    return {wire_name(field.name) for field in attrs.fields(record)} - set(HEADER)


RECORDS = {record.type: record for record in get_args(events.Event)}


def documented() -> dict[str, str]:
    return {heading: text for heading, text in sections(PAGE, 3).items() if heading.replace("_", "").isalpha()}


def test_every_event_type_is_documented_and_no_other():
    assert sorted(documented()) == sorted(RECORDS)


@pytest.mark.parametrize("event", sorted(RECORDS))
def test_every_field_of_an_event_is_documented_and_no_other(event):
    assert sorted(first_cells(documented()[event])) == sorted(fields_of(RECORDS[event]))


@pytest.mark.parametrize("event", sorted(PUBLISHED))
def test_no_published_name_of_an_event_is_lost(event):
    assert set(PUBLISHED[event].split()) <= fields_of(RECORDS[event])


def test_the_fields_every_event_has_are_documented():
    assert first_cells(sections(PAGE, 2)["Fields of every event"]) == list(HEADER)


def test_every_op_of_a_board_change_is_documented_and_no_other():
    (changes,) = (
        node
        for node in parsed(ROOT / "ggactors" / "rules" / "boardevents.py").body
        if isinstance(node, ast.FunctionDef) and node.name == "_changes"
    )
    ops = {node.value for node in ast.walk(changes) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    told = re.findall(r"`(\w+)`", documented()["board_changed"].partition("| field |")[0])
    assert sorted(told) == sorted({"op", *ops})
