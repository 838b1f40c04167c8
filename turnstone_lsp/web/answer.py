"""Words that came from the web, made harmless for a reader: no images, no link markup, no elements that load (C-19)."""

from __future__ import annotations

import re

from turnstone_lsp.process.text import clean

_CODE = re.compile(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)|(?<!`)(`+)(?!`)[^\n]+?(?<!`)\2(?!`)", re.DOTALL | re.MULTILINE
)
_IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\[\]\n]*\])?")
_LINK = re.compile(r"\[([^\[\]]+)\]\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?[^()\n]*\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[^\n]*\n?", re.MULTILINE)
_ELEMENT = re.compile(
    r"</?(?:a|audio|base|embed|form|iframe|img|input|link|meta|object|picture|script|source|style|svg|video)\b[^<>]*>",
    re.IGNORECASE,
)


def plain(text: str, limit: int) -> str:
    """`text` without images, link markup and loading elements, at most `limit` characters; code stays as it is.

    A link's label and target stay, as words.
    """
    text = clean(text).strip()
    cut = len(text) > limit
    text = text[:limit]
    done, at = [], 0
    for code in _CODE.finditer(text):
        done += [_plain_prose(text[at : code.start()]), code[0]]
        at = code.end()
    done.append(_plain_prose(text[at:]))
    return "".join(done) + (f"\n[cut after {limit:,} characters]" if cut else "")


def _plain_prose(text: str) -> str:
    text = _IMAGE.sub(r"\1", text)
    text = _LINK.sub(_words, text)
    text = _DEFINITION.sub("", text)
    return _ELEMENT.sub("", text)


def _words(link: re.Match[str]) -> str:
    label, target = link[1], link[2]
    if label == target or not re.match(r"https?://", target, re.IGNORECASE):
        return label
    return f"{label} ({target})"
