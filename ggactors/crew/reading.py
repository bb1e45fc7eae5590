"""From a file to a crew. Law: reading never raises but ``LaunchRefused``, and that carries every problem at once (P2)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ggactors.crew.overrides import override
from ggactors.ports import LaunchRefused
from ggactors.protocol.values import Problem
from ggactors.rules.document import LARGEST, parse, plain
from ggactors.rules.launch import Reading, read_document
from ggactors.rules.shape import Plain  # noqa: TC001 - an alias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.protocol.crew import Crew


def read_crew(path: Path | str, overrides: Sequence[str] = ()) -> Reading:
    """Read a crew file, ``.json`` or ``.toml``, as far as it goes. Nothing it names is opened."""
    path = Path(path)
    try:
        if not path.is_file():
            return _unopened(path, "is a directory" if path.is_dir() else "does not exist or is no regular file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        return _unopened(path, f"cannot be read: {error.strerror or error}")
    parsed = parse(content, path.name)
    folder = str(path.absolute().parent)
    if parsed.value is None and parsed.problems:
        return Reading(crew=None, problems=parsed.problems, folder=folder)
    return _read(parsed.value, parsed.problems, overrides, folder=folder, name=path.name.rpartition(".")[0])


def reading_of(document: Mapping[str, Any], *, folder: Path | str, overrides: Sequence[str] = ()) -> Reading:
    """Read a document handed over as plain values; ``folder`` is what relative names in it are relative to."""
    copied = plain(document)
    return _read(copied.value, copied.problems, overrides, folder=str(Path(folder).absolute()), name="crew")


def load_crew(path: Path | str, *, overrides: Sequence[str] = ()) -> Crew:
    """Load a crew file. Raises LaunchRefused with every problem of the document (P2).

    Whether the models it names can be had is checked when a run is opened, or by ``ggactors check``.
    """
    return _crew(read_crew(path, overrides))


def crew_from_document(document: Mapping[str, Any], *, folder: Path | str, overrides: Sequence[str] = ()) -> Crew:
    """Make a crew from plain values, as ``load_crew`` does from a file. Raises LaunchRefused."""
    return _crew(reading_of(document, folder=folder, overrides=overrides))


def _read(document: Plain, before: Sequence[Problem], overrides: Sequence[str], *, folder: str, name: str) -> Reading:
    astray = override(document, overrides)
    return read_document(document, folder=folder, name=name, before=(*before, *astray))


def _crew(reading: Reading) -> Crew:
    if reading.crew is None:
        raise LaunchRefused(reading.problems)
    return reading.crew


def _unopened(path: Path, what: str) -> Reading:
    problem = Problem(path=str(path), what=what, remedy="name a crew file that ends in .json or .toml")
    return Reading(crew=None, problems=(problem,), folder=str(path.absolute().parent))
