"""What a guest sees of the world: three byte streams, clocks, randomness and sleep. Nothing else exists in it (X7).

Law: every system call that is not written here answers "not there". Descriptor 1 is the log, 2 carries requests out, 0 brings
replies in. A host function never raises into the engine, whose record of the exception is shared by all threads: what goes
wrong is kept, and the guest is stopped.
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
from typing import TYPE_CHECKING, Protocol

from ggactors.programs import native
from ggactors.programs.execution import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable

    import wasmtime

BADF, INVAL, NOSYS, SPIPE = 8, 28, 52, 70
"""Error numbers of WASI's first preview."""

_WASI = "wasi_snapshot_preview1"
_OWN = frozenset({"args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "clock_res_get"})
"""Calls the engine serves itself, from what the store was given: the arguments, an empty environment, a clock's step."""
_STREAMS = (0, 1, 2)
_MOST_PIECES = 1024
_MOST_BYTES = 1 << 20
"""The most bytes taken in one call; more is a short write, which is written on."""
_REALTIME = 0
_PIECE = struct.Struct("<II")


class Streams(Protocol):
    """Where a guest's bytes go to and come from, and its sleeps. Called in the thread that runs it."""

    def log(self, piece: bytes) -> None:
        """Take what was printed."""

    def write(self, piece: bytes) -> None:
        """Take a piece of a request."""

    def read(self, most: int) -> bytes:
        """Give up to so many bytes of the reply; none when there is no reply."""

    def sleep(self, seconds: float) -> None:
        """Come back after so many seconds, or sooner when the program is to stop."""

    def exited(self, status: int) -> None:
        """Hear that the guest ended itself."""


class View:
    """A guest's memory at one moment: good until the guest runs on. Every access is checked against its size."""

    __slots__ = ("_at", "size")

    def __init__(self, at: int, size: int) -> None:
        self._at = at
        self.size = size
        """Bytes."""

    def read(self, at: int, size: int) -> bytes:
        """Copy bytes out. Raises IndexError when they are not the guest's."""
        return ctypes.string_at(self._address(at, size), size)

    def write(self, at: int, piece: bytes) -> None:
        """Copy bytes in. Raises IndexError when the place is not the guest's."""
        ctypes.memmove(self._address(at, len(piece)), piece, len(piece))

    def _address(self, at: int, size: int) -> int:
        at &= 0xFFFFFFFF
        if size < 0 or at + size > self.size:
            raise IndexError(f"{size} bytes at {at} are not the guest's")
        return self._at + at


class Memory:
    """A guest's linear memory, wherever it lies at that moment and however large it is by then."""

    __slots__ = ("_place",)

    def __init__(self, store: wasmtime.Store, memory: wasmtime.Memory) -> None:
        self._place = native.place_of(store, memory)

    def look(self) -> View:
        """Take a view, for several accesses in one call of the guest's."""
        return View(*self._place())

    def read(self, at: int, size: int) -> bytes:
        """Copy bytes out. Raises IndexError when they are not the guest's."""
        return self.look().read(at, size)

    def write(self, at: int, piece: bytes) -> None:
        """Copy bytes in. Raises IndexError when the place is not the guest's."""
        self.look().write(at, piece)


class World:
    """The system calls of one engine's guests. ``enter`` says whose they are until ``leave``."""

    def __init__(self, engine: wasmtime.Engine) -> None:
        self._engine = engine
        self._streams: Streams | None = None
        self._memory: Memory | None = None
        self._kept: list[object] = []
        self.fault: BaseException | None = None
        """What went wrong on this side of a call."""

    def enter(self, streams: Streams) -> None:
        """Serve a new guest."""
        self._streams, self._memory, self.fault = streams, None, None

    def sees(self, memory: Memory) -> None:
        """Say where the guest's memory is."""
        self._memory = memory

    def leave(self) -> None:
        """Serve nobody."""
        self._streams = self._memory = self.fault = None

    def serve(self, linker: wasmtime.Linker, module: wasmtime.Module) -> None:
        """Define every system call ``module`` imports."""
        import wasmtime

        calls = self._calls()
        linker.allow_shadowing = True
        linker.define_wasi()
        for one in module.imports:
            if one.module == _WASI and one.name not in _OWN:
                assert one.name is not None
                kind = one.type
                assert isinstance(kind, wasmtime.FuncType)
                self.define(linker, _WASI, one.name, kind, calls.get(one.name, _absent))

    def define(
        self,
        linker: wasmtime.Linker,
        module: str,
        name: str,
        kind: wasmtime.FuncType,
        call: Callable[..., int],
        failed: int = NOSYS,
    ) -> None:
        """Define a function guests import. What it raises is kept, it answers ``failed``, and the guest traps at its next step."""

        def guarded(*numbers: int) -> int:
            try:
                return call(*numbers)
            except IndexError:  # an address that is not the guest's: its own mistake, and answered as one
                return INVAL if failed == NOSYS else failed
            except Stopped as stopped:
                # Without its traceback, whose frames lead back to whoever looks at it: a circle that would keep all of the guest.
                self.fault = self.fault or stopped.with_traceback(None)
            except BaseException as error:  # noqa: BLE001, ASYNC103 - raised again by whoever ran the guest
                self.fault = self.fault or error
            self.stop()
            return failed

        self._kept.append(native.define(linker, module, name, kind, guarded))

    def stop(self) -> None:
        """Have the guest trap at its next step."""
        self._engine.increment_epoch()

    # ------------------------------------------------------------ the calls

    def _calls(self) -> dict[str, Callable[..., int]]:
        return {
            "clock_time_get": self._clock,
            "random_get": self._random,
            "poll_oneoff": self._poll,
            "fd_write": self._write,
            "fd_read": self._read,
            "fd_close": lambda _fd: 0,
            "fd_fdstat_get": self._fdstat,
            "fd_filestat_get": self._filestat,
            "fd_prestat_get": lambda _fd, _at: BADF,
            "fd_seek": lambda fd, *_: SPIPE if fd in _STREAMS else BADF,
            "fd_tell": lambda fd, _at: SPIPE if fd in _STREAMS else BADF,
            "sched_yield": lambda: 0,
            "proc_exit": self._exit,
        }

    def _here(self) -> tuple[Streams, View]:
        """Whose call it is, and their memory, which nothing changes before the call is answered."""
        assert self._streams is not None
        assert self._memory is not None
        return self._streams, self._memory.look()

    def _clock(self, clock: int, _precision: int, at: int) -> int:
        self._here()[1].write(at, struct.pack("<Q", _now(clock)))
        return 0

    def _random(self, at: int, size: int) -> int:
        if not 0 <= size <= _MOST_BYTES:
            return INVAL
        self._here()[1].write(at, os.urandom(size))
        return 0

    def _poll(self, subscriptions: int, events: int, count: int, counted: int) -> int:
        """Sleep until the earliest of the clocks subscribed to. Nothing else can be waited for."""
        streams, memory = self._here()
        first: tuple[int, bytes] | None = None
        for index in range(min(count, 8)):
            asked = memory.read(subscriptions + 48 * index, 48)
            if asked[8] != 0:
                continue
            (clock,) = struct.unpack_from("<I", asked, 16)
            wait, _precision, flags = struct.unpack_from("<QQH", asked, 24)
            if flags & 1:
                wait = max(0, wait - _now(clock))
            if first is None or wait < first[0]:
                first = (wait, asked[:8])
        if first is None:
            return NOSYS
        streams.sleep(first[0] / 1e9)
        memory.write(events, first[1] + struct.pack("<HB5xQH6x", 0, 0, 0, 0))
        memory.write(counted, struct.pack("<I", 1))
        return 0

    def _write(self, fd: int, pieces: int, count: int, written: int) -> int:
        streams, memory = self._here()
        if fd not in (1, 2):
            return BADF
        total = 0
        for at, size in _pieces(memory, pieces, count):
            piece = memory.read(at, min(size, _MOST_BYTES - total))
            (streams.log if fd == 1 else streams.write)(piece)
            total += len(piece)
        memory.write(written, struct.pack("<I", total))
        return 0

    def _read(self, fd: int, pieces: int, count: int, got: int) -> int:
        streams, memory = self._here()
        if fd != 0:
            return BADF
        total = 0
        for at, size in _pieces(memory, pieces, count):
            piece = streams.read(size)
            memory.write(at, piece)
            total += len(piece)
            if len(piece) < size:
                break
        memory.write(got, struct.pack("<I", total))
        return 0

    def _fdstat(self, fd: int, at: int) -> int:
        if fd not in _STREAMS:
            return BADF
        self._here()[1].write(
            at, struct.pack("<BxHxxxxQQ", 2, 0, 0x1FFFFFFF, 0)
        )  # a character device, every right to it
        return 0

    def _filestat(self, fd: int, at: int) -> int:
        if fd not in _STREAMS:
            return BADF
        self._here()[1].write(at, struct.pack("<QQB7xQQQQQ", 0, fd, 2, 1, 0, 0, 0, 0))
        return 0

    def _exit(self, status: int) -> int:
        self._here()[0].exited(status)
        self.stop()
        return 0


def _absent(*_numbers: int) -> int:
    return NOSYS


def _now(clock: int) -> int:
    return time.time_ns() if clock == _REALTIME else time.monotonic_ns()


def _pieces(memory: View, at: int, count: int) -> list[tuple[int, int]]:
    """Read a list of places in memory. Raises IndexError for one no guest of good will makes."""
    if not 0 <= count <= _MOST_PIECES:
        raise IndexError(f"{count} pieces at once")
    if count == 1:  # nearly always
        return [_PIECE.unpack(memory.read(at, 8))]
    words = struct.unpack(f"<{2 * count}I", memory.read(at, 8 * count))
    return list(zip(words[::2], words[1::2], strict=True))


def trap_word(trap: wasmtime.Trap) -> str:
    """Name how a guest broke, and let the trap go: it lies in a circle with its own frames, which would keep all of the guest."""
    code = trap.trap_code
    trap.__traceback__ = None
    trap.close()
    return code.name.lower() if code is not None else "trap"
