"""The journal's file: how it is opened, what is in it, and which versions of it this program reads.

Law: nothing here knows about trio; every function blocks. A file of a newer version, or one that is no journal, is
refused with ``JournalBroken`` before anything is written to it.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from ggactors.ports import JournalBroken

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

APPLICATION_ID = 0x67674A31
"""Marks the file as ours (``PRAGMA application_id``)."""

SCHEMA_VERSION = 1
"""The one layout there has been (``PRAGMA user_version``)."""

BUSY_SECS = 30.0
CREATE = "CREATE TABLE entry (seq INTEGER PRIMARY KEY, stream TEXT NOT NULL, body BLOB NOT NULL)"


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the journal at ``path``, making it when there is none; transactions are the caller's own ``BEGIN``.

    The connection may be used by the opening thread only. Raises JournalBroken.
    """
    try:
        return _retried_while_busy(lambda: _prepared(path))
    except sqlite3.Error as error:
        raise JournalBroken(f"the journal {path} cannot be opened: {error}") from error


def _prepared(path: Path) -> sqlite3.Connection:
    with ExitStack() as undo:
        connection = undo.enter_context(closing(sqlite3.connect(path, timeout=BUSY_SECS, isolation_level=None)))
        # One transaction from looking to making: of several processes that open a fresh file, one creates the table.
        connection.execute("BEGIN IMMEDIATE")
        if _version(connection, path) == 0:
            connection.execute(CREATE)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise JournalBroken(
                f"the journal {path} cannot use a write-ahead log; put the state on a local file system"
            )
        connection.execute("PRAGMA synchronous = FULL")
        undo.pop_all()
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the journal at ``path`` without the power to change it; a run may be writing it meanwhile. Raises JournalBroken."""
    if not path.is_file():
        raise JournalBroken(f"there is no journal at {path}")
    try:
        with ExitStack() as undo:
            address = f"{path.absolute().as_uri()}?mode=ro"
            connection = undo.enter_context(closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECS)))
            version = _version(connection, path)
            undo.pop_all()
    except sqlite3.Error as error:
        raise JournalBroken(f"the journal {path} cannot be read: {error}") from error
    if version == 0:
        connection.close()
        raise JournalBroken(f"{path} holds no journal yet")
    return connection


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Give the schema version, 0 for an empty file; refuse what this program does not understand."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (mark, version, tables) == (0, 0, 0):
        return 0
    if mark != APPLICATION_ID:
        raise JournalBroken(f"{path} is a database, but no journal of ggactors; move it away")
    if version != SCHEMA_VERSION:
        raise JournalBroken(
            f"the journal {path} has version {version}, this program reads version {SCHEMA_VERSION}; use the newer ggactors"
        )
    return int(version)


def _retried_while_busy(step: Callable[[], sqlite3.Connection]) -> sqlite3.Connection:
    """Carry out ``step``; switching a fresh file to WAL is refused as busy without SQLite's own waiting."""
    give_up = time.monotonic() + BUSY_SECS
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
