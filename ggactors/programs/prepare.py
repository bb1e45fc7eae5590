"""Make a machine ready for programs: check the artifacts, compile what is not compiled yet, say how it goes.

Law: nothing here blocks trio's thread. Compiling is a process of its own, ended when whoever waits is cancelled; what it leaves is
either whole, hashed and in its place, or gone.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from ggactors.ports import LaunchRefused
from ggactors.programs.artifacts import Artifact, artifact_of, languages_of_artifacts, problems
from ggactors.programs.engine import Compiled, compiled
from ggactors.protocol.values import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ggactors.protocol.program import Language


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Name the folder compiled artifacts are kept in: ``$XDG_CACHE_HOME/ggactors``, else ``~/.cache/ggactors``.

    It is shared by all runs and holds nothing that cannot be made again.
    """
    xdg = environ.get("XDG_CACHE_HOME", "")
    if xdg.startswith("/"):
        return Path(xdg) / "ggactors"
    own = environ.get("HOME")
    return (Path(own) if own else Path.home()).absolute() / ".cache" / "ggactors"


async def prepare(
    languages: Iterable[Language], cache: Path, progress: Callable[[str], None] = lambda _line: None
) -> dict[Artifact, Path]:
    """Give the compiled module of every artifact these languages need, compiling what is missing (seconds, once a machine).

    ``progress`` is told, in a line, what takes its time. Raises LaunchRefused when the machine cannot serve. Cancelled: no process
    and no temporary file is left.
    """
    languages = tuple(dict.fromkeys(languages))
    found = await trio.to_thread.run_sync(lambda: problems(languages))
    if found:
        raise LaunchRefused(found)
    ready: dict[Artifact, Path] = {}
    for artifact in dict.fromkeys(map(artifact_of, languages)):
        into = compiled(cache, artifact.key)
        if not await trio.to_thread.run_sync(into.valid):
            progress(f"compiling {artifact.label} for this machine, once; it takes some seconds")
            await _compile(artifact, into)
            progress(f"compiled {artifact.label}")
        ready[artifact] = into.path
    return ready


async def _compile(artifact: Artifact, into: Compiled) -> None:
    source = artifact.path()
    assert source is not None
    try:
        into.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=into.path.parent, prefix=".compiling-") as scratch:
            target = Path(scratch, "module")
            ran = await trio.run_process(
                [
                    *(sys.executable, "-m", "ggactors.programs.compile", str(source), str(target)),
                    *(("--open-table",) if artifact.opened else ()),
                ],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                capture_stdout=True,
                capture_stderr=True,
                check=False,
            )
            if ran.returncode != 0:
                last = ran.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                raise _refused(f"{artifact.label} cannot be compiled here: {last or f'exit code {ran.returncode}'}")
            await trio.to_thread.run_sync(into.adopt, target)
    except OSError as error:
        raise _refused(
            f"the compiled {artifact.label} cannot be kept in {into.path.parent}: {error.strerror}"
        ) from error
    if not await trio.to_thread.run_sync(into.valid):
        raise _refused(f"{into.path.parent} can be written by others, and what is kept there is run")


def _refused(what: str) -> LaunchRefused:
    remedy = "make the cache folder yours alone, free some space, or use profiles without responses-as-code"
    return LaunchRefused([Problem(path="responses-as-code", what=what, remedy=remedy)])


def survey(cache: Path) -> tuple[tuple[bool, str, str], ...]:
    """Look at what programs need on this machine: whether it is there, what it is, and what was found or is to be done.

    Reads and hashes artifacts and what was compiled of them: tenths of a second. Makes nothing.
    """
    rows: list[tuple[bool, str, str]] = []
    for artifact, languages in languages_of_artifacts().items():
        what = f"programs in {' and '.join(language.value for language in languages)}"
        found = problems(languages)
        if found:
            rows.append((False, what, f"{found[0].what}; {found[0].remedy}"))
            continue
        kept = compiled(cache, artifact.key)
        if kept.valid():
            rows.append((True, what, f"{artifact.label}; compiled, in {cache}"))
        elif (hindrance := kept.hindrance()) is not None:
            rows.append((False, what, f"{hindrance}; make that folder yours alone"))
        else:
            rows.append((True, what, f"{artifact.label}; the first launch compiles it, once, which takes some seconds"))
    return tuple(rows)
