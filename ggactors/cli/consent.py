"""A crew that was found rather than named needs one yes before anything of it runs (smaller decision 5).

Law: what it would execute is shown first; the yes is remembered for exactly that content; without a terminal there is no yes.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ggactors.cli.failures import Refusal
from ggactors.cli.terminal import is_terminal
from ggactors.protocol.hooks import CommandAction, ScriptAction
from ggactors.store.folder import state_home
from ggactors.store.trust import fingerprint, is_trusted, remember
from ggactors.telemetry.plaintext import one_line

if TYPE_CHECKING:
    from ggactors.crew import Reading
    from ggactors.protocol.crew import Crew


def crew_of(named: str | None) -> tuple[Path, bool]:
    """Give the crew's path and whether it was found rather than named. Raises Refusal when there is none."""
    if named is not None:
        return Path(named), False
    from ggactors.crew.find import crew_places, find_crew

    here = Path()
    found = find_crew(here, os.environ)
    if found is None:
        places = "".join(f"\n  {place}" for place in crew_places(here, os.environ))
        raise Refusal(
            f"there is no crew. Name one, or write one with `ggactors init`. Looked for:{places}\n"
            "A crew for the models of the environment is not in this version."
        )
    return found, True


def ask_for_yes(path: Path, reading: Reading, crew: Crew) -> None:
    """Make sure the operator has said yes to a found crew. Raises Refusal when there is no yes."""
    executes = executed_files(reading)
    mark = fingerprint(_content(path), {str(file): _content(file) for file in executes})
    shown = [f"Found the crew {one_line(str(path))}. It would execute:", *_what_runs(executes, crew)]
    _ask(path, mark, shown, "Name it as CREW, or run with --trust.")


def ask_for_servers(reading: Reading, workspace: Path) -> None:
    """Make sure the operator has said yes to the MCP servers that the workspace itself declares. Raises Refusal."""
    if all(spec.config is not None for spec in reading.mcp):
        return
    from ggactors.crew.mcp import WORKSPACE_CONFIG
    from ggactors.rules.mcp import server_lines

    path = workspace / WORKSPACE_CONFIG
    content = _content(path)
    if not content:
        return  # the launch says that there is none
    lines = [f"  {one_line(line)}" for line in server_lines(content.decode("utf-8", "replace"))]
    shown = [f"Found the MCP servers of {one_line(str(path))}. They would be started or called:", *lines]
    _ask(path, fingerprint(content, {}), shown, "Name the file as params.config of the crew, or run with --trust.")


def _ask(path: Path, mark: str, shown: list[str], otherwise: str) -> None:
    """Ask once for what is shown. Raises Refusal when there is no yes, or nobody to give it."""
    home = state_home(os.environ)
    if is_trusted(home, mark):
        return
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise Refusal("\n".join([*shown, otherwise]))
    print(*shown, sep="\n", file=sys.stderr)
    print("Run it, and remember this yes for exactly this content? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refusal("not run")
    try:
        remember(home, mark, what=str(path.absolute()), now=datetime.now(UTC))
    except OSError as error:
        print(f"The yes could not be remembered: {error.strerror}", file=sys.stderr)


def executed_files(reading: Reading) -> dict[Path, str]:
    """List the files beside the crew that decide what runs, each with how: programs, scripts of replies, scripts of hooks."""
    files: dict[Path, str] = {}
    for spec in reading.models:
        match spec.provider:
            case "python":
                files[Path(reading.folder) / spec.name.rpartition(":")[0]] = "in this process"
            case "script":
                files[Path(reading.folder) / spec.name] = "the tool calls written there"
            case _:
                pass
    for hook in reading.hooks:
        match hook.action:
            case ScriptAction(file=str() as file):
                files[Path(reading.folder) / file] = f"at {hook.event}"
            case _:
                pass
    from ggactors.crew.skills import load_skills

    for code in load_skills(reading.skills, reading.folder).code:
        files[code] = "in the sandbox, when its skill is read"
    for servers in reading.mcp:
        if servers.config is not None:
            files[Path(reading.folder) / servers.config] = "the MCP servers declared there"
    return files


def _what_runs(executes: dict[Path, str], crew: Crew) -> list[str]:
    lines = [f"  {one_line(str(file))}: {how}" for file, how in executes.items()]
    for hook in crew.every_hook:
        match hook.action:
            case CommandAction(command=command):
                lines.append(f"  {one_line(command)}: at {hook.event}")
            case ScriptAction(source=str()):
                lines.append(f"  the script written in {one_line(hook.path)}: at {hook.event}")
            case _:
                pass
    shells = [profile.id for profile in crew.profiles if "shell" in profile.capabilities]
    if shells:
        lines.append(f"  shell commands chosen by {', '.join(shells)}")
    return lines or ["  nothing but its models' tool calls"]


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (OSError, ValueError):
        return b""  # what cannot be read cannot run either; the launch says so
