"""What is looked at before a change is shown: what a file must never gain, and what a user should see."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace.text import count_lines

if TYPE_CHECKING:
    from pathlib import Path

_NEVER = {"\0": "a NUL character", "\ufffd": "U+FFFD, the mark of a lost character,"}
_JSON_LIMIT = 16 * 1024 * 1024
"""Characters up to which a file is parsed to see whether it stays valid."""

_MARKER = r"^[ \t]*(?:#+|//+|/\*+|\{/\*|<!--|--+|;+|%+|\*+|'+|\"+|<)?[ \t]*[\[(]?[ \t]*"
_DOTS = r"(?:\.{3,}|…)"
_LEFT_OUT = (
    r"(?:rest of|remaining|remainder of|existing|previous|unchanged|as before|the same|omitted|snip|truncated|"
    r"other (?:code|methods|functions|imports|tests|fields)|code (?:continues|here|stays|above|below))"
)
_WHAT = r"(?:code|file|content|function|method|class|implementation|document|module|script|imports|unchanged|same)"
_PLACEHOLDER = re.compile(
    f"{_MARKER}(?:"
    f"{_DOTS}.{{0,40}}\\b{_LEFT_OUT}\\b"
    f"|.{{0,30}}\\b{_LEFT_OUT}\\b.{{0,40}}{_DOTS}"
    f"|(?:\\.*[ ]?)?(?:the |and )?(?:rest|remainder|remaining)\\b.{{0,30}}\\b{_WHAT}\\b.{{0,30}}(?:\\*/|-->|[\\])]|$)"
    f"|(?:the )?{_WHAT} (?:remains|stays|is) (?:unchanged|the same|as before)"
    r")",
    re.IGNORECASE | re.MULTILINE,
)
_HINT = re.compile(r"\.{3}|…|\b(?:rest|remainder|remaining|remains|stays|unchanged|before|same)\b", re.IGNORECASE)
"""What every placeholder has: a quick look before the thorough one."""
_COMMENT = re.compile(r"^[ \t]*(?:#|//|/\*|\{/\*|<!--|--|;|%|\*|\.{3}|…|\[|\(|<)")
_SHRINK_FROM = 20
_SHRINK_TO = 0.5


def gains_nothing_broken(display: str, old: str, new: str) -> None:
    """Raise ToolError when a replacement brings in a character that no text file should gain.

    Args:
        display: How to call the file.
        old: The text that is replaced.
        new: Its replacement.
    """
    for char, name in _NEVER.items():
        if char in new and new.count(char) > old.count(char):
            raise ToolError(
                f"The new text for {display} has {name} in line {new.count(chr(10), 0, new.index(char)) + 1} of it. "
                "Nothing was written; write an escape sequence if that is what the file needs."
            )


def json_broken(path: Path, old: str, new: str) -> str | None:
    """Why a valid JSON file or notebook would not be one any more; None when it stays one, or was none."""
    if path.suffix.lower() not in (".json", ".ipynb") or max(len(old), len(new)) > _JSON_LIMIT:
        return None
    notebook = path.suffix.lower() == ".ipynb"
    if _json_error(old, notebook=notebook) is not None:
        return None
    return _json_error(new, notebook=notebook)


def _json_error(text: str, *, notebook: bool) -> str | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    if not notebook:
        return None
    cells = value.get("cells") if isinstance(value, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) and "cell_type" in cell for cell in cells):
        return "a notebook has a list 'cells', and each cell a 'cell_type'"
    return None


def still_json(path: Path, display: str, old: str, new: str) -> None:
    """Raise ToolError when a valid JSON file or notebook would become invalid."""
    broken = json_broken(path, old, new)
    if broken is not None:
        kind = "notebook" if path.suffix.lower() == ".ipynb" else "JSON"
        raise ToolError(
            f"{display} is valid {kind} and would not be after this change: {broken}. Nothing was written; "
            "send one edit that keeps it valid."
        )


def omissions(old: str, new: str) -> tuple[str, ...]:
    """Lines that stand for text left out ("rest of the file unchanged") and are not in the old text."""
    found: list[str] = []
    if not _HINT.search(new):
        return ()
    for match in _PLACEHOLDER.finditer(new):
        end = new.find("\n", match.end())
        line = new[match.start() : end if end >= 0 else len(new)].strip()
        if _COMMENT.match(line) and line not in old and line not in found:
            found.append(line)
    return tuple(f"the new text seems to leave something out: {line[:80]!r}" for line in found[:3])


def shrinks(old: str, new: str) -> tuple[str, ...]:
    """A file that loses most of its lines."""
    before, after = count_lines(old), count_lines(new)
    if before >= _SHRINK_FROM and after < before * _SHRINK_TO:
        return (f"the file shrinks from {before} to {after} lines",)
    return ()


def invisible(old: str, new: str) -> tuple[str, ...]:
    """Characters that a diff does not show, or that reorder what it shows, and that are new (C-18)."""
    if new.isascii() and new.isprintable():
        return ()
    gained = sorted(char for char in set(new) - set(old) if _hides(char))
    if not gained:
        return ()
    named = ", ".join(f"U+{ord(char):04X} {unicodedata.name(char, 'control character').lower()}" for char in gained[:5])
    return (f"the new text has invisible characters: {named}",)


def _hides(char: str) -> bool:
    return char not in "\t\n\r\f" and unicodedata.category(char) in ("Cf", "Cc", "Co", "Cs")


def cut_word(text: str, start: int, end: int) -> str | None:
    """The word of the text that a match begins or ends within, if it does."""
    for at in (start, end):
        if 0 < at < len(text) and _in_word(text[at - 1]) and _in_word(text[at]):
            first, last = at, at
            while first and at - first < 40 and _in_word(text[first - 1]):
                first -= 1
            while last < len(text) and last - at < 40 and _in_word(text[last]):
                last += 1
            return text[first:last]
    return None


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
