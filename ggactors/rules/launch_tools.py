"""Launch checks of the allowlists (docs/reference/crew.md, programs.md). Law: a name a profile does not offer is inert.

Ending calls, ``wait_for_issue``, ``set_issue_blocked_by`` and ``read_board`` may stand in ``tools`` and change nothing there: an
allowlist neither grants nor withholds them (E3, Q6).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ggactors.rules.shape import Place, Table, each, shown, suggestion, text

if TYPE_CHECKING:
    from collections.abc import Callable

MCP_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9-]*(_[A-Za-z0-9-]+)*__[A-Za-z0-9_-]+")
"""A tool of an MCP server, ``server__tool``; whether there is one is asked when the servers are."""

ENDINGS = ("finish", "approve", "request_changes")

TASKS = ("add_task", "update_task", "set_blocked_by", "complete_task", "remove_task", "list_tasks")

MEMORIES = ("create_memory", "read_memory", "edit_memory", "delete_memory", "search_memories")

TOOLS = (
    "create_epic",
    "create_issue",
    "update_issue",
    "set_issue_blocked_by",
    "remove_epic",
    "remove_issue",
    "wait_for_issue",
    "read_board",
    "read_file",
    "write_file",
    "edit_file",
    "list_dir",
    "search_files",
    "shell",
    "spawn_subagent",
    "wait_for_subagents",
    "send_message",
    *TASKS,
    "read_skill",
    *MEMORIES,
    *ENDINGS,
    "submit_program",
)

_UNASKED = frozenset(
    {
        *ENDINGS,
        "submit_program",
        "wait_for_issue",
        "wait_for_subagents",
        "board.wait_for_issue",
        "delegation.wait_for_subagents",
    }
)

OPERATIONS = (
    *(f"files.{name}" for name in ("read_file", "write_file", "edit_file", "list_dir", "search_files")),
    "shell.run",
    *(f"board.{name}" for name in TOOLS[:8]),
    *(f"delegation.{name}" for name in ("spawn_subagent", "wait_for_subagents", "send_message")),
    *(f"tasks.{name}" for name in TASKS),
    "skills.read_skill",
    *(f"memories.{name}" for name in MEMORIES),
    *(f"session.{name}" for name in ENDINGS),
    *(f"views.{name}" for name in ("open_text", "open_file", "close", "current")),
    "docs.search",
    "docs.open",
)

OPEN_MODULES = ("tools",)
"""Modules whose functions come with a launch (tools of the embedding program); here only the module is known."""


def read_tools(place: Place) -> tuple[str, ...] | None:
    """Read ``tools``: names of the contract's tools, each once."""
    return each(_tool, noun="tool names", unique=True)(place)


def _tool(place: Place) -> str | None:
    value = text(place)
    if value is None or value in TOOLS or MCP_TOOL.fullmatch(value):
        return value
    if _is_operation(value):
        place.wrong(f"{shown(value)} is an operation of code mode, not a tool", "it belongs under operations")
    else:
        place.wrong(f"no such tool: {shown(value)}", suggestion(value, TOOLS, "tools"))
    return None


def read_operations(place: Place) -> tuple[str, ...] | None:
    """Read ``operations``: ids of the contract's operations, each once."""
    return each(_operation, noun="operation ids", unique=True)(place)


def read_asked(*, code: bool) -> Callable[[Place], tuple[str, ...] | None]:
    """Give the reader of ``ask``: names of calls that can be held up until a person approves them, in this way of working."""
    read_one = _operation if code else _tool

    def asked(place: Place) -> str | None:
        name = read_one(place)
        if name is not None and (name in _UNASKED or name.partition(".")[0] in ("session", "views", "docs")):
            place.wrong(f"{shown(name)} is never asked for", "leave it out: endings, waits and views need no approval")
            return None
        return name

    return each(asked, noun="tool names", unique=True)


def check_allowlist(table: Table, *, code: bool) -> None:
    """Refuse the allowlist of the other way of working: it would grant nothing and withhold nothing."""
    if code and "tools" in table:
        table.at("tools").wrong(
            "'tools' is for tool-calling agents; this one answers with programs", "write operations"
        )
    if not code and "operations" in table:
        remedy = "write tools, or give it the capability responses-as-code"
        table.at("operations").wrong(
            "'operations' is for agents that answer with programs; this one calls tools", remedy
        )


def _operation(place: Place) -> str | None:
    value = text(place)
    if value is None or _is_operation(value):
        return value
    if value in TOOLS:
        place.wrong(f"{shown(value)} is a tool, not an operation", "it belongs under tools")
    else:
        place.wrong(f"no such operation: {shown(value)}", suggestion(value, OPERATIONS, "operations"))
    return None


def _is_operation(name: str) -> bool:
    module, dot, function = name.partition(".")
    return name in OPERATIONS or (module in OPEN_MODULES and bool(dot) and function.isidentifier())
