"""A valid crew document to make mistakes in, and short ways to make them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ggactors.crew import reading_of
from ggactors.crew.overrides import override

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.protocol.values import Problem

_VALID: dict[str, Any] = {
    "name": "sample",
    "limits": {
        "maxParallel": 4,
        "maxTurns": 60,
        "maxRuntimeSecs": 3600,
        "maxConsecutiveErrors": 5,
        "maxErrorRate": 0.4,
        "errorRateWindow": 50,
        "maxCost": 5.0,
        "maxTokens": 2000000,
    },
    "checkout": "private",
    "land": "end",
    "models": {"main": {"provider": "script", "name": "script.json"}},
    "hooks": [],
    "agents": [
        {
            "id": "lead",
            "name": "Lead",
            "root": True,
            "model": "main",
            "instructions": "Lead.",
            "capabilities": [
                {"id": "files"},
                {"id": "shell", "params": {"env": ["CI"]}},
                {
                    "id": "project-management",
                    "params": {
                        "mergeAgentId": "merger",
                        "maxEpics": 50,
                        "maxIssues": 2000,
                        "maxRetries": 0,
                        "reviewers": False,
                    },
                    "features": {"issueCreation": True, "reviseBoard": True},
                },
                {"id": "subagents", "enabled": False, "params": {"maxDepth": 3}},
            ],
            "roster": [
                {"agent": "coder", "scopes": ["implementer", "subagent"], "description": "writes code"},
                {"agent": "critic", "scopes": ["reviewer"]},
            ],
            "hooks": [],
        },
        {
            "id": "coder",
            "model": "script/coder.toml",
            "capabilities": [{"id": "files"}, {"id": "shell"}],
            "tools": ["read_file", "shell", "finish", "read_board"],
        },
        {"id": "critic", "model": "python/critic.py:answer", "capabilities": [{"id": "files"}]},
        {"id": "merger", "model": "main", "capabilities": [{"id": "files"}, {"id": "shell"}]},
    ],
}


def valid() -> dict[str, Any]:
    """Give a fresh copy of a document nothing is wrong with."""
    return copy.deepcopy(_VALID)


def changed(*overrides: str) -> dict[str, Any]:
    """Give the valid document with some values replaced."""
    document = valid()
    assert override(document, overrides) == []
    return document


def without(path: Sequence[str | int]) -> dict[str, Any]:
    """Give the valid document with one key or element removed."""
    document: Any = valid()
    here = document
    for step in path[:-1]:
        here = here[step]
    del here[path[-1]]
    return document


def check_document(document: Mapping[str, Any]) -> list[Problem]:
    """List what is wrong with a document, without what only files and keys can tell."""
    return list(reading_of(document, folder=".").problems)


def problems_of(*overrides: str) -> list[Problem]:
    """List what is wrong with the valid document once these values are replaced."""
    return check_document(changed(*overrides))


def lines(problems: Sequence[Problem]) -> str:
    """Render problems as ``ggactors check`` does."""
    return "\n".join(map(str, problems))
