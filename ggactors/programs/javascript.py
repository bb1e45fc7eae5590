"""The JavaScript arm, and the stripper that makes JavaScript of TypeScript.

Law: each program has an engine instance of its own, booted before it came. What goes wrong once it has its program is the
program's doing; what goes wrong before that, or in a host function, is ours (X5). Types are taken off in another instance, which
reads programs and never runs one.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ggactors.programs.execution import Ended, Stopped
from ggactors.programs.membrane import Call, Junk, call, read_request, write_reply
from ggactors.programs.quickjs import OK, PENDING, REJECTED, Instance, QuickJS
from ggactors.programs.wasi import trap_word
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ggactors.programs.execution import Execution

_FRAME = re.compile(r"at (?:(.*?) )?\(?([^\s():]+):(\d+)(?::\d+)?\)?\s*$", re.MULTILINE)
_ERRORS = ("GGError", "NotFound", "InvalidArgument", "Conflict", "Refused", "Unavailable", "LimitExceeded", "IOFailure")
_UNREADABLE = write_reply(Refused(code=Code.INVALID_ARGUMENT, message="the request cannot be read"))


class JavaScriptSlot:
    """One thread's engine for JavaScript programs; obeys ``worker.Slot``."""

    def __init__(self, compiled: Path, memory: int) -> None:
        self._boot = _resource("javascript.js")
        self._engine = QuickJS(compiled, memory)
        self.trap, self.close = self._engine.trap, self._engine.close

    def live(self, take: Callable[[], Execution]) -> None:
        """Boot an instance, take one program, run it to its end. Raises what is our own failure."""
        with self._engine.store() as store:
            program = _Program()
            instance = self._engine.instance(store, program)
            instance.watch()
            functions = instance.bootstrap(self._boot, ("start", "tick", "describe"))
            try:
                _carry_out(self._engine, take(), lambda execution: program.run(instance, functions, execution))
            finally:
                self._engine.world.leave()


class StripSlot:
    """One thread's engine that takes types off. It is kept from one program to the next, as long as none breaks it."""

    def __init__(self, compiled: Path, memory: int) -> None:
        self._library = _resource("sucrase.js")
        self._boot = _resource("strip.js")
        self._engine = QuickJS(compiled, memory)
        self.trap, self.close = self._engine.trap, self._engine.close

    def live(self, take: Callable[[], Execution]) -> None:
        """Load the stripper and serve programs until one breaks it. Raises what is our own failure."""
        with self._engine.store() as store:
            instance = self._engine.instance(store, _Program())
            instance.script(self._library)
            (strip,) = instance.bootstrap(self._boot, ("strip",))
            try:
                while _carry_out(self._engine, take(), lambda execution: _strip(instance, strip, execution)):
                    pass
            finally:
                self._engine.world.leave()


def _carry_out(engine: QuickJS, execution: Execution, run: Callable[[Execution], dict[str, Any]]) -> bool:
    """Run an execution to its end and tell how it ended; whether the instance can go on."""
    import wasmtime

    report: dict[str, Any] | None = None
    trapped: str | None = None
    try:
        execution.begin()
        report = run(execution)
    except wasmtime.Trap as trap:
        trapped = trap_word(trap)
    except Stopped:
        pass
    except MemoryError:
        report = _OUT_OF_MEMORY
    fault = engine.world.fault
    if isinstance(
        fault, wasmtime.Trap
    ):  # the guest broke, or was stopped, where a call of its own asked something of it
        trapped = trap_word(fault)
    elif fault is not None and not isinstance(fault, Stopped | MemoryError):
        raise fault
    execution.end(Ended(report=report, stopped=execution.stopped, trap=trapped))
    return trapped is None and fault is None and report is not _OUT_OF_MEMORY and execution.stopped is None


def _strip(instance: Instance, strip: int, execution: Execution) -> dict[str, Any]:
    answer, found = instance.call(strip, instance.string(execution.order.source.encode("utf-8", "replace")))
    text = instance.text(found) if answer == OK else None
    said: dict[str, Any] = json.loads(text) if text is not None else _OUT_OF_MEMORY
    return said


class _Program:
    """One program in its instance: what it asks for, and how it ends."""

    def __init__(self) -> None:
        self._execution: Execution | None = None
        self._sdk: dict[str, dict[str, Any]] = {}

    def run(self, instance: Instance, functions: tuple[int, ...], execution: Execution) -> dict[str, Any]:
        """Run the program and report how it ended. Raises Stopped, or ``wasmtime.Trap``."""
        start, tick, describe = functions
        order = execution.order
        self._execution, self._sdk = execution, json.loads(order.sdk)
        instance.call(start, instance.string(order.sdk.encode()))
        answer, promise = instance.program(order.source, order.name)
        if answer != OK:
            return _uncompiled(instance.thrown(), order.name)
        while True:
            instance.run_jobs()
            state = instance.state(promise)
            if state == REJECTED:
                return _raised(instance, describe, instance.settled(promise), order.name)
            if instance.unhandled:  # a failure nobody caught, as every runtime of the language has it (E8)
                if not instance.unhandled.told:
                    return _UNTOLD
                return _raised(instance, describe, instance.reason(), order.name)
            answer, more = instance.call(tick)
            if answer != OK:
                return _raised(instance, describe, instance.exception(), order.name)
            if not instance.truth(more):
                return _DEADLOCK if state == PENDING else {"end": "ok"}

    def hear(self, text: bytes) -> bytes:
        """Answer the program: the first letter says what it wants. Raises Stopped."""
        execution = self._execution
        assert execution is not None
        letter, said = text[:1], text[1:]
        match letter:
            case b"C":
                return _called(execution, said)
            case b"L":
                execution.log.feed(said)
            case b"S":
                execution.sleep(float(said) / 1000)
            case b"D":
                return json.dumps(execution.order.doc(said.decode("utf-8", "replace"))).encode()
            case _:
                return _UNREADABLE
        return b""

    def module(self, name: str) -> str | None:
        """Give the modules a program may import: ``gg``, and ``gg/files`` and its like."""
        if name == "gg":
            names = ", ".join((*self._sdk, *_ERRORS))
            return f"const gg = globalThis.gg; export default gg; export const {{ {names} }} = gg;"
        module = name.removeprefix("gg/")
        if module == name or module not in self._sdk:
            return None
        names = ", ".join(self._sdk[module])
        return f"const all = globalThis.gg.{module}; export default all; export const {{ {names} }} = all;"


def _called(execution: Execution, said: bytes) -> bytes:
    try:
        request = read_request(said)
    except Junk:
        return _UNREADABLE
    if isinstance(request, Refused):
        return write_reply(request)
    if not isinstance(request, Call):
        return _UNREADABLE
    return write_reply(call(execution, request.operation, request.args))


_DEADLOCK: dict[str, Any] = {
    "end": "raised",
    "type": "Deadlock",
    "message": "the program waits for a promise that nothing will settle",
    "frames": [],
}
_UNTOLD: dict[str, Any] = {
    "end": "raised",
    "type": "Error",
    "message": "the program threw something that cannot be described",
    "frames": [],
}
_OUT_OF_MEMORY: dict[str, Any] = {"end": "raised", "type": "InternalError", "message": "out of memory", "frames": []}


def _uncompiled(thrown: dict[str, str], name: str) -> dict[str, Any]:
    frames = _frames(thrown["stack"], name)
    line = frames[-1][0] if frames else None
    return {"end": "uncompiled", "type": thrown["name"], "message": thrown["message"], "line": line}


def _raised(instance: Instance, describe: int, thrown: int, name: str) -> dict[str, Any]:
    answer, described = instance.call(describe, thrown)
    text = instance.text(described) if answer == OK else None
    if text is None:
        return _OUT_OF_MEMORY if answer == OK or "memory" in instance.thrown()["message"] else _UNTOLD
    said: dict[str, Any] = json.loads(text)
    for one in (said, *said.get("causes", ()), *said.get("parts", ())):
        frames = _frames(one.pop("stack", ""), name)
        while len(frames) > 1 and frames[-1][1] == one["type"]:  # the constructor of an error class of its own
            frames.pop()
        one["frames"] = frames
    return {"end": "raised", **said}


def _frames(stack: object, name: str) -> list[list[Any]]:
    """Read an error's stack: the program's own frames, the innermost last."""
    found = [[int(line), function or "<module>"] for function, file, line in _FRAME.findall(str(stack)) if file == name]
    return found[::-1]


def _resource(name: str) -> str:
    return files("ggactors.programs.guest").joinpath(name).read_text(encoding="utf-8")
