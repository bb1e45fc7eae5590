"""Opening a module's table: what comes out is a module that does what it did, and whatever is no such module is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.programs.opening import TABLE, with_open_table

wasmtime = pytest.importorskip("wasmtime", reason="the extra [code] is not installed")

MODULE = bytes(
    wasmtime.wat2wasm(
        """(module
  (type $told (func (param i32 i64 i64 i32 i32)))
  (table 2 2 funcref)
  (func $one (result i32) i32.const 1)
  (elem (i32.const 1) $one)
  (func (export "call") (param i32) (result i32) (call_indirect (result i32) (local.get 0)))
  (func (export "tell") (param i32)
    (call_indirect (type $told) i32.const 1 i64.const 2 i64.const -3 i32.const 4 i32.const 5 (local.get 0))))"""
    )
)


def test_an_opened_module_does_what_it_did_and_calls_what_the_host_adds():
    from ggactors.programs import native

    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    exports = wasmtime.Instance(store, wasmtime.Module(engine, with_open_table(MODULE)), []).exports(store)
    assert exports["call"](store, 1) == 1
    heard: list[tuple[int, ...]] = []

    def hear(*numbers: int) -> int:
        heard.append(numbers)
        return 0

    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
    function, _kept = native.function(store, wasmtime.FuncType([i32, i64, i64, i32, i32], []), hear)
    place = exports[TABLE].grow(store, 1, function)
    assert place == 2
    exports["tell"](store, place)
    assert heard == [(1, 2, -3, 4, 5)]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (b"\0asm\x02\0\0\0", "version 1"),
        (MODULE[:-1], "ends within"),
        (bytes(wasmtime.wat2wasm('(module (func (export "f")))')), "no table"),
        (bytes(wasmtime.wat2wasm('(module (table 1 externref) (func (export "f")))')), "other tables"),
        (bytes(wasmtime.wat2wasm('(module (table 1 funcref) (table 1 funcref) (func (export "f")))')), "other tables"),
        (with_open_table(MODULE), "open already"),
        (b"\0asm\x01\0\0\0\x04\xff\xff\xff\xff\xff\xff", "does not end"),
    ],
)
def test_what_is_no_such_module_is_refused_and_never_guessed_at(code: bytes, why: str):
    with pytest.raises(ValueError, match=why):
        with_open_table(code)


@given(at=st.integers(8, len(MODULE) - 1), byte=st.integers(0, 255))
@settings(max_examples=150, deadline=None)
def test_broken_bytes_are_refused_or_given_back_in_one_piece(at: int, byte: int):
    broken = bytearray(MODULE)
    broken[at] = byte
    try:
        made = with_open_table(bytes(broken))
    except ValueError:
        return
    assert TABLE.encode() in made
