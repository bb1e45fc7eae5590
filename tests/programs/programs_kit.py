"""What the tests of programs share: a few operations, a pool that many tests use, and words for what a program came to."""

from __future__ import annotations

import os
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from ggactors.programs.artifacts import problems
from ggactors.programs.pool import Programs, open_programs
from ggactors.programs.prepare import cache_folder
from ggactors.programs.sdk import Sdk
from ggactors.protocol.program import (
    FieldSpec,
    Language,
    OperationSpec,
    ParamSpec,
    ProgramLimits,
    ProgramResult,
    ResultSpec,
    Returned,
    ValueType,
)
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

PYTHON, JAVASCRIPT, TYPESCRIPT = Language.PYTHON, Language.JAVASCRIPT, Language.TYPESCRIPT
LANGUAGES = (PYTHON, JAVASCRIPT, TYPESCRIPT)
T = ValueType.TEXT

missing = problems(LANGUAGES)
needs_code = pytest.mark.skipif(bool(missing), reason="; ".join(map(str, missing)) or "-")
"""Put it on every module that runs programs: without the extra it is skipped, saying what is missing."""

OPERATIONS = (
    OperationSpec(
        module="files",
        function="read_file",
        doc="Read a text file. Long ones go on with `offset`; see `list_dir` and `search_files`.",
        params=(
            ParamSpec(name="path", type=T, doc="The file."),
            ParamSpec(name="offset", type=ValueType.INTEGER, doc="The first line.", required=False),
            ParamSpec(name="limit", type=ValueType.INTEGER, doc="How many lines.", required=False),
        ),
        result=ResultSpec(type=T, doc="its text."),
    ),
    OperationSpec(
        module="files",
        function="write_file",
        doc="Make a file hold exactly these contents.",
        params=(ParamSpec(name="path", type=T, doc="The file."), ParamSpec(name="contents", type=T, doc="All of it.")),
        result=ResultSpec(type=ValueType.INTEGER, doc="how many bytes."),
    ),
    OperationSpec(
        module="files",
        function="list_dir",
        doc="List a directory.",
        params=(ParamSpec(name="path", type=T, doc="The directory.", required=False, default="."),),
        result=ResultSpec(
            type=ValueType.RECORDS, fields=(FieldSpec(name="name", type=T), FieldSpec(name="kind", type=T, doc="What."))
        ),
    ),
    OperationSpec(
        module="shell",
        function="run",
        doc="Run a command.",
        params=(
            ParamSpec(name="command", type=T, doc="The line."),
            ParamSpec(name="timeout_secs", type=ValueType.NUMBER, doc="When to end it.", required=False, default=120),
        ),
        result=ResultSpec(
            type=ValueType.RECORD,
            fields=(FieldSpec(name="exit_code", type=ValueType.INTEGER), FieldSpec(name="output", type=T)),
        ),
    ),
    OperationSpec(
        module="board",
        function="update_issue",
        doc="Change an issue.",
        params=(
            ParamSpec(name="issue_id", type=T, doc="The issue."),
            ParamSpec(name="title", type=T, doc="A new title.", required=False),
            ParamSpec(name="epic_id", type=T, doc="Its epic.", required=False, clears=True),
            ParamSpec(name="status", type=T, doc="Its state.", required=False, choices=("open",)),
        ),
        result=ResultSpec(type=ValueType.RECORD, fields=(FieldSpec(name="id", type=T),)),
    ),
    OperationSpec(
        module="session",
        function="finish",
        doc="End your session.",
        params=(ParamSpec(name="summary", type=T, doc="What you did."),),
    ),
    OperationSpec(
        module="session",
        function="request_changes",
        doc="End your review.",
        params=(ParamSpec(name="items", type=ValueType.TEXTS, doc="What must change."),),
    ),
)
SDKS = {language: Sdk(OPERATIONS, language) for language in LANGUAGES}


class World:
    """Serves calls: an obliging world that remembers what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.files = {"a.txt": "one\ntwo\n", "naïve ☃.txt": "snow"}
        self.began = threading.Event()

    async def serve(self, operation: str, args: dict[str, Any]) -> Returned | Refused:
        self.asked.append((operation, args))
        self.began.set()
        match operation:
            case "files.read_file":
                if args["path"] in self.files:
                    return Returned(value=self.files[args["path"]])
                return Refused(code=Code.NOT_FOUND, message=f"there is no `{args['path']}`; look with `list_dir`")
            case "files.write_file":
                if not isinstance(args["contents"], str):
                    return Refused(code=Code.INVALID_ARGUMENT, message="write_file: `contents` must be a string.")
                self.files[args["path"]] = args["contents"]
                return Returned(value=len(args["contents"].encode("utf-8", "surrogateescape")))
            case "files.list_dir":
                return Returned(value=[{"name": name, "kind": "file"} for name in sorted(self.files)])
            case "shell.run":
                await trio.sleep(float(args["command"]))
                return Returned(value={"exit_code": 0, "output": "out", "full_output": None})
            case "session.finish":
                if not args["summary"].strip():
                    return Refused(code=Code.INVALID_ARGUMENT, message="finish: `summary` must not be empty.")
                return Returned()
            case "board.update_issue":
                return Returned(value={"id": args["issue_id"], "blocked_by": ["A-1"]})
            case _:
                return Refused(code=Code.UNAVAILABLE, message=f"`{operation}` is not yours")


class Pool:
    """A pool of programs in a thread of its own, so that plain tests can share its warm workers."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._programs: Programs | None = None
        self._stop = trio.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._main,), daemon=True)

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        async with open_programs(LANGUAGES, cache=CACHE) as self._programs:
            self._ready.set()
            await self._stop.wait()

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(600)

    def stop(self) -> None:
        trio.from_thread.run_sync(self._stop.set, trio_token=self._token)
        self._thread.join()

    def run(
        self,
        program: str,
        language: Language = PYTHON,
        *,
        world: World | None = None,
        serve: Callable[[str, dict[str, Any]], Awaitable[Returned | Refused]] | None = None,
        seconds: float = 20.0,
        memory: int = 64 << 20,
    ) -> ProgramResult:
        """Run one program and give what it came to."""

        async def run() -> ProgramResult:
            assert self._programs is not None
            return await self._programs.run(
                program,
                sdk=SDKS[language],
                serve=serve or (world or World()).serve,
                limits=ProgramLimits(timeout_secs=seconds, max_memory_bytes=memory),
            )

        return trio.from_thread.run(run, trio_token=self._token)


CACHE: Path = cache_folder(os.environ)
"""Where this machine keeps what it compiled: compiling takes too long to be done by every run of the tests."""


@asynccontextmanager
async def opened(languages: tuple[Language, ...] = (PYTHON,)) -> AsyncIterator[Programs]:
    """Open a pool of the test's own."""
    async with open_programs(languages, cache=CACHE) as programs:
        yield programs
