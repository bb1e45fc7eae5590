"""The Python arm: CPython compiled to WASI, booted before there is a program and thrown away after one.

Law: each program has an interpreter of its own, so nothing of one is seen by the next. Whatever the guest does after it took its
program is the program's doing; what goes wrong before that, or on this side of a system call, is ours (X5).
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from ggactors.programs.execution import Ended, Stopped
from ggactors.programs.membrane import (
    MOST_REQUEST,
    Call,
    Doc,
    Junk,
    Ready,
    Report,
    Request,
    call,
    read_request,
    write_reply,
)
from ggactors.programs.wasi import Memory, World, trap_word
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ggactors.programs.execution import Execution
    from ggactors.protocol.program import Returned

_ARGS = ("python", "-I", "-S", "-B", "-X", "utf8", "-c")
"""Isolated, no site, no bytecode files, UTF-8; what follows is the loader."""
_LOADER = """
import marshal, posix
given = b""
while piece := posix.read(0, 65536):
    given += piece
code = marshal.loads(given[1:]) if given[:1] == b"c" else compile(given[1:], "<gg>", "exec")
if given[:1] == b"s":
    made = b"\\0" + marshal.dumps(code) + b"\\n"
    while made:
        made = made[posix.write(2, made):]
exec(code)
"""


_FUTURE = "from __future__ import annotations\n"


class Bootstrap:
    """The guest's side of the arm. The first interpreter compiles it, which takes as long as booting does; the others load that."""

    def __init__(self) -> None:
        folder = files("ggactors.programs.guest")
        parts = [folder.joinpath(name).read_text(encoding="utf-8") for name in ("python_sdk.py", "python_run.py")]
        self._source = "\n".join((parts[0], parts[1].replace(_FUTURE, ""))).encode()
        self._code: bytes | None = None

    def given(self) -> bytes:
        """Give what the loader reads: ``s`` and the source, or ``c`` and the code."""
        return b"s" + self._source if self._code is None else b"c" + self._code

    def made(self, code: bytes) -> None:
        """Take the code the first interpreter made."""
        self._code = code


class PythonSlot:
    """One thread's engine for Python programs; obeys ``worker.Slot``."""

    def __init__(self, compiled: Path, memory: int, bootstrap: Bootstrap) -> None:
        import wasmtime

        from ggactors.programs.engine import make_engine

        self._memory = memory
        self._bootstrap = bootstrap
        self._engine = make_engine()
        self._module = wasmtime.Module.deserialize_file(self._engine, str(compiled))
        self._linker = wasmtime.Linker(self._engine)
        self._world = World(self._engine)
        self._world.serve(self._linker, self._module)

    def trap(self) -> None:
        """Have the running guest stop at its next step; from any thread."""
        self._engine.increment_epoch()

    def close(self) -> None:
        """Let go of the engine; what the linker holds would otherwise hold all of it."""
        for part in (self._linker, self._module, self._engine):
            part.close()

    def live(self, take: Callable[[], Execution]) -> None:
        """Boot an interpreter, take one program, run it to its end. Raises what is our own failure."""
        import wasmtime

        with wasmtime.Store(self._engine) as store:
            guest = _Guest(take, self._bootstrap)
            self._world.enter(guest)
            trapped: str | None = None
            try:
                config = wasmtime.WasiConfig()
                config.argv = [*_ARGS, _LOADER]
                store.set_wasi(config)
                store.set_limits(memory_size=self._memory, instances=1, memories=1)
                store.set_epoch_deadline(1)
                exports = self._linker.instantiate(store, self._module).exports(store)
                memory, start = exports["memory"], exports["_start"]
                assert isinstance(memory, wasmtime.Memory)
                assert isinstance(start, wasmtime.Func)
                self._world.sees(Memory(store, memory))
                try:
                    start(store)
                except wasmtime.Trap as trap:
                    trapped = trap_word(trap)
                fault = self._world.fault
                if fault is not None and not (isinstance(fault, Stopped) and guest.has_program):
                    raise fault
                guest.close(trapped)
            finally:
                self._world.leave()


class BootFailed(Exception):  # noqa: N818
    """An interpreter did not come as far as asking for its program."""


class _Guest:
    """One interpreter's streams: they carry requests and replies, and what it prints."""

    def __init__(self, take: Callable[[], Execution], bootstrap: Bootstrap) -> None:
        self._take = take
        self._bootstrap = bootstrap
        self._execution: Execution | None = None
        self._request = bytearray()
        self._passing_over = False
        self._reply = bootstrap.given()
        self._report: dict[str, object] | None = None
        self._exited: int | None = None
        self._said = b""

    @property
    def has_program(self) -> bool:
        """Whether it took a program: what happens from then on is that program's doing."""
        return self._execution is not None

    def close(self, trap: str | None) -> None:
        """Tell how it ended, once the guest is gone. Raises BootFailed when it had no program yet."""
        execution = self._execution
        if execution is None:
            raise BootFailed(
                f"the Python interpreter did not start ({trap or 'it exited'}): {self._said.decode(errors='replace')}"
            )
        execution.end(Ended(report=self._report, stopped=execution.stopped, exited=self._exited, trap=trap))

    # ------------------------------------------------------------ streams

    def log(self, piece: bytes) -> None:
        """Take what was printed."""
        if self._execution is None:
            self._said = (self._said + piece)[-2000:]
        else:
            self._execution.log.feed(piece)

    def write(self, piece: bytes) -> None:
        """Take a piece of a request, and answer the request when it is whole."""
        end = piece.endswith(b"\n")
        if self._passing_over or len(self._request) + len(piece) > MOST_REQUEST:
            self._request.clear()
            self._passing_over = not end
            if end:
                what = f"the arguments are larger than {MOST_REQUEST >> 20} MiB; pass less at a time"
                self._answer(Refused(code=Code.LIMIT_EXCEEDED, message=what))
            return
        self._request += piece
        if not end:
            return
        line = bytes(self._request)
        self._request.clear()
        if self._execution is None and line.startswith(b"\0"):
            self._bootstrap.made(line[1:-1])
            return
        if not line.startswith(b"{"):  # the interpreter's own last words go to descriptor 2
            self.log(line)
            return
        self._serve(line)

    def read(self, most: int) -> bytes:
        """Give the next part of the reply."""
        piece, self._reply = self._reply[:most], self._reply[most:]
        return piece

    def sleep(self, seconds: float) -> None:
        """Sleep on the program's own time."""
        if self._execution is not None:
            self._execution.sleep(seconds)

    def exited(self, status: int) -> None:
        """Hear that the interpreter ended itself."""
        self._exited = status

    # ------------------------------------------------------------ requests

    def _serve(self, line: bytes) -> None:
        try:
            request = read_request(line)
        except Junk as junk:
            self._answer(Refused(code=Code.INVALID_ARGUMENT, message=f"the request cannot be read: {junk}"))
            return
        if isinstance(request, Refused):
            self._answer(request)
        else:
            self._carry_out(request)

    def _carry_out(self, request: Request) -> None:
        execution = self._execution
        match request:
            case Ready():
                if execution is None:
                    self._begin()
            case Report(said=said):
                self._report = said
                raise Stopped
            case Call(operation=operation, args=args) if execution is not None:
                self._answer(call(execution, operation, args))
            case Doc(operation=operation) if execution is not None:
                self._send(json.dumps(execution.order.doc(operation)).encode())
            case Call() | Doc():
                raise BootFailed("the bootstrap called before it had a program")

    def _begin(self) -> None:
        execution = self._execution = self._take()
        execution.begin()
        order = execution.order
        source = json.dumps({"source": order.source, "name": order.name})
        self._send(f'{source[:-1]}, "sdk": {order.sdk}}}'.encode())

    def _answer(self, answer: Returned | Refused) -> None:
        self._send(write_reply(answer))

    def _send(self, reply: bytes) -> None:
        self._reply = b"%08x" % len(reply) + reply
