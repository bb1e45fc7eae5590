"""The one error of the wire."""

from __future__ import annotations


class WireError(ValueError):
    """Bytes that are no record of the union, or a record that is none of its members or holds what is no wire value.

    ``path`` is where: ``IssueFiled.by``, ``CallsAnswered.results[1].ok``, a tag, or empty when nothing could be read.
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}" if path else why)
        self.path = path
        self.why = why
