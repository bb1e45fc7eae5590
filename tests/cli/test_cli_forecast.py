"""``run`` tells what such runs took, and every summary what an issue that is done cost."""

from __future__ import annotations

import json

import pytest
from cli_kit import Shell, nothing_is_left  # noqa: F401 - a fixture

from ggactors.app.forecasting import foretell
from ggactors.crew import read_crew
from ggactors.testing.crews import finish, issue, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo

PRICED = {
    "root": [turn(issue("One"), usage={"input": 100, "output": 20}, cost=0.5), wait("ISSUE-1"), finish("done")],
    "ISSUE-1.*": [turn(write("a.txt", "a\n"), usage={"input": 70, "output": 10}, cost=1.5), finish()],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Run a crew once, then again with a lower ceiling; answer the place, its crew and both ends."""
    folder = tmp_path_factory.mktemp("forecast")
    place = Shell(folder, folder / "state")
    repo = make_repo(folder / "repo")
    crew = write_crew(folder / "crew", PRICED)
    told = ("run", crew, "--workspace", repo.path, "--task", "do it")
    first = place(*told, "--run-id", "first", "--json")
    second = place(*told, "--run-id", "second", "--set", "limits.maxCost=1.75", "--set", "limits.maxTokens=5000")
    return place, crew, first, second


def test_the_first_run_of_a_crew_foretells_nothing(runs):
    _, _, first, _ = runs
    assert first.returncode == 0, first.stderr
    assert "of this crew took" not in first.stderr


def test_the_next_one_says_what_the_last_took_and_warns_of_a_ceiling_below_it(runs):
    _, _, _, second = runs
    lines = [line for line in second.stderr.splitlines() if line.startswith("ggactors run: ")]
    assert lines[0].startswith("ggactors run: the last completed run of this crew took cost 2, 200 tokens, ")
    assert lines[0].endswith(" s, 1 issues done")
    assert lines[1] == (
        "ggactors run: warning: limits.maxCost is 1.75, and half of them took 2 or more: raise it "
        "(--set limits.maxCost=…), or give the run less to do"
    )
    assert len(lines) == 2


def test_only_completed_runs_of_the_same_crew_count(runs, tmp_path):
    place, crew, _, second = runs
    assert second.returncode == 3  # its ceiling on cost, of which it was warned
    known = foretell(place.home, read_crew(crew, []).crew)
    assert (known.runs, known.cost.middle, known.tokens.middle, known.issues.middle) == (1, 2.0, 200, 1)
    other = write_crew(tmp_path / "crew", PRICED, params={"maxRetries": 0})
    assert foretell(place.home, read_crew(other, []).crew) is None
    assert foretell(tmp_path / "nowhere", read_crew(crew, []).crew) is None


def test_a_damaged_past_is_passed_over(runs):
    place, crew, _, _ = runs
    for name, document in (("torn", "{"), ("empty", ""), ("deep", "[" * 100_000)):
        folder = place.home / "runs" / name
        folder.mkdir()
        (folder / "crew.json").write_text(document)
    same = place.home / "runs" / "same"
    same.mkdir()
    (same / "crew.json").write_bytes((place.home / "runs" / "first" / "crew.json").read_bytes())
    assert foretell(place.home, read_crew(crew, []).crew).runs == 1


def test_the_summary_says_what_an_issue_that_is_done_cost(runs):
    place, _, first, _ = runs
    summary = json.loads(first.stdout)
    assert (summary["cost"], summary["costPerDone"], summary["tokensPerDone"]) == (2.0, 2.0, 200.0)
    assert "200 tokens, 2; 200 tokens, 2 for each issue done" in place("show", "first").stdout
