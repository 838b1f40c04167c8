"""Full-text search over past conversations, with bounded work however common the words are.

Ranking by BM25 reads every match: for two common words among a million messages that is seconds. Instead the index
is read newest first and only as far as needed: messages with all words; when those are few, the newest messages with
each word, where a word that is found seldom weighs more. What is fetched is then ordered: the exact phrase, the
person's and the assistant's words before tool output, the asking workspace, the newest.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.memory import query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnstone_lsp.memory.database import Database

_POOL = 200
"""Newest messages of each word that are weighed when too few have all words."""
_RECENT = 2_000
"""Newest messages that are scanned for a text without a searchable word (an emoji, "->")."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One message found: where, when (seconds since 1970), who said it, and the text around the words."""

    message_id: int
    session: str
    title: str
    workspace: str
    role: str
    created: float
    snippet: str


def search(db: Database, text: str, *, limit: int = 20, workspace: str = "", session: str = "") -> list[Hit]:
    """The best hits for any text, at most `limit`. Hits of `session`, which asks, come last."""
    words = query.terms(text)
    if words:
        ids = _matches(db, query.every(words), limit * 2)
        if len(ids) < limit and len(words) > 1:
            ids += _some(db, words, limit * 2 - len(ids), set(ids))
        if not ids and len(words[-1]) >= 4:
            ids = _matches(db, f"{query.phrase(words[-1])} *", limit * 2)
    elif text.strip():
        ids = _recent(db, query.clean(text.strip()), limit)
        words = [text.strip()]
    else:
        return []
    return _hits(db, ids, words, " ".join(text.casefold().split()), workspace=workspace, session=session)[:limit]


def _matches(db: Database, match: str, limit: int) -> list[int]:
    """Row ids of the newest messages that match; reads no further than `limit`."""
    sql = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rowid DESC LIMIT ?"
    return [row[0] for row in db.rows(sql, (match, limit))]


def _some(db: Database, words: Sequence[str], limit: int, known: set[int]) -> list[int]:
    """Row ids of messages with some of the words, those with many and seldom ones first."""
    weights: defaultdict[int, float] = defaultdict(float)
    for word in words:
        found = _matches(db, query.phrase(word), _POOL)
        for row_id in found:
            weights[row_id] += 1 / (1 + len(found))
    best = sorted((row_id for row_id in weights if row_id not in known), key=lambda i: (-weights[i], -i))
    return best[:limit]


def _recent(db: Database, text: str, limit: int) -> list[int]:
    sql = (
        "SELECT id FROM messages WHERE id > (SELECT max(id) FROM messages) - ? AND instr(content, ?) > 0"
        " AND role IN ('user', 'assistant') ORDER BY id DESC LIMIT ?"
    )
    return [row[0] for row in db.rows(sql, (_RECENT, text, limit))]


def _hits(
    db: Database, ids: Sequence[int], words: Sequence[str], phrase: str, *, workspace: str, session: str
) -> list[Hit]:
    """The rows of the ids as hits in their final order; copies that a fork made count once."""
    rows = db.rows(
        "SELECT m.id, m.session, s.title, s.workspace, m.role, m.created, substr(m.content, 1, ?), m.extra"
        " FROM messages m JOIN sessions s ON s.id = m.session WHERE m.id IN (SELECT value FROM json_each(?))",
        (query.DEFAULT_HEAD, json.dumps(ids)),
    )
    place = {row_id: n for n, row_id in enumerate(ids)}
    ranked: list[tuple[tuple[bool, bool, bool, bool, int], Hit]] = []
    seen: set[tuple[str, float]] = set()
    for row_id, owner, title, folder, role, created, content, extra in rows:
        shown = content or query.message_text(role, None, json.loads(extra) if extra else None)
        hit = Hit(row_id, owner, title, folder, role, created, query.snippet(shown, words))
        order = (
            owner == session,
            phrase not in " ".join(shown.casefold().split()),
            role == "tool",
            folder != workspace,
            place[row_id],
        )
        ranked.append((order, hit))
    ranked.sort(key=lambda r: r[0])
    return [hit for _, hit in ranked if (key := (hit.snippet, hit.created)) not in seen and not seen.add(key)]  # type: ignore[func-returns-value]  # set.add
