"""What users reported of prompts (H numbers): interrupts that reach nothing, messages that are lost, output that tears the line."""

from __future__ import annotations

import random

import pytest
from cli_kit import nothing_is_left  # noqa: F401 - a fixture
from repl_kit import MARK, Room, is_left_as_found, resize, said_to_root, talking, wait_line

from ggactors.telemetry.jsonl import read_events
from ggactors.testing.crews import shell, turn

FLOOD = """
import sys, time, trio
from pathlib import Path
from ggactors.crew import read_crew
from ggactors.protocol.events import AssistantMessage
from ggactors.repl import prompt
from ggactors.repl.opening import Opening
from ggactors.repl.session import Session

class Flooded(Session):
    def begin(self, task, *, interactive):
        live = super().begin(task, interactive=interactive)
        self._nursery.start_soon(self.flood, live)
        return live

    async def flood(self, live):
        await live.began.wait()
        emitted, began = 0, time.monotonic()
        while live.outcome is None and not live.stopping:
            while emitted < (time.monotonic() - began) * 5000:
                emitted += 1
                live.run._staff.place.emit(AssistantMessage(agent="ISSUE-1.0i", text=f"event {emitted} {'x' * (emitted % 60)}"))
            await trio.sleep(0.01)

prompt.Session = Flooded
reading = read_crew(Path(sys.argv[1]), [])
opening = Opening(reading=reading, read=lambda _named, _overrides: reading)
sys.exit(prompt.open_prompt(opening, full=True, scripted=False, colour=True))
"""


@pytest.fixture
def room(tmp_path, monkeypatch) -> Room:
    room = Room(tmp_path)
    monkeypatch.setenv("GGACTORS_HOME", str(room.home))
    return room


async def test_the_first_press_reaches_a_turn_in_a_two_hour_wait_for_its_provider_the_second_the_run_H45(room):
    busy = {"error": {"status": 429, "retryAfterSecs": 7200}}
    room.crew({"root": [busy, busy]}, board=False)
    async with talking(room) as (face, _):
        face.type("go")
        await face.until("try 1")
        face.press()
        await face.until_bar("your turn")
        at = len(face.lines)
        face.type("are you there?")
        await face.until_bar("working")
        face.press()
        face.press()
        await face.until("canceled (exit code 130)", after=at)
        await face.until_bar("ready")


async def test_five_messages_to_a_busy_agent_are_all_accounted_for_after_an_interrupt_H46(room):
    busy = turn(shell("sleep 30"), shell("echo two"), text="Working.")
    room.crew({"root": [busy, {"text": "Read all."}]}, board=False)
    said = [f"message {number}" for number in range(1, 6)]
    async with talking(room) as (face, session):
        face.type("go")
        await face.until("→ shell")
        face.type(*said, "/queue and then this")
        await face.until_bar("6 not read yet")
        face.press()
        await face.until("6 of your texts wait")
        await face.until_bar("your turn")
        assert [one.text for one in session.live.run.pending()] == [*said, "and then this"]
        face.type("and a last one")
        await face.until("● Read all.")
        events = list(read_events(session.live.run.folder / "events.jsonl"))
        fates = {one.text: one.state for one in events if one.type == "message"}
        assert [text for text, state in fates.items() if state == "delivered"][:5] == said
        assert fates["and a last one"] == "delivered"
        assert set(fates) == {*said, "and then this", "and a last one"}


def test_what_is_typed_stays_whole_under_5000_events_a_second_and_through_resizes_H52(room):
    room.crew({"root": [{"text": "I listen."}, {"text": "Heard you."}]}, board=False)
    at = room.python(FLOOD, room.path, columns=100, rows=30)
    at.type(b"begin\r")
    at.until("lines left out")
    text = "the quick brown fox jumps over the lazy dog, and then two more words"
    dice = random.Random(3)
    for number, letter in enumerate(text):
        at.type(letter.encode())
        at._read(0.01)
        if number % 11 == 9:
            resize(at, dice.choice([60, 80, 100, 132]), dice.choice([20, 24, 30, 45]))
    wide = 132
    resize(at, wide, 30)
    wait_line(at, text)
    rows = [row.rstrip() for row in at.screen.display]
    told = rows[: rows.index(f"{MARK} {text}")][-8:]
    assert all(row[2:3] == ":" or row.startswith("… ") for row in told), told
    for asked in (b"\x1b[6n", b"\x1b[?6n", b"\x1b[c", b"\x1b[>c"):
        assert asked not in at.raw
    at.type(b"\r")
    at.until("Heard you.")
    at.type(b"\x04\x04\x03\x03")
    at.end()
    assert said_to_root(room)[-1] == text
    assert is_left_as_found(at)
