"""Loading the MCP configs a crew names. Law: each is read once, at launch, and used as it was then; nothing is started here."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from ggactors.protocol.values import Problem
from ggactors.rules.mcp import FOLDER_VARIABLE, read_mcp_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ggactors.protocol.mcp import McpServer, McpSpec

LARGEST = 1024 * 1024
"""Bytes of a config."""
WORKSPACE_CONFIG = ".mcp.json"
"""The config of a workspace, used where a profile names none."""


@frozen(kw_only=True)
class LoadedMcp:
    """The servers of each config, by the ``config`` a crew writes (None: the workspace's), and a problem for each reason not."""

    servers: Mapping[str | None, tuple[McpServer, ...]] = field(factory=dict)
    files: tuple[Path, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def secrets(self) -> dict[str, str]:
        """Map a name to each value that must be masked wherever text is stored."""
        return {
            f"{one.name}.{name}": value
            for each in self.servers.values()
            for one in each
            for name, value in one.secrets.items()
        }


def config_file(spec: McpSpec, folder: str, workspace: Path | None) -> Path | None:
    """Say which file a profile's servers are declared in; None when that depends on a workspace that is not known."""
    if spec.config is not None:
        return Path(folder) / spec.config
    return None if workspace is None else workspace / WORKSPACE_CONFIG


def load_mcp(
    specs: Iterable[McpSpec], folder: str, environ: Mapping[str, str], *, workspace: Path | None = None
) -> LoadedMcp:
    """Read every config named. ``folder`` is the crew's; without ``workspace`` its config is passed over. Raises nothing."""
    loaded: dict[str | None, tuple[McpServer, ...]] = {}
    files: list[Path] = []
    problems: list[Problem] = []
    specs = list(specs)
    if specs and importlib.util.find_spec("mcp") is None:
        remedy = "install it: pip install 'ggactors[mcp]'"
        problems.append(Problem(path=specs[0].path, what="the extra mcp is not installed", remedy=remedy))
    for spec in specs:
        file = config_file(spec, folder, workspace)
        if spec.config in loaded or file is None:
            continue
        files.append(file)
        text, fault = _read(file)
        if text is None:
            loaded[spec.config] = ()
            remedy = "write it, or name another file as params.config"
            problems.append(Problem(path=spec.path, what=f"{file} {fault}", remedy=remedy))
            continue
        variables = {**environ, FOLDER_VARIABLE: str(file.absolute().parent)}
        reading = read_mcp_text(text, variables, path=f"{spec.path}: {file.name}")
        loaded[spec.config] = reading.servers
        problems += reading.problems
    return LoadedMcp(servers=loaded, files=tuple(files), problems=tuple(problems))


def _read(file: Path) -> tuple[str | None, str | None]:
    """Read a config: its text, or what is wrong with the file."""
    try:
        if not file.is_file():
            return None, "does not exist or is no regular file"
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
        if len(content) > LARGEST:
            return None, f"is larger than {LARGEST:,} bytes"
        return content.decode("utf-8-sig"), None
    except UnicodeDecodeError:
        return None, "is not UTF-8"
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
