"""Sessions and their messages: one row a message, in order, durable before the call returns.

A message is a dict in the OpenAI shape. `thread` keeps a sub-agent's conversation (its call id) apart from the
session's own (""); both are searched. A compaction is a row of its own: nothing is deleted, `load` starts at it.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.memory import query
from turnstone_lsp.memory.repair import Message, cut, repair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnstone_lsp.memory.database import Database, Row

TITLE_LENGTH = 60
_COMPACTION = "compaction"
_INFO = "SELECT id, workspace, title, model, parent, messages, created, updated FROM sessions "
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a list of sessions shows. Times are seconds since 1970; `parent` is the session that it was forked from."""

    id: str
    workspace: str
    title: str
    model: str
    parent: str | None
    messages: int
    created: float
    updated: float


@dataclass(frozen=True, slots=True)
class Stored:
    """One message as stored: its row id, the turn and thread it belongs to, and when it was written."""

    id: int
    turn: str
    thread: str
    created: float
    message: Message


def new_id() -> str:
    """A fresh session id, fit for a file name."""
    return secrets.token_hex(6)


def title_of(text: str) -> str:
    """A session's title from its first request: the first line, cut at a word."""
    line = " ".join(next((part for part in text.splitlines() if part.strip()), "").split())
    if len(line) <= TITLE_LENGTH:
        return line
    short = line[: TITLE_LENGTH - 1]
    return (short.rsplit(" ", 1)[0] if " " in short[20:] else short).rstrip() + "…"


# --- sessions -------------------------------------------------------------------------------------------------------


def create(db: Database, session_id: str, workspace: str, title: str = "", model: str = "") -> SessionInfo:
    """Make a session of a workspace (its real path). Raises TurnstoneError when the id is taken or unfit."""
    if not _ID.fullmatch(session_id):
        raise TurnstoneError(f"'{session_id}' cannot be a session id; use letters, digits, '-' and '_'.")
    now = time.time()
    with db.transaction():
        if db.row("SELECT 1 FROM sessions WHERE id = ?", (session_id,)):
            raise TurnstoneError(f"Session {session_id} exists already; resume it or choose another id.")
        db.run(
            "INSERT INTO sessions(id, workspace, title, model, created, updated) VALUES (?, ?, ?, ?, ?, ?)",
            (session_id, query.clean(workspace), query.clean(title), query.clean(model), now, now),
        )
    return get(db, session_id)


def get(db: Database, session_id: str) -> SessionInfo:
    """One session. Raises TurnstoneError when there is none with that id."""
    row = db.row(_INFO + "WHERE id = ?", (session_id,))
    if row is None:
        raise TurnstoneError(f"There is no session {session_id}; list the sessions to see their ids.")
    return SessionInfo(*row)


def listed(db: Database, workspace: str | None = None, limit: int = 200) -> list[SessionInfo]:
    """The newest sessions, of one workspace or of all."""
    newest = "ORDER BY updated DESC, created DESC LIMIT ?"
    if workspace is None:
        rows = db.rows(_INFO + newest, (limit,))
    else:
        rows = db.rows(_INFO + "WHERE workspace = ? " + newest, (query.clean(workspace), limit))
    return [SessionInfo(*row) for row in rows]


def rename(db: Database, session_id: str, title: str) -> SessionInfo:
    """Give a session another title."""
    short = " ".join(query.clean(title).split())[:200]
    if not short:
        raise TurnstoneError("A session's title cannot be empty; give it some text.")
    db.run("UPDATE sessions SET title = ? WHERE id = ?", (short, session_id))
    return get(db, session_id)


def set_model(db: Database, session_id: str, model: str) -> None:
    """Note the model that the session talks to now."""
    db.run("UPDATE sessions SET model = ? WHERE id = ?", (query.clean(model), session_id))


def fork(db: Database, session_id: str, new_session: str, upto: int | None = None) -> SessionInfo:
    """Copy a session, with its state, into a new one; with `upto` only the messages up to that row id."""
    with db.transaction():
        old = get(db, session_id)
        title = f"{old.title} (fork)" if old.title else ""
        now = time.time()
        db.run(
            "INSERT INTO sessions(id, workspace, title, model, parent, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (new_session, old.workspace, title, old.model, session_id, now, now),
        )
        last = upto if upto is not None else 2**62
        rows = db.rows(
            "SELECT thread, turn, role, content, call_id, extra, created FROM messages"
            " WHERE session = ? AND id <= ? ORDER BY id",
            (session_id, last),
        )
        for row in rows:
            _write(db, new_session, row)
        db.run("INSERT INTO state SELECT ?, key, value FROM state WHERE session = ?", (new_session, session_id))
        db.run("UPDATE sessions SET messages = ? WHERE id = ?", (len(rows), new_session))
    return get(db, new_session)


def delete(db: Database, session_id: str) -> None:
    """Delete a session with all its messages, also from the index. Raises TurnstoneError when there is none."""
    with db.transaction():
        get(db, session_id)
        _drop(db, session_id, 0)
        db.run("DELETE FROM sessions WHERE id = ?", (session_id,))


# --- messages -------------------------------------------------------------------------------------------------------


def append(db: Database, session_id: str, messages: Sequence[Mapping[str, Any]], turn: str, thread: str) -> list[int]:
    """Add messages at the end; the row ids. On return they survive the death of the process.

    A message with tool calls is also synced to the disk: what it leads to may outlive a power failure, so must it.
    A half-streamed answer of the thread is replaced by an assistant message, and before any other message it becomes
    a message of its own, marked as cut. Raises TurnstoneError when the session is gone.
    """
    synced = any(m.get("tool_calls") for m in messages)
    with db.transaction(synced=synced):
        ids = []
        for message in messages:
            _settle(db, session_id, thread, replaced=message.get("role") == "assistant")
            ids.append(_add(db, session_id, message, turn, thread))
    return ids


def checkpoint(db: Database, session_id: str, message: Mapping[str, Any], turn: str, thread: str) -> None:
    """Keep the answer as streamed so far; the next append of the thread settles it."""
    db.run(
        "INSERT INTO partials(session, thread, turn, message, updated) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT(session, thread) DO UPDATE SET turn = excluded.turn, message = excluded.message,"
        " updated = excluded.updated",
        (session_id, thread, turn, json.dumps(message), time.time()),
    )


def discard(db: Database, session_id: str, thread: str) -> None:
    """Forget the half-streamed answer: its request is tried again."""
    db.run("DELETE FROM partials WHERE session = ? AND thread = ?", (session_id, thread))


def compact(db: Database, session_id: str, head: Sequence[Message], keep_from: int, thread: str) -> int:
    """From now on `load` gives `head` and the messages from row `keep_from` on. Nothing is deleted."""
    body = json.dumps({"head": list(head), "keep_from": keep_from})
    with db.transaction():
        return _write(db, session_id, (thread, "", _COMPACTION, None, None, body, time.time()))


def rewind(db: Database, session_id: str, first: int) -> int:
    """Delete the session's messages from row `first` on (of all threads); how many went."""
    with db.transaction():
        gone = _drop(db, session_id, first)
        db.run("DELETE FROM partials WHERE session = ?", (session_id,))
        db.run("UPDATE sessions SET messages = messages - ? WHERE id = ?", (gone, session_id))
    return gone


def load(db: Database, session_id: str, thread: str = "") -> list[Message]:
    """The conversation as the model is to see it: compacted, repaired, a cut answer marked. Never changes the file."""
    found = db.row(
        # The literal lets SQLite use the partial index.
        "SELECT extra FROM messages WHERE session = ? AND thread = ? AND role = 'compaction' ORDER BY id DESC LIMIT 1",
        (session_id, thread),
    )
    head, first = ([], 0)
    if found is not None:
        compacted = json.loads(found[0])
        head, first = compacted["head"], compacted["keep_from"]
    rows = db.rows(
        "SELECT role, content, call_id, extra FROM messages"
        " WHERE session = ? AND thread = ? AND id >= ? AND role <> ? ORDER BY id",
        (session_id, thread, first, _COMPACTION),
    )
    messages = head + _messages(rows)
    partial = db.row("SELECT message FROM partials WHERE session = ? AND thread = ?", (session_id, thread))
    if partial is not None and (rest := cut(json.loads(partial[0]))) is not None:
        messages.append(rest)
    return repair(messages)


def history(db: Database, session_id: str, thread: str | None = None) -> list[Stored]:
    """Every stored message, compacted ones too, as they were written; of one thread or of all."""
    rows = db.rows(
        "SELECT id, turn, thread, created, role, content, call_id, extra FROM messages"
        " WHERE session = ? AND role <> ? AND (? IS NULL OR thread = ?) ORDER BY id",
        (session_id, _COMPACTION, thread, thread),
    )
    messages = _messages([row[4:] for row in rows])
    return [Stored(row[0], row[1], row[2], row[3], message) for row, message in zip(rows, messages, strict=True)]


# --- state ----------------------------------------------------------------------------------------------------------


def set_state(db: Database, session_id: str, key: str, value: object) -> None:
    """Keep a JSON value under a key of the session; None removes it."""
    if value is None:
        db.run("DELETE FROM state WHERE session = ? AND key = ?", (session_id, key))
        return
    db.run(
        "INSERT INTO state VALUES (?, ?, ?) ON CONFLICT(session, key) DO UPDATE SET value = excluded.value",
        (session_id, key, json.dumps(value)),
    )


def state(db: Database, session_id: str) -> dict[str, Any]:
    """All of the session's key-value state."""
    rows = db.rows("SELECT key, value FROM state WHERE session = ?", (session_id,))
    return {key: json.loads(value) for key, value in rows}


# --- rows -----------------------------------------------------------------------------------------------------------


def _messages(rows: Sequence[Row]) -> list[Message]:
    """Rows of role, content, call_id, extra as messages. The extras are parsed as one list: half the time of each."""
    extras = iter(json.loads("[" + ",".join([row[3] for row in rows if row[3] is not None]) + "]"))
    messages: list[Message] = []
    for role, content, call_id, extra in rows:
        message: Message = {"role": role, "content": content}
        if call_id is not None:
            message["tool_call_id"] = call_id
        if extra is not None:
            message.update(next(extras))
        messages.append(message)
    return messages


def _add(db: Database, session_id: str, message: Mapping[str, Any], turn: str, thread: str) -> int:
    extra = {k: v for k, v in message.items() if k not in {"role", "content", "tool_call_id"}}
    content, call_id, role = message.get("content"), message.get("tool_call_id"), str(message["role"])
    if content is not None and not isinstance(content, str):
        extra["content"], content = content, None
    now = time.time()
    stored = (
        thread,
        turn,
        role,
        None if content is None else query.clean(content),
        None if call_id is None else query.clean(str(call_id)),
        json.dumps(extra) if extra else None,
        now,
    )
    row_id = _write(db, session_id, stored)
    title = title_of(content or "") if role == "user" and not thread else ""
    db.run(
        "UPDATE sessions SET messages = messages + 1, updated = ?, title = CASE title WHEN '' THEN ? ELSE title END"
        " WHERE id = ?",
        (now, query.clean(title), session_id),
    )
    return row_id


def _write(db: Database, session_id: str, row: Row) -> int:
    """Insert one row and its index entry. `row`: thread, turn, role, content, call_id, extra, created."""
    if db.row("SELECT 1 FROM sessions WHERE id = ?", (session_id,)) is None:
        raise TurnstoneError(f"Session {session_id} was deleted; start a new session to go on.")
    row_id = db.insert(
        "INSERT INTO messages(session, thread, turn, role, content, call_id, extra, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (session_id, *row),
    )
    if text := _text(row[2], row[3], row[5]):
        db.run("INSERT INTO messages_fts(rowid, text) VALUES (?, ?)", (row_id, text))
    return row_id


def _text(role: str, content: str | None, extra: str | None) -> str:
    return query.message_text(role, content, json.loads(extra) if extra else None)


def _drop(db: Database, session_id: str, first: int) -> int:
    """Delete messages from row `first` on, with their index entries; how many."""
    rows = db.rows("SELECT id, role, content, extra FROM messages WHERE session = ? AND id >= ?", (session_id, first))
    for row_id, role, content, extra in rows:
        if text := _text(role, content, extra):
            db.run("INSERT INTO messages_fts(messages_fts, rowid, text) VALUES ('delete', ?, ?)", (row_id, text))
    db.run("DELETE FROM messages WHERE session = ? AND id >= ?", (session_id, first))
    return sum(role != _COMPACTION for _, role, _, _ in rows)


def _settle(db: Database, session_id: str, thread: str, *, replaced: bool) -> None:
    """End the thread's half-streamed answer: dropped when its whole message follows, else kept as cut."""
    found = db.row("SELECT turn, message FROM partials WHERE session = ? AND thread = ?", (session_id, thread))
    if found is None:
        return
    db.run("DELETE FROM partials WHERE session = ? AND thread = ?", (session_id, thread))
    if not replaced and (rest := cut(json.loads(found[1]))) is not None:
        _add(db, session_id, rest, found[0], thread)
