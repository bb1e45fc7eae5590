"""What was typed before, over all prompts of this person. Law: values of keys never reach the file, and nobody else reads it."""

from __future__ import annotations

import json
import os
from collections import deque
from typing import TYPE_CHECKING

from prompt_toolkit.history import History

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

MOST_KEPT = 5000
"""Entries that are read; the file is cut to as many when it has grown to twice that."""


class KeptHistory(History):
    """A history in a file of JSON lines. A file that cannot be read or written is no history, and no error."""

    def __init__(self, path: Path, mask: Callable[[str], str]) -> None:
        super().__init__()
        self._path, self._mask = path, mask

    def load_history_strings(self) -> Iterable[str]:
        """Give the entries, the newest first."""
        entries, lines = self._read()
        if lines > 2 * MOST_KEPT:
            self._write(entries)
        return reversed(entries)

    def append_string(self, string: str) -> None:
        """Take an entry, masked as it is from here on."""
        super().append_string(self._mask(string))

    def store_string(self, string: str) -> None:
        """Keep an entry."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with open(descriptor, "ab") as file:  # noqa: PTH123 - the descriptor carries the mode
                file.write(json.dumps(string).encode() + b"\n")
        except OSError:
            return

    def _read(self) -> tuple[deque[str], int]:
        entries: deque[str] = deque(maxlen=MOST_KEPT)
        count = 0
        try:
            with self._path.open("rb") as file:
                for line in file:
                    count += 1
                    try:
                        entry = json.loads(line)
                    except ValueError:
                        continue  # a line that another prompt is writing
                    if isinstance(entry, str):
                        entries.append(entry)
        except OSError:
            return entries, count
        return entries, count

    def _write(self, entries: Iterable[str]) -> None:
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "wb") as file:  # noqa: PTH123 - the descriptor carries the mode
                file.writelines(json.dumps(entry).encode() + b"\n" for entry in entries)
            beside.replace(self._path)
        except OSError:
            return
