"""The typographic folding: curly quotes, dashes and special blanks are their plain forms, one character for one."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_FAMILIES = {
    "'": "\u2018\u2019\u201a\u201b\u2032\u00b4\uff07",
    '"': "\u201c\u201d\u201e\u201f\u2033\uff02",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}
_PLAIN = {fancy: plain for plain, family in _FAMILIES.items() for fancy in family}
_FOLDS = str.maketrans(_PLAIN)
_LONG = 2_000
"""Characters of a line up to which it is compared character by character."""


def fold(text: str) -> str:
    """The text with plain marks; of the same length."""
    return text if text.isascii() else text.translate(_FOLDS)


class Marks:
    """How the marks of a model's text are written in the file, learned from lines that are equal when folded.

    own, old: the lines in the file, and as the model wrote them; text: the whole file. Where the model made a plain
    mark fancy, all fancy marks that the file has none of are taken to be its doing.
    """

    def __init__(self, own: Sequence[str], old: Sequence[str], text: str) -> None:
        written: dict[str, set[str]] = {}
        for ours, theirs in zip(own, old, strict=True):
            for file_char, model_char in zip(ours, theirs, strict=False):
                if _PLAIN.get(model_char, model_char) in _FAMILIES:
                    written.setdefault(model_char, set()).add(file_char)
        table = {char: next(iter(chars)) for char, chars in written.items() if len(chars) == 1}
        if any(char != as_written and as_written in _FAMILIES for char, as_written in table.items()):
            for fancy, plain in _PLAIN.items():
                if fancy not in text:
                    table.setdefault(fancy, plain)
        self._table = str.maketrans(table)

    def restore(self, line: str, old: str | None, own: str | None) -> str:
        """A new line as the file would write it: what it shares with the old line keeps the file's characters."""
        if old is None or own is None or max(len(old), len(line)) > _LONG:
            return line.translate(self._table)
        pieces: list[str] = []
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, line, autojunk=False).get_opcodes():
            kept = tag == "equal" and i2 <= len(own)
            pieces.append(own[i1:i2] if kept else line[j1:j2].translate(self._table))
        return "".join(pieces)
