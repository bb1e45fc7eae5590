"""A toolbox whose writes and commands pass the agent's hooks (contract section 2). Law: what a hook blocks is not carried out.

A call that the toolbox would refuse anyway is refused by it, and no hook hears of a write that cannot happen. The hook of an
edit sees the whole text the file would hold; another process may still change the file before the edit is made.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define, evolve, field

from ggactors.protocol.model import ToolResult
from ggactors.protocol.values import Code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ggactors.hooks.runner import HookRunner
    from ggactors.ports import Toolbox
    from ggactors.protocol.model import ToolCall, ToolSpec
    from ggactors.protocol.values import Refused

_WRITE = ("pre-write", "post-write")
_SHELL = ("pre-shell", "post-shell")


class Previews(Protocol):
    """The part of a workbench that tells what an edit would come to."""

    async def preview_edit(self, path: str, old: str, new: str, *, every: bool = False) -> str | Refused:
        """Give the whole text the file would hold after that edit, or the refusal."""


@define(kw_only=True)
class HookedToolbox:
    """Obeys ``ports.Toolbox``. ``root`` is the agent's root; ``bench`` is where ``inner``'s tools act."""

    inner: Toolbox
    hooks: HookRunner
    root: str
    bench: Previews
    specs: tuple[ToolSpec, ...] = field(init=False)
    """What ``inner`` offers: hooks change nothing about it."""

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
                return await self._between(call, _WRITE, self._told(call, call.args.get("contents")))
            case "edit_file" if self.hooks.listens(*_WRITE):
                return await self._between(call, _WRITE, self._told(call, await self._preview(call.args)))
            case _:
                return await self.inner.call(call)

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

    def _told(self, call: ToolCall, contents: object) -> dict[str, Any] | None:
        path = call.args.get("path")
        if not isinstance(path, str) or not isinstance(contents, str):
            return None
        return {"path": os.path.normpath(os.path.join(self.root, path)), "contents": contents}  # noqa: PTH118 - text paths

    async def _preview(self, args: dict[str, Any]) -> str | Refused | None:
        path, old, new, every = (args.get(name) for name in ("path", "oldString", "newString", "all"))
        if not (isinstance(path, str) and isinstance(old, str) and isinstance(new, str)):
            return None
        if not (every is None or isinstance(every, bool)):
            return None
        return await self.bench.preview_edit(path, old, new, every=bool(every))


def _command(args: dict[str, Any]) -> dict[str, Any] | None:
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
