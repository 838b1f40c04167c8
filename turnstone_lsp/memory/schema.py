"""The database's shape, as numbered migrations. A file's `user_version` is the number of those it has seen.

A migration that has shipped is never changed: a new one is appended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

_FIRST = (
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        workspace TEXT NOT NULL,
        title TEXT NOT NULL,
        model TEXT NOT NULL,
        parent TEXT,
        messages INTEGER NOT NULL DEFAULT 0,
        created REAL NOT NULL,
        updated REAL NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX sessions_by_workspace ON sessions(workspace, updated)",
    # One row a message, never changed once written. `content` holds plain text, `extra` the other keys as JSON.
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        thread TEXT NOT NULL,
        turn TEXT NOT NULL,
        role TEXT NOT NULL,
        content TEXT,
        call_id TEXT,
        extra TEXT,
        created REAL NOT NULL
    ) STRICT""",
    "CREATE INDEX messages_by_session ON messages(session, thread, id)",
    "CREATE INDEX compactions ON messages(session, thread, id) WHERE role = 'compaction'",
    # The answer that is being streamed: at most one a thread, rewritten each second, gone when the message is whole.
    """CREATE TABLE partials (
        session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        thread TEXT NOT NULL,
        turn TEXT NOT NULL,
        message TEXT NOT NULL,
        updated REAL NOT NULL,
        PRIMARY KEY (session, thread)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE state (
        session TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (session, key)
    ) STRICT, WITHOUT ROWID""",
    # `scope` is '' for the user's memories, else the real path of a workspace.
    """CREATE TABLE memories (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        session TEXT NOT NULL,
        workspace TEXT NOT NULL,
        untrusted INTEGER NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        UNIQUE (scope, key)
    ) STRICT""",
    """CREATE TABLE grants (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        workspace TEXT NOT NULL,
        body TEXT NOT NULL,
        created REAL NOT NULL,
        UNIQUE (workspace, body)
    ) STRICT""",
    """CREATE TABLE trust (
        path TEXT PRIMARY KEY,
        inode INTEGER NOT NULL,
        created REAL NOT NULL
    ) STRICT""",
    # Contentless: the text is in `messages`; what is indexed of it is computed by `query.message_text`.
    """CREATE VIRTUAL TABLE messages_fts USING fts5(
        text, content='', tokenize='porter unicode61 remove_diacritics 2')""",
    """CREATE VIRTUAL TABLE memories_fts USING fts5(
        key, value, tokenize='porter unicode61 remove_diacritics 2')""",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)


def version(connection: sqlite3.Connection) -> int:
    """The number of migrations that the file has seen."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS) -> None:
    """Bring a file up to date, in one transaction; safe when two servers open an old file at once."""
    if version(connection) >= len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statements in migrations[version(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
