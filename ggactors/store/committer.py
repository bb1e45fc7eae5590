"""The journal's one thread: it opens the database, carries out transactions one at a time, and closes it.

Law: the thread touches the connection and nothing of trio's but ``run_sync_soon``; each submitted list of rows is
answered exactly once, in trio's thread, with None or the reason it failed. A failed transaction leaves no row behind.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

import trio

from ggactors.ports import JournalBroken
from ggactors.store.schema import open_for_writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INSERT = "INSERT INTO entry (stream, body) VALUES (?,?)"

ROWS_A_STATEMENT = 256
"""Two variables a row; every SQLite takes 999."""

Row = tuple[str, bytes]
"""A stream and the entry appended to it."""


class CommitThread:
    """A thread that commits. ``answer`` is called in trio's thread for every ``submit``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answer: Callable[[str | None], None] = lambda _failure: None
        self._work: SimpleQueue[list[Row] | None] = SimpleQueue()
        self._token = trio.lowlevel.current_trio_token()
        # A daemon, so that an interpreter that dies without closing the journal is not held up by it.
        self._thread = threading.Thread(target=self._run, name="ggactors-journal", daemon=True)
        self._refusal: JournalBroken | None = None
        self._ready = trio.Event()
        self._gone = trio.Event()

    def soon(self, call: Callable[..., object], *args: object) -> None:
        """Have ``call`` run in trio's thread at its next tick."""
        self._token.run_sync_soon(call, *args)

    def submit(self, rows: list[Row]) -> None:
        """Hand the thread one transaction; ``rows`` must not change until it is answered."""
        self._work.put(rows)

    async def start(self) -> None:
        """Start the thread and wait until its database is open. Raises JournalBroken. Cancelled: ``stop`` still has to run."""
        self._thread.start()
        await self._ready.wait()
        if self._refusal is not None:
            raise self._refusal

    async def stop(self) -> None:
        """Let the thread finish its work, close the database and end."""
        if self._thread.ident is None:
            return
        self._work.put(None)
        await self._gone.wait()
        self._thread.join()

    # ------------------------------------------------------------ in the thread

    def _run(self) -> None:
        try:
            connection = open_for_writing(self.path)
        except JournalBroken as refusal:
            self._refusal = refusal
            self._tell(self._ready.set)
        else:
            self._tell(self._ready.set)
            self._serve(connection)
        finally:
            self._tell(self._gone.set)

    def _serve(self, connection: sqlite3.Connection) -> None:
        while (rows := self._work.get()) is not None:
            self._tell(self._answer, _commit(connection, rows))
        with suppress(sqlite3.Error):  # what counts is committed; a failing checkpoint is made good by the next opening
            connection.close()

    def _answer(self, failure: str | None) -> None:
        self.answer(failure)

    def _tell(self, call: Callable[..., object], *args: object) -> None:
        with suppress(trio.RunFinishedError):  # the run was torn down without closing us; there is nobody to tell
            self._token.run_sync_soon(call, *args)


def _commit(connection: sqlite3.Connection, rows: list[Row]) -> str | None:
    """Append ``rows`` in one transaction. Answer None, or the reason when nothing was written."""
    try:
        if len(rows) <= ROWS_A_STATEMENT:
            # A statement alone is its own transaction: one trip out of the interpreter, and back, for everything.
            _insert(connection, rows)
            return None
        connection.execute("BEGIN IMMEDIATE")
        for first in range(0, len(rows), ROWS_A_STATEMENT):
            _insert(connection, rows[first : first + ROWS_A_STATEMENT])
        connection.execute("COMMIT")
    except (sqlite3.Error, OSError) as error:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
        return str(error) or type(error).__name__
    return None


def _insert(connection: sqlite3.Connection, rows: list[Row]) -> None:
    """Insert rows by one statement. One a row would give the interpreter's lock away at every row, and a busy trio thread
    keeps it for 5 ms each time; the statements by size are cached by the connection.
    """
    connection.execute(INSERT + ",(?,?)" * (len(rows) - 1), [value for row in rows for value in row])
