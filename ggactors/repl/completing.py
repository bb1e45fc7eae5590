"""What the prompt offers while something is typed: commands, what they name, and files after ``@``. Law: looks only."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion

from ggactors.repl.commands import COMMANDS
from ggactors.repl.settings import CHOICES
from ggactors.telemetry.plaintext import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from ggactors.repl.face import Known

_FILE = re.compile(r"(?:^|\s)@([^\s@]*)$")
MOST = 200


def is_completed(before: str) -> bool:
    """Tell whether what stands before the cursor begins what is completed: a command, or a file after ``@``."""
    return (before.startswith("/") and "\n" not in before) or _FILE.search(before) is not None


class PromptCompleter(Completer):
    """Completes commands by what is known of the run, and files of the workspace."""

    def __init__(self, known: Callable[[], Known], workspace: Path) -> None:
        self._known, self._workspace = known, workspace

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002 - its words
        """Offer what fits before the cursor."""
        before = document.text_before_cursor
        at_file = _FILE.search(before)
        if at_file is not None:
            yield from self._files(at_file[1])
        elif before.startswith("/") and "\n" not in before:
            yield from self._command(before[1:])

    def _command(self, before: str) -> Iterator[Completion]:
        name, space, rest = before.partition(" ")
        if not space:
            for entry in COMMANDS.values():
                if entry.name.startswith(name.lower()):
                    yield Completion(entry.name, -len(name), display=f"/{entry.name}", display_meta=entry.says)
            return
        found = COMMANDS.get(name)
        if found is None:
            return
        if found.takes == "file":
            yield from self._files(rest)
            return
        done, _, word = rest.rpartition(" ")
        for offer in self._offers(found.takes, done.strip()):
            if offer.lower().startswith(word.lower()):
                yield Completion(offer, -len(word), display=one_line(offer))

    def _offers(self, takes: str, done: str) -> Iterable[str]:
        if takes == "setting":
            return CHOICES.get(done, ()) if done else CHOICES
        if done:
            return ()
        known = self._known()
        offers = {
            "command": tuple(COMMANDS),
            "agent": known.agents,
            "issue": known.issues,
            "waiting": known.waiting,
            "model": known.models,
        }
        return offers.get(takes, ())

    def _files(self, begun: str) -> Iterator[Completion]:
        """List what a folder holds that begins like the last part of ``begun``."""
        folder, _, part = begun.rpartition("/")
        try:
            with os.scandir(self._workspace / folder) as entries:
                found = sorted(
                    (not entry.is_dir(), entry.name)
                    for entry in entries
                    if entry.name.lower().startswith(part.lower()) and _offered(entry.name, part)
                )
        except (OSError, ValueError):
            return
        for is_file, name in found[:MOST]:
            yield Completion(
                name if is_file else f"{name}/", -len(part), display=one_line(name) + ("" if is_file else "/")
            )


def _offered(name: str, part: str) -> bool:
    return name != ".git" and name.isprintable() and (part.startswith(".") or not name.startswith("."))
