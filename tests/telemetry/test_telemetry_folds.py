"""The view of a run is a fold of its events, the same live and after."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from telemetry_stories import Tape, issue, spawned, started, state, summary, turn, usage, whole_run

from ggactors.protocol import events
from ggactors.protocol.values import IssueState
from ggactors.telemetry.folds import RunView, fold
from ggactors.telemetry.glance import Glance, glance
from ggactors.telemetry.jsonl import read_events
from ggactors.telemetry.sink import JsonLines


def plain(view: RunView) -> dict[str, Any]:
    kept = dict(vars(view))
    kept["agents_by_id"] = {name: attrs.asdict(agent) for name, agent in view.agents_by_id.items()}
    kept["spend"] = attrs.asdict(view.spend)
    return kept


def test_live_and_after_the_run_the_view_is_the_same_T2(tmp_path):
    path = tmp_path / "events.jsonl"
    live, sink = RunView(), JsonLines(path)
    for event in whole_run():
        live.apply(event)
        sink(event)
    sink.close()
    assert plain(fold(read_events(path))) == plain(live)


def test_agents_stand_with_state_waits_turns_and_spend_T2():
    view = fold(whole_run()[:25])
    root = view.agents_by_id["root"]
    assert (root.state, root.waiting_on, root.turns) == ("waiting", "AUTH-2", 1)
    assert (root.spend.tokens, root.spend.cost) == (1200, 0.5)
    assert view.agents_by_id["AUTH-1.0i"].model == "script/x"
    assert (view.spend.input, view.spend.output, view.spend.cost) == (1300, 250, 0.5)
    assert view.agents_by_id["AUTH-1.0i"].spend.cost is None


def test_board_dispatched_agents_stand_beside_the_root_and_subagents_below_T2():
    view = fold(whole_run())
    assert [(depth, agent.id) for depth, agent in view.tree()] == [
        (0, "root"),
        (0, "AUTH-1.0i"),
        (0, "ISSUE-1.0i"),
        (1, "ISSUE-1.0i.0s"),
    ]


def test_a_circle_of_parents_or_a_lost_beginning_breaks_nothing():
    tape = Tape()
    tape.put(
        spawned("a", parent="b"),
        spawned("b", parent="a"),
        spawned("c", parent="c"),
        spawned("d", parent="never seen"),
        state("stranger", "running"),
        usage("stranger", 1, 1),
        turn("stranger", 3),
    )
    view = fold(tape.events)
    assert {agent.id for _, agent in view.tree()} >= {"c", "d", "stranger"}
    assert view.running == 1


def test_stalls_are_read_off_the_board_and_end_with_their_cause_D6():
    tape = Tape()
    tape.put(
        issue("create_issue", "A"),
        issue("create_issue", "B", blockedBy=["A"]),
        issue("create_issue", "C", blockedBy=["B"]),
        issue("create_issue", "D", "in_progress", blockedBy=["A"]),
        issue("fail", "A", "failed"),
    )
    assert fold(tape.events).stalls() == {"B": "A", "C": "A"}
    tape.put(issue("set_issue_blocked_by", "B"))
    assert fold(tape.events).stalls() == {}
    tape.put(issue("set_issue_blocked_by", "B", blockedBy=["A"]), issue("revive_issue", "A"))
    assert fold(tape.events).stalls() == {}


def test_removed_issues_and_epics_are_gone():
    tape = Tape()
    tape.put(issue("create_issue", "A"), issue("create_issue", "B"), issue("remove_issue", "A"))
    assert fold(tape.events).issue_states() == {"B": IssueState.OPEN}


def test_a_new_segment_marks_agents_the_old_one_left_behind():
    tape = Tape()
    tape.put(started(), spawned("root", kind="root"), state("root", "running"), started(resumed=True))
    view = fold(tape.events)
    assert view.segments == 2
    assert view.running == 0
    assert view.agents_by_id["root"].lost
    assert not view.ended


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["queued", "running", "waiting", "ended"]))))
@settings(max_examples=60, deadline=None)
def test_the_slots_in_use_are_the_agents_that_run_S1(changes):
    view = RunView()
    for agent, new in changes:
        view.apply(state(agent, new))
        assert view.running == sum(known.state == "running" for known in view.agents_by_id.values())
        assert view.most_running >= view.running


def test_a_picture_that_was_taken_does_not_change_any_more():
    view = fold(whole_run()[:5])
    (root,) = view.agents()
    before = attrs.asdict(root)
    view.apply(usage("root", 10, 10))
    view.apply(turn("root", 7))
    assert attrs.asdict(root) == before


# ---------------------------------------------------------------- at a glance


def write(path, stream) -> None:
    sink = JsonLines(path)
    for event in stream:
        sink(event)
    sink.close()


def test_a_glance_knows_what_a_fold_knows(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, whole_run())
    seen, view = glance(path), fold(whole_run())
    assert (seen.crew, seen.workspace, seen.started, seen.latest) == (
        view.crew,
        view.workspace,
        view.started,
        view.latest,
    )
    assert (seen.status, seen.exit_code) == ("completed", 4)
    assert seen.issues == {"AUTH-1": "done", "ISSUE-1": "failed"}


def test_a_run_that_goes_on_or_was_killed_has_no_status_at_a_glance(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, whole_run()[:-3])
    assert glance(path).status is None
    tape = Tape()
    tape.put(*whole_run(), started(resumed=True), state("root", "running"))
    path.unlink()
    write(path, tape.events)
    assert glance(path).status is None, "the end of an earlier segment is not the run's"


def test_a_glance_reads_the_end_of_a_long_file_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("ggactors.telemetry.glance.TAIL_BYTES", 2000)
    path = tmp_path / "events.jsonl"
    tape = Tape()
    tape.put(started(), *[events.AssistantMessage(agent="root", text="x" * 1000) for _ in range(50)])
    tape.put(summary(), events.SessionEnded(status="completed"))
    write(path, tape.events)
    assert glance(path).status == "completed"
    assert glance(path).crew == "demo"


def test_no_file_and_a_damaged_one_give_an_empty_glance(tmp_path):
    assert glance(tmp_path / "none") == Glance()
    (tmp_path / "bad").write_bytes(b"\xff\x00{{{\n" * 100)
    assert glance(tmp_path / "bad") == Glance()
