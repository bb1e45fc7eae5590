"""What a workbench answers: the results of acting on files and in a shell. Law: plain values that fit on a wire.

Paths are relative to the agent's root, ``/``-separated, decoded with ``surrogateescape``: a name that is not UTF-8 keeps its
bytes as lone surrogates. Texts read from files and commands are decoded with replacement.
"""

from __future__ import annotations

from attrs import frozen

from ggactors.protocol.values import Refused


@frozen(kw_only=True)
class FileRead:
    """A file, or a window of it. ``first`` and ``last`` count lines from 1; ``total`` is None where it was not counted.

    ``cut`` is set when the one line shown was too long to be shown whole. A binary file has no text: ``binary`` says what
    it is. ``size`` is in bytes.
    """

    path: str
    text: str
    size: int
    first: int = 1
    last: int = 0
    total: int | None = 0
    cut: bool = False
    binary: str | None = None


@frozen(kw_only=True)
class FileWritten:
    """A file now holds exactly these many bytes."""

    path: str
    bytes: int


@frozen(kw_only=True)
class FileEdited:
    """A file was edited: ``lines`` are the lines, counted from 1 before the edit, on which a replaced text began."""

    path: str
    replacements: int
    lines: tuple[int, ...]


@frozen(kw_only=True)
class DirEntry:
    """One name in a directory. ``kind`` is ``file``, ``directory``, ``link`` or ``other``."""

    name: str
    kind: str


@frozen(kw_only=True)
class DirListed:
    """A directory's entries in order of their names. ``omitted`` counts those left out."""

    path: str
    entries: tuple[DirEntry, ...]
    omitted: int = 0


@frozen(kw_only=True)
class SearchMatch:
    """One line a pattern was found on. ``line`` counts from 1; a long ``text`` is shortened around the match."""

    path: str
    line: int
    text: str


@frozen(kw_only=True)
class SearchDone:
    """What a search found, in order of path and line. ``stopped`` says why it ended before it had seen everything."""

    matches: tuple[SearchMatch, ...]
    files: int
    stopped: str | None = None


@frozen(kw_only=True)
class ShellDone:
    """A command that ran to its end. ``output`` is what it printed, both streams merged, its middle left out if ``truncated``.

    ``exit_code`` is 128 + n for one killed by signal n, which ``signal`` names. ``full_output`` is the file that holds
    everything printed, readable by this agent.
    """

    exit_code: int
    output: str
    truncated: bool = False
    signal: str | None = None
    full_output: str | None = None


WorkbenchAnswer = FileRead | FileWritten | FileEdited | DirListed | SearchDone | ShellDone | Refused
