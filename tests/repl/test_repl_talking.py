"""The conversation in this process: real runs, a face that is a list."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest
import trio
from repl_kit import ListFace, Room, talking

from ggactors.telemetry.jsonl import read_events
from ggactors.testing.crews import finish, issue, shell, turn, wait, write
from ggactors.testing.repos import make_repo

SLOW = turn(shell("sleep 30"), text="Working.")


@pytest.fixture
def room(tmp_path, monkeypatch) -> Room:
    room = Room(tmp_path)
    monkeypatch.setenv("GGACTORS_HOME", str(room.home))
    return room


async def test_text_begins_a_run_goes_to_the_root_and_comes_back_in_full_G7(room):
    room.crew({"root": [{"text": "First line.\nSecond line."}, finish("All is said.")]}, board=False)
    async with talking(room) as (face, session):
        await face.until_bar("ready")
        face.type("hello")
        at = await face.until("  Second line.")
        await face.until_bar("your turn")
        face.type("go on")
        await face.until("✓ task 2: completed", after=at)
        await face.until("  All is said.")
        await face.until_bar("your turn")
        first = session.live.run.id
        face.type("/quit")
        await face.until(f"Run {first}: completed")


async def test_a_run_that_ended_is_followed_by_another_with_the_next_text(room):
    room.crew({"root": [{"text": "One."}, finish("never")]}, board=False)
    async with talking(room) as (face, session):
        face.type("hello")
        await face.until("● One.")
        await face.until_bar("your turn")
        face.type("/cancel")
        at = await face.until("canceled (exit code 130)")
        await face.until_bar("ready")
        face.type("again")
        await face.until("● One.", after=at)
        assert session.live is not session.last


async def test_run_works_by_itself_and_takes_no_second_task(room):
    room.crew({"root": [turn(shell("echo a"), text="By myself."), finish("Did it.")]}, board=False)
    async with talking(room) as (face, _):
        face.type("/run do it", "/queue more", "/run more")
        await face.until("This run works by itself")
        await face.until("A run lives already")
        await face.until("completed (exit code 0)")
        await face.until_bar("ready")


async def test_queued_tasks_are_taken_up_in_turn_and_a_text_can_be_taken_back_G4_H46(room):
    script = [turn(shell("until test -e go; do sleep 0.05; done")), finish("first"), finish("second"), finish("third")]
    room.crew({"root": script}, board=False)
    async with talking(room) as (face, session):
        face.type("one", "/queue two", "/queue not this", "/unsay", "/queue three")
        at = await face.until("Taken back.")
        await face.until("Queued; 2 wait.", after=at)
        assert face.line == "not this"
        assert [one.text for one in session.live.run.pending()] == ["two", "three"]
        (room.work / "go").touch()
        await face.until("  third")
        assert [line for line in face.lines if line.startswith("✓")] == [
            "✓ task 1: completed; 2 queued",
            "✓ task 2: completed; 1 queued",
            "✓ task 3: completed",
        ]


async def test_ctrl_c_cuts_the_turn_twice_it_cancels_the_run_and_the_prompt_stays_H45(room):
    room.crew({"root": [SLOW, {"text": "Back."}, SLOW]}, board=False)
    async with talking(room) as (face, _):
        face.type("go")
        await face.until("→ shell")
        face.press()
        await face.until("Interrupted; Ctrl-C again cancels the run.")
        await face.until_bar("your turn")
        face.type("still there?")
        at = await face.until("● Back.")
        face.type("again")
        await face.until("→ shell", after=at)
        face.press()
        face.press()
        await face.until("Cancelling the run at its agents' turn boundaries")
        await face.until("canceled (exit code 130)")
        await face.until_bar("ready")
        face.press()
        await face.until("Nothing runs. Ctrl-D or /quit leaves.")


async def test_ctrl_c_reaches_a_turn_parked_in_a_wait_for_its_provider_H45(room):
    busy = {"error": {"status": 429, "retryAfterSecs": 7200}}
    room.crew({"root": [busy, {"text": "Here."}]}, board=False)
    async with talking(room) as (face, _):
        face.type("go")
        await face.until("try 1")
        face.press()
        await face.until_bar("your turn")


async def test_texts_kept_through_an_interrupt_are_handed_over_by_enter_alone_H46(room):
    room.crew({"root": [SLOW, {"text": "Read them."}]}, board=False)
    async with talking(room) as (face, session):
        face.type("go")
        await face.until("→ shell")
        face.type("one more", "and another")
        await face.until_bar("2 not read yet")
        face.press()
        await face.until("2 of your texts wait: Enter sends them")
        await face.until_bar("your turn")
        face.type("")
        await face.until("● Read them.")
        assert session.live.run.pending() == ()


async def test_an_idle_root_is_stopped_without_asking_it_H47(room):
    room.crew({"root": [{"text": "Idle."}]}, board=False)
    async with talking(room) as (face, _):
        face.type("go")
        await face.until_bar("your turn")
        face.type("/cancel")
        await face.until("canceled (exit code 130)")


ASKS = {"ask": ["shell"], "askSecs": 600}


async def test_what_waits_is_told_once_numbered_counted_and_answered_in_any_order_H42(room):
    make_repo(room.work, {"a.txt": "a\n"})
    filed = [issue(f"Work {number}") for number in range(1, 5)]
    work = {
        f"ISSUE-{number}.*": [turn(shell(f"echo {number} > {number}.txt")), finish("done")] for number in range(1, 5)
    }
    ids = [f"ISSUE-{number}" for number in range(1, 5)]
    script = {"root": [turn(*filed), wait(*ids), finish("all in")], **work}
    room.crew(script, agents={"coder": ASKS}, limits={"maxParallel": 4})
    async with talking(room) as (face, session):
        face.type("/run go")
        await face.until_bar("⚑ 4 for you")
        asked = [line for line in face.lines if line.startswith("⚑")]
        assert len(asked) == 4
        assert any("without an answer in 10 min: refuse" in line for line in face.lines)
        face.type("/approve", "/approve 9")
        await face.until("4 things wait: 1, 2, 3, 4. Say which: /approve N")
        await face.until("Nothing that waits has the number 9.")
        face.type("/approve 4 fine", "/reject 3 not that one", "/approve 1 always", "/approve 2")
        await face.until("completed (exit code 0)")
        answers = [
            (one.item, one.answer, one.note)
            for one in events_of(session)
            if one.type == "attention" and one.state == "answered"
        ]
        assert answers == [
            ("a4", "approve", "fine"),
            ("a3", "refuse", "not that one"),
            ("a1", "always", ""),
            ("a2", "approve", ""),
        ]


def events_of(session):
    return list(read_events((session.live or session.last).run.folder / "events.jsonl"))


async def test_a_question_of_the_program_is_answered_with_one_of_its_options_or_with_text_H42(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    async with talking(room) as (face, session):
        face.type("go")
        await face.until_bar("your turn")
        run, got = session.live.run, {}

        async def ask(name, **more):
            got[name] = await run.ask(f"{name}?", **more)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(ask, "colour", options=("red", "blue"), default="red"))
            nursery.start_soon(ask, "free")
            await face.until_bar("⚑ 2 for you")
            numbers = {item.title: item.id.removeprefix("a") for item in run.attention()}
            face.type(f"/answer {numbers['free?']} any words at all", f"/answer {numbers['colour?']} green")
            await face.until("is no answer")
            face.type(f"/reject {numbers['colour?']}")
            await face.until("There is nothing to reject")
            face.type(f"/answer {numbers['colour?']} blue since it is calm")
        assert got["free"].choice == "any words at all"
        assert (got["colour"].choice, got["colour"].note) == ("blue", "since it is calm")


async def test_pause_holds_agents_without_their_slots_and_dispatches_nothing_until_resume_S3(room):
    make_repo(room.work, {"a.txt": "a\n"})
    gate = turn(shell("until test -e $HOME/go; do sleep 0.05; done"))
    script = {
        "root": [turn(issue("One"), issue("Two")), wait("ISSUE-1", "ISSUE-2"), finish("all in")],
        "ISSUE-1.*": [gate, turn(write("one.txt", "1")), finish("done")],
        "ISSUE-2.*": [finish("done")],
    }
    room.crew(script, limits={"maxParallel": 1})
    async with talking(room) as (face, session):
        face.type("/run go")
        await face.until("ISSUE-1.0i: ")
        face.type("/pause")
        await face.until("Paused: agents hold")
        await face.until_bar("paused")
        (Path(os.environ["HOME"]) / "go").touch()
        await face.until("ISSUE-1.0i: waits on the end of the pause")
        await face.until_bar("slots 0/1")
        assert "ISSUE-2.0i" not in session.live.view.agents_by_id
        face.type("/pause", "/resume")
        await face.until("It is paused already")
        await face.until("completed (exit code 0)")
        face.type("/resume")
        await face.until("No run lives")


async def test_a_paused_run_can_be_cancelled(room):
    room.crew({"root": [turn(shell("true")), turn(shell("true")), finish("never")]}, board=False)
    async with talking(room) as (face, session):
        live = session.begin("go", interactive=False)
        await live.began.wait()
        face.type("/pause")
        await face.until("waits on the end of the pause")
        face.type("/cancel")
        await face.until("canceled (exit code 130)")


async def test_leaving_asks_where_it_would_stop_work_and_is_free_where_it_would_not(room):
    room.crew({"root": [SLOW]}, board=False)
    face = ListFace()
    async with talking(room, face=face) as (_, session):
        face.type("go")
        await face.until("→ shell")
        face.leave()
        await face.until("lives. Ctrl-D or /quit again stops it and leaves; anything else stays.")
        face.type("stay")
        await face.until("It is read at the root's next turn.")
        face.leave()
        face.leave()
        await face.until("Cancelling the run")
        face.press()
        await face.until("Stopping at once.")
        await face.until("canceled (exit code 130)")
        await session._over.wait()


async def test_looking_commands_show_the_run_live_and_after_it(room):
    make_repo(room.work, {"a.txt": "a\n"})
    script = {
        "root": [turn(issue("One", reviewers=["critic"])), wait("ISSUE-1"), finish("all in")],
        "ISSUE-1.0i": [turn(write("one.txt", "eins\n"), text="I write it."), finish("done")],
        "ISSUE-1.0i.*": [turn(("approve", {}))],
    }
    room.crew(script)
    async with talking(room) as (face, _):
        face.type("/board", "/agents", "/issue X", "/diff X", "/log", "/land", "/agent root")
        at = await face.until("There was no run yet")
        face.type("/run go")
        at = await face.until("completed (exit code 0)", after=at)
        face.type("/board")
        at = await face.until("merged as", after=at)
        face.type("/agents")
        at = await face.until("ISSUE-1.0i.0r", after=at)
        face.type("/issue issue-1")
        at = await face.until("approved by ISSUE-1.0i.0r", after=at)
        face.type("/issue ISSUE-7")
        at = await face.until("No issue is called ISSUE-7; there are ISSUE-1.", after=at)
        face.type("/diff ISSUE-1")
        at = await face.until("+eins", after=at)
        face.type("/agent issue-1.0i")
        at = await face.until("I write it.", after=at)
        face.type("/log 5")
        at = await face.until("ended: completed", after=at)
        face.type("/land")
        at = await face.until("Nothing to land", after=at)
        face.type("/recover")
        at = await face.until("Nothing is kept beside what was merged.", after=at)
        face.type("/export story.txt", "/export events.jsonl", "/export report.html", "/export no/where.txt")
        await face.until("was not written", after=at)
        assert "ISSUE-1 is done" in (room.work / "story.txt").read_text()
        records = [json.loads(line) for line in (room.work / "events.jsonl").read_text().splitlines()]
        assert records[-1]["type"] == "session_ended"
        assert "<html" in (room.work / "report.html").read_text()
        face.type("/watch")
        await face.until("no screen", after=at)


async def test_an_agent_that_is_followed_is_told_in_full_as_it_goes_on(room):
    make_repo(room.work, {"a.txt": "a\n"})
    gate = turn(shell("until test -e $HOME/go; do sleep 0.05; done"), text="I wait.")
    long = "These are many words of one agent. " * 8
    script = {
        "root": [turn(issue("One")), wait("ISSUE-1"), finish("all in")],
        "ISSUE-1.*": [gate, turn(shell("true"), text=long), finish("done")],
    }
    room.crew(script)
    async with talking(room) as (face, _):
        face.type("/run go")
        await face.until("ISSUE-1.0i: I wait.")
        face.type("/agent ISSUE-1.0i")
        await face.until("Following ISSUE-1.0i")
        (Path(os.environ["HOME"]) / "go").touch()
        await face.until("completed (exit code 0)")
        own = [line.partition("│ ")[2] for line in face.lines if line.startswith("ISSUE-1.0i │")]
        assert " ".join(long.split()) in " ".join(" ".join(own).split())
        assert any("turn 2: progressed" in line for line in own)


async def test_say_reaches_any_agent_and_names_those_there_are(room):
    make_repo(room.work, {"a.txt": "a\n"})
    gate = turn(shell("until test -e $HOME/go; do sleep 0.05; done"), text="I wait.")
    script = {
        "root": [turn(issue("One")), wait("ISSUE-1"), finish("all in")],
        "ISSUE-1.*": [gate, finish("done")],
    }
    room.crew(script)
    async with talking(room) as (face, session):
        face.type("/say root hello", "/say root")
        await face.until("No run lives")
        await face.until("Say whom and what")
        face.type("/run go")
        await face.until("ISSUE-1.0i: I wait.")
        face.type("/say nobody hello", "/say ISSUE-1.0i use tabs")
        await face.until("No living agent is called nobody; there are root, ISSUE-1.0i.")
        await face.until("ISSUE-1.0i reads it at its next turn.")
        (Path(os.environ["HOME"]) / "go").touch()
        await face.until("completed (exit code 0)")
        states = [one.state for one in events_of(session) if one.type == "message" and one.text == "use tabs"]
        assert states == ["queued", "delivered"]


async def test_what_the_next_run_is_launched_with_is_changed_or_the_reason_is_said(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    other = room.folder / "other.json"
    document = json.loads(room.path.read_text()) | {"name": "another crew"}
    other.write_text(json.dumps(document).replace("script/", f"script/{room.path.parent}/"))
    async with talking(room) as (face, session):
        face.type("/budget", "/budget 2.5", "/budget tokens 500,000", "/budget much", "/model", "/crew")
        await face.until("limits.maxTokens is 500000.")
        await face.until("Give a cost")
        await face.until("changed here: limits.maxCost=2.5, limits.maxTokens=500000")
        assert session.opening.reading.crew.limits.max_cost == 2.5
        face.type("/budget off", "/model nonsense/x", "/crew nowhere.json")
        await face.until("No budget of this prompt holds.")
        await face.until("nonsense")
        await face.until("nowhere.json")
        assert session.opening.reading.crew.limits.max_cost is None
        face.type(f"/crew {other}")
        await face.until("another crew: ")
        face.type("hello")
        await face.until_bar("your turn")
        at = len(face.lines)
        face.type("/crew", "/budget 3", f"/crew {room.path}")
        await face.until("It holds from the next run on", after=at)
        await face.until("A run lives; another crew can be taken when it has ended")


async def test_the_log_is_told_only_to_whoever_asked_for_it(room):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    for verbose in (False, True):
        async with talking(room, verbose=verbose) as (face, _):
            face.type("hello")
            await face.until_bar("your turn")
            face.type("/pause")
            await face.until("Paused: agents hold")
            face.type("/cancel")
            await face.until("canceled (exit code 130)")
            assert ("info: paused by the operator" in face.text()) is verbose


async def test_a_launch_that_is_refused_says_why_and_the_prompt_stays(room, monkeypatch):
    room.crew({"root": [{"text": "Hello."}]}, board=False)
    async with talking(room) as (face, session):
        session.opening.workspace = str(room.folder / "gone")
        face.type("hello")
        await face.until("The run was not launched:")
        await face.until("is not a folder")
        session.opening.workspace = str(room.work)
        face.type("hello")
        await face.until("● Hello.")


async def test_the_end_of_the_input_answers_by_default_what_would_wait_for_ever(room):
    room.crew(
        {"root": [turn(shell("true")), finish("did without")]},
        board=False,
        agents={"lead": {"ask": ["shell"], "askSecs": None}},
    )
    async with talking(room, face=ListFace(scripted=True)) as (face, session):
        face.type("go")
        await face.until_bar("⚑ 1 for you")
        face.leave(gone=True)
        await face.until("refused")
        await session._over.wait()
        assert session.code == 0
