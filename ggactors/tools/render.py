"""Turn answers into the text a model is shown. Law: pure, valid UTF-8, bounded, and nothing is cut without saying so."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, assert_never

from ggactors.protocol.workbench import (
    DirListed,
    FileEdited,
    FileRead,
    FileWritten,
    SearchDone,
    ShellDone,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ggactors.tools.mask import Mask

MOST = 300 * 1024
"""The most characters of any result; a file's 256 KiB and its footer fit."""
_LONE = re.compile("[\ud800-\udfff]")


def json_text(value: object) -> str:
    """Write a plain value as JSON. Bytes of names that are not UTF-8 are escaped, so that they can be sent back as they are."""
    text = json.dumps(value, ensure_ascii=False)
    return _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def bound(text: str, most: int, keep: Callable[[str], str | None]) -> str:
    """Cut the middle out of a text that is too long, keeping all of it aside where ``keep`` can.

    Lone surrogates and NUL characters, which providers and databases refuse, are replaced.
    """
    text = text.replace("\0", "\ufffd")
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    if len(text) <= most:
        return text
    path = keep(text)
    where = f"; all of it is in {path}" if path else ""
    head, tail = most // 4, most - most // 4
    return f"{text[:head]}\n[… {len(text) - most} characters left out here{where} …]\n{text[-tail:]}"


def workbench_text(answer: FileRead | FileWritten | FileEdited | DirListed | SearchDone | ShellDone, mask: Mask) -> str:
    """Show what a workbench did: text for files and commands, else one JSON object (docs/reference/crew.md)."""
    match answer:
        case FileRead():
            return _file(answer)
        case ShellDone():
            return _command(answer)
        case FileWritten(path=path, bytes=size):
            return json_text({"path": path, "bytes": size})
        case FileEdited(path=path, replacements=replacements, lines=lines):
            shown = list(lines[:50])
            return json_text({"path": path, "replacements": replacements, "lines": shown})
        case DirListed():
            listed: dict[str, Any] = {
                "path": answer.path,
                "entries": [{"name": entry.name, "kind": entry.kind} for entry in answer.entries],
            }
            if answer.omitted:
                listed["omitted"] = answer.omitted
            return json_text(mask.value(listed))
        case SearchDone():
            found: dict[str, Any] = {
                "matches": [{"path": one.path, "line": one.line, "text": one.text} for one in answer.matches]
            }
            if answer.stopped:
                found["stopped"] = f"{answer.stopped}; narrow `path`, `glob` or `pattern` to see the rest"
            return json_text(mask.value(found))
        case _ as never:
            assert_never(never)


def _file(read: FileRead) -> str:
    if read.binary is not None:
        return f"[{read.binary}, {read.size} bytes; not shown]"
    if read.size == 0:
        return "[the file is empty]"
    if read.cut:
        return (
            f"{read.text}\n[line {read.first} is too long to be shown whole: this is its beginning; "
            f"the file has {read.size} bytes; use the shell to see more of the line]"
        )
    whole = read.first == 1 and read.last == read.total
    if whole:
        return read.text
    of = f" of {read.total}" if read.total is not None else ""
    rest = f"; continue with offset {read.last + 1}" if read.last != read.total else ""
    gap = "" if read.text.endswith("\n") else "\n"
    return f"{read.text}{gap}[lines {read.first}-{read.last}{of}{rest}]"


def _command(done: ShellDone) -> str:
    gap = "" if not done.output or done.output.endswith("\n") else "\n"
    signal = f", killed by {done.signal}" if done.signal else ""
    return f"{done.output}{gap}[exit code {done.exit_code}{signal}]"
