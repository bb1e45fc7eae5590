"""One more line for errors that come of taking the sandbox for a machine. Law: pure; a hint says what to do, and only when sure."""

from __future__ import annotations

_FILES = "There are no files in here: read and write with gg.files, run commands with gg.shell."
_MODULES = "There is the standard library and `gg`, nothing else; other programs run by gg.shell."
_IMPORTS = 'There is nothing to import but "gg" and its modules, such as "gg/files"; other programs run by gg.shell.'
_NETWORK = "There is no network in here: use gg.shell for what needs one."
_PROCESSES = "There are no processes and no threads in here: run commands with gg.shell, and calls one after another."
_FENCE = "Send the program alone, without a Markdown fence around it."

_OWN_FILES = ("FileNotFoundError", "PermissionError", "IsADirectoryError", "NotADirectoryError")


def hint(kind: str, message: str, code: object, source: str) -> list[str]:
    """Give the line that helps with an error, if there is one. ``code`` is that of a ``gg.Error``, which needs none."""
    if code is not None:
        return []
    if source.lstrip().startswith("```"):
        return [_FENCE]
    if kind in _OWN_FILES or (kind == "OSError" and "not permitted" in message.lower()):
        return [_FILES]
    if kind in ("ModuleNotFoundError", "ImportError") and "gg" not in message.split("'"):
        return [_NETWORK if "socket" in message or "ssl" in message else _MODULES]
    if "can't start new thread" in message or "does not support processes" in message:
        return [_PROCESSES]
    if message.startswith(("Error resolving module", "Could not load module")):
        return [_IMPORTS]
    if kind == "ReferenceError" and message.split(" ", 1)[0].strip("'") in (
        "require",
        "process",
        "fetch",
        "Deno",
        "Bun",
    ):
        return [
            _MODULES if message.startswith("require") else _PROCESSES if message.startswith("process") else _NETWORK
        ]
    return []
