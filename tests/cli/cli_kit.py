"""Running the real command line in processes of its own."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pyte
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]


# Under a background job of a script interrupts are ignored, and that is inherited: a person's shell does not do so.
LAUNCH = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from ggactors.cli.main import main
sys.exit(main())
"""


LEFT = ExitStack()
"""What a test started, to be ended after it however it went."""


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """End what the test started. Every test module of the command line imports this."""
    yield
    LEFT.close()


def environment(home: Path, **more: str) -> dict[str, str]:
    """Give the environment of a person who has nothing set up."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TMPDIR")}
    return {
        **kept,
        "HOME": str(home / "nobody"),
        "GGACTORS_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "GIT_CONFIG_NOSYSTEM": "1",
        **more,
    }


class Shell:
    """A folder and a state home, and ``ggactors`` run in them."""

    def __init__(self, cwd: Path, home: Path) -> None:
        self.cwd, self.home = cwd, home

    def __call__(self, *args: object, stdin: str | bytes | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        ran = subprocess.run(
            [sys.executable, "-m", "ggactors", *map(str, args)],
            cwd=self.cwd,
            env=environment(self.home, **env),
            input=b"" if given is None else given,
            capture_output=True,
        )
        return subprocess.CompletedProcess(ran.args, ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    def start(self, *args: object, **env: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *map(str, args)],
            cwd=self.cwd,
            env=environment(self.home, **env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        LEFT.callback(_stop, process)
        return process

    def terminal(self, *args: object, columns: int = 90, rows: int = 24, **env: str) -> Terminal:
        return Terminal([sys.executable, "-c", LAUNCH, *map(str, args)], self, columns, rows, env)


class Terminal:
    """A program on a terminal of its own, its screen kept by an emulator."""

    def __init__(self, command: list[str], shell: Shell, columns: int, rows: int, env: dict[str, str]) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=2000)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._seen: list[Callable[[Terminal], None]] = []
        master, slave = pty.openpty()
        self._set_size(master, columns, rows)
        self.process = subprocess.Popen(
            # A session leader that opens a terminal by its name gets it as its own, so that Ctrl-C reaches it.
            ["sh", "-c", 'exec "$0" "$@" <"$OWN_TTY" >"$OWN_TTY" 2>&1', *command],
            cwd=shell.cwd,
            env=environment(shell.home, **{"TERM": "xterm-256color"} | env, OWN_TTY=os.ttyname(slave)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._master, self._slave = master, slave
        LEFT.callback(self._stop)

    def watch(self, look: Callable[[Terminal], None]) -> None:
        """Have ``look`` called whenever the screen has changed."""
        self._seen.append(look)

    @staticmethod
    def _set_size(descriptor: int, columns: int, rows: int) -> None:
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(rows, columns)
        self._set_size(self._master, columns, rows)

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def text(self) -> str:
        """Give the screen, what scrolled off its top included."""
        above = ["".join(line[at].data for at in range(self.screen.columns)) for line in self.screen.history.top]
        return "\n".join(line.rstrip() for line in [*above, *self.screen.display])

    def until(self, said: str, secs: float = 30.0) -> None:
        """Read until the screen shows ``said``."""
        deadline = time.monotonic() + secs
        while said not in self.text():
            assert time.monotonic() < deadline, f"{said!r} did not come:\n{self.text()}"
            if not self._read(0.2):
                assert said in self.text(), f"it ended without {said!r}:\n{self.text()}"

    def end(self, secs: float = 60.0) -> int:
        """Read until the program ends; give its exit code."""
        deadline = time.monotonic() + secs
        while self._read(0.2):
            assert time.monotonic() < deadline, f"it did not end:\n{self.text()}"
        return self.process.wait()

    def _stop(self) -> None:
        _stop(self.process)
        for descriptor in (self._master, self._slave):
            if descriptor >= 0:
                os.close(descriptor)

    def _read(self, secs: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], secs)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        if self._slave >= 0:
            # The program has the terminal by now; from here on its end is the terminal's end.
            os.close(self._slave)
            self._slave = -1
        self.raw += data
        self.stream.feed(data)
        for look in self._seen:
            look(self)
        return bool(data)


def lines_of(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]
