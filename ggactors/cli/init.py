"""``ggactors init``: a complete commented crew on the models found, or on a script. Overwrites nothing, asks no network."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ggactors.cli.parsing import Parser
    from ggactors.crew import FoundModel

SUMMARY = (
    "Write a complete commented crew.toml that runs as it stands: on the models whose keys are set, else on a scripted one. "
    "Overwrites nothing."
)
EXAMPLE = "ggactors init path/to/project"


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("dir", metavar="DIR", nargs="?", default=".", help="where to write it; default: here")


def run(options: argparse.Namespace) -> int:
    """Write the starter crew."""
    from ggactors.cli.failures import Refusal
    from ggactors.crew import models_found, starter_crew

    folder = Path(options.dir)
    found = models_found(os.environ)
    files = {folder / name: text for name, text in starter_crew(found).items()}
    there = [str(path) for path in files if path.exists() or path.is_symlink()]
    if there:
        raise Refusal(
            f"there is {' and '.join(there)} already; nothing was written. Move it away, or name another DIR."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise Refusal(f"{folder} is no folder") from error
    written = []
    for path, text in files.items():
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        written.append(path)
    for path in written:
        print(f"wrote {path}")
    for line in _what_it_runs_on(found):
        print(line)
    crew = shlex.quote(str(written[0]))
    print(f"Next: ggactors check {crew}", f"      ggactors run {crew} --task 'Say hello'", sep="\n")
    return 0


def _what_it_runs_on(found: Sequence[FoundModel]) -> list[str]:
    """Say which models the crew was written for, and what they still need."""
    from ggactors.rules.known import CLIENTS, KEY_VARIABLES

    if not found:
        looked = " and ".join(KEY_VARIABLES.values())
        return [f"No key was found ({looked} are not set), so it runs on a written script; name your models in it."]
    lines = [f"It runs on {found[0].reference}: {found[0].variable} is set."]
    lines += [
        f"{model.reference} stands ready beside it, commented out: {model.variable} is set." for model in found[1:]
    ]
    lines += [
        f"Install its client first: pip install 'ggactors[{CLIENTS[model.provider][0]}]'"
        for model in found
        if not model.installed
    ]
    return lines
