"""What the console folds beyond the view: the same at every prefix, live or from the file (T2)."""

from __future__ import annotations

import attrs
from console_stories import busy_run, issue, spawned, stamped, started, state, usage
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.protocol import events
from ggactors.protocol.values import IssueState
from ggactors.repl.console.sources import FileSource, StreamSource
from ggactors.telemetry.folds import fold
from ggactors.telemetry.jsonl import read_events, to_line
from ggactors.telemetry.sink import JsonLines
from ggactors.telemetry.tail import Tail
from ggactors.telemetry.watchfold import KEPT, LONGEST, WatchFold

WHOLE = busy_run()


def plain(found: WatchFold) -> dict:
    """Everything the pictures are drawn from."""
    return {
        "agents": {name: attrs.asdict(agent) for name, agent in found.view.agents_by_id.items()},
        "issues": {name: attrs.asdict(one) for name, one in found.view.issues.items()},
        "told": {name: transcript.told for name, transcript in found.transcripts.items()},
        "waiting": found.waiting,
        "states": {state: count for state, count in found.states.items() if count},
        "spent": {name: attrs.asdict(spend) for name, spend in found.by_issue.items()},
        "stalls": found.stalls(),
        "worked": found.agents_of,
        "total": attrs.asdict(found.view.spend),
    }


@settings(max_examples=15, deadline=None)
@given(cut=st.integers(0, len(WHOLE)), more=st.integers(1, 30))
def test_a_prefix_folded_live_is_the_prefix_folded_from_the_file_T2(tmp_path_factory, cut, more):
    path = tmp_path_factory.mktemp("prefix") / "events.jsonl"
    path.write_text("".join(to_line(event) + "\n" for event in WHOLE[:cut]))
    live, source = WatchFold().take_all(WHOLE[:cut]), FileSource(path, lambda: True)
    later = WatchFold()
    while taken := source.take(more):
        later.take_all(taken)
    assert plain(later) == plain(live)
    with path.open("a") as file:
        file.writelines(to_line(event) + "\n" for event in WHOLE[cut:])
    while taken := source.take(more):
        later.take_all(taken)
    source.close()
    assert plain(later) == plain(WatchFold().take_all(WHOLE))


STATES = st.sampled_from([*IssueState])
CHANGES = st.tuples(st.integers(0, 7), STATES, st.lists(st.integers(0, 7), max_size=3), st.sampled_from(["A", None]))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CHANGES, st.booleans()), max_size=40))
def test_counts_and_stalls_kept_up_are_those_counted_anew(changes):
    kept = WatchFold()
    stream = []
    for (number, stands, blockers, epic), removed in changes:
        op = "remove_issue" if removed else "change"
        behind = [f"ISSUE-{other}" for other in blockers if other != number]
        stream.append(issue(op, f"ISSUE-{number}", stands, blockedBy=behind, epic=epic))
        kept.take(stream[-1])
    view = fold(stream)
    anew: dict[IssueState, int] = {}
    for one in view.issues.values():
        anew[one.state] = anew.get(one.state, 0) + 1
    assert {name: count for name, count in kept.states.items() if count} == anew
    assert kept.stalls().keys() == view.stalls().keys()
    assert sum(sum(states.values()) for states in kept.by_epic.values()) == len(view.issues)
    for name, failed in kept.stalls().items():
        assert view.issues[failed].state is IssueState.FAILED, name


def test_a_transcript_forgets_its_beginning_and_counts_what_it_forgot():
    found = WatchFold()
    found.take(spawned("root"))
    for number in range(3 * KEPT):
        found.take(events.AssistantMessage(agent="root", text=f"turn {number}"))
    transcript = found.transcripts["root"]
    assert KEPT <= len(transcript.told) < 2 * KEPT
    assert transcript.forgotten + len(transcript.told) == 3 * KEPT + 1
    assert transcript.told[-1].text == f"turn {3 * KEPT - 1}"


def test_what_a_model_or_a_tool_pours_out_is_kept_in_part():
    found = WatchFold()
    found.take(spawned("root", brief="b" * 10**5))
    found.take(events.AssistantMessage(agent="root", text="x" * 10**6))
    found.take(events.ToolCalled(agent="root", call_id="c", tool="write_file", args={"contents": "y" * 10**6, "n": 3}))
    found.take(events.ToolAnswered(agent="root", call_id="c", ok=True, output="z" * 10**6))
    brief, said, called, answered = found.transcripts["root"].told
    assert len(brief.brief) < LONGEST + 200
    assert len(said.text) < LONGEST + 200
    assert "994,000 characters more" in said.text
    assert len(called.args["contents"]) < LONGEST + 200
    assert called.args["n"] == 3
    assert len(answered.output) <= LONGEST


def test_what_a_subagent_spends_counts_for_the_issue_of_who_made_it():
    found = WatchFold()
    found.take_all(
        [
            issue("create_issue", "ISSUE-1"),
            spawned("ISSUE-1.0i", issue="ISSUE-1"),
            spawned("ISSUE-1.0i.0s", kind="subagent", parent="ISSUE-1.0i"),
            usage("ISSUE-1.0i", 10, 1),
            usage("ISSUE-1.0i.0s", 20, 2),
        ]
    )
    assert found.by_issue["ISSUE-1"].tokens == 33


def test_parents_in_a_circle_hold_nothing_up():
    found = WatchFold()
    found.take_all([spawned("a", parent="b"), spawned("b", parent="a"), usage("a", 1, 1)])
    assert found.by_issue == {}


def test_questions_wait_until_they_are_answered_and_no_longer_than_their_run_H42():
    found = WatchFold()

    def asked(item: str, state: str) -> events.Attention:
        return events.Attention(
            agent="root", item=item, kind="question", state=state, title="Which?", detail="", options=(), default=""
        )

    found.take_all([started(), asked("q1", "open"), asked("q2", "open"), asked("q1", "answered")])
    assert list(found.waiting) == ["q2"]
    found.take(events.SessionEnded(status="canceled"))
    assert not found.waiting


# ---------------------------------------------------------------- sources


def test_a_torn_line_is_waited_for_and_may_be_written_anew(tmp_path):
    path = tmp_path / "events.jsonl"
    first, second, third = (to_line(event).encode() + b"\n" for event in WHOLE[:3])
    path.write_bytes(first + second[:20])
    with Tail(path) as tail:
        assert [event.seq for event in tail.take(10)] == [1]
        assert tail.take(10) == []
        sink = JsonLines(path)  # who goes on with a run cuts the torn line off
        sink(WHOLE[1])
        sink(WHOLE[2])
        sink.close()
        assert [event.seq for event in tail.take(10)] == [2, 3]
        assert path.read_bytes() == first + second + third
        assert tail.progress() == 1.0


def test_a_line_longer_than_any_chunk_is_read(tmp_path):
    path = tmp_path / "events.jsonl"
    long = events.AssistantMessage(agent="root", text="x" * 700_000, seq=1)
    path.write_text(to_line(long) + "\nno event\n" + to_line(WHOLE[1]) + "\n")
    with Tail(path) as tail:
        assert [event.seq for event in tail.take(10)] == [1, 2]


def test_a_tail_gives_no_more_than_it_is_asked_for(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text("".join(to_line(event) + "\n" for event in WHOLE))
    with Tail(path) as tail:
        sizes = [len(tail.take(7)) for _ in range(len(WHOLE) // 7 + 1)]
    assert sum(sizes) == len(WHOLE)
    assert max(sizes) == 7


@given(opened=st.integers(0, len(WHOLE)), written=st.integers(0, len(WHOLE)), most=st.integers(1, 40))
@settings(max_examples=15, deadline=None)
def test_a_stream_joined_late_gives_every_event_once(tmp_path_factory, opened, written, most):
    """The file may be behind what is put, and be written further at any time."""
    path = tmp_path_factory.mktemp("joined") / "events.jsonl"
    path.write_text("".join(to_line(event) + "\n" for event in WHOLE[: min(opened, written)]))
    source = StreamSource(path)
    for event in WHOLE[opened:]:
        source.put(event)
    found = source.take(most)
    with path.open("a") as file:
        file.writelines(to_line(event) + "\n" for event in WHOLE[min(opened, written) :])
    for _ in range(2 * len(WHOLE) + 50):
        found += source.take(most)
    source.close()
    assert [event.seq for event in found] == [event.seq for event in WHOLE]


def test_a_stream_whose_file_cannot_be_written_goes_on_from_what_is_put(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text(to_line(WHOLE[0]) + "\n")
    source = StreamSource(path)
    for event in WHOLE[5:]:
        source.put(event)
    found = [event for _ in range(100) for event in source.take(10)]
    assert [event.seq for event in found] == [1, *range(6, len(WHOLE) + 1)]
    assert source.alive()
    source.end()
    assert not source.alive()


def test_a_driven_run_is_asked_after_only_now_and_then(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text("")
    asked = []
    source = FileSource(path, lambda: bool(asked.append(1)))
    assert [source.alive() for _ in range(100)] == [False] * 100
    assert len(asked) == 1
    source.close()
    assert source.take(10) == []


def test_the_file_a_run_wrote_is_what_its_stream_said(tmp_path):
    path = tmp_path / "events.jsonl"
    sink = JsonLines(path)
    for event in WHOLE:
        sink(event)
    sink.close()
    assert plain(WatchFold().take_all(read_events(path))) == plain(WatchFold().take_all(WHOLE))
    assert stamped([state("root", "running")])[0].seq == 1
