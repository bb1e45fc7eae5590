"""The pure parts: what waits to be shown, how lines are read, what is offered, what is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.document import Document

from ggactors.protocol import events
from ggactors.repl.acts import Acts
from ggactors.repl.backlog import Backlog
from ggactors.repl.bar import Standing, bar_pieces
from ggactors.repl.commands import COMMANDS, Order, Say, Unknown, help_lines, read_line
from ggactors.repl.completing import PromptCompleter
from ggactors.repl.face import Known
from ggactors.repl.history import KeptHistory
from ggactors.repl.looks import THEMES, style_of
from ggactors.repl.prompt import secrets_of
from ggactors.repl.settings import CHOICES, read_settings
from ggactors.repl.told import Telling, item_lines
from ggactors.telemetry.folds import RunView
from ggactors.telemetry.plaintext import Look
from ggactors.tools.mask import Mask

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "repl.md"
LOOK = Look(width=60)
GAP = re.compile(r"… ([\d,]+) lines left out, /log has them")


# ---------------------------------------------------------------- the backlog


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.booleans()), max_size=60))
@settings(max_examples=150)
def test_what_is_kept_is_never_left_out_what_is_left_out_is_counted_where_it_stood_and_order_holds_H52(steps):
    backlog, put, shown, number = Backlog(most=10), [], [], 0
    for kept, count, take in steps:
        lines = [(number + at, kept) for at in range(count)]
        number += count
        backlog.put([f"{at}{'k' if kept else ''}" for at, kept in lines], kept=kept)
        put += lines
        if take:
            shown += backlog.take(story=5, most=7)
    while backlog:
        shown += backlog.take(story=5, most=7)
    at, left_out = 0, []
    for line in shown:
        gap = GAP.fullmatch(line)
        if gap is not None:
            left_out += put[at : at + int(gap[1].replace(",", ""))]
            at += int(gap[1].replace(",", ""))
        else:
            assert int(line.rstrip("k")) == put[at][0]
            at += 1
    assert at == len(put)
    assert not any(kept for _, kept in left_out)


def test_a_flood_takes_no_more_room_however_long_it_lasts_and_an_answer_behind_it_waits_for_one_look_H52():
    backlog = Backlog()
    for number in range(50_000):
        backlog.put([str(number)], kept=False)
    backlog.put(["the answer"], kept=True)
    taken = backlog.take(story=12, most=121)
    assert GAP.fullmatch(taken[0])[1] == "49,880"
    assert len(taken) == 121
    assert backlog.take(story=12, most=120) == ["the answer"]
    assert not backlog


# ---------------------------------------------------------------- lines and commands


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hello there", Say(text="hello there")),
        ("  ", Say(text="")),
        ("//not a command", Say(text="/not a command")),
        ("/etc/hosts is wrong", Say(text="/etc/hosts is wrong")),
        ("/agents", Order(name="agents", rest="")),
        ("/SAY root do it\nnow", Order(name="say", rest="root do it\nnow")),
        ("/run\nmany\nlines", Order(name="run", rest="many\nlines")),
        ("/q", Order(name="quit", rest="")),
        ("/agnets", Unknown(name="agnets", near=("agents", "agent"))),
        ("/xyzzy", Unknown(name="xyzzy", near=())),
    ],
)
def test_a_line_is_read_as_text_as_a_command_or_as_one_that_there_is_not(typed, meant):
    assert read_line(typed) == meant


@given(st.text(max_size=40))
@settings(max_examples=100)
def test_no_line_is_dropped_whatever_it_is(typed):
    match read_line(typed):
        case Say(text=text):
            assert text.strip("/ ") == typed.strip().strip("/ ") or text == typed.strip()
        case Order(name=name):
            assert name in COMMANDS
        case Unknown(name=name):
            assert name in typed


def test_every_command_is_carried_out_helped_with_and_documented():
    acts = Acts(session=None)
    assert set(acts._does) == set(COMMANDS)
    page = PAGE.read_text(encoding="utf-8")
    listed = "\n".join(help_lines())
    for name, entry in COMMANDS.items():
        assert f"`/{name}" in page
        assert entry.usage in listed
        assert help_lines(f"/{name}")[0].startswith(entry.usage)
    assert help_lines("hlep") == ["There is no /hlep; did you mean /help?"]


# ---------------------------------------------------------------- completion, history, settings


def offered(folder: Path, text: str) -> list[str]:
    known = Known(agents=("root", "ISSUE-1.0i"), issues=("ISSUE-1",), waiting=("3",), models=("big",))
    completer = PromptCompleter(lambda: known, folder)
    return [one.text for one in completer.get_completions(Document(text), None)]


def test_commands_names_settings_and_files_are_offered(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").write_text("")
    (tmp_path / "setup.cfg").write_text("")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".hidden").write_text("")
    assert offered(tmp_path, "/ag") == ["agents", "agent"]
    assert offered(tmp_path, "/agent r") == ["root"]
    assert offered(tmp_path, "/say I") == ["ISSUE-1.0i"]
    assert offered(tmp_path, "/say root I") == []
    assert offered(tmp_path, "/diff ") == ["ISSUE-1"]
    assert offered(tmp_path, "/approve ") == ["3"]
    assert offered(tmp_path, "/model b") == ["big"]
    assert offered(tmp_path, "/set ") == ["editing", "theme"]
    assert offered(tmp_path, "/set editing v") == ["vi"]
    assert offered(tmp_path, "look at @s") == ["src/", "setup.cfg"]
    assert offered(tmp_path, "@src/") == ["main.py"]
    assert offered(tmp_path, "@.") == [".hidden"]
    assert offered(tmp_path, "me@s") == []
    assert offered(tmp_path, "@nowhere/") == []
    assert offered(tmp_path, "plain text") == []


def test_history_is_kept_over_prompts_masked_readable_by_its_owner_alone_and_survives_a_torn_line(tmp_path):
    path = tmp_path / "history.jsonl"
    mask = Mask(secrets_of({"MY_API_KEY": "obviously-fake-key", "PATH": "/usr/bin"}))
    history = KeptHistory(path, mask.text)
    for entry in ("first", "two\nlines", "use obviously-fake-key for it"):
        history.append_string(entry)
    with path.open("ab") as file:
        file.write(b'"torn')
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"obviously-fake-key" not in path.read_bytes()
    again = list(KeptHistory(path, mask.text).load_history_strings())
    assert again == ["use [masked:MY_API_KEY] for it", "two\nlines", "first"]
    assert list(KeptHistory(tmp_path / "no" / "where", mask.text).load_history_strings()) == []


def test_settings_come_from_the_environment_before_the_file_are_kept_by_set_and_what_is_wrong_is_said(tmp_path):
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    settings = read_settings(environ)
    assert (settings.editing, settings.theme, settings.problems) == ("emacs", "dark", [])
    assert settings.keep("editing", "vi") is None
    assert read_settings(environ).editing == "vi"
    assert read_settings(environ | {"GGACTORS_EDITING": "emacs"}).editing == "emacs"
    assert read_settings(environ | {"NO_COLOR": "1"}).theme == "plain"
    wrong = read_settings(environ | {"GGACTORS_THEME": "pink"})
    assert wrong.theme == "dark"
    assert "GGACTORS_THEME: theme cannot be 'pink'" in wrong.problems[0]
    (tmp_path / "ggactors" / "repl.toml").write_text("editing = [")
    assert "was not read" in read_settings(environ).problems[0]


def test_every_theme_that_can_be_set_is_one():
    assert CHOICES["theme"] == THEMES
    for theme in THEMES:
        assert style_of(theme).get_attrs_for_style_str("class:bar.warn") is not None


# ---------------------------------------------------------------- what is told


def told(*stream: events.Event, followed: str | None = None, look: Look = LOOK) -> list[str]:
    telling = Telling(view=RunView(), followed=followed)
    lines = []
    for event in stream:
        telling.view.apply(event)
        lines += telling.lines(event, look)
    return lines


def test_the_root_is_told_in_full_and_others_in_a_line():
    words = "word " * 40
    own = told(events.AssistantMessage(agent="root", text=words))
    assert "".join(own).replace("●", "").split() == words.split()
    assert all(len(line) <= LOOK.width for line in own)
    other = told(events.AssistantMessage(agent="A-1.0i", text=words))
    assert len(other) == 1
    assert len(other[0]) <= LOOK.width
    assert len(told(events.AssistantMessage(agent="A-1.0i", text=words), followed="A-1.0i")) > 3


def test_what_agents_write_cannot_act_on_the_terminal():
    evil = "\x1b]0;title\x07\x1b[2J\x1b[31mred\r\x9b5n"
    look = Look(width=60, colour=True)
    for agent in ("root", "A-1.0i"):
        text = "\n".join(told(events.AssistantMessage(agent=agent, text=evil), look=look))
        assert re.sub(r"\x1b\[\d+m", "", text).isprintable() or "\n" in text
        assert "title" not in text
        assert "\x1b[2J" not in text


def test_an_item_says_what_it_is_how_it_is_answered_and_what_happens_when_nobody_does():
    lines = item_lines(
        "2", "approval", "A-1.0i wants to call shell", "make deploy",
        options=("approve", "always", "refuse"), default="refuse", deadline_secs=600.0, look=Look(width=120),
    )  # fmt: skip
    assert lines[0] == "⚑ 2 A-1.0i wants to call shell"
    assert lines[1] == "    make deploy"
    assert lines[2] == "    /approve 2, /approve 2 always, or /reject 2 WHY; without an answer in 10 min: refuse"
    question = item_lines("3", "question", "Which?", "", options=("a", "b"), default="a", deadline_secs=None, look=LOOK)
    assert question == ["⚑ 3 Which?", "    /answer 3 a|b; it waits"]


def test_the_bar_has_phase_crew_what_waits_slots_issues_and_spend():
    view = RunView()
    for number, state in enumerate(("open", "in_progress", "done", "done")):
        view.apply(events.BoardChanged(op="x", issue={"id": f"I-{number}", "title": "t", "state": state}))
    view.apply(
        events.UsageSpent(agent="root", profile="p", model="m", input=1000, cached_input=0, output=5, reasoning=0)
    )
    standing = Standing(crew="demo", slots=4, phase="working", style="strong", waiting=2, unread=1)
    said = "".join(text for _, text in bar_pieces(view, standing))
    assert (
        said == "working │ demo │ ⚑ 2 for you │ slots 0/4 │ 1 open, 1 at work, 2 done │ 1,005 tokens │ 1 not read yet"
    )
