"""QuickJS in WebAssembly as the host sees it: an engine per thread, an instance per program, values as handles.

Law: the guest's functions are called by name and nothing of what they give is trusted. What an instance asks of the host is its
owner's business: one call with a text for a text, and the modules a program may import.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Protocol

from ggactors.programs.native import Export
from ggactors.programs.opening import TABLE
from ggactors.programs.rejections import BOX, NoHook, Rejections
from ggactors.programs.wasi import Memory, World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import wasmtime

OK = 0
"""What the guest's functions answer when they did what they were asked."""
PENDING, REJECTED = 0, 2
"""States of a promise."""
_SPARE = 4 << 20
"""Bytes of linear memory beyond the heap a program may fill, so that running out of it is an error it can catch."""
_STACK = 256 << 10
_SCRATCH = 4096
"""Bytes of the guest's memory that texts are handed over in, if they fit: most do, and allocating takes longer than copying."""
_IMPORTS = (("host_call", 5, -1), ("host_interrupt", 0, 0), ("host_module_normalize", 5, 0), ("host_module_load", 3, 0))
"""What the guest imports from the host: name, how many numbers it takes, what it is answered when that fails."""


class Owner(Protocol):
    """Who an instance belongs to. Called in the thread that runs it."""

    def hear(self, text: bytes) -> bytes:
        """Answer ``host(text)``."""

    def module(self, name: str) -> str | None:
        """Give the source of the module of that name, or None when there is none."""


class GuestFailed(Exception):  # noqa: N818
    """The engine did not do what it must before there is a program."""


class QuickJS:
    """One thread's engine: it makes instances, one at a time."""

    def __init__(self, compiled: Path, memory: int) -> None:
        import wasmtime

        from ggactors.programs.engine import make_engine

        self._memory = memory
        self._engine = make_engine()
        self._module = wasmtime.Module.deserialize_file(self._engine, str(compiled))
        self._linker = wasmtime.Linker(self._engine)
        self.world = World(self._engine)
        self.world.serve(self._linker, self._module)
        self._instance: Instance | None = None
        i32 = wasmtime.ValType.i32
        for name, count, failed in _IMPORTS:
            kind = wasmtime.FuncType([i32() for _ in range(count)], [i32()])
            self.world.define(self._linker, "env", name, kind, self._serving(name), failed)

    def trap(self) -> None:
        """Have the running instance stop at its next step; from any thread."""
        self._engine.increment_epoch()

    def close(self) -> None:
        """Let go of the engine; what the linker holds would otherwise hold all of it."""
        for part in (self._linker, self._module, self._engine):
            part.close()

    def store(self) -> wasmtime.Store:
        """Make the store of a new instance, with its limits; whoever asks closes it."""
        import wasmtime

        store = wasmtime.Store(self._engine)
        store.set_wasi(wasmtime.WasiConfig())
        store.set_limits(memory_size=self._memory, instances=1, memories=1)
        store.set_epoch_deadline(1)
        return store

    def instance(self, store: wasmtime.Store, owner: Owner) -> Instance:
        """Make the instance that runs until the next one is made."""
        made = self._instance = Instance(store, self._linker.instantiate(store, self._module), owner)
        self.world.enter(_Silent())
        self.world.sees(made.memory)
        made.limit(self._memory - _SPARE)
        return made

    def _serving(self, name: str) -> Callable[..., int]:
        def serve(*numbers: int) -> int:
            assert self._instance is not None
            answer: int = getattr(self._instance, name)(*numbers)
            return answer

        return serve


class Instance:
    """One instance. Its methods raise ``wasmtime.Trap`` when the guest breaks or is stopped, MemoryError when it is full."""

    def __init__(self, store: wasmtime.Store, instance: wasmtime.Instance, owner: Owner) -> None:
        import wasmtime

        self._store = store
        self._owner = owner
        self._exports = instance.exports(store)
        memory = self._exports["memory"]
        assert isinstance(memory, wasmtime.Memory)
        self.memory = Memory(store, memory)
        self._functions: dict[str, Export] = {}
        self._out = self._scratch = 0
        self._undefined = self._box = self._heap = 0
        self._hook: object = None
        self.unhandled = Rejections(store, self.memory)
        """Promises that were rejected and that nobody handles; empty as long as they are not watched."""

    def limit(self, heap: int) -> None:
        """Say how many bytes values may take; before anything is evaluated."""
        self._heap = heap
        self._do("set_memory_limit", heap)
        self._do("set_max_stack_size", _STACK)
        self._out = self._do("qjs_alloc", 4)
        self._scratch = self._do("qjs_alloc", _SCRATCH)

    def bootstrap(self, source: str, names: tuple[str, ...]) -> tuple[int, ...]:
        """Evaluate a function's source, call it with ``host``, and give the properties of what it returns. Raises GuestFailed."""
        answer, made = self.script(source)
        self._undefined = self._do("new_undefined")
        at, size = self._lend(b"host")
        host = self._do("new_function", at, size)
        if answer == OK:
            answer, made = self.call(made, host)
        if answer != OK:
            raise GuestFailed(f"the JavaScript engine did not start: {self.thrown()}")
        return tuple(self._property(made, name) for name in names)

    def watch(self) -> None:
        """Keep what is rejected and handled by nobody, from now on. Raises GuestFailed."""
        try:
            self.script("")  # the engine is made by the first thing that is evaluated
            self._hook = self.unhandled.hook(self._exports[TABLE], self._heap, self._out)
            _, shown = self.script(BOX)
            self.unhandled.box()
        except (NoHook, KeyError) as fault:
            raise GuestFailed(f"the JavaScript engine is not the one this is made for: {fault}") from fault
        self._box = self.settled(shown)

    # ------------------------------------------------------------ evaluating

    def script(self, source: str) -> tuple[int, int]:
        """Evaluate a script: OK and its value."""
        return self._into("eval_code", *self._lend(source.encode("utf-8", "replace")))

    def program(self, source: str, name: str) -> tuple[int, int]:
        """Begin to evaluate a module: OK and the promise of its end, or it does not compile."""
        text, called = source.encode("utf-8", "replace"), name.encode()
        return self._into("eval_module_async", *self._lend(text), *self._lend(called))

    def call(self, function: int, *args: int) -> tuple[int, int]:
        """Call a function value: OK and what it gives, or it threw."""
        at, size = self._lend(struct.pack(f"<{len(args)}i", *args))
        found = self._into("call_function", function, self._undefined, at, len(args))
        self._do("qjs_free", at, size)
        return found

    def run_jobs(self) -> None:
        """Run what promises have made ready, and what that makes ready, until nothing is."""
        while self._do("execute_pending_jobs"):
            pass

    def state(self, promise: int) -> int:
        """Tell how a promise stands."""
        return self._into("promise_state", promise)[1]

    def settled(self, promise: int) -> int:
        """Give the value or the reason of a settled promise."""
        return self._into("promise_result", promise)[1]

    def reason(self) -> int:
        """Give the reason of the first rejection that nobody handles."""
        self.unhandled.take()
        return self.settled(self._into("get_index", self._box, 0)[1])

    def exception(self) -> int:
        """Give what was thrown last."""
        return self._into("last_exception")[1]

    def thrown(self) -> dict[str, str]:
        """Read the texts of an error the engine itself threw."""
        error = self.exception()
        found = {}
        for name in ("name", "message", "stack"):
            handle = self._property(error, name)
            found[name] = ((self.text(handle) if handle else None) or b"").decode("utf-8", "replace")
        return found

    # ------------------------------------------------------------ values

    def text(self, handle: int) -> bytes | None:
        """Read a string; None when the value is none."""
        if self._do("get_string", handle) != OK:
            return None
        size = self._do("qjs_last_len")
        found = self.memory.read(self._do("qjs_last_ptr"), size) if size else b""
        if size > _SCRATCH:  # a smaller one is let go of by the next
            self._do("qjs_result_free")
        return found

    def string(self, text: bytes) -> int:
        """Make a string value."""
        if 0 < len(text) <= _SCRATCH:
            self.memory.write(self._scratch, text)
            return self._do("new_string", self._scratch, len(text))
        at, size = self._lend(text)
        made = self._do("new_string", at, len(text))
        self._do("qjs_free", at, size)
        return made

    def truth(self, handle: int) -> bool:
        """Read a boolean; anything else is false."""
        answer, found = self._into("get_bool", handle)
        return answer == OK and found != 0

    def _property(self, owner: int, name: str) -> int:
        at, size = self._lend(name.encode())
        answer, handle = self._into("get_prop", owner, at, size)
        self._do("qjs_free", at, size)
        return handle if answer == OK else 0

    def _do(self, name: str, *numbers: int) -> int:
        found = self._functions.get(name)
        if found is None:
            import wasmtime

            exported = self._exports[name]
            assert isinstance(exported, wasmtime.Func)
            found = self._functions[name] = Export(self._store, exported)
        return found(*numbers)

    def _into(self, name: str, *numbers: int) -> tuple[int, int]:
        """Call a function that gives a number through memory: its answer and the number."""
        answer = self._do(name, *numbers, self._out)
        return answer, self._number(self._out)

    def _lend(self, text: bytes) -> tuple[int, int]:
        """Copy bytes into memory the guest allocates: where, and how many."""
        size = max(len(text), 1)
        at = self._do("qjs_alloc", size)
        if at == 0:
            raise MemoryError
        self.memory.write(at, text or b"\0")
        return at, len(text)

    def _number(self, at: int) -> int:
        return int(struct.unpack("<i", self.memory.read(at, 4))[0])

    # ------------------------------------------------------------ what it imports

    def host_call(self, _name: int, _size: int, _this: int, count: int, args: int) -> int:
        """Serve ``host(text)``."""
        text = self.text(self._number(args)) if count == 1 else None
        return -1 if text is None else self.string(self._owner.hear(text))

    def host_interrupt(self) -> int:
        """Let it go on: the engine's epoch stops it, which nothing in the guest can delay."""
        return 0

    def host_module_normalize(self, _base: int, _base_size: int, spec: int, size: int, out: int) -> int:
        """Resolve a module's name to itself, if there is such a module."""
        name = self.memory.read(spec, size)
        return self._given(name, out) if self._owner.module(name.decode("utf-8", "replace")) is not None else 0

    def host_module_load(self, name: int, size: int, out: int) -> int:
        """Give a module's source."""
        source = self._owner.module(self.memory.read(name, size).decode("utf-8", "replace"))
        return self._given(source.encode(), out) if source is not None else 0

    def _given(self, text: bytes, out: int) -> int:
        at, size = self._lend(text)
        self.memory.write(out, struct.pack("<I", size))
        return at


class _Silent:
    """Streams of a guest that has none: its calls come another way."""

    def log(self, piece: bytes) -> None:
        """Pass over what the engine says of itself."""

    def write(self, piece: bytes) -> None:
        """Pass over it."""

    def read(self, _most: int) -> bytes:
        """Give nothing."""
        return b""

    def sleep(self, seconds: float) -> None:
        """Come back at once."""

    def exited(self, status: int) -> None:
        """Pass over it: the trap that follows says it."""
