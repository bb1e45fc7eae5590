"""What a run knows of MCP servers (capability ``mcp``). Law: plain values; secrets of a server are in its record alone."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - cattrs needs it at run time

from attrs import field, frozen


@frozen(kw_only=True)
class McpSpec:
    """The capability as a profile writes it. ``config`` None is the workspace's ``.mcp.json``; ``path`` is where it is written.

    ``timeout_secs`` bounds one call, ``start_secs`` the start of a server up to the list of its tools.
    """

    config: str | None = None
    path: str = ""
    timeout_secs: float = 60.0
    start_secs: float = 30.0


@frozen(kw_only=True)
class McpServer:
    """One server of a config, its variables filled in. ``kind`` is ``stdio``, ``http`` or ``sse``.

    ``secrets`` maps a name to each value that is masked wherever text is stored (O4).
    """

    name: str
    kind: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict, repr=False)
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    secrets: Mapping[str, str] = field(factory=dict, repr=False)
    path: str = ""
    """Where it is declared, for messages."""

    @property
    def local(self) -> bool:
        """Tell whether it is a process of this machine, rooted in its agent's directory."""
        return self.kind == "stdio"
