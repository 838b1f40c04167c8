"""Finds blocks of lines in a text where the lines agree after a folding. Nothing here scores or guesses.

The search goes by the longest line of the block: every place where it stands is looked at, and the lines around it
are compared. So the cost is that of finding one string, whatever the size of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.workspace.hunks import line_end, line_start
from turnstone_lsp.workspace.text import chop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BLANKS = " \t"
_MOST_PLACES = 100_000
"""Places looked at before a block counts as standing in too many."""


@dataclass(frozen=True, slots=True)
class Block:
    """text[start:end], as the contents of its lines and the line ends between them (one fewer, or "" at the end of a
    file that has no final line end).
    """

    start: int
    end: int
    lines: tuple[str, ...]
    ends: tuple[str, ...]


def occurrences(text: str, wanted: str, start: int = 0) -> Iterator[int]:
    """Every place of a string, overlapping ones included."""
    at = text.find(wanted, start)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


class _Line:
    """The line of a text around a place, and its neighbours."""

    __slots__ = ("content", "end", "start", "stop", "text")

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.end = line_end(text, start)
        whole = text[start : self.end]
        self.content = chop(whole)
        self.stop = start + len(self.content)

    def before(self) -> _Line | None:
        return _Line(self.text, line_start(self.text, self.start - 1)) if self.start else None

    def after(self) -> _Line | None:
        return _Line(self.text, self.end) if self.end > self.stop else None


def find(
    text: str, wanted: Sequence[str], fold: Callable[[str], str], *, partial: bool, original: str | None = None
) -> list[Block] | None:
    """All blocks whose lines equal the wanted ones after `fold`, which must only drop blanks at a line's ends.

    Args:
        text: Where to search; when characters were folded one for one, the folded text.
        wanted: Contents of lines. A last "" means that the block ends with a line end (or at the text's end).
        fold: The folding of a line's content.
        partial: The first line may be the end of a line, the last one the beginning of one.
        original: What the blocks' lines are taken from, if not from `text`.

    Returns:
        The blocks in order; None when there were too many places to look at.
    """
    pivot = max(range(len(wanted)), key=lambda i: len(wanted[i].strip(BLANKS)))
    core = wanted[pivot].strip(BLANKS)
    if not core:
        return []
    found: dict[tuple[int, int], Block] = {}
    last_line = -1
    for count, place in enumerate(occurrences(text, core)):
        if count > _MOST_PLACES:
            return None
        start = line_start(text, place)
        if start == last_line and (len(wanted) > 1 or not partial):
            continue
        last_line = start
        block = _at(text, start, wanted, pivot, fold, partial=partial)
        if block is not None:
            found.setdefault((block.start, block.end), block)
    blocks = list(found.values())
    return blocks if original is None else [_from(original, block) for block in blocks]


def _at(
    text: str, start: int, wanted: Sequence[str], pivot: int, fold: Callable[[str], str], *, partial: bool
) -> Block | None:
    """The block whose line `pivot` is the line that begins at `start`, if it is one."""
    line: _Line | None = _Line(text, start)
    for _ in range(pivot):
        line = line.before() if line else None
    lines: list[str] = []
    ends: list[str] = []
    begin = finish = 0
    last = len(wanted) - 1
    for index, want in enumerate(wanted):
        if line is None:
            if index == last and want == "":  # the file has no final line end
                lines.append("")
                break
            return None
        cut = _cut(line.content, want, fold, first=partial and index == 0, last=index == last, partial=partial)
        if cut is None:
            return None
        begin = line.start + cut[0] if index == 0 else begin
        finish = line.start + cut[1]
        lines.append(line.content[cut[0] : cut[1]])
        if index < last:
            ends.append(text[line.stop : line.end])
            finish = line.end
            line = line.after()
    return Block(begin, finish, tuple(lines), tuple(ends))


def _cut(
    content: str, want: str, fold: Callable[[str], str], *, first: bool, last: bool, partial: bool
) -> tuple[int, int] | None:
    """Which part of a line is the wanted one: all of it, its end (of a first line), its beginning (of a last)."""
    if last and want == "" and not first:
        return 0, 0
    if fold(content) == fold(want):
        return 0, len(content)
    if first and fold(content).endswith(fold(want)):
        start = len(fold(content)) - len(fold(want))
        return start, len(content)
    if last and partial and content.startswith(want):
        return 0, len(want)
    return None


def _from(original: str, block: Block) -> Block:
    """The block with its lines as the original has them."""
    lines: list[str] = []
    at = block.start
    for content, end in zip(block.lines, (*block.ends, ""), strict=True):
        lines.append(original[at : at + len(content)])
        at += len(content) + len(end)
    return Block(block.start, block.end, tuple(lines), block.ends)
