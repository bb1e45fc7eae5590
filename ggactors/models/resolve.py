"""From a model's name in the crew to something that answers (P4, D7). Law: every reason a model cannot be had is one problem.

Resolving a ``python/`` model executes its file, so the crew must be trusted before (smaller decision 5).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from attrs import frozen

from ggactors.models.python import PythonSource, load_callable, unlimited
from ggactors.models.script import script_of
from ggactors.ports import LaunchRefused, ModelFault
from ggactors.protocol.model import ModelTraits
from ggactors.protocol.values import Problem
from ggactors.rules.document import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ggactors.ports import Model
    from ggactors.protocol.crew import ModelSpec


class ModelSource(Protocol):
    """What one model of the crew is served from. It may also define ``traits``, a ``ModelTraits``."""

    @property
    def label(self) -> str:
        """Say what usage events call the model."""

    def model_for(self, agent: str, profile: str) -> Model:
        """Make the model that serves one agent; a new one for each agent."""


def traits_of(source: ModelSource) -> ModelTraits:
    """Give what a source says of its model; one that says nothing shares no account and has no known window."""
    return cast("ModelTraits", getattr(source, "traits", ModelTraits()))


@frozen
class Resolution:
    """What the crew's models came to: a source for each ``(provider, name)`` that can be had, a problem for each reason not."""

    sources: dict[tuple[str, str], ModelSource]
    problems: tuple[Problem, ...]

    def source(self, spec: ModelSpec) -> ModelSource | None:
        """Give the source of a model, or None when it cannot be had."""
        return self.sources.get((spec.provider, spec.name))


def resolve_all(specs: Iterable[ModelSpec], folder: Path | str) -> Resolution:
    """Resolve every model once, however often it is named. Problems stand under the path where the crew names the model.

    Providers of later versions are left to the document's own checks.
    """
    sources: dict[tuple[str, str], ModelSource] = {}
    refused: dict[tuple[str, str], str] = {}
    problems: list[Problem] = []
    for spec in specs:
        what = (spec.provider, spec.name)
        if what in sources or spec.provider not in ("script", "python"):
            continue
        if what in refused:
            remedy = "repair what is said there"
            problems.append(Problem(path=spec.path, what=f"cannot be had, as said at {refused[what]}", remedy=remedy))
            continue
        try:
            sources[what] = resolve(spec, folder)
        except LaunchRefused as refusal:
            refused[what] = spec.path
            problems.extend(refusal.problems)
    return Resolution(sources, tuple(problems))


def check_specs(specs: Iterable[ModelSpec], folder: Path | str) -> list[Problem]:
    """List every reason one of these models cannot be had; for a document that came to no crew."""
    return list(resolve_all(specs, folder).problems)


def resolve(spec: ModelSpec, folder: Path | str) -> ModelSource:
    """Resolve one model. Raises LaunchRefused with every reason it cannot be had."""
    match spec.provider:
        case "script":
            return _script(spec, Path(folder) / spec.name)
        case "python":
            return _python(spec, Path(folder))
        case _:
            raise _refused(spec, f"provider {spec.provider!r} is not in this version", "use script or python")


def _script(spec: ModelSpec, path: Path) -> ModelSource:
    content = _content(spec, path)
    script, problems = script_of(content, path.name, _label(spec))
    if problems:
        raise LaunchRefused([_inside(spec, path.name, problem) for problem in problems])
    return script


def _python(spec: ModelSpec, folder: Path) -> ModelSource:
    file_name, _, name = spec.name.rpartition(":")
    path = folder / file_name
    _content(spec, path)
    try:
        answer = load_callable(path, name)
    except ModelFault as fault:
        raise _refused(spec, str(fault), "repair the file, or name another callable") from fault
    return PythonSource(_label(spec), answer, str(path), unlimited())


def _content(spec: ModelSpec, path: Path) -> bytes:
    try:
        if not path.is_file():
            what = "is a directory" if path.is_dir() else "does not exist"
            raise _refused(spec, f"the file {str(path)!r} {what}", "write the name relative to the crew's folder")
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _refused(spec, f"the file {str(path)!r} cannot be read: {reason}", "give leave to read it") from error


def _inside(spec: ModelSpec, file_name: str, problem: Problem) -> Problem:
    """File a problem of a script under the model, naming the file and the path inside it."""
    of_the_text = problem.path.startswith(f"{file_name}:")
    what = f"{spec.name}: {problem.what}" if of_the_text else f"{spec.name}: {problem.path}: {problem.what}"
    return Problem(path=spec.path or spec.key, what=what, remedy=problem.remedy)


def _label(spec: ModelSpec) -> str:
    return f"{spec.provider}/{spec.name}"


def _refused(spec: ModelSpec, what: str, remedy: str) -> LaunchRefused:
    return LaunchRefused([Problem(path=spec.path or spec.key, what=what, remedy=remedy)])
