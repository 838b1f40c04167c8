"""From any text to a full-text query that FTS5 accepts, and from a hit back to a snippet.

Scripts written without spaces are indexed one character a token, so that "日本" is found inside a longer run; a
query goes through the same step and is matched as a phrase. Every word is quoted: no text is an operator.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TERMS = 12
"""Distinct words of a query that are searched; a longer query is cut there."""
HEAD = {"tool": 2_000}
"""Characters of a message that are indexed, by role; DEFAULT_HEAD for the others."""
DEFAULT_HEAD = 8_000
CALL_HEAD = 500
"""Indexed characters of a tool call's arguments."""
RECALL_HEADER = "Recall: "
"""How the result of `recall` begins. Such results are not indexed, or every recall would find the earlier ones."""
_MEMORY_TOOLS = frozenset({"recall", "remember", "forget"})

_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)


def clean(text: str) -> str:
    """The text as SQLite can hold it: lone surrogates, which UTF-8 does not have, become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def spaced(text: str) -> str:
    """The text with every character of an unspaced script standing alone. NUL, where SQLite's text ends, is a space."""
    if text.isascii():
        return text.replace("\0", " ")
    return _UNSPACED.sub(r" \g<0> ", text.replace("\0", " "))


def terms(text: str) -> list[str]:
    """The distinct words of a query, in order, at most MAX_TERMS. Words of punctuation alone are dropped."""
    found: dict[str, str] = {}
    for word in clean(text[:4_000]).replace("\0", " ").split():
        if any(c.isalnum() for c in word):
            found.setdefault(word.casefold(), word)
    return list(found.values())[:MAX_TERMS]


def phrase(term: str) -> str:
    """One word as an FTS5 string: nothing in it is an operator."""
    return '"' + spaced(term).replace('"', '""') + '"'


def every(words: Iterable[str]) -> str:
    """The FTS5 query for rows with all of the words."""
    return " AND ".join(phrase(w) for w in words)


def some(words: Iterable[str]) -> str:
    """The FTS5 query for rows with any of the words."""
    return " OR ".join(phrase(w) for w in words)


def message_text(role: str, content: str | None, extra: dict[str, Any] | None) -> str:
    """What the index holds of a message; "" for none. A pure function of the row: deleting needs the same text."""
    text = content or ""
    if role not in {"user", "assistant", "tool"} or (role == "tool" and text.startswith(RECALL_HEADER)):
        return ""
    parts = [text[: HEAD.get(role, DEFAULT_HEAD)]]
    if extra:
        if isinstance(pieces := extra.get("content"), list):
            shown = (str(p.get("text", "")) for p in pieces if isinstance(p, dict))
            parts.append(" ".join(shown)[:DEFAULT_HEAD])
        parts.extend(_call_texts(extra.get("tool_calls")))
    return spaced("\n".join(p for p in parts if p))


def _call_texts(calls: object) -> Iterable[str]:
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and function.get("name") not in _MEMORY_TOOLS:
            yield f"{function.get('name', '')} {str(function.get('arguments', ''))[:CALL_HEAD]}"


def snippet(text: str, folded: str, words: Iterable[str], width: int = 240) -> str:
    """About `width` characters around the first of the words, on one line. `folded` and `words` are case-folded."""
    start = 0
    if len(text) > width:
        places = [at for word in words if (at := folded.find(word)) >= 0]
        start = max(0, min(places, default=0) - width // 4)
        if start:
            start = text.find(" ", start, start + 20) + 1 or start
    piece = text[start : start + width]
    if "\n" in piece or "  " in piece or "\t" in piece:
        piece = " ".join(piece.split())
    return f"{'…' if start else ''}{piece.strip()}{'…' if start + width < len(text) else ''}"
