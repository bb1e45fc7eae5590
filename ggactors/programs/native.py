"""Calls between host and guest by the engine's C interface: a fraction of what they cost by the Python package's own way.

Law: the one place that uses what ``wasmtime`` does not promise to keep; the package is pinned for it. Nothing is allocated for a
call, no more than one number comes back, and nothing is ever raised into the engine.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import wasmtime


def define(
    linker: wasmtime.Linker, module: str, name: str, kind: wasmtime.FuncType, serve: Callable[..., int]
) -> object:
    """Define a function guests import. ``serve`` takes its numbers, gives one (left aside where none is wanted), and never raises.

    Give back what must be kept for as long as the linker is.
    """
    from wasmtime import WasmtimeError
    from wasmtime import _ffi as library

    callback = _callback(kind, serve)
    of, called_by = module.encode(), name.encode()
    error: Any = library.wasmtime_linker_define_func(
        linker.ptr(),
        ctypes.create_string_buffer(of),
        len(of),
        ctypes.create_string_buffer(called_by),
        len(called_by),
        kind.ptr(),
        callback,
        None,
        _nothing(),
    )
    if error:
        raise WasmtimeError._from_ptr(error)
    return callback


def function(store: wasmtime.Store, kind: wasmtime.FuncType, serve: Callable[..., int]) -> tuple[wasmtime.Func, object]:
    """Make a function of the host's that a guest can be handed. ``serve`` is as in ``define``.

    Give it, and what must be kept for as long as the store is.
    """
    import wasmtime
    from wasmtime import _ffi as library

    callback = _callback(kind, serve)
    made = library.wasmtime_func_t()
    library.wasmtime_func_new(store._context(), kind.ptr(), callback, None, _nothing(), ctypes.byref(made))
    return wasmtime.Func._from_raw(made), callback


def _callback(kind: wasmtime.FuncType, serve: Callable[..., int]) -> Any:
    from wasmtime import _ffi as library

    wide = [str(param) == "i64" for param in kind.params]
    i32 = library.WASMTIME_I32.value

    def called(_data: object, _caller: object, args: Any, _taken: int, answers: Any, given: int) -> int:
        numbers = [args[index].of.i64 if is_wide else args[index].of.i32 for index, is_wide in enumerate(wide)]
        answer = serve(*numbers)
        if given:
            answers[0].kind = i32
            answers[0].of.i32 = answer
        return 0

    return library.wasmtime_func_callback_t(called)


def _nothing() -> Any:
    return ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))


def place_of(store: wasmtime.Store, memory: wasmtime.Memory) -> Callable[[], tuple[int, int]]:
    """Give what tells where a guest's memory lies now: its address and its size in bytes. Both may change when the guest runs."""
    from wasmtime import _ffi as library

    context = store._context()
    by_reference = ctypes.byref(memory._memory)
    size_of: Any = library.wasmtime_memory_data_size
    data_of: Any = library.wasmtime_memory_data
    address_of = ctypes.addressof

    def place() -> tuple[int, int]:
        return address_of(data_of(context, by_reference).contents), size_of(context, by_reference)

    return place


class Export:
    """One function of one instance. Calling it raises ``wasmtime.Trap`` when the guest breaks or is stopped."""

    __slots__ = ("_answers", "_args", "_context", "_function", "_given", "_library", "_taken", "_trap")

    def __init__(self, store: wasmtime.Store, function: wasmtime.Func) -> None:
        from wasmtime import _ffi as library

        kind = function.type(store)
        self._library: Any = library
        self._context = store._context()
        self._function = function._func
        self._taken, self._given = len(kind.params), len(kind.results)
        self._args = (library.wasmtime_val_t * self._taken)()
        for value, param in zip(self._args, kind.params, strict=True):
            if str(param) != "i32":
                raise TypeError(f"it takes a number of type {param}")
            value.kind = library.WASMTIME_I32.value
        self._answers = (library.wasmtime_val_t * max(self._given, 1))()
        self._trap: Any = ctypes.POINTER(library.wasm_trap_t)()

    def __call__(self, *numbers: int) -> int:
        """Call it; 0 when it gives nothing."""
        args = self._args
        for index, number in enumerate(numbers):
            args[index].of.i32 = number
        answers = self._answers
        error = self._library.wasmtime_func_call(
            self._context,
            ctypes.byref(self._function),
            args,
            self._taken,
            answers,
            self._given,
            ctypes.byref(self._trap),
        )
        if error or self._trap:
            self._fail(error)
        return int(answers[0].of.i32) if self._given else 0

    def _fail(self, error: Any) -> None:
        import wasmtime

        if error:
            raise wasmtime.WasmtimeError._from_ptr(error)
        trap, self._trap = self._trap, ctypes.POINTER(self._library.wasm_trap_t)()
        raise wasmtime.Trap._from_ptr(trap)
