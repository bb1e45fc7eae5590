"""What the documents show is what happens: crews launch, scripts serve, the embedding program runs, README's tour works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from house_pages import REFERENCE, ROOT, blocks, first_cells, sections

import ggactors

if TYPE_CHECKING:
    from pathlib import Path

PAGES = sorted(REFERENCE.glob("*.md"))
CAPTIONED = {block.caption: block.text for page in PAGES for block in blocks(page) if block.caption}
CREWS = sorted(name for name in CAPTIONED if name.startswith("crew."))
MODELS = ["script/script.json", "script/patient.toml", "python/replies.py:reply"]
EVENTS = REFERENCE / "events.md"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Lay every captioned example into one folder, beside a project with a commit."""
    for name, text in CAPTIONED.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "README").write_text("A project.\n", encoding="utf-8")
    for command in ("init -q -b main", "add -A", "commit -q -m begin"):
        subprocess.run(["git", *command.split()], cwd=project, check=True, env=environment(tmp_path))
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    """Give a process a home of its own, this package, and a git identity."""
    who = {
        f"GIT_{role}_{what}": f"{role.lower()}@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    kept = {
        key: os.environ[key] for key in ("PATH", "LANG", "TMPDIR", *filter(covering, os.environ)) if key in os.environ
    }
    return {**kept, **who, "HOME": str(home), "GGACTORS_HOME": str(home / "state"), "PYTHONPATH": str(ROOT)}


def covering(variable: str) -> bool:
    """Tell the variables that let a process count for coverage."""
    return variable.startswith("COVERAGE_")


def start(command: list[str], folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=100,
    )


def names_on(event: dict[str, object]) -> list[str]:
    """List the field names the event page gives for an event's type, common ones first."""
    common = first_cells(sections(EVENTS, 2)["Fields of every event"])
    return [*common, *first_cells(sections(EVENTS, 3)[str(event["type"])])]


def test_there_are_examples_to_test():
    assert sorted(CAPTIONED) == [
        "crew.json",
        "crew.toml",
        "embed.py",
        "embed_asyncio.py",
        "own.py",
        "patient.toml",
        "prompt.py",
        "replies.py",
        "script.json",
    ]


@pytest.mark.parametrize("name", CREWS)
def test_a_crew_of_the_documents_launches(name, desk):
    assert ggactors.load_crew(desk / name).root.id == "lead"


def test_the_two_spellings_of_the_crew_say_the_same(desk):
    first, second = (ggactors.load_crew(desk / name) for name in CREWS)
    assert first.document == second.document


@pytest.mark.parametrize("model", MODELS)
def test_a_model_of_the_documents_is_accepted_by_check(model, desk):
    worker = {"id": "coder", "root": True, "model": model, "capabilities": [{"id": "files"}]}
    (desk / "alone.json").write_text(json.dumps({"agents": [worker]}), encoding="utf-8")
    done = start([sys.executable, "-m", "ggactors", "check", "alone.json"], desk, desk)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "alone.json: no problems\n")


@pytest.mark.parametrize("model", ["script/patient.toml", "python/replies.py:reply"])
def test_a_model_of_the_documents_serves_a_run(model, desk):
    worker = {"id": "coder", "root": True, "model": model, "capabilities": [{"id": "files"}]}
    (desk / "alone.json").write_text(json.dumps({"agents": [worker]}), encoding="utf-8")
    run = ["run", "alone.json", "--workspace", "project", "--task", "Look around", "--json"]
    done = start([sys.executable, "-m", "ggactors", *run], desk, desk)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"] == "Looked around."


def test_the_program_of_the_embedding_page_runs(desk):
    done = start([sys.executable, "embed.py"], desk, desk)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert "ISSUE-1 done" in lines
    assert lines[-1] == "completed {'ISSUE-1': 'done'}"
    assert (desk / "project" / "greeting.txt").read_text(encoding="utf-8") == "hello\n"


def test_the_asyncio_program_of_the_embedding_page_runs(desk):
    done = start([sys.executable, "embed_asyncio.py"], desk, desk)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "completed"


def test_the_models_tools_and_hooks_of_the_embedding_page_work_together(desk):
    done = start([sys.executable, "own.py"], desk, desk)
    assert (done.stdout, done.stderr) == ("completed hello 3\n", "")


def test_the_prompt_of_the_embedding_page_speaks_for_a_person(desk):
    done = start([sys.executable, "prompt.py"], desk, desk)
    assert (done.stdout, done.stderr) == ("completed the operator left\n", "")
    assert (desk / "project" / "greeting.txt").exists()


def test_readmes_tour_works_line_by_line_and_streams_only_documented_events(desk):
    tour = next(block.text for block in blocks(ROOT / "README.md") if block.text.startswith("ggactors init"))
    project = desk / "project"
    for line in tour.splitlines():
        shell = f'ggactors() {{ "{sys.executable}" -m ggactors "$@"; }}\n{line}\n'
        done = start(["/bin/sh", "-c", shell], project, desk)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    stream = start([sys.executable, "-m", "ggactors", "show", "last", "--events"], project, desk).stdout
    events = [json.loads(line) for line in stream.splitlines()]
    assert {event["type"] for event in events} >= {
        "session_started",
        "board_changed",
        "worktree_merged",
        "session_ended",
    }
    for event in events:
        assert sorted(event) == sorted(names_on(event))


def test_an_event_shown_on_the_event_page_has_the_fields_it_documents():
    shown = [json.loads(block.text) for block in blocks(EVENTS) if block.language == "json"]
    assert shown
    for event in shown:
        assert sorted(event) == sorted(names_on(event))
