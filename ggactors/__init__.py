"""ggactors: a crew of LLM coding agents over one workspace, as a library (docs/reference/embedding.md).

Law: importing this loads nothing but names; what a name stands for is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ggactors.app import DemoFiles, Outcome, Run, open_run, write_demo
    from ggactors.crew import crew_from_document, load_crew
    from ggactors.ports import LaunchRefused, ModelFault, SessionComplete
    from ggactors.protocol.crew import Crew
    from ggactors.protocol.values import Problem

__version__ = "0.1.0"

_HOMES = {
    "Crew": "ggactors.protocol.crew",
    "DemoFiles": "ggactors.app",
    "LaunchRefused": "ggactors.ports",
    "ModelFault": "ggactors.ports",
    "Outcome": "ggactors.app",
    "Problem": "ggactors.protocol.values",
    "Run": "ggactors.app",
    "SessionComplete": "ggactors.ports",
    "crew_from_document": "ggactors.crew",
    "load_crew": "ggactors.crew",
    "open_run": "ggactors.app",
    "write_demo": "ggactors.app",
}

__all__ = [
    "Crew",
    "DemoFiles",
    "LaunchRefused",
    "ModelFault",
    "Outcome",
    "Problem",
    "Run",
    "SessionComplete",
    "__version__",
    "crew_from_document",
    "load_crew",
    "open_run",
    "write_demo",
]


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ggactors' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
