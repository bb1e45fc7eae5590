"""The tools of MCP servers, as agents have them (capability ``mcp``).

Law: which tools there are is settled at launch, when each server is asked once; what an agent is offered is those, cut down by
its allowlist. Each agent has servers of its own, since a server on this machine works in the directory it was started in and
two issues must not meet there (W2); they are started at the agent's first call, and end with it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field, frozen

from ggactors.protocol.model import Image, Pictured
from ggactors.protocol.values import Code, Problem, Refused
from ggactors.rules.mcp import JOINT
from ggactors.tools.endings import ENDING_TOOLS
from ggactors.tools.mask import Mask
from ggactors.tools.mcparguments import misfit
from ggactors.tools.mcpclient import CannotConnect, Line, session_with, tools_of
from ggactors.tools.render import json_text
from ggactors.tools.toolbox import BUILT_IN, TOOL_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from ggactors.protocol.mcp import McpServer, McpSpec

LARGEST_IMAGE = 8 * 1024 * 1024
"""Bytes of one picture; a larger one is described."""
MOST_IMAGES = 8
DEEPEST = 100
"""How deep the arguments of a call may be nested."""
LONGEST_DESCRIPTION = 4096
"""Characters of a tool's description that are passed on: it is a server's text in every request of the agent."""


@frozen(kw_only=True)
class McpToolSpec:
    """A tool of a server as it was at launch: its own name there, and the one a model is offered."""

    server: McpServer
    remote: str
    name: str
    description: str
    schema: Mapping[str, Any]


@frozen(kw_only=True)
class McpTool:
    """A tool of a server in one agent's hands; obeys ``ports.OwnTool``."""

    spec: McpToolSpec
    line: Line

    @property
    def name(self) -> str:
        """The name a model calls."""
        return self.spec.name

    @property
    def description(self) -> str:
        """What the server says of it."""
        return self.spec.description

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema of its arguments; what it says of their top level is checked here, the rest by the server."""
        return self.spec.schema

    @property
    def touches_tree(self) -> bool:
        """A server of this machine works in the agent's directory; one elsewhere cannot (M6)."""
        return self.spec.server.local

    async def call(self, args: dict[str, Any]) -> str | Refused | Pictured:
        """Carry out a call. Cancelled: no process of the server is left."""
        sent = _sendable(args)
        if isinstance(sent, Refused):
            return sent
        wrong = misfit(self.spec.schema, sent)
        if wrong is not None:
            return Refused(code=Code.INVALID_ARGUMENT, message=f"{self.name}: {wrong}.")
        result = await self.line.call(self.spec.remote, sent)
        return result if isinstance(result, Refused) else shown(result, self.spec.server.name)


@define
class McpKit:
    """One agent's servers. ``close`` ends them."""

    tools: tuple[McpTool, ...] = ()
    _lines: list[Line] = field(factory=list)

    async def close(self) -> None:
        """Leave no process and no connection behind, also when cancelled."""
        async with trio.open_nursery() as nursery:
            for line in self._lines:
                nursery.start_soon(line.close)


@define
class McpHouse:
    """The servers of a run: what tools they have, and the task group their connections live in."""

    _nursery: trio.Nursery
    _version: str
    _catalogue: dict[str | None, tuple[McpToolSpec, ...]] = field(factory=dict)

    async def learn(
        self,
        spec: McpSpec,
        servers: Sequence[McpServer],
        *,
        env: Mapping[str, str],
        folder: str,
    ) -> tuple[Problem, ...]:
        """Ask each server of a config for its tools, all at once. Answers why the launch must be refused, if it must."""
        if spec.config in self._catalogue:
            return ()
        problems: list[Problem] = []
        listed: dict[str, list[Any]] = {}

        async def ask(server: McpServer) -> None:
            try:
                async with session_with(
                    server, env=env, folder=folder, start_secs=spec.start_secs, version=self._version
                ) as talk:
                    with trio.fail_after(spec.start_secs):
                        listed[server.name] = await tools_of(talk)
            except (CannotConnect, trio.TooSlowError) as error:
                problems.append(_unreachable(server, str(error) or f"did not list its tools in {spec.start_secs:g} s"))
            except Exception as error:  # noqa: BLE001 - whatever a stranger's server does at launch refuses the launch
                problems.append(_unreachable(server, f"did not list its tools: {error}"))

        async with trio.open_nursery() as nursery:
            for server in servers:
                nursery.start_soon(ask, server)
        specs: list[McpToolSpec] = []
        for server in servers:
            specs += _named(server, listed.get(server.name, []), problems)
        self._catalogue[spec.config] = tuple(specs)
        return tuple(problems)

    def names(self, config: str | None) -> tuple[str, ...]:
        """List the names of every tool of a config."""
        return tuple(spec.name for spec in self._catalogue.get(config, ()))

    def kit(self, spec: McpSpec, *, env: Mapping[str, str], folder: str) -> McpKit:
        """Make one agent's servers. ``folder`` is the agent's root; nothing is started before it calls."""
        lines: dict[str, Line] = {}
        tools: list[McpTool] = []
        for one in self._catalogue.get(spec.config, ()):
            line = lines.get(one.server.name)
            if line is None:
                line = lines[one.server.name] = self.line(one.server, spec, env=env, folder=folder)
            tools.append(McpTool(spec=one, line=line))
        return McpKit(tuple(tools), list(lines.values()))

    def line(self, server: McpServer, spec: McpSpec, *, env: Mapping[str, str], folder: str) -> Line:
        """Make a line to a server. It is opened by its first call."""
        return Line(
            server=server,
            env=env,
            folder=folder,
            nursery=self._nursery,
            start_secs=spec.start_secs,
            timeout_secs=spec.timeout_secs,
            version=self._version,
        )


@asynccontextmanager
async def open_mcp_house(version: str = "0") -> AsyncIterator[McpHouse]:
    """Open the place where the connections of a run live. Left or cancelled: none of them is left, and no process.

    ``version`` is ours, which servers are told. An error out of the block is raised as it is.
    """
    failure: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield McpHouse(nursery, version)
            finally:
                nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        failure = group.exceptions[0] if len(group.exceptions) == 1 else group
    try:
        if failure is not None:
            raise failure
    finally:
        del failure  # it holds this frame, and this frame held it


def _sendable(args: dict[str, Any]) -> dict[str, Any] | Refused:
    """Give arguments as JSON in UTF-8 has them: half of a surrogate pair is replaced; what is nested too deeply is refused."""
    try:
        sent = json.loads(json.dumps(args, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
        assert isinstance(sent, dict)
        if _depth(sent) <= DEEPEST:
            return sent
        why = f"they are nested more than {DEEPEST} deep"
    except (ValueError, TypeError, RecursionError) as error:
        why = f"they cannot be sent as JSON: {error}"
    return Refused(code=Code.INVALID_ARGUMENT, message=f"mend the arguments: {why}.")


def _depth(value: object) -> int:
    """Measure how deep a value is nested, one level at a time."""
    deep, level = 0, [value]
    while level and deep <= DEEPEST:
        inner = [one for one in level if isinstance(one, dict | list)]
        level = [item for one in inner for item in (one.values() if isinstance(one, dict) else one)]
        deep += bool(inner)
    return deep


def _unreachable(server: McpServer, why: str) -> Problem:
    # A server that cannot start may print what it was given.
    why = Mask(dict(server.secrets)).text(why)
    remedy = "mend the entry, start the server, or take it out of the config"
    return Problem(path=server.path, what=f"the MCP server {server.name}: {why}", remedy=remedy)


def _named(server: McpServer, tools: Sequence[Any], problems: list[Problem]) -> list[McpToolSpec]:
    """Name a server's tools for models: letters no provider takes become ``_``; what has no name left refuses the launch."""
    named: dict[str, McpToolSpec] = {}
    for tool in tools:
        name = f"{server.name}{JOINT}{re.sub(r'[^A-Za-z0-9_-]', '_', tool.name)}"
        what = None
        if not TOOL_NAME.fullmatch(name):
            what = f"its tool {tool.name[:80]!r} would be called {name[:80]!r}, which is longer than 64 characters"
        elif name in ENDING_TOOLS or name in BUILT_IN:
            what = f"its tool {tool.name!r} would be called like a tool of ours"
        elif name in named:
            what = f"its tools {named[name].remote!r} and {tool.name!r} would both be called {name}"
        if what is not None:
            problems.append(Problem(path=server.path, what=what, remedy="give the server another name in the config"))
            continue
        description = (tool.description or tool.title or f"The tool {tool.name} of {server.name}.")[
            :LONGEST_DESCRIPTION
        ]
        named[name] = McpToolSpec(
            server=server, remote=tool.name, name=name, description=description, schema=dict(tool.input_schema)
        )
    return list(named.values())


def shown(result: Any, server: str) -> str | Refused | Pictured:
    """Show a server's result: its texts as they are, pictures apart, and a line for what cannot be shown."""
    lines: list[str] = []
    images: list[Image] = []
    for item in result.content:
        match item.type:
            case "text":
                lines.append(item.text)
            case "image":
                image = _image(item.data, item.mime_type)
                if image is None or len(images) >= MOST_IMAGES:
                    lines.append(f"[a picture, {item.mime_type}, that is too large, one too many or broken; not shown]")
                else:
                    images.append(image)
            case "resource":
                text = getattr(item.resource, "text", None)
                lines.append(
                    f"[{item.resource.uri}]\n{text}" if text is not None else f"[{item.resource.uri}: no text]"
                )
            case "resource_link":
                lines.append(f"[see {item.uri}: {item.name}]")
            case other:
                lines.append(f"[{other}; not shown]")
    if not lines and not images and result.structured_content is not None:
        lines.append(json_text(result.structured_content))
    text = "\n".join(lines)
    if result.is_error:
        return Refused(code=Code.IO_ERROR, message=f"{server}: {text or 'the call failed, and it says no more'}")
    if images:
        noun = "a picture" if len(images) == 1 else f"{len(images)} pictures"
        return Pictured(text=text or f"[{noun}]", images=tuple(images))
    return text or "[done; it says nothing]"


def _image(data: str, media_type: str) -> Image | None:
    if len(data) > LARGEST_IMAGE * 4 // 3:
        return None
    try:
        return Image(media_type=media_type, data=base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return None
