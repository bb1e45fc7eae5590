"""The console's pictures: what is on them, that they fit, that they are safe, and that they are the same live and after (T2)."""

from __future__ import annotations

import re

from console_stories import (
    busy_run,
    choose,
    issue,
    screen_of,
    spawned,
    stamped,
    started,
    state,
    text_of,
    turn,
    usage,
    whole_run,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from ggactors.protocol import events
from ggactors.repl.console.kept import Kept, Same
from ggactors.repl.console.keys import Hand
from ggactors.repl.console.painting import LOOKS, fitted, from_painted
from ggactors.repl.console.state import Side, Tab
from ggactors.telemetry.closeup import call_lines, diff_lines
from ggactors.telemetry.plaintext import Look

WHOLE = busy_run()


# ---------------------------------------------------------------- what is shown


def test_every_agent_stands_with_profile_state_wait_turns_tokens_and_cost_T2():
    screen = screen_of(whole_run()[:25])
    rows = {line.split()[0]: line for line in text_of(screen).splitlines()[2:6]}
    assert re.search(r"Lead +waiting +1 +1,200 +0\.5000  on AUTH-2 \(open\)", rows["root"])
    assert re.search(r"Coder +running", rows["AUTH-1.0i"])


def test_agents_of_the_board_stand_beside_root_and_subagents_under_who_made_them_T2():
    lines = [line for line in text_of(screen_of(WHOLE)).splitlines() if "  Coder" in line or "  Lead" in line]
    names = [line[1:].split("  ")[0] for line in lines]
    assert names[:4] == ["root", "AUTH-1.0i", "ISSUE-1.0i", "└ ISSUE-1.0i.0s"]


def test_a_wait_for_the_provider_says_what_the_provider_said():
    row = next(line for line in text_of(screen_of(WHOLE)).splitlines() if line.startswith(" AUTH-1.0i "))
    assert "on the provider: waits 12 s: big answered 429" in row


def test_a_queued_agent_waits_for_a_slot():
    row = next(line for line in text_of(screen_of(WHOLE)).splitlines() if line.startswith(" AUTH-2.0i "))
    assert "queued" in row
    assert "for a slot" in row


def test_the_project_shows_epics_issues_reviews_and_stalls_with_their_blocker_T2_R9_D6():
    text = text_of(screen_of(WHOLE, tab=Tab.PROJECT), 140)
    assert "- AUTH  Signing in  1 of 4 done" in text
    assert re.search(r"AUTH-1 +done +coder +1 +350  Title of AUTH-1  merged as 0123456789", text)
    assert re.search(r"Review 1  2 changes requested by AUTH-1.0i.0r: a", text)
    assert re.search(r"ISSUE-1 +failed .*no attempt finished it", text)
    assert re.search(r"ISSUE-2 +open .*stalled: ISSUE-1 failed", text)
    assert re.search(r"AUTH-3 +open .*behind AUTH-2", text)


def test_a_board_without_epics_has_no_line_for_them():
    text = text_of(screen_of(stamped([started(), issue("create_issue", "ISSUE-1")]), tab=Tab.PROJECT))
    assert "(no epic)" not in text
    assert "ISSUE-1" in text


def test_the_status_line_counts_slots_issues_spend_provider_and_attention():
    line = text_of(screen_of(WHOLE), 160).splitlines()[-2]
    for said in (
        "1 needs you",
        "slots 1/4",
        "4 open",
        "1 done",
        "1 failed",
        "1 stalled",
        "1 waits for the provider",
        "tokens",
    ):
        assert said in line, said


def test_a_narrow_status_line_loses_whole_pieces_and_the_least_important_first():
    line = text_of(screen_of(WHOLE), 40).splitlines()[-2]
    assert line.startswith(" 1 needs you · slots 1/4 ·")
    assert not line.endswith("·")


def test_the_detail_of_an_agent_is_its_transcript():
    text = text_of(choose(screen_of(whole_run()), "AUTH-1.0i"))
    for said in ("# Brief of AUTH-1.0i", "→ shell  make", "made", "turn 1: finished", "Signed in."):
        assert said in text, said


def test_the_detail_of_an_issue_has_its_attempts_reviews_merge_and_diff():
    text = text_of(choose(screen_of(whole_run(), tab=Tab.PROJECT), "AUTH-1"), 160, 60)
    for said in (
        "epic      AUTH",
        "Attempts  1",
        "Review 1  changes requested by AUTH-1.0i.0r",
        "- b",
        "Merged  as 0123456789",
    ):
        assert said in text, said
    for said in ("Diff  merge against main", "diff --git a/x b/x", "-old", "+new"):
        assert said in text, said


def test_the_detail_of_a_failed_issue_says_why_and_where_its_work_is_kept():
    text = text_of(choose(screen_of(whole_run(), tab=Tab.PROJECT), "ISSUE-1"), 160, 60)
    assert "reason    no attempt finished it" in text
    assert "kept at refs/ggactors/saved/ISSUE-1" in text


def test_what_waits_for_a_person_is_told_with_its_answers_H42():
    screen = screen_of(WHOLE)
    Hand(screen, lambda: None).attention()
    text = text_of(screen, 160, 60)
    assert "1 thing waits for you" in text
    assert "answers: " in text


# ---------------------------------------------------------------- it fits and it is safe

SIZES = st.tuples(st.integers(1, 220), st.integers(1, 70))


@settings(max_examples=50, deadline=None)
@given(
    size=SIZES,
    upto=st.integers(0, len(WHOLE)),
    tab=st.sampled_from(Tab),
    side=st.sampled_from(Side),
    at=st.integers(0, 30),
    attention=st.booleans(),
    word=st.sampled_from(["", "auth", "漢", "nothing of it"]),
)
def test_every_picture_fills_the_screen_exactly_and_acts_on_no_terminal(size, upto, tab, side, at, attention, word):
    screen = screen_of(WHOLE[:upto], tab=tab, side=side, attention=attention, filter=word)
    screen.looking.list.at = at
    lines = screen.draw(*size)
    assert len(lines) == size[1]
    for line in lines:
        text = "".join(piece for _, piece in line)
        assert get_cwidth(text) == size[0], text
        assert not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ud800-\udfff]", text), text


def test_what_a_model_writes_can_paint_nothing():
    text = text_of(choose(screen_of(WHOLE), "ISSUE-9.0i"), 200, 60)
    # Of a call's arguments the escapes are shown as JSON writes them.
    assert all("\\u001b]0;stolen" in line for line in text.splitlines() if "stolen" in line)
    assert "漢字 🎉" in text
    assert all(
        not style or style.startswith("class:") or style == "bold"
        for line in screen_of(WHOLE).draw(100, 30)
        for style, _ in line
    )


def test_a_diff_is_painted_by_its_lines_and_its_own_sequences_are_dropped():
    shown = diff_lines(["diff --git a/x b/x", "@@ -1 +1 @@", "-a\x1b[2J", "+\tb", " c"], Look(width=20, colour=True))
    pieces = [from_painted(line) for line in shown]
    assert pieces == [
        [("class:bold", "diff --git a/x b/x")],
        [("class:cyan", "@@ -1 +1 @@")],
        [("class:red", "-a")],
        [("class:green", "+   b")],
        [("", " c")],
    ]


@given(st.lists(st.text(max_size=8), max_size=5), st.integers(0, 20))
def test_a_fitted_line_has_exactly_its_width(texts, width):
    line = [("", re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", "", text)) for text in texts]
    assert sum(get_cwidth(text) for _, text in fitted(line, width)) == width


def test_only_the_sixteen_colours_of_the_terminal_are_used():
    words = {word.removeprefix("bg:") for look in LOOKS.values() for word in look.split()}
    assert all(word.startswith("ansi") or word in ("bold", "reverse") for word in words)


# ---------------------------------------------------------------- the same live and after


@settings(max_examples=20, deadline=None)
@given(
    cuts=st.lists(st.integers(0, len(WHOLE)), max_size=8), size=SIZES, tab=st.sampled_from(Tab), at=st.integers(0, 12)
)
def test_a_screen_drawn_all_along_ends_as_one_drawn_once_T2(cuts, size, tab, at):
    """What is kept from picture to picture never shows."""
    live, last = screen_of([], tab=tab), 0
    for cut in [*sorted(cuts), len(WHOLE)]:
        live.fold.take_all(WHOLE[last:cut])
        last = cut
        live.looking.list.at, live.looking.list.key = at, None
        live.draw(*size)
    after = screen_of(WHOLE, tab=tab)
    after.looking.list.at = at
    assert live.draw(*size) == after.draw(*size)


def test_only_rows_in_sight_are_worded(monkeypatch):
    from ggactors.repl.console import screen as module

    agents = [event for number in range(500) for event in (spawned(f"a{number}"), state(f"a{number}", "running"))]
    worded: list[str] = []
    monkeypatch.setattr(
        module,
        "agent_line",
        lambda row, *rest, wording=module.agent_line: (worded.append(row.key), wording(row, *rest))[1],
    )
    screen = screen_of(stamped([started(), *agents]))
    screen.draw(100, 30)
    assert 0 < len(worded) < 30


def test_what_is_kept_is_made_anew_for_another_thing_that_looks_the_same():
    kept, made = Kept(), []
    one, other = [1], [1]
    for thing in (one, one, other, other, one):
        kept.get("x", Same(thing), lambda: made.append(1))
    assert len(made) == 3


def test_a_chosen_row_stays_chosen_while_others_come():
    screen = screen_of(stamped([started(), spawned("root", kind="root"), spawned("b")]))
    hand = Hand(screen, lambda: None)
    hand.choose(1)
    screen.fold.take_all([spawned("root.0s", kind="subagent", parent="root"), spawned("c")])
    assert screen.chosen().key == "b"
    assert screen.looking.list.at == 2


def test_a_change_of_state_is_shown_without_a_new_layout():
    screen = screen_of(
        stamped([started(), issue("create_issue", "ISSUE-1"), issue("create_issue", "ISSUE-2")]), tab=Tab.PROJECT
    )
    before = screen.rows()
    screen.fold.take(issue("start", "ISSUE-1", "in_progress"))
    assert screen.rows() is before
    assert "in progress" in text_of(screen)


def test_an_empty_run_says_what_is_not_there_yet():
    assert "No agent was made yet." in text_of(screen_of([]))
    assert "The board is empty." in text_of(screen_of([], tab=Tab.PROJECT))
    assert "starting" in text_of(screen_of([]))


def test_a_run_whose_process_is_gone_is_called_interrupted():
    screen = screen_of(WHOLE)
    assert "running" in text_of(screen).splitlines()[0]
    screen.alive = False
    assert "interrupted" in text_of(screen).splitlines()[0]
    ended = screen_of(whole_run())
    assert "completed" in text_of(ended).splitlines()[0]
    assert turn("root", 1).turns == usage("root", 1, 0).input


def called(**args) -> list[str]:
    return call_lines(events.ToolCalled(agent="a", call_id="c", tool="t", args=args), Look(width=40))


def test_a_call_is_laid_out_to_be_read():
    assert called() == ["  → t"]
    assert called(command="make\x1b[2J") == ["  → t  make"]
    assert called(path="a.py", limit=3) == ["  → t  path=a.py  limit=3"]
    assert called(path="a", contents="one\n  two\n") == ["  → t  path=a", "    contents:", "      one", "        two"]
    assert called(command="word " * 12) == ["  → t  word word word word word word", "    word word word word word word"]
    assert called(contents="x\n" * 100)[-1] == "      … 40 lines more"
