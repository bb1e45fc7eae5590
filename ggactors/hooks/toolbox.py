"""A toolbox whose writes and commands pass the agent's hooks (docs/reference/hooks.md). Law: what a hook blocks is not carried out.

A call that the toolbox would refuse anyway is refused by it, and no hook hears of a write that cannot happen. The hook of an
edit sees the whole text the file would hold; another process may still change the file before the edit is made.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, evolve, field

from ggactors.protocol.model import ToolResult
from ggactors.protocol.values import Code, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.hooks.runner import HookRunner
    from ggactors.ports import ServedToolbox
    from ggactors.protocol.model import ToolCall, ToolSpec
    from ggactors.protocol.program import OperationSpec, ProgramAnswer

_WRITE = ("pre-write", "post-write")
_SHELL = ("pre-shell", "post-shell")


class Previews(Protocol):
    """The part of a workbench that tells what an edit would come to."""

    async def preview_edit(self, path: str, old: str, new: str, *, every: bool = False) -> str | Refused:
        """Give the whole text the file would hold after that edit, or the refusal."""


@define(kw_only=True)
class HookedToolbox:
    """Obeys ``ports.Toolbox`` and ``ports.Operations``. ``root`` is the agent's root; ``bench`` is where ``inner``'s tools act."""

    inner: ServedToolbox
    hooks: HookRunner
    root: str
    bench: Previews
    specs: tuple[ToolSpec, ...] = field(init=False)
    """What ``inner`` offers: hooks change nothing about it."""
    _notes: list[str] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        """Offer what is offered."""
        self.specs = self.inner.specs

    def touches_tree(self, tool: str) -> bool:
        """Tell whether a tool reads or writes the agent's working tree (M6). The hooks around it run under the same lock."""
        return self.inner.touches_tree(tool)

    async def close(self) -> None:
        """Leave no process and no temporary file behind."""
        await self.inner.close()

    async def call(self, call: ToolCall) -> ToolResult:
        """Carry out a call, its hooks before and after. Cancelled: no process of either is left."""
        offered = any(spec.name == call.tool for spec in self.inner.specs)
        if not offered or not isinstance(call.args, dict):
            return await self.inner.call(call)
        match call.tool:
            case "shell" if self.hooks.listens(*_SHELL):
                return await self._between(call, _SHELL, _command(call.args))
            case "write_file" if self.hooks.listens(*_WRITE):
                return await self._between(call, _WRITE, self._told(call.args, call.args.get("contents")))
            case "edit_file" if self.hooks.listens(*_WRITE):
                edited = await self._preview(
                    *(call.args.get(name) for name in ("path", "oldString", "newString", "all"))
                )
                return await self._between(call, _WRITE, self._told(call.args, edited))
            case _:
                return await self.inner.call(call)

    # ------------------------------------------------------------ programs

    @property
    def operations(self) -> tuple[OperationSpec, ...]:
        """What ``inner`` serves programs: hooks change nothing about it."""
        return self.inner.operations

    def take_notes(self) -> tuple[str, ...]:
        """Take what hooks had to say about calls of programs that were carried out."""
        notes = tuple(self._notes)
        self._notes.clear()
        return notes

    async def serve(self, operation: str, args: Mapping[str, Any]) -> ProgramAnswer:
        """Carry out one call of a program, its hooks before and after. Cancelled: no process of either is left."""
        offered = any(spec.id == operation for spec in self.inner.operations)
        if not offered:
            return await self.inner.serve(operation, args)
        match operation:
            case "shell.run" if self.hooks.listens(*_SHELL):
                return await self._serve_between(operation, args, _SHELL, _command(args))
            case "files.write_file" if self.hooks.listens(*_WRITE):
                return await self._serve_between(operation, args, _WRITE, self._told(args, args.get("contents")))
            case "files.edit_file" if self.hooks.listens(*_WRITE):
                edited = await self._preview(
                    args.get("path"), args.get("old_string"), args.get("new_string"), args.get("all")
                )
                return await self._serve_between(operation, args, _WRITE, self._told(args, edited))
            case _:
                return await self.inner.serve(operation, args)

    async def _serve_between(
        self, operation: str, args: Mapping[str, Any], events: tuple[str, str], told: dict[str, Any] | None
    ) -> ProgramAnswer:
        if told is None:
            return await self.inner.serve(operation, args)
        before, after = events
        asked = await self.hooks.fire(before, told)
        if asked.blocked is not None:
            message = "\n".join((f"{operation}: {asked.blocked}", *asked.messages))
            return Refused(code=Code.REFUSED, message=message)
        answer = await self.inner.serve(operation, args)
        answered = await self.hooks.fire(after, {**told, "ok": not isinstance(answer, Refused)})
        self._notes += (*asked.messages, *answered.messages)
        return answer

    # ------------------------------------------------------------ calls

    async def _between(self, call: ToolCall, events: tuple[str, str], told: dict[str, Any] | None) -> ToolResult:
        """Carry out a call between its two events. ``told`` is None for a call that will be refused as it stands."""
        if told is None:
            return await self.inner.call(call)
        before, after = events
        asked = await self.hooks.fire(before, told)
        if asked.blocked is not None:
            output = f"{call.tool}: {asked.blocked}"
            refused = ToolResult(call_id=call.id, tool=call.tool, ok=False, code=Code.REFUSED.value, output=output)
            return _with(refused, asked.messages)
        result = await self.inner.call(call)
        answered = await self.hooks.fire(after, {**told, "ok": result.ok})
        return _with(result, (*asked.messages, *answered.messages))

    def _told(self, args: Mapping[str, Any], contents: object) -> dict[str, Any] | None:
        path = args.get("path")
        if not isinstance(path, str) or not isinstance(contents, str):
            return None
        return {"path": os.path.normpath(os.path.join(self.root, path)), "contents": contents}  # noqa: PTH118 - text paths

    async def _preview(self, path: object, old: object, new: object, every: object) -> str | Refused | None:
        if not (isinstance(path, str) and isinstance(old, str) and isinstance(new, str)):
            return None
        if not (every is None or isinstance(every, bool)):
            return None
        return await self.bench.preview_edit(path, old, new, every=bool(every))


def _command(args: Mapping[str, Any]) -> dict[str, Any] | None:
    command = args.get("command")
    return {"command": command} if isinstance(command, str) else None


def _with(result: ToolResult, messages: Sequence[str]) -> ToolResult:
    """Add what hooks had to say: to a JSON result as its ``messages``, to any other as lines at its end."""
    if not messages:
        return result
    if result.ok and result.tool != "shell" and _is_object(result.output):
        # Spliced in, so that the rest stays as it was written, escapes of odd file names included.
        told = json.dumps(list(messages), ensure_ascii=False)
        return evolve(result, output=f'{result.output.rstrip().removesuffix("}")}, "messages": {told}}}')
    return evolve(result, output="\n".join((result.output.rstrip("\n"), *messages)))


def _is_object(output: str) -> bool:
    try:
        told = json.loads(output)
    except ValueError:
        return False
    return isinstance(told, dict) and bool(told)
