r"""Lines and positions of a text. Lines end at \n, \r\n and \r only, as in LSP; str.splitlines knows seven more."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Literal

Units = Literal["utf-8", "utf-16", "utf-32"]
"""What a position's character counts: bytes of UTF-8, code units of UTF-16 (LSP's default), or code points."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_OTHER_BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Where str.splitlines breaks and LSP does not."""


def has_lone_cr(text: str) -> bool:
    r"""True when a \r stands without \n after it, so that \n alone does not find every line end."""
    return "\r" in text and text.count("\r") != text.count("\r\n")


def split_lines(text: str) -> list[str]:
    """The lines with their ends. The last has none; it is "" when the text ends in a line end or is empty."""
    others = any(mark in text for mark in _OTHER_BREAKS)
    lines = _LINE.findall(text) if others else text.splitlines(keepends=True)  # several times as fast
    if not lines or lines[-1][-1] in "\r\n":
        lines.append("")
    return lines


def chop(line: str) -> str:
    """A line without its end."""
    if line.endswith("\n"):
        return line[:-2] if line.endswith("\r\n") else line[:-1]
    return line.removesuffix("\r")


def count_lines(text: str) -> int:
    r"""Lines as a person counts them: "a\nb" and "a\nb\n" have two, "" has none."""
    breaks = text.count("\n") + (text.count("\r") - text.count("\r\n") if "\r" in text else 0)
    return breaks + (bool(text) and text[-1] not in "\r\n")


def to_index(line: str, character: int, units: Units) -> int:
    """The index in `line` of a position's character. Beyond the line's content: its end."""
    content = chop(line)
    if units == "utf-32" or content.isascii():
        return min(character, len(content))
    if units == "utf-8":
        return len(content.encode("utf-8", "surrogatepass")[:character].decode("utf-8", "ignore"))
    return len(content.encode("utf-16-le", "surrogatepass")[: 2 * character].decode("utf-16-le", "ignore"))


def from_index(line: str, index: int, units: Units) -> int:
    """A position's character for an index in `line`: the inverse of to_index."""
    before = line[:index]
    if units == "utf-32" or before.isascii():
        return len(before)
    if units == "utf-8":
        return len(before.encode("utf-8", "surrogatepass"))
    return len(before.encode("utf-16-le", "surrogatepass")) // 2


class LineTable:
    """Where the lines of one fixed text begin. Lines and characters are counted from 0, as in LSP."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *accumulate(map(len, split_lines(text)))]
        self._starts.pop()

    def __len__(self) -> int:
        """Lines as LSP counts them: one more than there are line ends."""
        return len(self._starts)

    def start(self, line: int) -> int:
        """The offset at which a line begins; for the line after the last, the text's length."""
        return self._starts[line] if line < len(self._starts) else len(self.text)

    def line(self, line: int) -> str:
        """One line with its end; "" for a line that does not exist."""
        return self.text[self.start(line) : self.start(line + 1)]

    def line_at(self, offset: int) -> int:
        """The line that an offset stands in."""
        return bisect_right(self._starts, offset) - 1

    def offset(self, line: int, character: int, units: Units = "utf-16") -> int:
        """The offset of a position; beyond a line's end: that end; beyond the last line: the text's end."""
        if line >= len(self._starts):
            return len(self.text)
        return self._starts[line] + to_index(self.line(line), character, units)

    def position(self, offset: int, units: Units = "utf-16") -> tuple[int, int]:
        """The (line, character) of an offset."""
        offset = min(offset, len(self.text))
        line = self.line_at(offset)
        start = self._starts[line]
        return line, from_index(self.text[start:offset], offset - start, units)
