"""Memories: notes a profile keeps from one run on a workspace to the next (capability ``memories``). Law: plain values."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - cattrs needs it at run time

from attrs import field, frozen


@frozen(kw_only=True)
class MemoriesGrant:
    """How much a profile may remember: how many memories, and how many bytes (UTF-8) the text of one may have."""

    most: int = 64
    most_bytes: int = 8192


@frozen(kw_only=True)
class Memory:
    """One memory. ``on_use`` is the code that runs on every use, by the language it is written in (E6)."""

    name: str
    description: str
    text: str
    on_use: Mapping[str, str] = field(factory=dict)
