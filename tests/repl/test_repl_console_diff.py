"""The diff of an issue, out of the run's own repository: as git words it, for merged, open and saved work."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.app.diffing import IssueDiff, diff_of
from ggactors.repl.console.diffs import Diffs
from ggactors.repo.objects import Objects
from ggactors.repo.patch import patch
from ggactors.store.folder import RunFolder
from ggactors.telemetry.folds import IssueView, RunView, fold
from ggactors.telemetry.plaintext import Look
from ggactors.telemetry.render import board_lines
from ggactors.testing.crews import finish, issue, run_to_end, shell, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

if TYPE_CHECKING:
    from ggactors.testing.repos import Repo

BEFORE = {
    "kept.txt": "same\n" * 30,
    "edited.txt": "".join(f"line {number}\n" for number in range(60)),
    "gone.txt": "going\n" * 5,
    "moved.txt": "".join(f"moved {number}\n" for number in range(30)),
    "bare.txt": "no newline",
    "run.sh": "#!/bin/sh\n",
    "blob.bin": "\0\1\2",
}


def shape(lines: list[str]) -> list[str]:
    """Leave out what names objects, and what git says of a hunk's place."""
    quiet = [line for line in lines if not line.startswith(("index ", "similarity index"))]
    plain = [line if not line.startswith("@@") else " ".join(line.split()[:4]) for line in quiet]
    return ["Binary files differ" if line.startswith("Binary files ") else line for line in plain]


def between(repo: Repo, old: str, new: str) -> list[str]:
    store = Objects(os.fsencode(repo.path / ".git" / "objects"))
    trees = [repo.git("rev-parse", f"{name}^{{tree}}").encode() for name in (old, new)]
    try:
        return patch(store, *trees)
    finally:
        store.close()


def test_a_diff_is_what_git_shows(tmp_path):
    repo = make_repo(tmp_path / "repo", BEFORE)
    text = BEFORE["edited.txt"].replace("line 3\n", "line three\n").replace("line 40\n", "")
    (repo.path / "gone.txt").unlink()
    (repo.path / "moved.txt").rename(repo.path / "there.txt")
    (repo.path / "run.sh").chmod(0o755)
    os.symlink("kept.txt", repo.path / "link")
    repo.commit(
        files={
            "edited.txt": text.replace("line 45\n", "line 45\nmore\n") + "last without a newline",
            "bare.txt": "a newline now\n",
            "blob.bin": b"\0\3\4",
            "new dir/one.txt": "one\n",
        }
    )
    assert between(repo, "HEAD~", "HEAD") == shape(repo.git("diff", "-M", "--histogram", "HEAD~", "HEAD").splitlines())
    assert between(repo, "HEAD", "HEAD~") == shape(repo.git("diff", "-M", "--histogram", "HEAD", "HEAD~").splitlines())
    assert between(repo, "HEAD", "HEAD") == []


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  }"]), max_size=25)


@settings(max_examples=8, deadline=None)
@given(left=LINES, right=LINES)
def test_what_a_diff_says_turns_one_text_into_the_other(tmp_path_factory, left, right):
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (left, right))
    repo = make_repo(tmp_path_factory.mktemp("apply") / "repo", {"f": before})
    repo.commit(files={"f": after})
    lines = between(repo, "HEAD~", "HEAD")
    repo.git("checkout", "-q", "HEAD~")
    if lines:
        (repo.path / "p").write_text("\n".join(lines) + "\n")
        repo.git("apply", "--recount", "p")
    assert (repo.path / "f").read_text() == after


# ---------------------------------------------------------------- of a run


async def test_an_issue_has_a_diff_while_it_is_worked_at_once_merged_and_when_it_failed_W5(tmp_path):
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [
                turn(issue("One"), issue("Two"), issue("Three", blockedBy=["ISSUE-2"])),
                wait("ISSUE-1", "ISSUE-2"),
                finish(),
            ],
            "ISSUE-1.*": [turn(write("one.txt", "one\n"), shell("printf 'more\\n' >> README.md")), finish()],
            "ISSUE-2.*": [turn(write("two.txt", "two\n")), turn(shell("exit 0"))],
        },
        params={"maxRetries": 0},
    )
    repo = make_repo(tmp_path / "repo")
    view, at_work = RunView(), {}

    def during(run, event) -> None:
        view.apply(event)
        if event.type == "turn_outcome" and event.agent == "ISSUE-1.0i" and event.turns == 1:
            at_work["one"] = diff_of(RunFolder(path=Path(run.folder)), str(repo.path), view.issues["ISSUE-1"])

    outcome, _ = await run_to_end(crew, repo.path, home=tmp_path / "home", during=during)
    folder = RunFolder(path=Path(outcome.folder))
    added = [
        "diff --git a/one.txt b/one.txt",
        "new file mode 100644",
        "--- /dev/null",
        "+++ b/one.txt",
        "@@ -0,0 +1 @@",
        "+one",
    ]
    edited = [
        "diff --git a/README.md b/README.md",
        "--- a/README.md",
        "+++ b/README.md",
        "@@ -1 +1,2 @@",
        " hello",
        "+more",
    ]

    assert at_work["one"].lines == (*edited, *added)
    assert at_work["one"].of == "its worktree against main"

    merged = diff_of(folder, str(repo.path), view.issues["ISSUE-1"])
    assert merged.lines == (*edited, *added)
    assert merged.of.startswith("merge ")

    failed = diff_of(folder, str(repo.path), view.issues["ISSUE-2"])
    assert failed.lines is not None
    assert "+two" in failed.lines

    never = diff_of(folder, str(repo.path), view.issues["ISSUE-3"])
    assert (never.lines, never.why) == (None, "Nobody has worked at it yet.")
    # The branch of the operator moved with the landing; without it the run's own repository still tells.
    assert "one.txt" in repo.files()


def test_a_run_without_a_repository_says_so(tmp_path):
    (tmp_path / "run").mkdir()
    told = diff_of(RunFolder(path=tmp_path / "run"), "", IssueView(id="ISSUE-1"))
    assert told.lines is None
    assert "no repository" in told.why


def test_a_repository_that_is_spoilt_is_an_answer(tmp_path):
    (tmp_path / "run" / "repo.git").mkdir(parents=True)
    told = diff_of(RunFolder(path=tmp_path / "run"), "", IssueView(id="ISSUE-1"))
    assert told.lines is None
    assert told.why


# ---------------------------------------------------------------- as it is asked for


async def served(diffs: Diffs, until) -> None:
    changed = asyncio.Event()
    serving = asyncio.ensure_future(diffs.serve(changed.set))
    while not until():
        await changed.wait()
        changed.clear()
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


def test_a_diff_is_worked_out_for_the_issue_the_cursor_rests_on_and_again_when_its_agent_has_worked():
    asked = []

    def work_out(issue: IssueView) -> IssueDiff:
        asked.append(issue.id)
        return IssueDiff((f"{issue.id} {len(asked)}",))

    async def look() -> None:
        diffs = Diffs(work_out)
        passed, rested = IssueView(id="PASSED"), IssueView(id="RESTED")
        assert diffs.of(passed) is None
        assert diffs.of(rested) is None
        await served(diffs, lambda: diffs.of(rested))
        assert asked == ["RESTED"]
        assert diffs.of(rested).lines == ("RESTED 1",)
        assert diffs.of(rested, worked=1).lines == ("RESTED 1",), "the old one, while the new one is worked out"
        await served(diffs, lambda: diffs.of(rested, worked=1).lines == ("RESTED 2",))
        diffs.look_again()
        await served(diffs, lambda: diffs.of(rested, worked=1).lines == ("RESTED 3",))
        assert asked == ["RESTED"] * 3

    asyncio.run(look())


async def test_an_issue_that_changed_nothing_is_not_credited_with_what_lay_in_main_before_T2(tmp_path):
    repo = make_repo(tmp_path / "repo", {"a.txt": "a\n"})
    script = {
        "root": [turn(issue("Real")), wait("ISSUE-1"), turn(issue("Nothing")), wait("ISSUE-2"), finish()],
        "ISSUE-1.*": [turn(write("real.txt", "x\n")), finish()],
        "ISSUE-2.*": [finish()],
    }
    outcome, events = await run_to_end(write_crew(tmp_path / "crew", script), repo.path, home=tmp_path / "state")
    view = fold(events)
    folder = RunFolder(Path(outcome.folder))
    real, nothing = (diff_of(folder, str(repo.path), view.issues[name]) for name in ("ISSUE-1", "ISSUE-2"))
    assert "+x" in (real.lines or ())
    assert (nothing.lines, nothing.of) == ((), "nothing changed")
    told = "\n".join(board_lines(view, Look(width=200)))
    assert "Nothing; changed nothing" in told
