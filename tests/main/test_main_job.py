"""The main job, end to end on real repositories: only the model's replies are written down."""

from pathlib import Path

import pytest

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, of_type, run_to_end, shell, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo, tree_bytes


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "state"


def states_of(events, issue_id):
    return [
        event.issue["state"]
        for event in of_type(events, "board_changed")
        if event.issue is not None and event.issue["id"] == issue_id
    ]


async def test_an_issue_is_implemented_in_its_worktree_merged_and_landed_D1_W5_W10(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Add a")), wait("ISSUE-1"), finish("all in")],
            "ISSUE-1.0i": [turn(write("a.py", "print('a')\n")), finish("wrote a.py")],
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)

    assert (outcome.status, outcome.exit_code) == (Status.COMPLETED, 0)
    assert outcome.issues == {"ISSUE-1": "done"}
    assert repo.show("a.py") == "print('a')"
    assert (repo.path / "a.py").read_text() == "print('a')\n"
    assert repo.status() == ""
    seen = list(dict.fromkeys(states_of(events, "ISSUE-1")))
    assert seen == ["open", "in_progress", "in_review", "done"]
    assert repo.git("worktree", "list").count("\n") == 0
    repo.git("fsck", "--strict")


async def test_an_issue_behind_another_starts_from_a_tree_that_contains_it_W2(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [
                turn(issue("First"), issue("Second", blockedBy=["ISSUE-1"])),
                wait("ISSUE-2"),
                finish(),
            ],
            "ISSUE-1.*": [turn(write("one.txt", "1\n")), finish()],
            "ISSUE-2.*": [turn(shell("cat one.txt > two.txt && echo 2 >> two.txt")), finish()],
        },
    )
    outcome, _ = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    assert repo.show("two.txt") == "1\n2"


async def test_with_one_slot_a_root_that_waits_on_its_issue_completes_S6(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Add a")), wait("ISSUE-1"), finish()],
            "ISSUE-1.0i": [turn(write("a", "a")), finish()],
        },
        limits={"maxParallel": 1},
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    running: set[str] = set()
    for event in of_type(events, "agent_state"):
        if event.state == "running":
            running.add(event.agent)
        else:
            running.discard(event.agent)
        assert len(running) <= 1


async def test_a_conflict_aborts_cleanly_and_fails_its_issue_while_the_other_lands_M4(tmp_path, home):
    repo = make_repo(tmp_path / "repo", {"f.txt": "line\n"})
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Left"), issue("Right")), wait("ISSUE-1", "ISSUE-2"), finish()],
            "ISSUE-1.*": [turn(write("f.txt", "left\n")), finish()],
            "ISSUE-2.*": [turn(write("f.txt", "right\n")), finish()],
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 4
    assert sorted(outcome.issues.values()) == ["done", "failed"]
    merges = of_type(events, "worktree_merged")
    assert sorted(event.merged for event in merges) == [False, True]
    failed = next(event for event in merges if not event.merged)
    assert failed.conflicts == ("f.txt",)
    assert failed.saved_ref
    winner = "left" if outcome.issues["ISSUE-1"] == "done" else "right"
    assert repo.show("f.txt") == winner
    assert repo.status() == ""
    saved = make_repo_at(outcome.folder).git("show", f"{failed.saved_ref}:f.txt")
    assert saved == ("right" if winner == "left" else "left")


def make_repo_at(folder):
    from ggactors.testing.repos import Repo

    return Repo(Path(folder) / "repo.git")


async def test_an_agent_that_ends_badly_is_retried_in_the_same_worktree_with_word_of_it_D5_W3(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Hard")), wait("ISSUE-1"), finish()],
            "ISSUE-1.0i": [turn(write("half.txt", "half\n")), {"error": {"status": 400}}],
            "ISSUE-1.1i": [turn(shell("cat half.txt && echo more >> half.txt")), finish()],
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    assert repo.show("half.txt") == "half\nmore"
    retry = next(event for event in of_type(events, "agent_spawned") if event.agent == "ISSUE-1.1i")
    assert "ISSUE-1.0i" in retry.brief
    assert "model_error" in retry.brief
    assert "1 file" in retry.brief


async def test_a_spent_retry_budget_fails_the_issue_and_saves_what_was_left_D5_W5(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Hopeless"), issue("Behind", blockedBy=["ISSUE-1"])), wait("ISSUE-1"), finish()],
            "ISSUE-1.*": [turn(write("try.txt", "try\n")), {"text": "I give up"}],
        },
        limits={"maxConsecutiveErrors": 2},
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 4
    assert outcome.issues == {"ISSUE-1": "failed", "ISSUE-2": "open"}
    spawned = [event.agent for event in of_type(events, "agent_spawned") if event.kind == "implementer"]
    assert spawned == ["ISSUE-1.0i", "ISSUE-1.1i"]
    assert [(stall.issue, stall.blocker) for stall in of_type(events, "board_stalled")] == [("ISSUE-2", "ISSUE-1")]
    limits = of_type(events, "limit_exceeded")
    assert {(event.limit, event.threshold, event.observed) for event in limits} == {("maxConsecutiveErrors", 2, 2)}
    merged = of_type(events, "worktree_merged")
    assert [event.merged for event in merged] == [False]
    assert make_repo_at(outcome.folder).git("show", f"{merged[0].saved_ref}:try.txt") == "try"


async def test_work_of_the_root_in_the_main_workspace_is_committed_in_its_name_and_lands_M6(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {"root": [turn(write("notes.md", "by the root\n")), finish()]},
    )
    outcome, _ = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    assert repo.show("notes.md") == "by the root"
    assert "root" in repo.git("log", "-1", "--format=%B")


async def test_the_operators_uncommitted_changes_are_left_alone_and_named_W11(tmp_path, home):
    repo = make_repo(tmp_path / "repo", {"mine.txt": "one\n"})
    repo.write({"mine.txt": "edited\n", "untracked.txt": "new\n"})
    before = tree_bytes(repo.path)
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Add a")), wait("ISSUE-1"), finish()],
            "ISSUE-1.0i": [turn(write("a.txt", "a\n")), finish()],
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    after = tree_bytes(repo.path)
    assert {name: after[name] for name in before} == before
    assert after["a.txt"] == b"a\n"
    told = " ".join(event.message for event in of_type(events, "log"))
    assert "mine.txt" in told
    assert "untracked.txt" in told


async def test_a_landing_that_would_write_over_an_edit_is_held_and_told_W10(tmp_path, home):
    repo = make_repo(tmp_path / "repo", {"shared.txt": "one\n"})
    repo.write({"shared.txt": "the operator's\n"})
    head = repo.head()
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Change it")), wait("ISSUE-1"), finish()],
            "ISSUE-1.0i": [turn(write("shared.txt", "the crew's\n")), finish()],
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    assert repo.head() == head
    assert (repo.path / "shared.txt").read_text() == "the operator's\n"
    moved = of_type(events, "checkout_moved")
    assert [(event.reason, event.held) for event in moved] == [("dirty", ("shared.txt",))]
    command = next(event.message for event in of_type(events, "log") if "git fetch" in event.message)
    repo.git(*command[command.index("git fetch") :].split()[1:])
    assert repo.show("shared.txt", "FETCH_HEAD") == "the crew's"


async def test_without_a_board_the_agent_works_in_the_workspace_itself_and_no_repository_is_made_B12(tmp_path, home):
    workspace = tmp_path / "plain"
    workspace.mkdir()
    crew = write_crew(tmp_path / "crew", {"root": [turn(write("made.txt", "x\n")), finish()]}, board=False)
    outcome, events = await run_to_end(crew, workspace, home=home)
    assert outcome.exit_code == 0
    assert tree_bytes(workspace, skip=()) == {"made.txt": b"x\n"}
    spawned = of_type(events, "agent_spawned")[0]
    assert "create_issue" not in spawned.tools
    assert not of_type(events, "board_changed")


async def test_a_reply_without_a_call_is_an_error_turn_that_names_the_ending_E2(tmp_path, home):
    workspace = tmp_path / "plain"
    workspace.mkdir()
    model = tmp_path / "crew" / "model.py"
    crew = write_crew(tmp_path / "crew", {}, board=False, model="python/model.py:answer", agents={})
    model.write_text(
        "seen = []\n"
        "def answer(request):\n"
        "    seen.append(request)\n"
        "    if request.turn == 1:\n"
        "        return {'text': 'All done, I think.'}\n"
        "    last = request.messages[-1]\n"
        "    assert last['role'] == 'user' and 'finish' in last['text'], last\n"
        "    return {'calls': [{'tool': 'finish', 'args': {'summary': 'now really'}}]}\n"
    )
    outcome, events = await run_to_end(crew, workspace, home=home)
    assert outcome.exit_code == 0
    assert [event.outcome for event in of_type(events, "turn_outcome")] == ["error", "finished"]
    assert of_type(events, "turn_outcome")[0].error_type == "missing_completion_no_call"


async def test_prose_without_end_trips_the_consecutive_error_ceiling_with_a_diagnosis_C2(tmp_path, home):
    workspace = tmp_path / "plain"
    workspace.mkdir()
    crew = write_crew(tmp_path / "crew", {"root": [{"text": "blah", "repeat": 50}]}, board=False)
    outcome, events = await run_to_end(crew, workspace, home=home)
    assert (outcome.status, outcome.exit_code) == (Status.LIMIT_EXCEEDED, 3)
    assert outcome.limit_hit is not None
    assert outcome.limit_hit["limit"] == "maxConsecutiveErrors"
    assert len(of_type(events, "turn_outcome")) == 5


async def test_other_calls_run_first_and_the_last_valid_ending_counts_E9(tmp_path, home):
    workspace = tmp_path / "plain"
    workspace.mkdir()
    reply = turn(
        ("finish", {"summary": "first"}),
        ("read_file", {"path": "missing"}),
        ("finish", {"summary": " "}),
        ("finish", {"summary": "last"}),
        write("x", "x"),
    )
    crew = write_crew(tmp_path / "crew", {"root": [reply]}, board=False)
    outcome, events = await run_to_end(crew, workspace, home=home)
    assert outcome.summary == "last"
    assert (workspace / "x").read_text() == "x"
    results = of_type(events, "tool_result")
    assert len(results) == 5
    assert [event.ok for event in results].count(False) == 2


async def test_two_waits_in_one_reply_are_one_suspension_Q1(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("A"), issue("B")), wait("ISSUE-1", "ISSUE-2"), finish()],
            "ISSUE-1.*": [turn(write("a", "a")), finish()],
            "ISSUE-2.*": [turn(write("b", "b")), finish()],
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.exit_code == 0
    states = [event.state for event in of_type(events, "agent_state") if event.agent == "root"]
    assert states.count("waiting") == 1
    answers = [event.output for event in of_type(events, "tool_result") if event.agent == "root"]
    assert sum('"state": "done"' in answer for answer in answers) == 2


async def test_an_issue_that_names_reviewers_is_never_accepted_in_this_version_R7(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    head = repo.head()
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Reviewed", reviewers=["critic"])), wait("ISSUE-1"), finish()],
            "ISSUE-1.*": [turn(write("a", "a")), finish()],
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert outcome.issues == {"ISSUE-1": "failed"}
    assert outcome.exit_code == 4
    assert repo.head() == head
    merged = of_type(events, "worktree_merged")
    assert [event.merged for event in merged] == [False]
    assert make_repo_at(outcome.folder).git("show", f"{merged[0].saved_ref}:a") == "a"


async def test_cancelling_stops_at_turn_boundaries_and_keeps_issues_in_flight_D5(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("Long")), wait("ISSUE-1"), finish()],
            "ISSUE-1.*": [turn(shell("echo $$"), repeat=100, delaySecs=0.01), finish()],
        },
    )

    def stop(run, event):
        if event.type == "tool_result" and event.agent == "ISSUE-1.0i":
            run.cancel()

    outcome, events = await run_to_end(crew, repo.path, home=home, during=stop)
    assert (outcome.status, outcome.exit_code) == (Status.CANCELED, 130)
    assert outcome.issues == {"ISSUE-1": "in_progress"}
    ended = {event.agent: event.status for event in of_type(events, "agent_state") if event.state == "ended"}
    assert ended == {"root": "canceled", "ISSUE-1.0i": "canceled"}
    assert not of_type(events, "worktree_merged")


async def test_every_event_has_its_number_without_a_gap_and_the_stream_closes_T1(tmp_path, home):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("A")), wait("ISSUE-1"), finish()],
            "ISSUE-1.*": [turn(write("a", "a")), finish()],
        },
    )
    outcome, events = await run_to_end(crew, repo.path, home=home)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[0].type == "session_started"
    assert [event.type for event in events[-2:]] == ["session_summary", "session_ended"]
    lines = (Path(outcome.folder) / "events.jsonl").read_text().splitlines()
    assert len(lines) == len(events)


async def test_a_directory_that_is_no_repository_gets_a_baseline_and_the_work_lands_on_it_W1(tmp_path, home):
    workspace = tmp_path / "fresh"
    workspace.mkdir()
    (workspace / "old.txt").write_text("old\n")
    (workspace / ".gitignore").write_text("*.log\n")
    (workspace / "noise.log").write_text("noise\n")
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("A")), wait("ISSUE-1"), finish()],
            "ISSUE-1.*": [turn(shell("ls -a > listing.txt"), write("a", "a")), finish()],
        },
    )
    outcome, _ = await run_to_end(crew, workspace, home=home)
    assert outcome.exit_code == 0
    from ggactors.testing.repos import Repo

    repo = Repo(workspace)
    assert set(repo.files()) == {"a", "old.txt", ".gitignore", "listing.txt"}
    assert "noise.log" not in repo.show("listing.txt")
    assert (workspace / "noise.log").read_text() == "noise\n"
    assert repo.status() == ""


async def test_a_sink_that_raises_is_dropped_and_told_and_the_run_goes_on_T1(tmp_path, home):
    from ggactors.app import open_run

    workspace = tmp_path / "plain"
    workspace.mkdir()
    crew = write_crew(tmp_path / "crew", {"root": [turn(write("x", "x")), finish()]}, board=False)

    def broken(event):
        raise ValueError("this listener is broken")

    async with open_run(crew, workspace=workspace, home=home, task="go") as run:
        run.add_sink(broken)
        events = [event async for event in run.events()]
        outcome = await run.outcome()
    assert outcome.exit_code == 0
    assert any("this listener is broken" in event.message for event in of_type(events, "log"))
