"""The crew document: read from a file or handed over as plain values, checked whole, frozen (docs/reference/crew.md, P1-P4).

Law: a document is either a ``Crew`` or a list of problems, never something in between; and nothing it names is run here.
"""

from __future__ import annotations

from ggactors.crew.builtin import FoundModel, builtin_reading, models_found
from ggactors.crew.find import find_crew
from ggactors.crew.reading import crew_from_document, load_crew, read_crew, reading_of
from ggactors.crew.starter import starter_crew
from ggactors.rules.launch import Reading

__all__ = (
    "FoundModel",
    "Reading",
    "builtin_reading",
    "crew_from_document",
    "find_crew",
    "load_crew",
    "models_found",
    "read_crew",
    "reading_of",
    "starter_crew",
)
