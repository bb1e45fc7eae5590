"""Read the repository's own sources and documents, for the tests of the house."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"


class Block(NamedTuple):
    """One fenced block: its language, the file name its caption gives it (if any), its text and the line it begins on."""

    language: str
    caption: str | None
    text: str
    line: int


def package_sources() -> list[Path]:
    """List the package's modules."""
    return sorted((ROOT / "ggactors").rglob("*.py"))


def suite_sources() -> list[Path]:
    """List the tests' modules."""
    return sorted((ROOT / "tests").rglob("*.py"))


def parsed(path: Path) -> ast.Module:
    """Parse a module."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def named(path: Path) -> str:
    """Name a path the way a message should, from the repository's root."""
    return path.relative_to(ROOT).as_posix()


def documents() -> list[Path]:
    """List README and every page under docs, built output and changelog fragments excepted."""
    pages = [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in {"_build", "changes"}]
    return [ROOT / "README.md", *sorted(pages)]


def blocks(page: Path) -> list[Block]:
    """List the fenced blocks of a page, plain ones and MyST's ``code-block`` directives."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opened = re.match(r"^```(\{code-block\} )?([\w-]+)\s*$", lines[at])
        if opened is None:
            at += 1
            continue
        end = lines.index("```", at + 1)
        body = lines[at + 1 : end]
        caption = None
        if opened[1] and body and body[0].startswith(":caption: "):
            caption = body[0].removeprefix(":caption: ")
            body = body[2:]
        found.append(Block(opened[2], caption, "\n".join(body) + "\n", at + 1))
        at = end + 1
    return found


def sections(page: Path, level: int) -> dict[str, str]:
    """Split a page at its headings of one level: heading text without backticks → the text up to the next heading of that
    level or above.
    """
    text = page.read_text(encoding="utf-8")
    found: dict[str, str] = {}
    heading: str | None = None
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        mark = None if fenced else re.match(r"^(#+) (.*)$", line)
        if mark and len(mark[1]) <= level:
            heading = mark[2].replace("`", "") if len(mark[1]) == level else None
            if heading is not None:
                found[heading] = ""
        elif heading is not None:
            found[heading] += line + "\n"
    return found


def first_cells(text: str) -> list[str]:
    """List every name in backticks in the first column of the tables in a text, in order."""
    rows = re.findall(r"^\|([^|]*)\|", text, flags=re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
