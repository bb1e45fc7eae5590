"""Reviews and merge agents, whole runs in memory: who approves what, what a verdict is bound to, who concludes a merge."""

import trio.testing

from ggactors.protocol.values import Status
from ggactors.testing.crews import finish, issue, of_type, turn, wait, write
from ggactors.testing.simulation import Simulation

APPROVE = turn(("approve", {}))


def ask_for(*items):
    return turn(("request_changes", {"items": list(items)}))


def simulate(script, **more):
    run = Simulation(script=script, **more)

    async def main():
        return await run.run()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)), run


REVIEWED = [turn(issue("Reviewed", reviewers=["critic", "critic"])), wait("ISSUE-1"), finish()]


def test_every_reviewer_must_approve_before_the_work_is_merged_R6_R9():
    outcome, run = simulate({"root": REVIEWED, "ISSUE-1.0i": [turn(write("a", "a")), finish()], "*r": [APPROVE]})
    assert outcome.exit_code == 0
    (review,) = of_type(run.events, "issue_review")
    assert (review.round, review.verdict, review.reviewer) == (1, "approved", None)
    assert [approval["agent"] for approval in review.approvals] == ["ISSUE-1.0i.0r", "ISSUE-1.0i.1r"]
    assert review.approvals[0] == {"agent": "ISSUE-1.0i.0r", "profile": "critic", "profileName": "critic"}
    assert run.repository.files == {"a": "a"}


def test_changes_requested_send_the_issue_back_with_numbered_items_and_spend_no_retry_R3_R4_R5():
    rounds = [ask_for("first", " ", "second"), APPROVE]
    outcome, run = simulate(
        {
            "root": REVIEWED,
            "ISSUE-1.0i": [turn(write("a", "draft")), finish()],
            "ISSUE-1.1i": [turn(write("a", "better")), finish()],
            "ISSUE-1.0i.0r": [rounds[0]],
            "*r": [APPROVE],
        },
        document={"params": {"maxRetries": 0}},
    )
    assert outcome.exit_code == 0
    first, second = of_type(run.events, "issue_review")
    assert (first.verdict, first.items, first.reviewer["agent"]) == (
        "changes_requested",
        ("first", "second"),
        "ISSUE-1.0i.0r",
    )
    assert (second.round, second.verdict) == (2, "approved")
    spawned = {event.agent: event for event in of_type(run.events, "agent_spawned")}
    assert "ISSUE-1.0i.1r" not in spawned
    assert "1. first" in spawned["ISSUE-1.1i"].brief
    assert "2. second" in spawned["ISSUE-1.1i"].brief
    assert "requested changes" in spawned["ISSUE-1.1i.0r"].brief
    assert run.repository.files == {"a": "better"}


def test_a_retry_of_a_rework_keeps_the_items_in_its_brief_R5():
    outcome, run = simulate(
        {
            "root": REVIEWED,
            "ISSUE-1.0i": [turn(write("a", "draft")), finish()],
            "ISSUE-1.1i": [{"error": {"status": 400}}],
            "ISSUE-1.2i": [turn(write("a", "better")), finish()],
            "ISSUE-1.0i.0r": [ask_for("mend it")],
            "*r": [APPROVE],
        }
    )
    assert outcome.exit_code == 0
    brief = next(event.brief for event in of_type(run.events, "agent_spawned") if event.agent == "ISSUE-1.2i")
    assert "1. mend it" in brief
    assert "ISSUE-1.1i" in brief


def test_a_reviewer_that_ends_without_a_verdict_fails_the_issue_R7():
    outcome, run = simulate(
        {"root": REVIEWED, "ISSUE-1.0i": [turn(write("a", "a")), finish()], "*r": [{"text": "I approve!"}]},
        document={"limits": {"maxConsecutiveErrors": 2}},
    )
    assert outcome.issues == {"ISSUE-1": "failed"}
    (review,) = of_type(run.events, "issue_review")
    assert review.verdict == "not_held"
    assert "limit_exceeded" in review.reason
    assert not run.repository.merged
    assert [event.merged for event in of_type(run.events, "worktree_merged")] == [False]


def test_what_a_reviewer_changes_is_saved_and_put_back_and_never_merges_R8():
    outcome, run = simulate(
        {
            "root": REVIEWED,
            "ISSUE-1.0i": [turn(write("a", "the work")), finish()],
            "ISSUE-1.0i.0r": [turn(write("a", "sabotage"), write("b", "extra")), APPROVE],
            "*r": [APPROVE],
        }
    )
    assert outcome.exit_code == 0
    assert run.repository.files == {"a": "the work"}
    (kept,) = run.repository.saved.values()
    assert run.repository.commits[kept].tree == {"a": "sabotage", "b": "extra"}


def test_an_ending_of_the_other_group_is_unavailable_and_names_the_own_ones_E4():
    outcome, run = simulate(
        {
            "root": REVIEWED,
            "ISSUE-1.0i": [turn(("approve", {})), turn(write("a", "a")), finish()],
            "ISSUE-1.0i.0r": [finish("looks good"), APPROVE],
            "*r": [APPROVE],
        }
    )
    assert outcome.exit_code == 0
    refused = [event for event in of_type(run.events, "tool_result") if event.code == "unavailable"]
    assert [event.agent for event in refused] == ["ISSUE-1.0i", "ISSUE-1.0i.0r"]
    assert "finish" in refused[0].output
    assert "approve" in refused[1].output


CONFLICT = {
    "root": [turn(issue("Left"), issue("Right")), wait("ISSUE-1", "ISSUE-2"), finish()],
    "ISSUE-1.*i": [turn(write("f", "left\n")), finish()],
    "ISSUE-2.*i": [turn(write("f", "right\n"), delaySecs=1), finish()],
}


def test_a_conflict_is_resolved_by_the_merge_agent_and_believed_when_git_agrees_M2_M3():
    outcome, run = simulate(
        {**CONFLICT, "ISSUE-2.0m": [finish("done already"), turn(write("f", "left\nright\n")), finish("both kept")]}
    )
    assert outcome.exit_code == 0
    merged = {event.issue: event for event in of_type(run.events, "worktree_merged")}
    assert merged["ISSUE-2"].merge_agent == "ISSUE-2.0m"
    assert merged["ISSUE-2"].conflicts == ("f",)
    assert not merged["ISSUE-2"].one_sided
    assert run.repository.files == {"f": "left\nright\n"}
    held = [event for event in of_type(run.events, "tool_result") if event.agent == "ISSUE-2.0m" and not event.ok]
    assert "markers" in held[0].output


def test_a_merge_the_agent_could_not_finish_is_aborted_and_fails_the_issue_M4():
    outcome, run = simulate({**CONFLICT, "ISSUE-2.0m": [{"error": {"status": 400}}]})
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "failed"}
    assert run.repository.files == {"f": "left\n"}
    merged = {event.issue: event for event in of_type(run.events, "worktree_merged")}
    assert not merged["ISSUE-2"].merged
    assert merged["ISSUE-2"].saved_ref in run.repository.saved


def test_with_one_slot_a_root_whose_issue_conflicts_completes_S6():
    outcome, run = simulate(
        {
            "root": [turn(issue("Clash")), turn(write("f", "roots\n")), wait("ISSUE-1"), finish()],
            "ISSUE-1.0i": [turn(write("f", "issues\n")), finish()],
            "ISSUE-1.0m": [turn(write("f", "roots\nissues\n")), finish()],
        },
        document={"limits": {"maxParallel": 1}},
    )
    assert outcome.exit_code == 0
    assert outcome.issues == {"ISSUE-1": "done"}
    assert run.repository.files == {"f": "roots\nissues\n"}
    assert [event.merge_agent for event in of_type(run.events, "worktree_merged")] == ["ISSUE-1.0m"]


def test_a_cancel_during_a_review_parks_it_and_fails_nothing_D5():
    def stop(staff, event):
        if event.type == "agent_state" and event.agent == "ISSUE-1.0i.0r" and event.state == "running":
            staff.stop(Status.CANCELED, "cancelled")

    outcome, run = simulate(
        {"root": REVIEWED, "ISSUE-1.0i": [turn(write("a", "a")), finish()], "*r": [turn(), APPROVE]}, watch=stop
    )
    assert outcome.exit_code == 130
    assert outcome.issues == {"ISSUE-1": "in_review"}
    assert not of_type(run.events, "issue_review")
    assert not of_type(run.events, "worktree_merged")


def test_a_cancel_during_a_merge_agent_aborts_the_merge_and_fails_nothing_D5():
    def stop(staff, event):
        if event.type == "agent_state" and event.agent == "ISSUE-2.0m" and event.state == "running":
            staff.stop(Status.CANCELED, "cancelled")

    outcome, run = simulate({**CONFLICT, "ISSUE-2.0m": [finish()]}, watch=stop)
    assert outcome.exit_code == 130
    assert outcome.issues == {"ISSUE-1": "done", "ISSUE-2": "in_review"}
    assert run.repository.files == {"f": "left\n"}
