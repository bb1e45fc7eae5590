"""Where a crew is looked for when none is named (docs/reference/cli.md). Law: the first found counts, nothing is opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("crew.toml", "crew.json")


def crew_places(directory: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """List every file that would be taken, in order: the directory, its ``.ggactors``, the user's configuration."""
    folders = [directory, directory / ".ggactors"]
    # The XDG specification has relative values ignored.
    configured = Path(env.get("XDG_CONFIG_HOME", ""))
    if configured.is_absolute():
        folders.append(configured / "ggactors")
    elif Path(env.get("HOME", "")).is_absolute():
        folders.append(Path(env["HOME"]) / ".config" / "ggactors")
    return tuple(folder / name for folder in folders for name in NAMES)


def find_crew(directory: Path | str, env: Mapping[str, str]) -> Path | None:
    """Find the crew of a directory, or None when there is none."""
    return next((place for place in crew_places(Path(directory), env) if place.is_file()), None)
