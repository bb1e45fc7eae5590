"""``ggactors init``: a complete commented crew, and the script it runs on. Overwrites nothing."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from ggactors.cli.parsing import Parser

SUMMARY = "Write a complete commented crew.toml that runs as it stands, on a scripted model. Overwrites nothing."
EXAMPLE = "ggactors init path/to/project"


def arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("dir", metavar="DIR", nargs="?", default=".", help="where to write it; default: here")


def run(options: argparse.Namespace) -> int:
    """Write the starter crew."""
    from ggactors.cli.failures import Refusal
    from ggactors.crew import starter_crew

    folder = Path(options.dir)
    files = {folder / name: text for name, text in starter_crew().items()}
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
    crew = shlex.quote(str(written[0]))
    print(f"Next: ggactors check {crew}", f"      ggactors run {crew} --task 'Say hello'", sep="\n")
    return 0
