"""Full-text search over past conversations, with bounded work however common the words are.

Ranking by BM25 reads every match: for two common words among a million messages that is seconds. Instead the index
is read newest first and only as far as needed: messages with all words; when those are few, the newest messages with
each word, where a word that is found seldom weighs more. What is fetched is then ordered: the exact phrase, the
person's and the assistant's words before tool output, the asking workspace, the newest.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from turnstone_lsp.memory import query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnstone_lsp.memory.database import Database, Row

_POOL = 200
"""Newest messages of each word that are weighed when too few have all words."""
_SHORTEST_PREFIX = 4
"""Characters of a word that, when nothing holds it, is tried as the beginning of words."""
_SCANNED = 2_000
"""Newest messages that are scanned for a text without a searchable word (an emoji, "->")."""

_IDS = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rowid DESC LIMIT ?"
_BY_IDS = "WHERE m.id IN (SELECT value FROM json_each(?))"
_RECENT = """WHERE m.id > (SELECT max(id) FROM messages) - ? AND instr(m.content, ?) > 0
    AND m.role IN ('user', 'assistant') ORDER BY m.id DESC LIMIT ?"""
_COLUMNS = """SELECT m.id, m.session, s.title, s.workspace, m.role, m.created, substr(m.content, 1, 8000), m.extra
    FROM messages m JOIN sessions s ON s.id = m.session """
_MATCHING = """SELECT m.id, m.session, s.title, s.workspace, m.role, m.created, substr(m.content, 1, 8000), m.extra
    FROM messages_fts f JOIN messages m ON m.id = f.rowid JOIN sessions s ON s.id = m.session
    WHERE messages_fts MATCH ? ORDER BY f.rowid DESC LIMIT ?"""
"""The newest messages that match; reads no further than the limit."""


class Hit(NamedTuple):
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
        rows = _matching(db, words, limit)
    else:
        words = [query.clean(text.strip())]
        rows = db.rows(_COLUMNS + _RECENT, (_SCANNED, words[0], limit)) if words[0] else []
    return _hits(rows, words, workspace=workspace, session=session)[:limit] if rows else []


def _matching(db: Database, words: Sequence[str], limit: int) -> list[Row]:
    """Rows with all the words, the newest first; when those are few also with some, or with what the last begins."""
    if len(words) == 1:
        rows = db.rows(_MATCHING, (query.phrase(words[0]), limit))
    else:
        wide = limit + limit // 2  # a margin from which the exact phrase is picked
        rows = db.rows(_MATCHING, (query.every(words), wide))
        if len(rows) < limit:
            rows += _by_ids(db, _some(db, words, wide - len(rows), {row[0] for row in rows}))
    if not rows and len(words[-1]) >= _SHORTEST_PREFIX:
        rows = db.rows(_MATCHING, (f"{query.phrase(words[-1])} *", limit))
    return rows


def _by_ids(db: Database, ids: Sequence[int]) -> list[Row]:
    place = {row_id: n for n, row_id in enumerate(ids)}
    rows = db.rows(_COLUMNS + _BY_IDS, (json.dumps(ids),))
    return sorted(rows, key=lambda row: place[row[0]])


def _some(db: Database, words: Sequence[str], limit: int, known: set[int]) -> list[int]:
    """Row ids of messages with some of the words, those with many and seldom ones first."""
    weights: defaultdict[int, float] = defaultdict(float)
    for word in words:
        found = db.rows(_IDS, (query.phrase(word), _POOL))
        for (row_id,) in found:
            weights[row_id] += 1 / (1 + len(found))
    best = sorted((row_id for row_id in weights if row_id not in known), key=lambda i: (-weights[i], -i))
    return best[:limit]


def _hits(rows: Sequence[Row], words: Sequence[str], *, workspace: str, session: str) -> list[Hit]:
    """The rows as hits in their final order; copies that a fork made count once."""
    folded_words = [word.casefold() for word in words]
    phrase = " ".join(folded_words)
    ranked: list[tuple[bool, bool, bool, bool, int, Hit]] = []
    for place, (row_id, owner, title, folder, role, created, content, extra) in enumerate(rows):
        shown = content or query.message_text(role, None, json.loads(extra) if extra else None)
        folded = shown.casefold()
        hit = Hit(row_id, owner, title, folder, role, created, query.snippet(shown, folded, folded_words))
        # What sorts first: another session, the exact phrase, not tool output, the own workspace, the newest.
        ranked.append((owner == session, phrase not in folded, role == "tool", folder != workspace, place, hit))
    ranked.sort()
    unique: dict[tuple[str, float], Hit] = {}
    for *_, hit in ranked:
        unique.setdefault((hit.snippet, hit.created), hit)
    return list(unique.values())
