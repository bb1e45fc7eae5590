"""A run as plain text: what it says, that it fits, and that nothing in it acts on a terminal."""

from __future__ import annotations

import re
import subprocess
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from telemetry_stories import Tape, issue, merged, spawned, started, state, summary, turn, usage, whole_run

from ggactors.protocol import events
from ggactors.telemetry.folds import RunView, fold
from ggactors.telemetry.frame import frame_lines
from ggactors.telemetry.plaintext import Cell, Look, cells, columns, cut, one_line, safe, shell_word, wrapped
from ggactors.telemetry.render import agent_lines, board_lines
from ggactors.telemetry.story import headline, limit_text, tell
from ggactors.telemetry.summary import summary_lines
from ggactors.telemetry.whereabouts import whereabouts

WIDE = Look(width=200)
ACTING = ["\x1b[31m", "\x1b]0;t\x07", "\x1b]8;;x\x1b\\", "\x9b2J", "\x1b", "\r", "\x07", "\u202e", "\n", "\ud800"]
ANY_TEXT = st.lists(st.sampled_from([*ACTING, "é", "日本", "a b"])).map("".join) | st.text(
    alphabet=st.characters(exclude_categories=()), max_size=60
)


# ---------------------------------------------------------------- text


@given(ANY_TEXT)
@settings(max_examples=300, deadline=None)
def test_safe_text_holds_nothing_that_acts_on_a_terminal(text):
    made = safe(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", made)
    assert safe(made) == made
    assert "\n" not in one_line(text)
    assert one_line(text) == one_line(text).strip()


def test_escape_sequences_go_as_a_whole_and_text_stays():
    assert safe("a\x1b[1;31mred\x1b[0m\x1b]0;title\x07b\x1b]8;;http://x\x1b\\link\x9b2Jc\x1b(Bd") == "aredblinkcd"
    assert safe("x\x1b]0;never ended, and this is text") == "x0;never ended, and this is text"
    assert safe("tab\tline\r\nnext\udcff") == "tab\tline\nnext\ufffd"


def test_a_long_hostile_text_is_made_safe_in_linear_time():
    for piece in ("\x1b]", "\x1b[0", "\x1b[", "\x1bP", "\x9b"):
        assert len(safe(piece * 200_000)) <= 2 * 200_000


@given(ANY_TEXT, st.integers(0, 30))
@settings(max_examples=200, deadline=None)
def test_what_was_cut_fits_and_what_fits_is_not_cut(text, width):
    text = one_line(text)
    shorter = cut(text, width)
    assert cells(shorter) <= width
    assert (shorter == text) == (cells(text) <= width)


def test_wide_and_combining_characters_are_measured_as_terminals_do():
    assert cells("日本") == 4
    assert cells("e\u0301") == 1
    assert cut("日本語", 5) == "日本…"
    assert cut("日本語", 4) == "日…"


@given(st.lists(st.lists(ANY_TEXT.map(one_line), min_size=3, max_size=3), max_size=5), st.integers(1, 60))
@settings(max_examples=150, deadline=None)
def test_columns_never_pass_the_width(rows, width):
    for line in columns([[Cell(text) for text in row] for row in rows], Look(width=width)):
        assert cells(line) <= width


@given(ANY_TEXT, st.integers(8, 40), st.integers(0, 6))
@example("000000\u0e3b\U0001e2fa\xad", 9, 0)
@settings(max_examples=200, deadline=None)
def test_wrapping_loses_no_word_and_keeps_the_width(text, width, indent):
    lines = wrapped(text, Look(width=width), indent=indent)
    assert all(cells(line) <= max(width, indent + 8) for line in lines)
    assert "".join("".join(lines).split()) == "".join(safe(text).split())


@pytest.mark.parametrize(
    "text", ["plain", "two words", "it's", "$(rm x)", "", "naïve", "tab\there", "new\nline", "\x1b[31m"]
)
def test_a_shell_word_means_exactly_its_text_to_a_shell(text):
    word = shell_word(text)
    assert word.isprintable()
    ran = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True)
    assert ran.stdout == text.encode()


def test_a_shell_word_keeps_bytes_that_are_no_text():
    ran = subprocess.run(["bash", "-c", f"printf %s {shell_word('caf' + chr(0xDCE9))}"], capture_output=True)
    assert ran.stdout == b"caf\xe9"


# ---------------------------------------------------------------- board and agents


def test_the_board_shows_epics_states_blockers_stalls_reasons_and_rounds_T2():
    assert board_lines(fold(whole_run()), WIDE) == [
        "AUTH  Signing in",
        "  AUTH-1   done    coder  1 attempt  Title of AUTH-1; merged as 0123456789",
        "      Review 1: 2 changes requested by AUTH-1.0i.0r",
        "  AUTH-2   open    coder  -          Title of AUTH-2",
        "(no epic)",
        "  ISSUE-1  failed  coder  1 attempt  Title of ISSUE-1",
        "      no attempt finished it",
        "  ISSUE-2  open    coder  -          Title of ISSUE-2; stalled: ISSUE-1 failed",
    ]
    assert board_lines(fold(whole_run()[:10]), WIDE)[2] == ("  AUTH-2   open  coder  -  Title of AUTH-2; behind AUTH-1")
    assert board_lines(RunView(), WIDE) == ["The board is empty."]


def test_the_agents_tree_shows_who_stands_where_T2():
    assert agent_lines(fold(whole_run()), WIDE) == [
        "root             Lead   completed  1 turn   1,200 tokens, 0.5  All is in.",
        "AUTH-1.0i        Coder  completed  1 turn   350 tokens         Signed in.",
        "ISSUE-1.0i       Coder  exhausted  0 turns  0 tokens           stopped",
        "  ISSUE-1.0i.0s  Coder  completed  0 turns  0 tokens           Looked.",
    ]
    live = agent_lines(fold(whole_run()[:22]), WIDE)
    assert live[0].endswith("on AUTH-2")
    assert live[1].endswith("shell")


def test_colours_come_only_when_asked_for_and_change_no_text():
    view = fold(whole_run())
    for draw in (board_lines, agent_lines, summary_lines):
        plain = draw(view, Look(width=80))
        coloured = draw(view, Look(width=80, colour=True))
        assert "\x1b" not in "".join(plain)
        assert "\x1b[" in "".join(coloured)
        assert [re.sub(r"\x1b\[\d+m", "", line) for line in coloured] == plain


def hostile() -> list[events.Event]:
    bad = "\x1b[2J\x1b]0;owned\x07\u202ebad\nnew line"
    tape = Tape()
    tape.put(
        started(crew=bad, workspace=bad),
        spawned("root", bad, kind="root", branch=bad, brief=bad, workdir=bad),
        spawned("i", bad, issue=bad, parent=bad),
        issue("create_issue", "A-1", title=bad, agent=bad, epic=bad),
        issue("fail", "A-2", "failed", title=bad, reason=bad, blockedBy=[bad]),
        issue("create_issue", "A-3", blockedBy=["A-2", bad]),
        merged("A-2", merged=False, reason=bad, saved_ref=bad, conflicts=(bad,)),
        state("root", "waiting", waiting_on=bad),
        events.ToolCalled(agent="i", call_id=bad, tool=bad, args={bad: bad}),
        events.ToolAnswered(agent="i", call_id=bad, ok=False, code=bad, output=bad),
        events.AssistantMessage(agent="i", text=bad),
        events.RetryWait(agent="i", model=bad, wait_secs=1.0, attempt=1),
        events.LimitExceeded(agent="i", limit=bad, threshold=1.0, observed=1.0, turns=1),
        events.IssueReview(
            issue="A-1",
            round=1,
            verdict="not_held",
            reviewer={"agent": bad},
            approvals=(),
            items=(bad,),
            empty_change=False,
            reason=bad,
        ),
        events.CheckoutMoved(source=bad, target=bad, held=(bad,), reason=bad),
        events.Log(agent="i", level=bad, message=bad),
        turn("i", 1, "error", bad),
        state("i", "ended", status=bad, summary=bad),
        summary(status=bad, summary=bad),
        events.SessionEnded(status=bad),
    )
    return tape.events


def test_nothing_a_model_or_a_repository_says_acts_on_the_terminal():
    view = fold(hostile())
    lines = [*board_lines(view, WIDE), *agent_lines(view, WIDE), *summary_lines(view, WIDE)]
    lines += whereabouts(view, WIDE, folder="/f\x1b[2J", repository="/r\x1b[2J")
    lines += frame_lines(view, WIDE, rows=40, slots=2, elapsed=1.0)
    for event in hostile():
        lines += tell(event, WIDE)
        said = headline(event, view, verbose=True)
        lines += said.splitlines() if said else []
    for line in lines:
        acting = [character for character in line if unicodedata.category(character) in ("Cc", "Cf", "Cs")]
        assert acting == [], line


# ---------------------------------------------------------------- the live frame


@given(st.integers(1, 120), st.integers(1, 30), st.integers(0, len(whole_run())), st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_frame_fits_any_terminal(width, rows, seen, colour):
    lines = frame_lines(fold(whole_run()[:seen]), Look(width=width, colour=colour), rows=rows, slots=4, elapsed=75.0)
    assert len(lines) <= rows
    assert all(cells(re.sub(r"\x1b\[\d+m", "", line)) <= width for line in lines)


def test_a_frame_shows_slots_spend_issues_by_state_and_living_agents():
    assert frame_lines(fold(whole_run()[:22]), WIDE, rows=20, slots=4, elapsed=75.0) == [
        "261130-1405-k3f  demo  01:15  slots 3/4  1 turn  1,200 tokens, 0.5",
        "  in progress    2  AUTH-1 ISSUE-1",
        "  open           2  AUTH-2 ISSUE-2",
        "  AUTH-1.0i      Coder  running  0 turns  shell",
        "  ISSUE-1.0i     Coder  running  0 turns",
        "  ISSUE-1.0i.0s  Coder  running  0 turns",
        "  root           Lead   waiting  1 turn   on AUTH-2",
    ]


# ---------------------------------------------------------------- summary


def test_the_summary_diagnoses_a_ceiling_and_names_what_failed_and_stalled_C2():
    lines = summary_lines(fold(whole_run()), WIDE)
    assert lines[0] == "Run 261130-1405-k3f: completed (exit code 4)"
    assert lines[1:] == [
        "  All is in.",
        "  issues   1 done, 1 failed, 2 open",
        "  agents   4 agents, 2 turns, 0 error turns, at most 3 at once",
        "  ended    ISSUE-1.0i exhausted",
        "  spend    1,550 tokens, 0.5",
        "  ceiling  ISSUE-1.0i, " + limit_text("maxTurns", 60.0, 60.0),
        "  stalled  ISSUE-2 stands behind ISSUE-1, which failed",
        "  failed   ISSUE-1: no attempt finished it",
    ]


LIMITS = "maxTurns maxConsecutiveErrors maxErrorRate maxRuntimeSecs maxCost maxTokens other"


@pytest.mark.parametrize("limit", LIMITS.split())
def test_every_ceiling_is_said_with_threshold_observation_and_remedy_C2(limit):
    text = limit_text(limit, 5.0, 7.5, 50)
    for part in (f"limits.{limit} = 5", "7.5", "window of 50", "raise", f"--set limits.{limit}="):
        assert part in text


@pytest.mark.parametrize("limit", ["maxConsecutiveErrors", "maxErrorRate"])
def test_a_ceiling_on_errors_names_the_command_that_shows_what_went_wrong_ready_to_paste_C2(limit):
    event = events.LimitExceeded(
        run="261130-1405-k3f", agent="AUTH-1.0i", limit=limit, threshold=5.0, observed=5.0, turns=9
    )
    shown = "`ggactors show 261130-1405-k3f --agent AUTH-1.0i`"
    assert shown in (headline(event, RunView(), verbose=False) or "")
    assert shown in "\n".join(tell(event, WIDE))
    assert "{" not in limit_text(limit, 5.0, 5.0)
    assert "ID" not in limit_text(limit, 5.0, 5.0)


def test_a_held_landing_and_saved_work_are_told_with_ref_repository_and_command_W10_W5():
    lines = whereabouts(fold(whole_run()), WIDE, folder="/state/runs/x", repository="/state/runs/x/repo.git")
    assert lines == [
        "Events, journal and crew of the run: /state/runs/x",
        "The work was not landed: your checkout was left where it is (dirty: shop.py).",
        "  Land it with",
        "    ggactors land 261130-1405-k3f",
        "  or take refs/heads/main of /state/runs/x/repo.git with",
        "    git -C /home/op/shop fetch /state/runs/x/repo.git refs/heads/main:refs/heads/ggactors-261130-1405-k3f",
        "Work that was not merged is kept in /state/runs/x/repo.git:",
        "  ISSUE-1: refs/ggactors/saved/ISSUE-1; bring it back with",
        "    ggactors recover 261130-1405-k3f ISSUE-1",
        "  or with git alone",
        "    git -C /home/op/shop fetch /state/runs/x/repo.git refs/ggactors/saved/ISSUE-1:refs/heads/recovered-ISSUE-1",
    ]
    in_place = whereabouts(fold(whole_run()), WIDE, folder="/state/runs/x", repository=None)
    assert in_place[-1] == "    git -C /home/op/shop branch recovered-ISSUE-1 refs/ggactors/saved/ISSUE-1"


def test_a_landing_that_moved_says_where_the_work_is():
    tape = Tape()
    tape.put(started(), merged("A"), events.CheckoutMoved(source="a" * 40, target="b" * 40, held=()))
    lines = whereabouts(fold(tape.events), WIDE, folder="/f", repository="/r")
    assert lines[1] == f"The work is in /home/op/shop: your checkout moved from {'a' * 10} to {'b' * 10}."


def test_work_that_was_not_to_be_landed_is_told_where_it_is():
    tape = Tape()
    tape.put(started(), spawned("root", kind="root", branch="main"), merged("A"))
    lines = whereabouts(fold(tape.events), WIDE, folder="/f", repository="/r")
    assert "The work so far is not landed." in lines
    assert any("git -C /home/op/shop fetch /r refs/heads/main:" in line for line in lines)


def test_work_done_in_place_is_in_the_workspace_and_what_failed_still_in_the_runs_repository():
    tape = Tape()
    saved = {"merged": False, "commit": None, "saved_ref": "refs/x"}
    tape.put(started(), spawned("root", kind="root", workdir="/home/op/shop/sub"), merged("A"), merged("B", **saved))
    lines = whereabouts(fold(tape.events), WIDE, folder="/f", repository="/r")
    assert lines[1] == "The work is in /home/op/shop itself."
    assert lines[-1] == "    git -C /home/op/shop fetch /r refs/x:refs/heads/recovered-B"


# ---------------------------------------------------------------- headlines and the story


def test_headlines_say_what_is_noteworthy_and_no_more():
    view, said = RunView(), []
    for event in whole_run():
        view.apply(event)
        line = headline(event, view)
        if line is not None:
            said.append(line)
    assert said[:3] == [
        "run 261130-1405-k3f begins: crew demo in /home/op/shop",
        "root: Lead was made",
        "AUTH filed (Signing in)",
    ]
    assert "root: waits on AUTH-2" in said
    assert "ISSUE-2 is stalled: ISSUE-1 failed" in said
    assert "ISSUE-1 was not merged: it failed" in said
    assert "ISSUE-1 failed: no attempt finished it" in said
    assert "warning: mind this" in said
    assert said[-1] == "run 261130-1405-k3f ended: completed"


def test_the_log_is_quiet_unless_asked_for():
    info = events.Log(level="info", message="m")
    assert headline(info, RunView()) is None
    assert headline(info, RunView(), verbose=True) == "info: m"


def test_a_story_tells_an_agents_life_in_order():
    lines = [line for event in whole_run() if event.agent == "AUTH-1.0i" for line in tell(event, WIDE)]
    assert lines == [
        "AUTH-1.0i: Coder (implementer, on AUTH-1)",
        "  in /runs/AUTH-1.0i",
        "  # Brief of AUTH-1.0i",
        "  queued",
        "  running",
        '  → shell {"command": "make"}',
        "    made",
        "  turn 1: finished",
        "  ended completed",
        "  Signed in.",
    ]


def test_a_long_result_is_cut_and_says_where_all_of_it_is():
    lines = tell(events.ToolAnswered(agent="a", call_id="c", ok=True, output="y" * 5000), Look(width=100_000))
    assert lines[-1].strip() == "… 3,000 characters more (`--events` has them all)"


def test_spend_counts_usage_once():
    view = RunView()
    view.apply(usage("a", 1, 2, 0.25))
    assert view.spend.tokens == 3


def test_a_blocked_hook_makes_a_headline_and_every_hook_a_line_of_its_agents_story_G1():
    def ran(outcome: str, reason: str | None) -> events.Hook:
        return events.Hook(
            agent="A-1.0i", event="agent-stop", name="tests", outcome=outcome, reason=reason, exit_code=1, duration_ms=7
        )

    assert headline(ran("passed", None), RunView()) is None
    assert headline(ran("blocked", "2 failed\x1b[31m"), RunView()) == "A-1.0i: tests held back at agent-stop: 2 failed"
    (line,) = tell(ran("passed", None), Look())
    assert line.strip() == "agent-stop: tests passed"
    told = "\n".join(tell(ran("blocked", "2 failed\x1b[31m"), Look()))
    assert "agent-stop: tests blocked: 2 failed" in told
    assert "\x1b" not in told


def test_a_programs_line_says_how_many_of_its_calls_are_not_told():
    ran = events.CodeExecution(
        agent="a", ok=True, finished=True, revoked=False, superseded=0, logs=(), duration_ms=5, calls=900, untold=400
    )
    assert tell(ran, Look()) == ["  program ran in 5 ms (its ending stands, 400 of its 900 calls are not told)"]


def test_wrapped_text_keeps_its_indentation():
    assert wrapped("if x:\n    y = 1\n\n        deep", Look(width=40)) == ["if x:", "    y = 1", "", "        deep"]
    assert wrapped("      aaaa bbbb cccc", Look(width=12)) == ["      aaaa", "bbbb cccc"]
    assert wrapped(" " * 50 + "far", Look(width=12)) == ["      far"]
