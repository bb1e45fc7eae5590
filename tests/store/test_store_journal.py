"""The journal: order, grouping, cancellation, trouble, and death by SIGKILL."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
import trio
import trio.testing

from ggactors.ports import JournalBroken
from ggactors.store.journal import LINGER_SECS, PATIENCE_SECS, open_journal, read_journal
from ggactors.store.schema import open_for_reading, open_for_writing

ROOT = Path(__file__).parents[2]
TIMES_KILLED = 8
PROCESSES = 30


def bodies(path: Path, stream: str | None = None) -> list[bytes]:
    return [entry.body for entry in read_journal(path, stream)]


def is_sound(path: Path) -> bool:
    """Have SQLite itself check the file."""
    with closing(open_for_reading(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_committed_entries_are_read_back_in_order_by_stream(tmp_path):
    path = tmp_path / "journal.db"
    async with open_journal(path) as journal:
        await journal.commit("board", [b"one", b"two"])
        await journal.commit("agent", [b"three"])
        await journal.commit("board", [b"four"])
        # Durable means readable by others before the journal is closed.
        assert bodies(path) == [b"one", b"two", b"three", b"four"]
    assert [entry.seq for entry in read_journal(path)] == [1, 2, 3, 4]
    assert bodies(path, "board") == [b"one", b"two", b"four"]
    assert bodies(path, "nobody") == []


async def test_a_journal_opened_again_goes_on(tmp_path):
    path = tmp_path / "journal.db"
    for round_ in range(3):
        async with open_journal(path) as journal:
            await journal.commit("s", [b"%d" % round_])
    assert [(entry.seq, entry.body) for entry in read_journal(path)] == [(1, b"0"), (2, b"1"), (3, b"2")]


async def test_writers_share_transactions_and_each_keeps_its_order(tmp_path):
    path = tmp_path / "journal.db"
    writers, each = 40, 25

    async with open_journal(path) as journal:
        submitted = []
        submit = journal._thread.submit
        journal._thread.submit = lambda rows: (submitted.append(len(rows)), submit(rows))[1]

        async def write(number: int) -> None:
            for step in range(each):
                await journal.commit(f"w{number}", [b"%d a" % step, b"%d b" % step])

        async with trio.open_nursery() as nursery:
            for number in range(writers):
                nursery.start_soon(write, number)

    assert sum(submitted) == writers * each * 2
    assert len(submitted) <= 3 * each, "callers that wait together are committed together"
    for number in range(writers):
        assert bodies(path, f"w{number}") == [b"%d %s" % (step, half) for step in range(each) for half in (b"a", b"b")]


async def test_what_nobody_waits_for_is_taken_along_by_the_next_commit_and_is_durable_soon_without_one(
    tmp_path, mock_clock
):
    path = tmp_path / "journal.db"
    async with open_journal(path) as journal:
        transactions = []
        submit = journal._thread.submit
        journal._thread.submit = lambda rows: (transactions.append(len(rows)), submit(rows))
        for _ in range(3):
            journal.append("s", [b"answers"])
            await journal.commit("s", [b"reply"])
        assert transactions == [2, 2, 2]
        journal.append("s", [b"alone"])
        for _ in range(20):
            await trio.lowlevel.checkpoint()
        assert transactions == [2, 2, 2]
        mock_clock.jump(LINGER_SECS)
        while journal._under_way is not None or len(transactions) < 4:
            await trio.lowlevel.checkpoint()
        assert bodies(path) == [b"answers", b"reply"] * 3 + [b"alone"]
        journal.append("s", [b"last"])
    assert bodies(path)[-1] == b"last"


async def test_a_batch_larger_than_one_statement_is_one_transaction(tmp_path):
    path = tmp_path / "journal.db"
    many = [b"%d" % number for number in range(1000)]
    async with open_journal(path) as journal:
        await journal.commit("s", many)
    assert bodies(path) == many


async def test_a_cancelled_caller_leaves_all_of_its_entries_or_none(tmp_path):
    path = tmp_path / "journal.db"
    random = Random(7)
    asked: set[bytes] = set()
    async with open_journal(path) as journal:

        async def write(number: int) -> None:
            with trio.move_on_after(random.random() * 0.003):
                for step in range(100):
                    mark = b"%d-%d" % (number, step)
                    asked.add(mark)
                    await journal.commit("s", [mark + b"/a", mark + b"/b", mark + b"/c"])

        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(write, number)
        await journal.commit("s", [b"after"])
    found = bodies(path)
    assert found[-1] == b"after"
    assert len(found) % 3 == 1
    for first in range(0, len(found) - 1, 3):
        mark = found[first].removesuffix(b"/a")
        assert mark in asked
        assert found[first : first + 3] == [mark + b"/a", mark + b"/b", mark + b"/c"]


async def test_leaving_while_writers_are_cancelled_joins_the_thread(tmp_path):
    path = tmp_path / "journal.db"
    with trio.CancelScope() as scope:
        async with open_journal(path) as journal, trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(journal.commit, "s", [b"%d" % number])
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
    assert not journal._thread._thread.is_alive()
    with pytest.raises(RuntimeError, match="closed"):
        await journal.commit("s", [b"late"])


async def test_an_error_in_the_block_arrives_as_it_was_raised(tmp_path):
    with pytest.raises(ZeroDivisionError):
        async with open_journal(tmp_path / "journal.db"):
            raise ZeroDivisionError


async def test_only_bytes_are_taken_and_the_others_entries_do_not_suffer(tmp_path):
    path = tmp_path / "journal.db"
    async with open_journal(path) as journal, trio.open_nursery() as nursery:
        nursery.start_soon(journal.commit, "s", [b"good"])
        with pytest.raises(TypeError, match="stream 's'"):
            await journal.commit("s", [b"half", "text"])
        await journal.commit("s", [])
    assert bodies(path) == [b"good"]


# ---------------------------------------------------------------- trouble

LOCKED = "database is locked"


class _Locker:
    """Makes every transaction fail for a real reason: another connection holds SQLite's write lock."""

    def __init__(self, journal, path: Path) -> None:
        # The journal's own connection would wait long for the lock; the thread that owns it is idle now.
        self._other = sqlite3.connect(path, isolation_level=None)
        self._other.execute("BEGIN IMMEDIATE")

    def let_go(self) -> None:
        self._other.execute("ROLLBACK")
        self._other.close()


@pytest.fixture
def impatient(monkeypatch):
    """SQLite itself does not wait for locks, so that a locked database is refused at once."""
    monkeypatch.setattr("ggactors.store.schema.BUSY_SECS", 0.0)


async def _until(heard: list[str], count: int) -> None:
    with trio.fail_after(1e6):
        while len(heard) < count:
            await trio.lowlevel.checkpoint()


async def test_a_journal_that_recovers_loses_nothing_and_says_both(tmp_path, mock_clock, impatient):
    path, heard = tmp_path / "journal.db", []
    async with open_journal(path, on_trouble=heard.append) as journal:
        await journal.commit("s", [b"before"])
        locker = _Locker(journal, path)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.commit, "s", [b"during"])
            await _until(heard, 1)
            assert LOCKED in heard[0]
            assert "trying for 30 s" in heard[0]
            nursery.start_soon(journal.commit, "s", [b"gathered"])
            await trio.testing.wait_all_tasks_blocked()  # the next try has begun its pause
            locker.let_go()
            mock_clock.jump(1)
        assert heard[1:] == [f"the journal {path} is written again"]
        await journal.commit("s", [b"after"])
    assert bodies(path) == [b"before", b"during", b"gathered", b"after"]


async def test_a_journal_that_does_not_recover_is_broken_for_good_after_30_seconds(tmp_path, mock_clock, impatient):
    path, heard, refused = tmp_path / "journal.db", [], []
    async with open_journal(path, on_trouble=heard.append) as journal:
        await journal.commit("s", [b"kept"])
        locker = _Locker(journal, path)
        began = trio.current_time()

        async def write(entry: bytes) -> None:
            with pytest.raises(JournalBroken, match=LOCKED):
                await journal.commit("s", [entry])
            refused.append(trio.current_time() - began)

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(write, b"%d" % number)
            await _until(heard, 1)
            while not refused:
                mock_clock.jump(0.5)
                for _ in range(50):
                    await trio.lowlevel.checkpoint()
        assert min(refused) >= PATIENCE_SECS
        assert len(heard) == 2, "one reason is told once, and the end"
        locker.let_go()
        with pytest.raises(JournalBroken):
            await journal.commit("s", [b"too late"])
    assert bodies(path) == [b"kept"]


async def test_a_failing_journal_is_left_after_one_more_try(tmp_path, mock_clock, impatient):
    path, heard = tmp_path / "journal.db", []
    async with open_journal(path, on_trouble=heard.append) as journal:
        locker = _Locker(journal, path)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(journal.commit, "s", [b"lost"])
                await _until(heard, 1)
                scope.cancel()
    locker.let_go()
    assert bodies(path) == []


FULL_DISK = """
import resource, sys
from pathlib import Path
import trio
from ggactors.store.journal import open_journal

async def main():
    heard = []
    async with open_journal(Path(sys.argv[1]), on_trouble=heard.append) as journal:
        await journal.commit("s", [b"before"])
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(journal.commit, "s", [b"x" * 100_000])
            while not heard:
                await trio.lowlevel.checkpoint()
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        await journal.commit("s", [b"after"])
    print(heard[0])

trio.run(main)
"""


def test_a_file_that_may_not_grow_is_waited_for(tmp_path):
    path = tmp_path / "journal.db"
    ran = subprocess.run([sys.executable, "-c", FULL_DISK, path], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "cannot be written" in ran.stdout
    assert bodies(path) == [b"before", b"x" * 100_000, b"after"]
    assert is_sound(path)


# ---------------------------------------------------------------- files that are no journal


async def test_a_database_of_somebody_else_is_refused_untouched(tmp_path):
    path = tmp_path / "journal.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (a)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(JournalBroken, match="no journal of ggactors"):
        async with open_journal(path):
            pass
    assert path.read_bytes() == before


async def test_a_newer_version_is_refused_by_name(tmp_path):
    path = tmp_path / "journal.db"
    connection = open_for_writing(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(JournalBroken, match="version 99"):
        async with open_journal(path):
            pass
    with pytest.raises(JournalBroken, match="version 99"):
        list(read_journal(path))


@pytest.mark.parametrize("content", [b"", b"this is no database at all, but long enough to be one" * 40])
async def test_what_cannot_be_read_is_said(tmp_path, content):
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    with pytest.raises(JournalBroken, match=r"journal\.db"):
        list(read_journal(path))
    with pytest.raises(JournalBroken, match="there is no journal at"):
        list(read_journal(tmp_path / "none.db"))


async def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(JournalBroken, match="cannot be opened"):
        async with open_journal(tmp_path / "no" / "journal.db"):
            pass


# ---------------------------------------------------------------- H20

WRITER = """
import sys
from pathlib import Path
import trio
from ggactors.store.journal import open_journal

async def main():
    async with open_journal(Path(sys.argv[1])) as journal:
        async def write(number):
            for step in range(10_000):
                await journal.commit(f"w{number}", [b"%d a" % step, b"%d b" % step])
                sys.stdout.write(f"{number} {step}\\n")
                sys.stdout.flush()
        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(write, number)

trio.run(main)
"""


@pytest.mark.timeout(180)
def test_killed_at_any_moment_the_journal_is_sound_and_keeps_what_was_acknowledged_H20(tmp_path):
    random = Random(20)
    for round_ in range(TIMES_KILLED):
        path = tmp_path / f"{round_}.db"
        writer = subprocess.Popen([sys.executable, "-c", WRITER, path], cwd=ROOT, stdout=subprocess.PIPE)
        assert writer.stdout is not None
        acknowledged = [writer.stdout.readline() for _ in range(random.randrange(1, 400))]
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += [line for line in writer.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")]
        writer.stdout.close()
        assert writer.wait() == -signal.SIGKILL
        assert is_sound(path)
        done: dict[int, int] = {}
        for line in acknowledged:
            number, step = line.split()
            done[int(number)] = int(step)
        for number in range(4):
            found = bodies(path, f"w{number}")
            steps = len(found) // 2
            assert found == [b"%d %s" % (step, half) for step in range(steps) for half in (b"a", b"b")]
            assert steps > done.get(number, -1)


FIRST = """
import sys
from pathlib import Path
import trio
from ggactors.store.journal import open_journal

async def main():
    async with open_journal(Path(sys.argv[1])) as journal:
        for step in range(5):
            await journal.commit(sys.argv[2], [b"%d" % step])

trio.run(main)
"""


@pytest.mark.timeout(180)
def test_thirty_processes_that_open_a_fresh_journal_at_once_all_get_to_write_H20(tmp_path):
    path = tmp_path / "journal.db"
    writers = [
        subprocess.Popen([sys.executable, "-c", FIRST, path, f"p{number}"], cwd=ROOT, stderr=subprocess.PIPE)
        for number in range(PROCESSES)
    ]
    for writer in writers:
        _, errors = writer.communicate()
        assert writer.returncode == 0, errors.decode()
    assert is_sound(path)
    for number in range(PROCESSES):
        assert bodies(path, f"p{number}") == [b"%d" % step for step in range(5)]
