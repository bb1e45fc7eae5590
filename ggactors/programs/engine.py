"""The WebAssembly engine programs run on, and the one place its settings stand.

Law: nothing here gives a guest any authority. A compiled module is native code: it is loaded only from a cache that is the
operator's own and whose bytes have the recorded hash. An engine belongs to one thread, since the epoch that stops a program
is counted per engine.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
from typing import TYPE_CHECKING

from attrs import frozen

from ggactors.programs.opening import with_open_table

if TYPE_CHECKING:
    from pathlib import Path

    import wasmtime

WASM_STACK = 2 << 20
"""Bytes of native stack a guest may use; deeper recursion is a trap, which ends the program alone. The engine takes no more."""
THREAD_STACK = WASM_STACK + (4 << 20)
"""Bytes of stack of a thread that runs guests: host functions run on top of the guest's part."""

_SETTINGS = f"epochs;no-signals;stack={WASM_STACK};1"
"""What a compiled module depends on besides the artifact and the engine's version; the number is for changes not visible here."""


def make_engine() -> wasmtime.Engine:
    """Make an engine with the settings every guest is compiled for."""
    import wasmtime

    config = wasmtime.Config()
    config.epoch_interruption = True
    # With signal handlers a later `faulthandler.enable()` of the embedding program turns a guest's trap into a crash of the
    # host; without them checks are explicit, which costs about a third of the speed.
    config.signals_based_traps = False
    config.max_wasm_stack = WASM_STACK
    return wasmtime.Engine(config)


@frozen
class Compiled:
    """Where the compiled form of one artifact is kept: the file and, beside it, the hash of its bytes."""

    path: Path

    @property
    def seal(self) -> Path:
        """The file that holds the hash."""
        return self.path.with_suffix(".sha256")

    def valid(self) -> bool:
        """Tell whether the file may be loaded: it is the operator's alone to write, and its bytes have the recorded hash."""
        if not (_private(self.path.parent) and _private(self.path) and _private(self.seal)):
            return False
        return self.seal.read_text(encoding="ascii", errors="replace").strip() == hash_of(self.path)

    def hindrance(self) -> str | None:
        """Say why nothing could be kept or loaded here, or None."""
        there = self.path.parent
        while not there.exists():
            there = there.parent
        if there == self.path.parent and not _private(there):
            return f"{there} is not yours alone to write, and what is kept there is run"
        return None if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written"

    def adopt(self, scratch: Path) -> None:
        """Take a file just compiled into its place, whole, with its hash."""
        # The hash first: a file whose hash is not the recorded one is never loaded, so no order of two writers does harm.
        note = scratch.with_suffix(".note")
        note.write_text(hash_of(scratch), encoding="ascii")
        note.replace(self.seal)
        scratch.replace(self.path)


def compiled(cache: Path, artifact_hash: str) -> Compiled:
    """Name the compiled form of an artifact in ``cache``, for this engine, these settings and this machine."""
    from importlib.metadata import version

    machine = f"{platform.system()}-{platform.machine()}"
    key = hashlib.sha256(f"{artifact_hash};{version('wasmtime')};{_SETTINGS};{machine}".encode()).hexdigest()
    return Compiled(cache / f"{key[:32]}.cwasm")


def compile_artifact(artifact: Path, to: Path, *, opened: bool = False) -> None:
    """Compile an artifact into a new file, ``opened`` with its table of functions open. Takes seconds of every core.

    Raises OSError when the file cannot be written, ``wasmtime.WasmtimeError`` when this machine cannot compile, ValueError when
    the artifact has no such table.
    """
    import wasmtime

    module = artifact.read_bytes()
    code = bytes(wasmtime.Module(make_engine(), with_open_table(module) if opened else module).serialize())
    with os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(code)


def hash_of(path: Path) -> str:
    """Give the SHA-256 of a file's bytes in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _private(path: Path) -> bool:
    """Tell whether a path is there, is the operator's own, no link, and nobody else can write it."""
    try:
        found = path.lstat()
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    return not stat.S_ISLNK(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & others
