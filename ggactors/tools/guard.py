"""Hold back commands that would kill by name or kill everything (H50).

Law: this is a rail against accidents, not a wall: it reads the text of a command as a careful colleague would, and what it
does not see it does not stop. All agents and the runtime are processes of one user, so a kill by name reaches siblings' servers
and the runtime itself.
"""

from __future__ import annotations

import re

from ggactors.protocol.values import Code, Refused

# Where a command word can stand: at the beginning, after an operator or opening, or after a word that runs another.
_AT_COMMAND = r"(?:^|[\n;&|({`!]|\b(?:sudo|exec|xargs|env|nohup|time|then|do|else|command)\b)\s*(?:-\S+\s+)*(?:/\S*/)?"
_BY_NAME = re.compile(_AT_COMMAND + r"(pkill|killall5?|skill)(?=\s|$|[;&|)])")
_EVERYTHING = re.compile(_AT_COMMAND + r"kill\s+(?:-\S+\s+(?:[A-Z0-9]+\s+)?)+-1(?=\s|$|[;&|)])")
_RUNTIME = re.compile(_AT_COMMAND + r"kill\b[^\n;&|]*\$\{?PPID\b")
_READ = 20_000


def held_back(command: str) -> Refused | None:
    """Say why a command is not run, or None."""
    command = command[:_READ]
    named = _BY_NAME.search(command)
    if named is not None:
        why = f"`{named[1]}` would also reach other agents' processes and the runtime"
    elif _EVERYTHING.search(command) is not None or _RUNTIME.search(command) is not None:
        why = "this `kill` would reach processes that are not yours"
    else:
        return None
    return Refused(
        code=Code.REFUSED,
        message=f"shell: {why}; kill the processes you started by their ids (`server & pid=$!; …; kill $pid`).",
    )
