"""The demonstration: a small repository, a crew and its script, written beside each other and run like any other.

Law: nothing of the run is faked; only the model's replies are written down.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from pathlib import Path

TASK = "Grow the word tools: counting and shouting in parallel, then a report that uses both, then its manual page."
"""What the root is asked for. Both first tools list themselves on one line of the README, so that one merge must conflict."""

_README = """# Word tools

Small shell tools that look at words.

## Tools

(none yet)

## Notes

Every tool reads standard input.
"""

_PAUSE = 0.4


@frozen(kw_only=True)
class DemoFiles:
    """Where the demonstration was written, and what runs it."""

    repo: Path
    crew: Path
    task: str


def write_demo(directory: Path) -> DemoFiles:
    """Write the repository's files, the crew and the script below ``directory``. Raises FileExistsError when they are there."""
    directory.mkdir(parents=True, exist_ok=True)
    repo, crew, script = directory / "repo", directory / "crew.json", directory / "script.json"
    for path in (repo, crew, script):
        if path.exists():
            raise FileExistsError(f"{path} is there already; choose another folder with --dir")
    repo.mkdir()
    (repo / "README.md").write_text(_README, encoding="utf-8")
    (repo / ".gitignore").write_text("*.log\n", encoding="utf-8")
    script.write_text(json.dumps(_script(), indent=2) + "\n", encoding="utf-8")
    crew.write_text(json.dumps(_crew(script.name), indent=2) + "\n", encoding="utf-8")
    return DemoFiles(repo=repo, crew=crew, task=TASK)


def _crew(script: str) -> dict[str, Any]:
    board = {
        "id": "project-management",
        "params": {"mergeAgentId": "merger", "maxEpics": 10, "maxIssues": 50, "maxRetries": 1},
    }
    hands = [{"id": "files"}, {"id": "shell"}]
    model = f"script/{script}"
    return {
        "name": "demo",
        "limits": {"maxParallel": 4, "maxTurns": 40},
        "agents": [
            {
                "id": "lead",
                "name": "Lead",
                "root": True,
                "model": model,
                "instructions": "Plan the work as issues, wait for them, report.",
                "capabilities": [*hands, board],
                "roster": [
                    {"agent": "coder", "scopes": ["implementer"], "description": "writes shell tools and their pages"},
                    {"agent": "critic", "scopes": ["reviewer"], "description": "reads what others wrote"},
                ],
            },
            {"id": "critic", "name": "Critic", "model": model, "capabilities": hands},
            {"id": "coder", "name": "Coder", "model": model, "capabilities": hands},
            {"id": "merger", "name": "Merger", "model": model, "capabilities": hands},
        ],
    }


def _turn(*calls: tuple[str, dict[str, Any]], text: str = "", delay: float = _PAUSE) -> dict[str, Any]:
    entry: dict[str, Any] = {"calls": [{"tool": tool, "args": args} for tool, args in calls], "delaySecs": delay}
    if text:
        entry["text"] = text
    entry["usage"] = {"input": 900, "output": 120}
    return entry


def _issue(
    title: str, scope: str, done: str, *, epic: str, blocked_by: tuple[str, ...] = (), reviewed: bool = False
) -> tuple[str, dict[str, Any]]:
    args: dict[str, Any] = {
        "title": title,
        "inScope": scope,
        "outOfScope": "everything else",
        "completionCriteria": done,
        "agent": "coder",
        "epicId": epic,
    }
    if blocked_by:
        args["blockedBy"] = list(blocked_by)
    if reviewed:
        args["reviewers"] = ["critic"]
    return "create_issue", args


def _write(path: str, contents: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "contents": contents}


_COUNT = '#!/bin/sh\n# Count the words of standard input.\nwc -w | tr -d " "\n'
_SHOUT = "#!/bin/sh\n# Upper-case standard input.\ntr '[:lower:]' '[:upper:]'\n"
_SHOUT_TOLD = "#!/bin/sh\n# Upper-case standard input; what is no letter stays as it is.\ntr '[:lower:]' '[:upper:]'\n"
_REPORT = """#!/bin/sh
# Shout standard input, then count its words.
here=$(dirname "$0")
text=$(cat)
printf '%s\\n' "$text" | sh "$here/shout.sh"
printf 'words: %s\\n' "$(printf '%s' "$text" | sh "$here/count.sh")"
"""
_PAGE = (
    "mkdir -p docs && { echo '# report.sh'; echo; echo '```'; printf 'so many words' | sh tools/report.sh; echo '```'; } "
    "> docs/report.md && cat docs/report.md"
)
_COUNT_LINE = "- `tools/count.sh` counts words"
_SHOUT_LINE = "- `tools/shout.sh` shouts"


def _shell(command: str) -> tuple[str, dict[str, Any]]:
    return "shell", {"command": command}


def _finish(summary: str) -> dict[str, Any]:
    return _turn(("finish", {"summary": summary}))


def _list_tool(line: str) -> dict[str, Any]:
    return _turn(("edit_file", {"path": "README.md", "oldString": "(none yet)", "newString": line}))


def _script() -> dict[str, Any]:
    return {
        "agents": {
            "root": _lead(),
            "TOOLS-*.*m": _merger(),
            "TOOLS-2.0i.0r": [
                _turn(_shell("cat tools/shout.sh"), text="Does the header say what happens to digits?"),
                _turn(
                    ("request_changes", {"items": ["Say in the header of tools/shout.sh what becomes of non-letters."]})
                ),
            ],
            "TOOLS-2.*r": [_turn(_shell("head -2 tools/shout.sh")), _turn(("approve", {}))],
            "TOOLS-2.0i": [
                _turn(_write("tools/shout.sh", _SHOUT), text="tr knows upper case."),
                _turn(_shell("printf 'hey' | sh tools/shout.sh | grep -q HEY && echo ok")),
                _list_tool(_SHOUT_LINE),
                _finish("tools/shout.sh upper-cases its input."),
            ],
            "TOOLS-2.1i": [
                _turn(_write("tools/shout.sh", _SHOUT_TOLD)),
                _finish("The header says what stays as it is."),
            ],
            "TOOLS-1.*": [
                _turn(_write("tools/count.sh", _COUNT), text="A pipe around wc will do."),
                _turn(_shell("test \"$(printf 'a b c' | sh tools/count.sh)\" = 3 && echo ok")),
                _list_tool(_COUNT_LINE),
                _finish("tools/count.sh counts words; tried on three."),
            ],
            "TOOLS-3.*": [
                _turn(_shell("ls tools"), text="Both tools must be here, since I was blocked by them."),
                _turn(_write("tools/report.sh", _REPORT)),
                _turn(_shell("printf 'so many words' | sh tools/report.sh")),
                _finish("tools/report.sh shouts its input and counts its words."),
            ],
            "DOCS-1.*": [_turn(_shell(_PAGE)), _finish("docs/report.md shows a real run of the report.")],
        }
    }


def _lead() -> list[dict[str, Any]]:
    return [
        _turn(
            ("create_epic", {"prefix": "tools", "title": "Word tools"}),
            ("create_epic", {"prefix": "docs", "title": "Manual"}),
            text="Two tools can be written side by side; the report needs both, the page needs the report.",
        ),
        _turn(
            _issue("Count words", "tools/count.sh", "prints 3 for three words", epic="TOOLS"),
            _issue("Shout words", "tools/shout.sh", "prints upper case", epic="TOOLS", reviewed=True),
            _issue("Report", "tools/report.sh", "uses both tools", epic="TOOLS", blocked_by=("TOOLS-1", "TOOLS-2")),
            _issue("Manual page", "docs/report.md", "shows a real run", epic="DOCS", blocked_by=("TOOLS-3",)),
        ),
        _turn(("wait_for_issue", {"issueId": "TOOLS-3"}), ("wait_for_issue", {"issueId": "DOCS-1"})),
        _turn(_shell("ls tools docs && printf 'it all works' | sh tools/report.sh")),
        _finish("Counting, shouting, a report that uses both, and its manual page are in."),
    ]


def _merger() -> list[dict[str, Any]]:
    both = _README.replace("(none yet)", f"{_COUNT_LINE}\n{_SHOUT_LINE}")
    return [
        _turn(
            _shell("git status --short && git diff --name-only --diff-filter=U"), text="Both lines belong in the list."
        ),
        _turn(
            _write("README.md", both), _shell("git add README.md && git commit --no-edit -q && git log --oneline -1")
        ),
        _finish("Kept both tools on the list."),
    ]
