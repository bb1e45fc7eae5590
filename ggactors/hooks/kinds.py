"""The kinds of hooks at work: a command, a script, a built-in check, an object of the embedding program.

Law: a hook is asked about an event and answers with a finding; it never raises but for a cancelled caller, and then nothing
of it is left, no process and no file.
"""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, assert_never

from attrs import frozen

from ggactors.hooks.builtin import check, trace_line
from ggactors.hooks.pins import Pin  # noqa: TC001 - attrs reads it
from ggactors.hooks.subject import Subject, as_json
from ggactors.hooks.verdict import of_answer, of_command, of_script
from ggactors.ports import SessionComplete
from ggactors.protocol.hooks import BuiltInAction, CommandAction, NoVerdict, Passed, ScriptAction
from ggactors.protocol.process import ProcessOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ggactors.ports import HookObject, Processes
    from ggactors.protocol.hooks import Finding, HookSpec, Payload

SHELL = "/bin/sh"
TRACE = "trace"


@frozen(kw_only=True)
class Answer:
    """What a hook came to, and the exit code of its process if one ended by itself."""

    finding: Finding
    exit_code: int | None = None
    verified: bool | None = None
    """Of a check of completion that lets the ending stand: whether it passed (G5)."""


class Hook(Protocol):
    """One hook, ready to be asked."""

    @property
    def name(self) -> str:
        """Return what the event stream calls it."""

    async def ask(self, payload: Payload) -> Answer:
        """Ask it about an event. Cancelled: nothing of it is left."""


@frozen(kw_only=True)
class Bench:
    """What the processes of one subject's hooks are given. ``scratch`` is a folder of its own, outside every worktree."""

    subject: Subject
    processes: Processes
    env: Mapping[str, str]
    scratch: str
    crew_folder: str
    pins: Mapping[str, Pin]
    say: Callable[[str], None]
    """Says a line to the operator's log."""

    def order(
        self, spec: HookSpec, argv: tuple[str, ...], payload: Payload, *, seconds: float, apart: bool
    ) -> ProcessOrder:
        """Write the order for a hook's process."""
        return ProcessOrder(
            argv=argv,
            folder=self.subject.folder,
            env={**self.env, **self.subject.variables(spec, self.crew_folder)},
            seconds=seconds,
            stdin=as_json(payload),
            apart=apart,
        )


def hook_of(spec: HookSpec, bench: Bench) -> Hook:
    """Make the hook of a declaration."""
    match spec.action:
        case CommandAction() as action:
            return CommandHook(spec=spec, action=action, bench=bench)
        case ScriptAction() as action:
            return ScriptHook(spec=spec, action=action, bench=bench)
        case BuiltInAction(script=script):
            return BuiltInHook(spec=spec, script=script, bench=bench)
        case _ as never:
            assert_never(never)


@frozen(kw_only=True)
class CommandHook:
    """A line for the shell; its exit status is the verdict."""

    spec: HookSpec
    action: CommandAction
    bench: Bench

    @property
    def name(self) -> str:
        """Return the declared name."""
        return self.spec.name

    async def ask(self, payload: Payload) -> Answer:
        """Run the line. Cancelled: no process of it is left."""
        action = self.action
        argv = (SHELL, "-c", action.command)
        order = self.bench.order(self.spec, argv, payload, seconds=action.timeout_secs, apart=False)
        ended = await self.bench.processes.run(order)
        return Answer(finding=of_command(ended, action.timeout_secs), exit_code=getattr(ended, "exit_code", None))


@frozen(kw_only=True)
class ScriptHook:
    """A program whose last line is the decision. What runs is a copy of what the crew pinned (H39)."""

    spec: HookSpec
    action: ScriptAction
    bench: Bench

    @property
    def name(self) -> str:
        """Return the declared name."""
        return self.spec.name

    async def ask(self, payload: Payload) -> Answer:
        """Run the program. Cancelled: no process and no file of it is left."""
        content = self._content()
        if not isinstance(content, bytes):
            return Answer(finding=content)
        program = interpreter_of(content)
        if program is None:
            cause = "its first line names its interpreter without an absolute path; write `#!/usr/bin/env NAME`"
            return Answer(finding=NoVerdict(cause=cause))
        try:
            with laid_out(content, self.bench.scratch, _file_name(self.action)) as path:
                seconds = self.action.timeout_secs
                order = self.bench.order(self.spec, (*program, path), payload, seconds=seconds, apart=True)
                ended = await self.bench.processes.run(order)
        except OSError as error:
            return Answer(finding=NoVerdict(cause=f"it could not be laid out to run: {error}"))
        return Answer(finding=of_script(ended, seconds), exit_code=getattr(ended, "exit_code", None))

    def _content(self) -> bytes | NoVerdict:
        if self.action.source is not None:
            return self.action.source.encode("utf-8", "surrogateescape")
        pin = self.bench.pins.get(self.action.file or "")
        if pin is None:
            return NoVerdict(cause=f"the script {self.action.file} was not pinned at launch")
        change = pin.change()
        return pin.content if change is None else NoVerdict(cause=change)


def _file_name(action: ScriptAction) -> str:
    return Path(action.file).name if action.file else "hook"


def interpreter_of(content: bytes) -> tuple[str, ...] | None:
    """Give the program, and its one argument if any, that a script's first line asks for; the shell without one.

    None when the line names it by no absolute path: it would be looked up in the agent's root.
    """
    if not content.startswith(b"#!"):
        return (SHELL,)
    words = content[2:].split(b"\n", 1)[0].decode("utf-8", "surrogateescape").split(None, 1)
    if not words or not words[0].startswith("/"):
        return None
    return tuple(word.strip() for word in words)


@contextmanager
def laid_out(content: bytes, scratch: str, name: str) -> Iterator[str]:
    """Lay a program out in a private folder under ``scratch`` for as long as the block lasts. Raises OSError."""
    Path(scratch).mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="hook-", dir=scratch)
    try:
        path = Path(folder, name)
        path.touch(mode=0o700)
        path.write_bytes(content)
        yield str(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # others may keep something there
            Path(scratch).rmdir()


@frozen(kw_only=True)
class BuiltInHook:
    """A check that ggactors brings along."""

    spec: HookSpec
    script: str
    bench: Bench

    @property
    def name(self) -> str:
        """Return the declared name."""
        return self.spec.name

    async def ask(self, payload: Payload) -> Answer:
        """Ask the check, or trace the event."""
        if self.script == TRACE:
            self.bench.say(trace_line(payload))
            return Answer(finding=Passed())
        return Answer(finding=check(self.script, payload, self._roots()))

    def _roots(self) -> tuple[str, ...]:
        folder = self.bench.subject.folder
        return tuple(dict.fromkeys((folder, os.path.realpath(folder))))


@frozen(kw_only=True)
class ObjectHook:
    """One method of an object of the embedding program. ``complete`` takes the summary of a session it ends."""

    object: HookObject
    method: str
    complete: Callable[[str], None]

    @property
    def name(self) -> str:
        """Return the object's type."""
        return type(self.object).__name__

    async def ask(self, payload: Payload) -> Answer:
        """Call the method with the event; what it raises is no verdict, a cancelled caller excepted."""
        try:
            answer = getattr(self.object, self.method)(dict(payload))
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:  # noqa: BLE001 - the embedding program's code: its fault is an answer, not our defect
            ended = _completion(error)
            if ended is None:
                return Answer(finding=NoVerdict(cause=f"{type(error).__name__}: {error}"))
            self.complete(ended.summary.strip() or f"{self.name} ended the session")
            return Answer(finding=Passed())
        return Answer(finding=of_answer(answer))


def _completion(error: BaseException) -> SessionComplete | None:
    """Find the word that ends the session, also where a nursery of the object's wrapped it."""
    if isinstance(error, SessionComplete):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    ended, rest = error.split(SessionComplete)
    if ended is None or rest is not None:
        return None
    return next(filter(None, map(_completion, ended.exceptions)), None)
