"""Read the text of an ``.mcp.json`` (capability ``mcp``). Law: pure; every fault is named at once, and no message holds a value.

The shape is the one MCP clients share: ``mcpServers`` maps a name to ``{command, args, env}`` or ``{type, url, headers}``.
``${VAR}`` and ``${VAR:-default}`` are filled in from the variables given, in every text of a server.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attrs import field, frozen

from ggactors.protocol.mcp import McpServer
from ggactors.protocol.values import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER_VARIABLE = "GGACTORS_CONFIG_DIR"
"""A variable every config may use: the folder it lies in."""
JOINT = "__"
"""What stands between a server's name and its tool's in the name a model is offered."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_SENSITIVE = re.compile(r"key|token|secret|passw|auth|credential|cookie|bearer", re.IGNORECASE)
_HARMLESS = frozenset({"PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ", "USER", "LOGNAME", "PWD", "SHELL"})
_STDIO_KEYS = ("type", "command", "args", "env")
_REMOTE_KEYS = ("type", "url", "headers")
KINDS = ("stdio", "http", "sse")
_SPELLED = {"streamable-http": "http", "streamableHttp": "http", "streamable_http": "http"}


@frozen(kw_only=True)
class McpReading:
    """What a config came to: the servers that could be read, and every fault."""

    servers: tuple[McpServer, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_mcp_text(text: str, variables: Mapping[str, str], *, path: str) -> McpReading:
    """Read a config. ``path`` is where it is named, for messages; ``variables`` fill in ``${VAR}``."""
    problems: list[Problem] = []

    def wrong(where: str, what: str, remedy: str) -> None:
        problems.append(Problem(path=f"{path} {where}".strip(), what=what, remedy=remedy))

    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        wrong("", f"is no JSON: {error}", 'write {"mcpServers": {…}}')
        return McpReading(problems=tuple(problems))
    servers = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        wrong("mcpServers", "is missing or no object", 'write {"mcpServers": {"NAME": {"command": "…"}}}')
        return McpReading(problems=tuple(problems))
    if not servers:
        wrong("mcpServers", "declares no server", "declare one, or take the capability away")
    found: list[McpServer] = []
    for name, entry in servers.items():
        reader = _Server(name=name, path=f"{path} mcpServers.{name}", variables=variables)
        server = reader.read(entry)
        problems += reader.problems
        if server is not None and not reader.problems:
            found.append(server)
    return McpReading(servers=tuple(found), problems=tuple(problems))


def server_lines(text: str) -> list[str]:
    """Say what each server of a config is, variables unfilled, for whoever is to say yes to it."""
    try:
        servers = json.loads(text)["mcpServers"].items()
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return ["what it declares cannot be read"]
    lines = []
    for name, entry in servers:
        told = entry if isinstance(entry, dict) else {}
        args = told.get("args")
        words = [told.get("command", "?"), *(args if isinstance(args, list) else [])]
        env = told.get("env")
        # What is set for a program can make a harmless one do anything.
        words = [*(f"{key}={value}" for key, value in (env.items() if isinstance(env, dict) else ())), *words]
        words = [told["url"]] if "url" in told else words
        lines.append(f"{name}: {' '.join(str(word) for word in words)}")
    return lines


@frozen(kw_only=True)
class _Server:
    """Reads one entry."""

    name: str
    path: str
    variables: Mapping[str, str]
    problems: list[Problem] = field(factory=list)
    secrets: dict[str, str] = field(factory=dict)

    def wrong(self, what: str, remedy: str, where: str = "") -> None:
        self.problems.append(Problem(path=f"{self.path}{where}", what=what, remedy=remedy))

    def read(self, entry: object) -> McpServer | None:
        """Give the server, or None when it can be no server at all."""
        if not _NAME.fullmatch(self.name) or JOINT in self.name or self.name.endswith("_"):
            remedy = "use up to 40 letters, digits, `-` and single `_`, a letter first and no `_` at the end"
            self.wrong("is no name for a server, since its tools' names begin with it", remedy)
        if not isinstance(entry, dict):
            self.wrong("must be an object", 'write {"command": "…"} or {"type": "http", "url": "…"}')
            return None
        kind = self._kind(entry)
        if kind is None:
            return None
        known = _STDIO_KEYS if kind == "stdio" else _REMOTE_KEYS
        for key in entry:
            if key not in known:
                self.wrong(f"unknown key {key!r}", f"a server of type {kind} has {', '.join(known)}", f".{key}")
        if kind == "stdio":
            command = self._text(entry.get("command"), ".command")
            if command.isspace() or entry.get("command") == "":
                self.wrong("is empty", "write the program to start", ".command")
            if "/" in command and not command.startswith("/") and FOLDER_VARIABLE in self.variables:
                # Beside the config, never in an agent's directory: there the agent could put another program in its place.
                command = f"{self.variables[FOLDER_VARIABLE]}/{command}"
            args = self._texts(entry.get("args", []))
            env = self._mapping(entry.get("env", {}), ".env")
            return McpServer(
                name=self.name, kind=kind, command=command, args=args, env=env, secrets=self.secrets, path=self.path
            )
        url = self._text(entry.get("url"), ".url")
        if url and urlsplit(url).scheme not in ("http", "https"):
            self.wrong("must be an http or https address", "write it whole, such as https://host/mcp", ".url")
        headers = self._mapping(entry.get("headers", {}), ".headers")
        for key, value in headers.items():
            if not (key.isascii() and value.isascii() and value.isprintable() and key.replace("-", "").isalnum()):
                self.wrong("is no header: its name or value holds what no header may", "mend it", f".headers.{key}")
        return McpServer(name=self.name, kind=kind, url=url, headers=headers, secrets=self.secrets, path=self.path)

    def _kind(self, entry: dict[str, Any]) -> str | None:
        written = entry.get("type", "stdio" if "command" in entry or "url" not in entry else "http")
        kind = _SPELLED.get(written, written) if isinstance(written, str) else written
        if kind not in KINDS:
            self.wrong(f"must be one of {', '.join(KINDS)}", "write one of them", ".type")
            return None
        return str(kind)

    def _text(self, value: object, where: str, *, masked: bool = False) -> str:
        """Fill a text's variables in, and note which of the values are to be masked."""
        if not isinstance(value, str):
            self.wrong("is missing" if value is None else "must be a text", "write a text", where)
            return ""

        def fill(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            filled = self.variables.get(name)
            if default is not None and not filled:
                filled = default
            if filled is None:
                self.wrong(f"the variable {name} is not set", f"set it, or write ${{{name}:-…}}", where)
                return ""
            if name in self.variables and (_SENSITIVE.search(name) or (masked and not _is_harmless(name))):
                self.secrets[name] = filled
            return filled

        filled = _VARIABLE.sub(fill, value)
        if "\0" in filled:
            self.wrong("holds a NUL character", "take it out", where)
        return filled

    def _texts(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            self.wrong("must be a list of texts", 'write ["…"]', ".args")
            return ()
        return tuple(self._text(item, f".args[{at}]") for at, item in enumerate(value))

    def _mapping(self, value: object, where: str) -> dict[str, str]:
        if not isinstance(value, dict):
            self.wrong("must be an object of texts", 'write {"NAME": "…"}', where)
            return {}
        read: dict[str, str] = {}
        for key, item in value.items():
            text = self._text(item, f"{where}.{key}", masked=True)
            read[key] = text
            if _SENSITIVE.search(key) and isinstance(item, str) and text not in self.secrets.values():
                self.secrets.setdefault(key, text)
                scheme, blank, rest = text.partition(" ")
                if blank and scheme.isalpha():  # "Bearer …": the token is the secret, wherever it turns up alone
                    self.secrets.setdefault(f"{key}-value", rest.strip())
        return read


def _is_harmless(name: str) -> bool:
    return name in _HARMLESS or name.startswith(("LC_", "GGACTORS_"))
