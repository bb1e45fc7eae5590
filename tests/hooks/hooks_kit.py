"""Hooks with real processes in a throw-away root, and what they told the stream."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ggactors.hooks.pins import pin_files
from ggactors.hooks.runner import HookRunner
from ggactors.hooks.subject import Subject
from ggactors.protocol.events import Event, Hook, Log
from ggactors.protocol.hooks import BuiltInAction, CommandAction, HookOutcome, HookSpec, ScriptAction
from ggactors.tools.mask import Mask
from ggactors.tools.process import LocalProcesses

SECRET = "sk-verysecret"


def own(text: str) -> str:
    """Make the naps in a command this test run's own, so that two runs on one machine do not see each other's."""
    return text.replace(".001", f".{os.getpid():07d}")


def alive(word: str) -> list[str]:
    """List living processes whose command line holds a word. The dead that nobody has reaped have no command line."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if own(word) in line and int(folder.name) != os.getpid():
                found.append(line)
    return found


def command(event: str, line: str, *, secs: float = 60.0, name: str = "check") -> HookSpec:
    """Declare a command."""
    return HookSpec(event=event, name=name, action=CommandAction(command=own(line), timeout_secs=secs))


def script(event: str, source: str | None = None, *, file: str | None = None, secs: float = 60.0) -> HookSpec:
    """Declare a script by its source or its file."""
    source = None if source is None else own(source)
    return HookSpec(event=event, name="judge", action=ScriptAction(source=source, file=file, timeout_secs=secs))


def built_in(event: str, script: str) -> HookSpec:
    """Declare a built-in check."""
    return HookSpec(event=event, name=script, action=BuiltInAction(script=script))


class Desk:
    """A root, a crew's folder and a scratch folder side by side; the runner made over them; what it emitted."""

    def __init__(self, folder: Path) -> None:
        self.root, self.crew, self.scratch = folder / "root", folder / "crew", folder / "scratch"
        self.root.mkdir()
        self.crew.mkdir()
        self.events: list[Event] = []
        self.mask = Mask({"KEY": SECRET})
        self.subject = Subject(
            session="r-1",
            folder=str(self.root),
            agent="A-1.0i",
            profile="coder",
            kind="implementer",
            issue="A-1",
            branch="gg/A-1",
        )

    def runner(self, *hooks: HookSpec, objects: tuple[Any, ...] = (), **changes: Any) -> HookRunner:
        """Make a runner of these hooks; script files of the crew's folder are pinned now."""
        pinned = pin_files(hooks, str(self.crew))
        assert pinned.problems == ()
        values: dict[str, Any] = {
            "subject": self.subject,
            "processes": LocalProcesses(scratch=self.scratch, mask=self.mask, agent="A-1.0i"),
            "emit": self.events.append,
            "hooks": hooks,
            "objects": objects,
            "env": {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
            "scratch": str(self.scratch),
            "crew_folder": str(self.crew),
            "pins": pinned.pins,
            "mask": self.mask.text,
        }
        return HookRunner(**(values | changes))

    async def fire(self, event: str, *hooks: HookSpec, **payload: Any) -> HookOutcome:
        """Fire one event at a runner of these hooks."""
        return await self.runner(*hooks).fire(event, payload)

    @property
    def ran(self) -> list[Hook]:
        """List the hook events so far."""
        return [event for event in self.events if isinstance(event, Hook)]

    @property
    def logs(self) -> list[Log]:
        """List the log lines so far."""
        return [event for event in self.events if isinstance(event, Log)]

    def noted(self, name: str) -> Any:
        """Read the JSON a hook wrote to a file of the root."""
        return json.loads((self.root / name).read_text())
