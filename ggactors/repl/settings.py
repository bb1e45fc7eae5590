"""How a person wants the prompt: by environment, else by their file, else as it is by default. Law: what cannot be read is said."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from collections.abc import Mapping

CHOICES: dict[str, tuple[str, ...]] = {"editing": ("emacs", "vi"), "theme": ("dark", "light", "plain")}
"""What can be set, and to what; the first of each is the default."""
VARIABLES = {"editing": "GGACTORS_EDITING", "theme": "GGACTORS_THEME"}


@define(kw_only=True)
class Settings:
    """The settings, and what was wrong with those that were found."""

    editing: str = "emacs"
    theme: str = "dark"
    path: Path | None = None
    """Where they are kept, where there is such a place."""
    problems: list[str] = field(factory=list)

    def keep(self, name: str, value: str) -> str | None:
        """Set one, and keep it for later prompts. Say what went wrong with keeping it, or None."""
        setattr(self, name, value)
        if self.path is None:
            return "there is no home to keep it in"
        try:
            kept = _read(self.path)
            kept[name] = value
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lines = (f"{key} = {json.dumps(text)}\n" for key, text in kept.items() if isinstance(text, str))
            self.path.write_text("".join(lines), encoding="utf-8")
        except (OSError, ValueError) as error:
            return f"{self.path}: {error}"
        return None


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings of this person."""
    path = _place(environ)
    found: dict[str, object] = {}
    problems: list[str] = []
    if path is not None:
        try:
            found = _read(path)
        except (OSError, ValueError) as error:
            problems.append(f"{path} was not read: {error}")
    settings = Settings(path=path, problems=problems)
    for name, choices in CHOICES.items():
        for where, value in ((VARIABLES[name], environ.get(VARIABLES[name])), (str(path), found.get(name))):
            if value in choices:
                setattr(settings, name, value)
                break
            if value:
                problems.append(f"{where}: {name} cannot be {value!r}; it is one of {', '.join(choices)}")
    if environ.get("NO_COLOR"):
        settings.theme = "plain"
    return settings


def _place(environ: Mapping[str, str]) -> Path | None:
    configured = Path(environ.get("XDG_CONFIG_HOME", ""))
    if configured.is_absolute():
        return configured / "ggactors" / "repl.toml"
    home = Path(environ.get("HOME", ""))
    return home / ".config" / "ggactors" / "repl.toml" if home.is_absolute() else None


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
