"""Keys of providers: where a model's key comes from, and its value (O4).

Law: a value lives in memory only. No message here quotes one, nor a variable's name that could be a key put in the wrong place.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from attrs import define, field, frozen

from ggactors.rules.known import KEY_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ggactors.protocol.crew import ModelSpec

COMMAND_SECONDS = 30.0
LONGEST = 16 * 1024
"""Bytes a key may have."""

_NAME_LIKE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_SECRET_LIKE = re.compile(r"(?i).*(?:key|token|secret|password)")


@frozen(kw_only=True)
class KeySource:
    """Where one model's key comes from: a variable of the environment, or a command that prints it."""

    owner: str
    """The model's key in the crew; what a printed key is called where it is masked."""
    variable: str | None = None
    command: str | None = None


class KeyMissing(Exception):  # noqa: N818 - what is the matter, not an error of ours
    """A key that cannot be had: what is the matter, and what would repair it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def key_source(spec: ModelSpec) -> KeySource | None:
    """Tell where a model's key comes from; None when it is served without one."""
    variable, command = spec.options.get("apiKeyEnv"), spec.options.get("apiKeyCommand")
    if command is None and variable is None:
        variable = KEY_VARIABLES.get(spec.provider)
    if command is None and variable is None:
        return None
    return KeySource(owner=spec.key, variable=None if command is not None else variable, command=command)


@define
class KeyRing:
    """The keys of one launch. A command is run once, however many models name it."""

    env: Mapping[str, str] = field(repr=False)
    folder: str = "."
    """Where commands run: the crew's folder."""
    seconds: float = COMMAND_SECONDS
    _values: dict[str, str] = field(factory=dict, repr=False)
    _printed: dict[str, str | KeyMissing] = field(factory=dict, repr=False)

    def fetch(self, source: KeySource) -> str:
        """Give a key's value. Raises KeyMissing. Blocking, for a command at most ``seconds``."""
        if source.command is None:
            name = source.variable or ""
            value = self._of_variable(name)
        else:
            name = source.owner
            value = self._of_command(source.command)
        self._values.setdefault(name, value)
        return value

    @property
    def values(self) -> dict[str, str]:
        """Give every value fetched so far by what it is called, for masking."""
        return dict(self._values)

    def _of_variable(self, name: str) -> str:
        called = name if _NAME_LIKE.fullmatch(name) else "named under apiKeyEnv"
        value = self.env.get(name, "").strip()
        if not value:
            raise KeyMissing(f"the key's variable {called} is not set", "set it in the environment to the key")
        return _sound(value, f"the value of the variable {called}")

    def _of_command(self, command: str) -> str:
        if command not in self._printed:
            try:
                self._printed[command] = _sound(self._print(command), "what apiKeyCommand printed")
            except KeyMissing as missing:
                self._printed[command] = missing
        printed = self._printed[command]
        if isinstance(printed, KeyMissing):
            raise KeyMissing(printed.what, printed.remedy)
        return printed

    def _print(self, command: str) -> str:
        try:
            content, code = _run(command, self.env, self.folder, self.seconds)
        except OSError as error:
            raise KeyMissing(f"apiKeyCommand could not be run: {error.strerror}", "mend that") from error
        if code is None:
            what = f"apiKeyCommand did not end within {self.seconds:g} s, or printed more than {LONGEST} bytes"
            raise KeyMissing(what, "name a command that prints the key and ends")
        if code != 0:
            raise KeyMissing(f"apiKeyCommand failed with exit code {code}", "run it by hand and mend it")
        printed = content.decode("utf-8", "replace").strip()
        if not printed:
            raise KeyMissing("apiKeyCommand printed nothing", "name a command that prints the key on stdout")
        return printed


def shell_secrets(names: tuple[str, ...], env: Mapping[str, str]) -> dict[str, str]:
    """Find which variables that agents' commands are given look like secrets by their names, with their values."""
    return {name: env[name].strip() for name in names if _SECRET_LIKE.fullmatch(name) and env.get(name, "").strip()}


def _sound(value: str, what: str) -> str:
    """Let a value through that can be sent as a header; others would be echoed in a client's error."""
    if len(value) > LONGEST or not value.isascii() or not value.isprintable() or " " in value:
        raise KeyMissing(f"{what} is no key: it has spaces, control or special characters", "make it the bare key")
    return value


def _run(command: str, env: Mapping[str, str], folder: str, seconds: float) -> tuple[bytes, int | None]:
    """Run a shell line without input; its output and exit code, None when it had to be stopped. No process of it is left."""
    until = time.monotonic() + seconds
    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=dict(env),
        cwd=folder,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            content = _read(process.stdout, until)
            if content is None:
                return b"", None
            return content, process.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            return b"", None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _read(pipe: IO[bytes], until: float) -> bytes | None:
    """Read a pipe to its end; None when that takes too long or is too much."""
    content = b""
    while len(content) <= LONGEST:
        ready, _, _ = select.select([pipe], [], [], max(until - time.monotonic(), 0))
        if not ready:
            return None
        piece = os.read(pipe.fileno(), 4096)
        if not piece:
            return content
        content += piece
    return None
