"""The program that searches files for a pattern, run as a process of its own.

Law: standard library only, nothing of this package, since it is run by its path in an interpreter that knows no packages. A
pattern can take for ever on a line and Python cannot interrupt it, so the search lives where it can be killed. One request
as JSON in its argument; answers as JSON lines: matches, then one line with ``files``.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader

LONGEST = 1024 * 1024
SHOWN = 400
DEEPEST = 200
_MEMORY = 2 << 30


def glob_pattern(glob: str) -> str:
    """Translate a glob to a pattern for a whole relative path: ``*`` and ``?`` stop at ``/``, ``{a,b}`` chooses.

    ``**`` in the place of a whole name stands for any number of folders. A glob without ``/`` is matched against the last
    name alone.
    """
    if "/" not in glob:
        glob = f"**/{glob}"
    return _translate(glob.lstrip("/"))


def _translate(glob: str) -> str:
    out: list[str] = []
    at, depth = 0, 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            end = at + len(glob[at:]) - len(glob[at:].lstrip("*"))
            # Two stars cross folders only where they are a whole name.
            whole = end - at == 2 and glob[at - 1 : at] in ("", *"/{,") and glob[end : end + 1] in ("", *"/},")
            below = whole and glob.startswith("/", end)
            out.append("(?:[^/]+/)*" if below else ".*" if whole else "[^/]*")
            at = end + below
            continue
        end = glob.find("]", at + 2) if char == "[" else -1
        if end > 0:
            inside = re.sub(r"([\\\[&~|])", r"\\\1", glob[at + 1 : end]).replace("--", r"-\-")
            out.append(f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]")
            at = end + 1
            continue
        if char == "{" and "}" in glob[at:]:
            out.append("(?:")
            depth += 1
        elif char == "}" and depth:
            out.append(")")
            depth -= 1
        elif char == "," and depth:
            out.append("|")
        else:
            out.append("[^/]" if char == "?" else re.escape(char))
        at += 1
    return "".join(out) + ")" * depth


def walk(
    directory: int, accepts: Callable[[str], bool], prefix: str = "", depth: int = 0
) -> Iterator[tuple[int, str, str]]:
    """Yield an open directory, a file's name in it, and its path, in order; ``.git`` and links are passed over."""
    with os.scandir(directory) as entries:
        found = sorted((entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries)
    for name, is_folder, is_link in found:
        path = prefix + name
        if is_link or name == ".git":
            continue
        if not is_folder:
            if accepts(path):
                yield directory, name, path
            continue
        if depth >= DEEPEST:
            continue
        try:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
        except OSError:
            continue
        try:
            yield from walk(inner, accepts, path + "/", depth + 1)
        finally:
            os.close(inner)


def open_text(directory: int, name: str) -> BufferedReader | None:
    """Open a text file, or answer None when it is binary, unreadable or no regular file."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except OSError:
        return None
    file = os.fdopen(descriptor, "rb")
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and b"\0" not in file.peek(8192)[:8192]:
            return file
    except OSError:
        pass
    file.close()
    return None


def lines(file: BufferedReader) -> Iterator[tuple[int, str]]:
    """Yield a file's lines with their numbers; an overlong line comes in pieces under one number."""
    number = 1
    try:
        while piece := file.readline(LONGEST):
            yield number, piece.decode("utf-8", "replace").rstrip("\n").rstrip("\r")
            number += piece.endswith(b"\n")
    except OSError:
        return  # what can be read of a failing file has been


def shorten(line: str, start: int, end: int) -> str:
    """Cut a long line to what stands around a match."""
    if len(line) <= SHOWN:
        return line
    left = max(0, min(start - SHOWN // 4, len(line) - SHOWN))
    if end > left + SHOWN:
        left = start
    right = min(len(line), left + SHOWN)
    return f"{'…' if left else ''}{line[left:right]}{'…' if right < len(line) else ''}"


def _send(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def search(request: dict[str, Any]) -> None:
    """Answer one request: ``top`` (an open directory), ``file`` (a name in it, null for all), ``pattern``, ``glob``, ``most``."""
    top, only, glob = request["top"], request["file"], request["glob"]
    pattern = re.compile(request["pattern"])
    try:
        wanted = re.compile(glob_pattern(glob)) if glob else None
    except re.error:
        _send({"wrong": "glob"})
        return
    if only is not None:
        sources = iter([(top, only, only)])
    else:
        sources = walk(top, lambda path: wanted is None or wanted.fullmatch(path) is not None)
    files, left = 0, request["most"]
    for directory, name, path in sources:
        file = open_text(directory, name)
        if file is None:
            continue
        files += 1
        with file:
            for number, line in lines(file):
                found = pattern.search(line)
                if found is None:
                    continue
                if left == 0:
                    _send({"files": files, "more": True})
                    return
                left -= 1
                _send({"path": path, "line": number, "text": shorten(line, found.start(), found.end())})
    _send({"files": files, "more": False})


def main() -> None:
    """Read the request, search, and say why it could not be done where it could not."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    except (ImportError, ValueError, OSError):
        pass
    request = json.loads(sys.argv[1])
    try:
        search(request)
    except re.error as error:
        _send({"wrong": "pattern", "why": str(error)})
    except (RecursionError, OverflowError, MemoryError) as error:
        _send({"wrong": "pattern", "why": f"it is too large ({type(error).__name__})"})
    except OSError as error:
        _send({"failed": error.strerror or str(error)})


if __name__ == "__main__":
    main()
