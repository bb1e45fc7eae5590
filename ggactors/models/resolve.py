"""From a model's name in the crew to something that answers (P4, D7). Law: every reason a model cannot be had is one problem.

Resolving a ``python/`` model executes its file, and one with an ``apiKeyCommand`` runs that, so the crew must be trusted before
(O5). A provider's client is imported when a model of it is resolved, not before.
"""

from __future__ import annotations

import json
import os
from contextlib import AsyncExitStack
from importlib import import_module, util
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import trio
from attrs import evolve, field, frozen

from ggactors.models.keys import KeyMissing, KeyRing, key_source
from ggactors.models.python import PythonSource, load_callable, unlimited
from ggactors.models.script import Script, script_of
from ggactors.ports import LaunchRefused, ModelFault
from ggactors.protocol.model import ModelTraits
from ggactors.protocol.values import Problem
from ggactors.rules.document import LARGEST
from ggactors.rules.known import CLIENTS
from ggactors.rules.launch_models import EMBEDDED, PROVIDERS, REHEARSED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from ggactors.ports import Model
    from ggactors.protocol.crew import ModelSpec


class ModelSource(Protocol):
    """What one model of the crew is served from.

    It may also define ``traits``, a ``ModelTraits``, and an async ``aclose``, which is awaited once when the run is over.
    """

    @property
    def label(self) -> str:
        """Say what usage events call the model."""

    def model_for(self, agent: str, profile: str) -> Model:
        """Make the model that serves one agent; a new one for each agent."""


def traits_of(source: ModelSource) -> ModelTraits:
    """Give what a source says of its model; one that says nothing shares no account and has no known window."""
    return cast("ModelTraits", getattr(source, "traits", ModelTraits()))


CLOSE_SECONDS = 10.0
"""How long closing what models hold open may take when the run is over."""


async def close_all(sources: Iterable[ModelSource]) -> None:
    """Give up what sources hold open: connections, loaded files. Each is closed, also when another fails. Cancelled: the same."""
    with trio.move_on_after(CLOSE_SECONDS, shield=True):
        async with AsyncExitStack() as stack:
            for source in {id(source): source for source in sources}.values():
                aclose = getattr(source, "aclose", None)
                if aclose is not None:
                    stack.push_async_callback(aclose)


@frozen
class Resolution:
    """What the crew's models came to: a source for each model key that can be had, a problem for each reason not.

    ``secrets`` holds the values of the keys in use by what they are called, for masking; it is never shown.
    """

    sources: dict[str, ModelSource]
    problems: tuple[Problem, ...]
    secrets: Mapping[str, str] = field(factory=dict, repr=False)

    def source(self, spec: ModelSpec) -> ModelSource | None:
        """Give the source of a model, or None when it cannot be had."""
        return self.sources.get(spec.key)


def resolve_all(
    specs: Iterable[ModelSpec],
    folder: Path | str,
    *,
    env: Mapping[str, str] | None = None,
    given: Collection[str] = (),
) -> Resolution:
    """Resolve every model once, however often it is named. Problems stand under the path where the crew names the model.

    Keys are looked for in ``env``, the process's own by default. ``given`` are keys of models that the embedding program serves.
    """
    ring = KeyRing(os.environ if env is None else env, str(folder))
    shared: dict[str, ModelSource] = {}
    sources: dict[str, ModelSource] = {}
    refused: dict[str, str] = {}
    problems: list[Problem] = []
    for spec in specs:
        what = _identity(spec)
        if spec.key in given:
            continue
        if what in refused:
            remedy = "repair what is said there"
            problems.append(Problem(path=spec.path, what=f"cannot be had, as said at {refused[what]}", remedy=remedy))
            continue
        try:
            source = shared[what] if what in shared else resolve(spec, folder, ring, shared.values())
        except LaunchRefused as refusal:
            refused[what] = spec.path
            problems.extend(refusal.problems)
            continue
        shared[what] = source
        sources[spec.key] = _with_window(source, spec)
    return Resolution(sources, tuple(problems), ring.values)


def check_specs(specs: Iterable[ModelSpec], folder: Path | str) -> list[Problem]:
    """List every reason one of these models cannot be had; for a document that came to no crew."""
    return list(resolve_all(specs, folder).problems)


def resolve(
    spec: ModelSpec, folder: Path | str, ring: KeyRing | None = None, beside: Iterable[ModelSource] = ()
) -> ModelSource:
    """Resolve one model, its key taken from ``ring``. Raises LaunchRefused with every reason it cannot be had.

    ``beside`` are sources of the same run, with which it shares connections and loaded files.
    """
    match spec.provider:
        case "script":
            return _script(spec, Path(folder) / spec.name)
        case "python":
            return _python(spec, Path(folder))
        case "anthropic" | "openai" | "openai-compatible" | "llamacpp":
            return _provided(spec, folder, ring or KeyRing(os.environ, str(folder)), beside)
        case _:
            raise _refused(spec, f"provider {spec.provider!r} is unknown", f"use {', '.join(PROVIDERS)}")


def _identity(spec: ModelSpec) -> str:
    """Tell models apart: a file of replies by its name alone, what a provider serves also by its options."""
    options = {} if spec.provider in REHEARSED else dict(spec.options)
    return json.dumps([spec.provider, spec.name, options], sort_keys=True)


def _with_window(source: ModelSource, spec: ModelSpec) -> ModelSource:
    """Give a rehearsed model the window its declaration pretends it has."""
    window = spec.options.get("contextWindow")
    if window is None or not isinstance(source, (Script, PythonSource)):
        return source
    return evolve(source, traits=ModelTraits(window=window))


def _provided(spec: ModelSpec, folder: Path | str, ring: KeyRing, beside: Iterable[ModelSource]) -> ModelSource:
    """Make the source of a model that a provider serves; every reason it cannot be had is told at once."""
    problems: list[Problem] = []
    extra, package = CLIENTS[spec.provider]
    if util.find_spec(package) is None:
        what = f"provider {spec.provider!r} needs the package {package}, which is not installed"
        problems += _refused(spec, what, f"pip install 'ggactors[{extra}]'").problems
    wanted = key_source(spec)
    key = None
    if wanted is not None:
        try:
            key = ring.fetch(wanted)
        except KeyMissing as missing:
            problems += _refused(spec, missing.what, missing.remedy).problems
    path = Path(folder) / spec.name
    if spec.provider == EMBEDDED and not path.is_file():
        problems += _no_file(spec, path).problems
    if problems:
        raise LaunchRefused(problems)
    if spec.provider == EMBEDDED:
        from ggactors.models import llamacpp

        return llamacpp.source(spec, path, beside)
    provider = import_module(f"ggactors.models.{package}")
    return cast("ModelSource", provider.source(spec, key, beside=beside))


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
            raise _no_file(spec, path)
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _refused(spec, f"the file {str(path)!r} cannot be read: {reason}", "give leave to read it") from error


def _no_file(spec: ModelSpec, path: Path) -> LaunchRefused:
    what = "is a directory" if path.is_dir() else "does not exist"
    return _refused(spec, f"the file {str(path)!r} {what}", "write the name relative to the crew's folder")


def _inside(spec: ModelSpec, file_name: str, problem: Problem) -> Problem:
    """File a problem of a script under the model, naming the file and the path inside it."""
    of_the_text = problem.path.startswith(f"{file_name}:")
    what = f"{spec.name}: {problem.what}" if of_the_text else f"{spec.name}: {problem.path}: {problem.what}"
    return Problem(path=spec.path or spec.key, what=what, remedy=problem.remedy)


def _label(spec: ModelSpec) -> str:
    return f"{spec.provider}/{spec.name}"


def _refused(spec: ModelSpec, what: str, remedy: str) -> LaunchRefused:
    return LaunchRefused([Problem(path=spec.path or spec.key, what=what, remedy=remedy)])
