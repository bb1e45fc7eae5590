"""Promises of a JavaScript program that were rejected and that nobody handles: what the engine says of them, kept until asked.

Law: the engine's own rule decides (the language's HostPromiseRejectionTracker), so a program's text is run as it is, not a
character of it changed. The artifact has the hook and no function that sets it, so it is set in the engine's memory. The places
are those of the one artifact whose bytes have the pinned hash, and an engine that does not answer as it does does not start.
"""

from __future__ import annotations

import contextlib
import struct
from typing import TYPE_CHECKING

from ggactors.programs import native
from ggactors.programs.opening import TABLE

if TYPE_CHECKING:
    import wasmtime

    from ggactors.programs.wasi import Memory

_LIMIT, _HOOK, _JOBS = 28, 180, 188
"""Where the engine's runtime has the most bytes it may take, the hook, and the list of jobs, which is a ring."""
_OBJECT = range(8, 64, 4)
"""Where an array object may have the address of its values."""
MOST = 10_000
"""How many are kept at once; beyond it they are counted, and their reasons not told."""
MARK = 0x5EED5EED
"""What the one value of the box is at first; a number is stored as itself."""
BOX = f"Promise.reject([{MARK}])"
"""The script that shows the box: a rejection the hook hears of, whose reason it is."""


class NoHook(Exception):  # noqa: N818 - becomes quickjs.GuestFailed
    """The engine is not laid out as the pinned one is; the message says what was not found."""


class Rejections:
    """The rejected promises of one instance that nobody has handled so far."""

    def __init__(self, store: wasmtime.Store, memory: Memory) -> None:
        self._store = store
        self._memory = memory
        self._kept: dict[int, int] = {}
        self._reason = self._slot = self._beyond = 0

    def __bool__(self) -> bool:
        """Tell whether there is one."""
        return bool(self._kept or self._beyond)

    @property
    def told(self) -> bool:
        """Whether there is one whose reason is known."""
        return bool(self._kept)

    def hook(self, table: object, heap: int, after: int) -> object:
        """Have the engine tell of rejections; what it gives is to be kept for as long as the store is.

        ``heap`` is the most bytes the engine was told it may take, ``after`` a place that was allocated before it was made.
        Raises NoHook.
        """
        import wasmtime

        if not isinstance(table, wasmtime.Table):
            raise NoHook(f"it has no {TABLE}")
        i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
        kind = wasmtime.FuncType([i32, i64, i64, i32, i32], [])
        function, kept = native.function(self._store, kind, self._heard)
        place = table.grow(self._store, 1, function)
        self._memory.write(self._runtime(heap, after) + _HOOK, struct.pack("<I", place))
        return kept

    def box(self) -> None:
        """Find the box, which BOX has just shown. Raises NoHook."""
        for at in _OBJECT if self._kept else ():
            with contextlib.suppress(IndexError):
                slot = self._word(self._reason + at)
                if self._memory.read(slot, 8) == struct.pack("<Q", MARK):
                    self._slot = slot
                    self._kept.clear()
                    return
        raise NoHook("it does not tell of rejections")

    def take(self) -> None:
        """Put the first of them into the box, whose only value it is then."""
        promise = next(iter(self._kept.values()))
        self._count(promise, 1)
        self._memory.write(self._slot, struct.pack("<q", promise))

    def _heard(self, _context: int, promise: int, reason: int, handled: int, _opaque: int) -> int:
        """Hear of a promise that was rejected without a handler, or of one such that got a handler."""
        # What is kept is counted as a reference, or another promise could be made in its place before it is told of.
        at = promise & 0xFFFFFFFF
        with contextlib.suppress(IndexError):
            if not handled:
                if len(self._kept) >= MOST:
                    self._beyond += 1
                    return 0
                self._count(promise, 1)
                self._kept[at], self._reason = promise, reason & 0xFFFFFFFF
            elif self._kept.pop(at, None) is not None:
                self._count(promise, -1)
            elif self._beyond:  # a promise gets its first handler once, so that the number is exact
                self._beyond -= 1
        return 0

    def _count(self, value: int, more: int) -> None:
        at, view = value & 0xFFFFFFFF, self._memory.look()
        view.write(at, ((int.from_bytes(view.read(at, 4), "little") + more) & 0xFFFFFFFF).to_bytes(4, "little"))

    def _word(self, at: int) -> int:
        return int.from_bytes(self._memory.read(at, 4), "little")

    def _runtime(self, heap: int, after: int) -> int:
        """Find the engine's runtime by what it was told, a ring of no jobs, and no hook."""
        view = self._memory.look()
        heard = view.read(
            after, view.size - after
        )  # all of memory is ten times that, and reading it what booting takes
        limit = struct.pack("<I", heap)
        at = heard.find(limit)
        while at >= 0:
            here = at - _LIMIT
            ring = after + here + _JOBS
            if heard[here + _HOOK : here + _JOBS + 8] == struct.pack("<IIII", 0, 0, ring, ring):
                return after + here
            at = heard.find(limit, at + 1)
        raise NoHook("its runtime is not where it is looked for")
