"""Words that came from the web, made harmless for a reader: no images, no link markup, no elements that load (C-19)."""

from __future__ import annotations

import re

from turnstone_lsp.process.text import clean

_CODE = re.compile(
    r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)|(?<!`)(`+)(?!`)[^\n]+?(?<!`)\2(?!`)", re.DOTALL | re.MULTILINE
)
_IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\[\]\n]*\])?")
_LINK = re.compile(r"\[([^\[\]]+)\]\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?[^()\n]*\)")
_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[^\n]*\n?", re.MULTILINE)
_ELEMENT = re.compile(
    r"</?(?:a|audio|base|embed|form|iframe|img|input|link|meta|object|picture|script|source|style|svg|video)\b[^<>]*>",
    re.IGNORECASE,
)
_PASSES = 8
"""What is taken away may leave an image behind that was wrapped around it; nobody nests so deep in earnest."""


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
    return "".join(done).strip() + (f"\n[cut after {limit:,} characters]" if cut else "")


def _plain_prose(text: str) -> str:
    for _ in range(_PASSES):
        before = text
        text = _IMAGE.sub(r"\1", text)
        text = _LINK.sub(_words, text)
        text = _DEFINITION.sub("", text)
        text = _ELEMENT.sub("", text)
        if text == before:
            return text
    return text.replace("![", "! [").replace("<", "< ")


def _words(link: re.Match[str]) -> str:
    label, target = link[1], link[2]
    if not _ABSOLUTE.match(target):
        return link[0]  # a[i](b) is code more often than a link, and leads nowhere
    if label == target or not re.match(r"https?:", target, re.IGNORECASE):
        return label
    return f"{label} ({target})"
