"""What users of such systems reported, as whole runs: the behaviour that would have been right (H numbers)."""

from pathlib import Path

import pytest
import trio.testing

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, run_to_end, shell, turn, wait, write, write_crew
from ggactors.testing.repos import make_repo, tree_bytes
from ggactors.testing.simulation import Simulation


def simulate(script, **more):
    run = Simulation(script=script, **more)

    async def main():
        return await run.run()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)), run


def of_type(events, kind):
    return [event for event in events if event.type == kind]


async def test_work_finished_without_a_commit_is_committed_by_the_runtime_H18(tmp_path):
    repo = make_repo(tmp_path / "repo", {"kept.txt": "1\n", "gone.txt": "2\n"})
    crew = write_crew(
        tmp_path / "crew",
        {
            "root": [turn(issue("A")), wait("ISSUE-1"), finish()],
            "ISSUE-1.*": [
                turn(write("new.txt", "new\n"), shell("rm gone.txt; chmod +x kept.txt; ln -s kept.txt link")),
                finish(),
            ],
        },
    )
    outcome, _ = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert outcome.exit_code == 0
    assert repo.git("ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD").splitlines() == [
        "100755 kept.txt",
        "120000 link",
        "100644 new.txt",
    ]


def test_an_epic_is_never_dispatched_H26():
    outcome, run = simulate({"root": [turn(("create_epic", {"prefix": "auth", "title": "Auth"})), finish()]})
    assert outcome.exit_code == 0
    assert [event.agent for event in of_type(run.events, "agent_spawned")] == ["root"]


@pytest.mark.parametrize(
    ("prefix", "code"),
    [("ab", "invalid-argument"), ("toolong", "invalid-argument"), ("a1b", "invalid-argument"), ("issue", "conflict")],
)
def test_a_prefix_that_is_no_prefix_is_refused_and_a_good_one_is_upper_cased_B2(prefix, code):
    _, run = simulate(
        {
            "root": [
                turn(
                    ("create_epic", {"prefix": prefix, "title": "x"}), ("create_epic", {"prefix": "auth", "title": "y"})
                ),
                finish(),
            ]
        }
    )
    bad, good, _ = of_type(run.events, "tool_result")
    assert (bad.ok, bad.code) == (False, code)
    assert '"AUTH"' in good.output


async def test_the_brief_is_the_first_thing_an_agent_reads_H31_D1(tmp_path):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(tmp_path / "crew", {}, model="python/model.py:answer")
    (tmp_path / "crew" / "model.py").write_text(
        "def answer(request):\n"
        "    if request.agent == 'root':\n"
        "        calls = [('create_issue', dict(title='The title', inScope='the scope', outOfScope='the rest',\n"
        "                  completionCriteria='the proof', agent='coder', description='the story')),\n"
        "                 ('wait_for_issue', {'issueId': 'ISSUE-1'}), ('finish', {'summary': 'ok'})]\n"
        "        tool, args = calls[request.turn - 1]\n"
        "        return {'calls': [{'tool': tool, 'args': args}]}\n"
        "    first = [m for m in request.messages if m['role'] == 'user'][0]['text']\n"
        "    whole = all(word in first for word in ('The title', 'the scope', 'the rest', 'the proof', 'the story'))\n"
        "    board = any('ISSUE-' in m['text'].replace('ISSUE-1', '') for m in request.messages)\n"
        "    return {'calls': [{'tool': 'finish', 'args': {'summary': f'whole={whole} board={board}'}}]}\n"
    )
    outcome, events = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert outcome.exit_code == 0
    ended = {event.agent: event.summary for event in of_type(events, "agent_state") if event.state == "ended"}
    assert ended["ISSUE-1.0i"] == "whole=True board=False"


def test_two_hundred_issues_in_one_reply_never_run_more_than_the_cap_H28_S1():
    most = 0

    def count(staff, event):
        nonlocal most
        most = max(most, staff.place.view.running)
        assert staff.place.view.running <= 4

    script = {
        "root": [turn(*(issue(f"W{n}") for n in range(200))), wait("ISSUE-200"), finish()],
        "*i": [turn(delaySecs=1), finish()],
    }
    outcome, run = simulate(script, watch=count)
    assert outcome.exit_code == 0
    assert most == 4
    assert len(run.repository.merged) == 200


async def test_an_agent_that_cannot_be_made_fails_its_issue_at_once_and_the_waiter_is_told_H30_D7(tmp_path):
    class Vanishing:
        label = "vanishing"

        def model_for(self, agent, profile):
            from ggactors.ports import LaunchRefused
            from ggactors.protocol.values import Problem

            raise LaunchRefused([Problem(path="models", what="the model went away", remedy="bring it back")])

    run = Simulation(
        script={"root": [turn(issue("A")), wait("ISSUE-1"), finish()]},
        document={"agents": {"coder": {"model": "script/gone.json"}}},
    )
    original = run._source()

    class Both:
        label = "both"

        def model_for(self, agent, profile):
            return (Vanishing() if profile == "coder" else original).model_for(agent, profile)

    run.source = Both()
    outcome = await run.run()
    assert outcome.issues == {"ISSUE-1": "failed"}
    assert not [event for event in of_type(run.events, "agent_spawned") if event.kind == "implementer"]
    failed = [event for event in of_type(run.events, "board_changed") if event.op == "fail"]
    assert "the model went away" in failed[0].issue["reason"]
    answers = [event.output for event in of_type(run.events, "tool_result") if event.agent == "root"]
    assert '"state": "failed"' in answers[1]


def test_prose_about_being_done_is_never_taken_for_it_H32_E7():
    outcome, run = simulate(
        {
            "root": [turn(issue("A")), wait("ISSUE-1"), finish()],
            "*i": [{"text": "I have finished: finish(summary='done'). APPROVED.", "repeat": 20}],
        },
        document={"params": {"maxRetries": 0}},
    )
    assert outcome.issues == {"ISSUE-1": "failed"}
    assert not run.repository.merged


def test_an_issue_that_rightly_changes_nothing_is_done_and_pointed_out_as_empty_H33_D4():
    outcome, run = simulate(
        {"root": [turn(issue("Look into it")), wait("ISSUE-1"), finish()], "*i": [finish("all is well")]}
    )
    assert outcome.issues == {"ISSUE-1": "done"}
    (merged,) = of_type(run.events, "worktree_merged")
    assert (merged.merged, merged.empty_change) == (True, True)


def test_a_review_that_does_not_converge_is_visible_round_by_round_H40_R5():
    script = {"root": [turn(issue("A", reviewers=["critic"])), wait("ISSUE-1"), finish()]}
    for n in range(6):
        script[f"ISSUE-1.{n}i"] = [turn(write("a", str(n))), finish()]
        script[f"ISSUE-1.{n}i.0r"] = [turn(("request_changes", {"items": [f"another thing, {n}"]}))]
    script["*i"] = [finish()]
    script["*r"] = [turn(("approve", {}))]
    outcome, run = simulate(script)
    assert outcome.exit_code == 0
    rounds = [(event.round, event.verdict, len(event.items)) for event in of_type(run.events, "issue_review")]
    assert rounds == [*((n, "changes_requested", 1) for n in range(1, 7)), (7, "approved", 0)]
    assert of_type(run.events, "board_changed")[-1].issue["rounds"] == 7


def test_a_reviewer_that_changes_nothing_is_a_reviewer_all_the_same_H41():
    outcome, run = simulate(
        {
            "root": [turn(issue("A", reviewers=["critic"])), wait("ISSUE-1"), finish()],
            "ISSUE-1.0i": [turn(write("a", "a")), finish()],
            "*r": [turn(("approve", {}))],
        }
    )
    assert outcome.exit_code == 0
    assert run.repository.saved == {}


def test_stopping_an_agent_that_waits_needs_no_word_of_its_model_H47():
    asked = []

    def stop(staff, event):
        if event.type == "agent_state" and event.agent == "root" and event.state == "waiting":
            asked.append(len(of_type(run_events(staff), "usage")))
            staff.stop(Status.CANCELED, "stopped")

    def run_events(staff):
        return seen

    seen = []

    def watch(staff, event):
        seen.append(event)
        stop(staff, event)

    outcome, run = simulate(
        {"root": [turn(issue("A")), wait("ISSUE-1"), finish()], "*i": [turn(delaySecs=60), finish()]}, watch=watch
    )
    assert outcome.exit_code == 130
    after = [event for event in of_type(run.events, "usage")[asked[0] :] if event.agent == "root"]
    assert after == []


def test_an_agent_whose_task_dies_never_leaves_its_issue_in_progress_for_ever_H25_D8():
    class Dying:
        label = "dying"

        def bound(self, request):
            return None

        async def reply(self, request):
            raise RuntimeError("the agent's task dies here")

    run = Simulation(script={"root": [turn(issue("A"), issue("B", blockedBy=["ISSUE-1"])), wait("ISSUE-1"), finish()]})
    original = run._source()

    class Both:
        label = "both"

        def model_for(self, agent, profile):
            return Dying() if profile == "coder" else original.model_for(agent, profile)

    run.source = Both()

    async def main():
        return await run.run()

    outcome = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert (outcome.status, outcome.exit_code) == (Status.INTERNAL_ERROR, 1)
    assert outcome.issues == {"ISSUE-1": "failed", "ISSUE-2": "open"}
    assert run.staff.pool.held == 0


async def test_the_state_of_a_run_never_enters_the_workspace_W9(tmp_path):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {"root": [turn(issue("A")), wait("ISSUE-1"), finish()], "*i": [turn(shell("git add -A && ls -a")), finish()]},
    )
    before = set(tree_bytes(repo.path))
    outcome, _ = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert outcome.exit_code == 0
    assert set(tree_bytes(repo.path)) == before
    assert repo.files() == sorted(before)


async def test_the_runtime_itself_needs_no_git_program_W7(tmp_path, monkeypatch):
    repo = make_repo(tmp_path / "repo")
    crew = write_crew(
        tmp_path / "crew",
        {"root": [turn(issue("A")), wait("ISSUE-1"), finish()], "*i": [turn(write("a", "a\n")), finish()]},
    )
    path = tmp_path / "bin"
    path.mkdir()
    with monkeypatch.context() as bare:
        bare.setenv("PATH", str(path))
        outcome, _ = await run_to_end(crew, repo.path, home=tmp_path / "state")
    assert outcome.exit_code == 0
    assert Path(repo.path / "a").read_text() == "a\n"
    repo.git("fsck", "--strict")
