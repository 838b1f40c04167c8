"""One connection to the SQLite file: opened privately, migrated, with errors that a user can act on."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any

from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.memory import schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

BUSY_SECONDS = 30.0
"""How long a statement waits for another server that is writing."""

Row = tuple[Any, ...]


class StoreError(TurnstoneError):
    """The database cannot be used; the text names the file and says what to do."""


def _explain(path: Path, error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    advice = {
        sqlite3.SQLITE_BUSY: f"another program has held it for over {BUSY_SECONDS:.0f} s; close that program",
        sqlite3.SQLITE_LOCKED: f"another program has held it for over {BUSY_SECONDS:.0f} s; close that program",
        sqlite3.SQLITE_FULL: "the disk is full; free some space",
        sqlite3.SQLITE_READONLY: "it cannot be written; check its owner and permissions",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and is yours",
        sqlite3.SQLITE_IOERR: "the disk reports an error; check the disk",
        sqlite3.SQLITE_CORRUPT: "it is damaged; move it away to start anew ('sqlite3 FILE .recover' may rescue it)",
        sqlite3.SQLITE_NOTADB: "it is not a database; move it away to start anew",
    }.get(primary if primary is not None else -1, "try again, or move the file away to start anew")
    return StoreError(f"The session database {path} failed ({error}): {advice}.")


class Database:
    """A connection that any thread may use, one at a time. Statements outside `transaction` commit by themselves."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            # SQLite gives its -wal and -shm files the mode of the database itself.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)
        except OSError as error:
            raise StoreError(
                f"The session database {path} cannot be opened ({error.strerror}); check its owner and permissions, "
                "or name another folder in TURNSTONE_STATE_DIR."
            ) from error
        with self._readable():
            self._connection = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
            )
        try:
            with self._readable():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _enter_wal(self) -> None:
        """Switch to the write-ahead log. SQLite does not wait for other openers here, so this does."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def _prepare(self) -> None:
        connection = self._connection
        self._enter_wal()
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        schema.migrate(connection)
        if schema.version(connection) > len(schema.MIGRATIONS):
            raise StoreError(
                f"The session database {self.path} was written by a newer turnstone-lsp; update this one, "
                "or name another folder in TURNSTONE_STATE_DIR."
            )

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _explain(self.path, error) from error

    def rows(self, sql: str, arguments: Sequence[object] = ()) -> list[Row]:
        """All rows of a query. Raises StoreError."""
        with self._lock:
            try:
                return self._connection.execute(sql, arguments).fetchall()
            except sqlite3.Error as error:
                raise _explain(self.path, error) from error

    def row(self, sql: str, arguments: Sequence[object] = ()) -> Row | None:
        """The first row of a query, or None. Raises StoreError."""
        found = self.rows(sql, arguments)
        return found[0] if found else None

    def run(self, sql: str, arguments: Sequence[object] = ()) -> int:
        """Run one statement; the number of rows it changed. Raises StoreError."""
        return self._executed(sql, arguments).rowcount

    def insert(self, sql: str, arguments: Sequence[object] = ()) -> int:
        """Run an INSERT; the new row's id. Raises StoreError."""
        return self._executed(sql, arguments).lastrowid or 0

    def _executed(self, sql: str, arguments: Sequence[object]) -> sqlite3.Cursor:
        with self._lock:
            try:
                return self._connection.execute(sql, arguments)
            except sqlite3.Error as error:
                raise _explain(self.path, error) from error

    @contextlib.contextmanager
    def transaction(self, *, synced: bool = False) -> Iterator[None]:
        """All or nothing, holding the write lock from the start so that a read inside stays true.

        A commit always survives the death of the process; with `synced` also the loss of power.
        """
        with self._lock:
            if synced:
                self.run("PRAGMA synchronous = FULL")
            self.run("BEGIN IMMEDIATE")
            try:
                yield
                self.run("COMMIT")
            except BaseException:
                with contextlib.suppress(StoreError):  # SQLite has rolled back by itself on some errors
                    self.run("ROLLBACK")
                raise
            finally:
                if synced:
                    self.run("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Close the connection; using it afterwards raises StoreError."""
        with self._lock:
            self._connection.close()
