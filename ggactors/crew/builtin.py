"""The models found in the environment, and the crew that works on them where none is written (docs/reference/cli.md).

Law: a model counts as found when its provider's key is set. Nothing is asked over the network, and no value is read out.
"""

from __future__ import annotations

from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ggactors.crew.reading import reading_of
from ggactors.rules.known import CLIENTS, KEY_VARIABLES, RECOMMENDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ggactors.rules.launch import Reading

MEMBERS = ("lead", "coder", "critic", "merger")
"""Who is in the built-in crew."""

_LEAD = """\
Split the task into issues that can be worked on side by side. Say in each what is in scope, what is not, and when it is done.
Name critic as the reviewer of whatever is more than a trifle. File the issues, wait for them, see to what failed, then finish with
a summary."""
_CODER = "Do what the issue says and no more. Find out how this project is tested, and run its tests before you finish."
_CRITIC = "Read the change and run it. Approve what meets the issue's criteria; else say what has to change, and where."
_MERGER = "Resolve the conflict so that both sides keep their meaning, run the tests, and commit the merge."
_WORK = ({"id": "files"}, {"id": "shell"}, {"id": "compaction"})


@frozen
class FoundModel:
    """A model to work on: its provider's key is set. ``installed`` tells whether its client is there."""

    provider: str
    name: str
    variable: str
    installed: bool

    @property
    def reference(self) -> str:
        """Name it as a crew does."""
        return f"{self.provider}/{self.name}"


def models_found(env: Mapping[str, str]) -> tuple[FoundModel, ...]:
    """List the recommended model of every provider whose key is set; those whose client is installed come first."""
    found = [
        FoundModel(provider, RECOMMENDED[provider], variable, util.find_spec(CLIENTS[provider][1]) is not None)
        for provider, variable in KEY_VARIABLES.items()
        if env.get(variable, "").strip()
    ]
    return tuple(sorted(found, key=lambda model: not model.installed))


def builtin_document(model: FoundModel) -> dict[str, Any]:
    """Write the built-in crew for one model: lead, coder, critic and merger."""
    board = {
        "id": "project-management",
        "params": {"mergeAgentId": "merger", "maxEpics": 50, "maxIssues": 2000, "maxRetries": 1},
    }
    roster = [
        {"agent": "coder", "scopes": ["implementer"], "description": "writes code and its tests"},
        {"agent": "critic", "scopes": ["reviewer"], "description": "reviews a finished issue"},
    ]
    lead = {
        "root": True,
        "instructions": _LEAD,
        "capabilities": [{"id": "files"}, board, {"id": "compaction"}],
        "roster": roster,
    }
    others = {"coder": _CODER, "critic": _CRITIC, "merger": _MERGER}
    agents = [{"id": "lead", "name": "Lead", "model": model.reference, **lead}]
    agents += [
        {"id": id_, "name": id_.title(), "model": model.reference, "instructions": text, "capabilities": list(_WORK)}
        for id_, text in others.items()
    ]
    return {"name": "built-in", "agents": agents}


def builtin_reading(model: FoundModel, overrides: Sequence[str] = (), *, folder: Path | str = ".") -> Reading:
    """Read the built-in crew as a file would be read. ``folder`` is what names written by ``overrides`` are relative to."""
    return reading_of(builtin_document(model), folder=Path(folder), overrides=overrides)
