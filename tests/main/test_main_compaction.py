"""Conversations that outgrow their model's window, in whole runs: summed up, shortened, never lost (B11, E3)."""

from __future__ import annotations

import pytest
from compaction_kit import (
    HANDS,
    WINDOW,
    Windowed,
    asks_summary,
    call,
    check,
    compaction,
    done,
    pinned,
    play,
    size,
    summed_up,
    working,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from ggactors.ports import ModelFault
from ggactors.protocol.crew import CompactionSpec
from ggactors.protocol.model import ModelReply, ModelTraits, ToolCall, Usage
from ggactors.protocol.values import Status
from ggactors.protocol.workbench import FileRead
from ggactors.testing.crews import of_type
from ggactors.testing.journals import MemoryJournal


def test_a_conversation_near_its_window_is_summed_up_by_its_own_model_and_goes_on():
    source = Windowed(answer=working(30, weight=2000), traits=WINDOW)
    outcome, run = play(source)
    assert (outcome.status, outcome.exit_code) == ("completed", 0)
    check(source, run)
    told = of_type(run.events, "compacted")
    assert len(told) >= 2
    assert all(one.after < one.before and not one.fallback for one in told)
    last = source.turns()[-1]
    assert summed_up(last).endswith("I wrote files.")
    assert "`finish` with a summary of what you did" in pinned(last)
    # The last turns before a compaction are whole.
    at = next(n for n, request in enumerate(source.turns()) if pinned(request))
    before, after = source.turns()[at - 1], source.turns()[at]
    kept = CompactionSpec().keep_turns
    whole = [m for m in after.messages if m.role in ("assistant", "tool")]
    assert whole == [m for m in after.messages if m.role in ("assistant", "tool")][-2 * kept :]
    assert whole[:-2] == [m for m in before.messages if m.role in ("assistant", "tool")][-2 * (kept - 1) :]


def test_a_summary_is_asked_over_the_same_prefix_and_tools_so_that_it_can_be_cached():
    source = Windowed(answer=working(12), traits=WINDOW)
    play(source)
    at = next(n for n, request in enumerate(source.seen) if asks_summary(request))
    before, asked = source.seen[at - 1], source.seen[at]
    assert asked.messages[: len(before.messages)] == before.messages
    assert asked.tools == before.tools


def test_what_the_provider_counts_goes_before_the_estimate():
    def answer(request):
        if asks_summary(request):
            return ModelReply(text="short")
        big = Usage(input=7000 if request.turn == 6 else 100, output=1)
        reply = call(request.turn, "write_file", path=f"f{request.turn}", contents="x")
        return done() if request.turn > 8 else ModelReply(text=reply.text, calls=reply.calls, usage=big)

    source = Windowed(answer=answer, traits=WINDOW)
    outcome, run = play(source)
    assert outcome.exit_code == 0
    (told,) = of_type(run.events, "compacted")
    assert told.before >= 7000
    assert pinned(source.turns()[6])
    assert not pinned(source.turns()[5])


def test_a_provider_that_always_counts_the_same_does_not_make_it_thrash():
    def answer(request):
        if asks_summary(request):
            return ModelReply(text="short", usage=Usage(input=7900))
        reply = call(request.turn, "write_file", path=f"f{request.turn}", contents="x" * 40)
        reply = done() if request.turn > 40 else reply
        return ModelReply(calls=reply.calls, usage=Usage(input=7900))

    outcome, run = play(Windowed(answer=answer, traits=WINDOW))
    assert outcome.exit_code == 0
    assert 1 <= len(of_type(run.events, "compacted")) <= 10, "no oftener than every few turns"


def test_an_overflow_is_answered_by_a_compaction_also_where_no_window_is_known():
    source = Windowed(answer=working(20), limit=30_000)
    outcome, run = play(source)
    assert outcome.exit_code == 0
    assert source.refused >= 1
    check(source, run)
    assert of_type(run.events, "compacted")
    assert all(one.outcome != "error" for one in of_type(run.events, "turn_outcome"))
    assert summed_up(source.turns()[-1])


def test_without_the_capability_an_overflow_is_a_model_error_that_names_it():
    outcome, run = play(Windowed(answer=working(20), limit=30_000), capabilities=HANDS)
    assert (outcome.status, outcome.exit_code) == ("model_error", 1)
    assert "prompt is too long" in outcome.summary
    assert "switch on the capability compaction" in outcome.summary
    assert not of_type(run.events, "compacted")


def refuse(_):
    raise ModelFault("no", status=400)


@pytest.mark.parametrize(
    "summary",
    [
        lambda _: ModelReply(text=" \n"),
        lambda _: ModelReply(text="word " * 20_000),
        lambda _: ModelReply(text="Sure.", calls=(ToolCall(id="s", tool="read_file", args={"path": "f1"}),)),
        refuse,
    ],
    ids=["empty", "too long", "calls a tool", "refused"],
)
def test_a_summary_that_fails_never_loses_the_thread(summary):
    source = Windowed(answer=working(12, summary=summary), traits=WINDOW)
    outcome, run = play(source)
    assert outcome.exit_code == 0
    check(source, run)
    told = of_type(run.events, "compacted")
    assert told
    assert all(one.fallback for one in told)
    last = source.turns()[-1].messages
    assert [one.id for m in last for one in m.calls] == [f"c{n}" for n in range(1, 13)], "every turn is still there"
    assert not any(event.type == "tool_result" and event.call_id == "s" for event in run.events)
    first = next(one for m in last for one in m.calls)
    assert "characters left out" in first.args["contents"]


def test_the_fallback_is_the_same_every_time_and_says_where_the_text_lies(tmp_path):
    def play_once():
        def answer(request):
            if asks_summary(request):
                return ModelReply(text="")
            return call(request.turn, "read_file", path="big") if request.turn < 12 else done()

        source = Windowed(answer=answer, traits=WINDOW)
        run_document = {"stuckDetection": {"enabled": False}}
        bench = Reader("all of it\n" * 300)
        outcome, _ = play(source, document=run_document, bench=lambda _: bench)
        assert outcome.exit_code == 0
        return source, bench

    (one, bench), (two, _) = play_once(), play_once()
    assert [r.messages for r in one.seen] == [r.messages for r in two.seen]
    last = one.turns()[-1]
    cut = [r.output for m in last.messages for r in m.results if "left out" in r.output]
    assert cut
    assert all("all of it is in /kept/conversation-" in text for text in cut)
    assert "/kept/conversation-" in pinned(last)
    assert "all of it\n" * 300 in bench.kept[0]


class Reader:
    """A workbench that reads one file and remembers what is kept."""

    def __init__(self, text):
        self.text, self.kept = text, []

    async def read_file(self, path, offset=None, limit=None):
        lines = self.text.count("\n")
        return FileRead(path=path, text=self.text, first=1, last=lines, total=lines, size=len(self.text))

    def keep(self, label, text):
        self.kept.append(text)
        return f"/kept/{label}-{len(self.kept)}.txt"

    async def close(self):
        pass


def test_an_ending_declared_instead_of_a_summary_ends_the_session_E3():
    source = Windowed(answer=working(30, summary=lambda request: done(request.turn, "enough")), traits=WINDOW)
    outcome, run = play(source)
    assert (outcome.status, outcome.summary) == ("completed", "enough")
    assert not of_type(run.events, "compacted")


def test_the_tokens_of_a_summary_are_counted_once_like_any_others():
    def answer(request):
        reply = working(20)(request)
        usage = Usage(input=size(request) // 4, output=7, cost=0.5)
        return ModelReply(text=reply.text, calls=reply.calls, usage=usage)

    source = Windowed(answer=answer, traits=WINDOW)
    outcome, run = play(source)
    calls = len(source.seen)
    assert any(map(asks_summary, source.seen))
    assert len(of_type(run.events, "usage")) == calls
    assert outcome.usage["input"] == sum(size(request) // 4 for request in source.seen)
    assert outcome.cost == 0.5 * calls


def test_a_spend_ceiling_met_by_a_summary_stops_the_run():
    def answer(request):
        reply = working(30)(request)
        spent = Usage(input=0, output=500 if asks_summary(request) else 1)
        return ModelReply(text=reply.text, calls=reply.calls, usage=spent)

    outcome, run = play(Windowed(answer=answer, traits=WINDOW), document={"limits": {"maxTokens": 400}})
    assert outcome.status == "limit_exceeded"
    assert [one.limit for one in of_type(run.events, "limit_exceeded")] == ["maxTokens"]
    assert len(of_type(run.events, "compacted")) == 1


def test_a_run_that_is_stopped_meanwhile_asks_no_more_of_the_model():
    source = Windowed(answer=working(20), traits=WINDOW)

    def watch(staff, event):
        if event.type == "compacted":
            staff.stop(Status.CANCELED, "enough")

    outcome, _ = play(source, watch=watch)
    assert (outcome.status, outcome.exit_code) == ("canceled", 130)
    assert asks_summary(source.seen[-1])


def test_a_journal_that_breaks_at_a_compaction_leaves_the_conversation_before_it():
    healthy = Windowed(answer=working(8), traits=WINDOW)
    _, run = play(healthy)
    at = next(n for n, (_, packed) in enumerate(run.journal.entries, 1) if b"WindowCompacted" in packed)
    source = Windowed(answer=working(8), traits=WINDOW)
    outcome, run = play(source, journal=MemoryJournal(breaks_at=at))
    assert outcome.status == "internal_error"
    assert not of_type(run.events, "compacted")
    check(source, run)


def test_a_refused_key_ends_the_agent_also_while_it_sums_up():
    def revoked(_):
        raise ModelFault("the key was revoked", status=401, auth=True)

    outcome, run = play(Windowed(answer=working(20, summary=revoked), traits=WINDOW))
    assert (outcome.status, outcome.exit_code) == ("auth_error", 1)
    assert not of_type(run.events, "compacted")


def test_a_conversation_that_cannot_be_made_shorter_goes_on_as_long_as_it_fits():
    source = Windowed(answer=working(5, weight=10), traits=WINDOW)
    outcome, run = play(source, task="x" * 24_000)
    assert outcome.exit_code == 0
    check(source, run)
    assert len(of_type(run.events, "compacted")) <= 1


def test_who_cannot_read_files_is_pointed_to_none():
    def answer(request):
        if asks_summary(request):
            return ModelReply(text="I added tasks.")
        return call(request.turn, "add_task", id=f"t{request.turn}", title="t" * 900) if request.turn < 30 else done()

    source = Windowed(answer=answer, traits=WINDOW)
    outcome, run = play(source, capabilities=[{"id": "tasks"}, compaction()], bench=lambda _: Reader(""))
    assert outcome.exit_code == 0
    check(source, run)
    assert of_type(run.events, "compacted")
    assert "kept in" not in pinned(source.turns()[-1])


def test_what_cannot_be_made_to_fit_is_a_model_error_in_a_sentence():
    source = Windowed(answer=working(20), limit=5_000)
    outcome, _ = play(source, task="x" * 6_000)
    assert (outcome.status, outcome.exit_code) == ("model_error", 1)
    assert "does not fit the model's window" in outcome.summary
    assert source.refused < 12


def test_a_threshold_and_the_turns_kept_are_the_crews():
    source = Windowed(answer=working(14), traits=ModelTraits(window=20_000))
    outcome, run = play(source, capabilities=[*HANDS, compaction(threshold=0.3, keepTurns=1)])
    assert outcome.exit_code == 0
    check(source, run)
    assert all(one.before < 9_000 for one in of_type(run.events, "compacted"))
    at = next(n for n, request in enumerate(source.turns()) if pinned(request))
    assert sum(m.role == "assistant" for m in source.turns()[at].messages) == 1


@settings(max_examples=25)
@given(
    weights=st.lists(st.integers(0, 9000), min_size=4, max_size=30),
    limit=st.integers(14_000, 60_000),
    known=st.booleans(),
    fails=st.booleans(),
)
def test_whatever_the_results_weigh_every_request_is_sound_and_the_agent_finishes(weights, limit, known, fails):
    def answer(request):
        if asks_summary(request):
            return ModelReply(text="" if fails else "So far so good.")
        if request.turn > len(weights):
            return done()
        return call(request.turn, "write_file", path=f"f{request.turn}", contents="w" * weights[request.turn - 1])

    source = Windowed(answer=answer, traits=ModelTraits(window=limit // 4 if known else None), limit=limit)
    outcome, run = play(source)
    assert outcome.exit_code == 0, outcome.summary
    check(source, run)
    assert all(size(request) <= limit for request in source.seen)
