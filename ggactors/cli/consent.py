"""A crew that was found rather than named needs one yes before anything of it runs (O5).

Law: what it would execute is shown first; the yes is remembered for exactly that content; without a terminal there is no yes.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.cli.failures import Refusal
from ggactors.cli.terminal import is_terminal
from ggactors.hooks.verify import VERIFY_COMPLETION, find_verification
from ggactors.protocol.hooks import BuiltInAction, CommandAction, ScriptAction
from ggactors.store.folder import state_home
from ggactors.store.trust import fingerprint, is_trusted, remember
from ggactors.telemetry.plaintext import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.crew import FoundModel, Reading
    from ggactors.hooks.verify import Verification
    from ggactors.protocol.crew import Crew


@frozen
class Chosen:
    """The crew a command works with: a file, named or ``found``, or else the built-in one on ``model``."""

    path: Path | None = None
    found: bool = False
    model: FoundModel | None = None

    def read(self, overrides: Sequence[str], *, trust: bool) -> Reading:
        """Read it. One that was found needs a yes first, unless it is trusted. Raises Refusal when there is no yes."""
        from ggactors.crew import builtin_reading, read_crew

        if self.model is not None:
            return builtin_reading(self.model, overrides)
        assert self.path is not None
        reading = read_crew(self.path, overrides)
        if self.found and not trust and reading.crew is not None:
            ask_for_yes(self.path, reading, reading.crew)
        return reading


def choose_crew(named: str | None) -> Chosen:
    """Choose the crew that was named, else the one found, else the built-in one, which is said (docs/reference/cli.md).

    Raises Refusal when there is none and no key for the built-in one.
    """
    from ggactors.crew import find_crew, models_found
    from ggactors.crew.builtin import MEMBERS
    from ggactors.crew.find import crew_places
    from ggactors.rules.known import KEY_VARIABLES

    if named is not None:
        return Chosen(path=Path(named))
    path = find_crew(Path(), os.environ)
    if path is not None:
        return Chosen(path=path, found=True)
    models = models_found(os.environ)
    if not models:
        places = "".join(f"\n  {place}" for place in crew_places(Path(), os.environ))
        raise Refusal(
            "there is no crew, and no key for the built-in one. Name one, write one with `ggactors init`, or set "
            f"{' or '.join(KEY_VARIABLES.values())}. Looked for:{places}"
        )
    model = models[0]
    print(
        f"No crew was found, so the built-in one runs: {', '.join(MEMBERS)}, all on {model.reference} "
        f"({model.variable} is set). `ggactors init` writes one to change.",
        file=sys.stderr,
    )
    return Chosen(model=model)


def ask_for_yes(path: Path, reading: Reading, crew: Crew) -> None:
    """Make sure the operator has said yes to a found crew. Raises Refusal when there is no yes."""
    executes = executed_files(reading)
    mark = content_mark(path, reading)
    shown = [f"Found the crew {one_line(str(path))}. It would execute:", *_what_runs(executes, crew)]
    _ask(path, mark, shown, "Name it as CREW, or run with --trust.")


def content_mark(path: Path, reading: Reading) -> str:
    """Give the mark of a crew's content: its document and every file it executes."""
    return fingerprint(_content(path), {str(file): _content(file) for file in executed_files(reading)})


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


def check_for(reading: Reading, workspace: Path, *, trust: bool) -> Verification | None:
    """Find the check of completion that a crew's hooks name, with the yes that one of the workspace needs. Raises Refusal.

    What stands in its way is said by the launch.
    """
    if not any(hook.action == BuiltInAction(script=VERIFY_COMPLETION) for hook in reading.hooks):
        return None
    check = find_verification(None, os.environ, workspace).verification
    if check is not None and not trust:
        ask_for_check(check)
    return check


def ask_for_check(check: Verification) -> None:
    """Make sure the operator has said yes to a check of completion that the workspace itself brings. Raises Refusal."""
    if check.script is None:
        return
    path = Path(check.script.path)
    lines = [f"  {one_line(line)}" for line in check.script.content.decode("utf-8", "replace").splitlines()]
    shown = [f"Found the check {one_line(str(path))}. It would be run before a session closes:", *lines]
    _ask(path, fingerprint(check.script.content, {}), shown, "Run with --trust, or name a check of your own.")


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
    lines += _what_keys_do(crew)
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


def _what_keys_do(crew: Crew) -> list[str]:
    """Tell which commands print keys, and where which key is sent: a found crew could send any variable anywhere."""
    from ggactors.models.keys import key_source

    lines = []
    for spec in crew.models:
        source = key_source(spec)
        address = spec.options.get("baseUrl")
        if source is not None and source.command is not None:
            lines.append(f"  {one_line(source.command)}: to get the key of model {one_line(spec.key)}")
        if source is not None and address is not None:
            key = f"the value of {source.variable}" if source.variable is not None else "that key"
            lines.append(f"  {key} is sent to {one_line(address)}")
    return lines


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (OSError, ValueError):
        return b""  # what cannot be read cannot run either; the launch says so
