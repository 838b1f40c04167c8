"""What a model is told when its edit has no place, or more than one: enough to send the right one, in under 2 kB."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Literal

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace.blocks import BLANKS, occurrences
from turnstone_lsp.workspace.hunks import count_ends, line_end, line_start, offset_of
from turnstone_lsp.workspace.text import chop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LIMIT = 1_900
"""Bytes of UTF-8 that an error may have."""
_CONTEXT = 3
_REGION = 12
_EXCERPT = 100
_MOST = 100
"""Places of one line or word that are looked at for the nearest region."""
_WORD = re.compile(r"\w{3,}")
_VISIBLE = {"\t": "→", " ": "·", "\u00a0": "⍽", "\r": "␍", "\u200b": "<ZWSP>", "\ufeff": "<BOM>", "\f": "␌"}

Code = Literal["not_found", "ambiguous", "empty", "no_change", "line_numbers"]


class MatchError(ToolError):
    """An edit without its one place. code: why; lines: the 1-based lines of equal matches."""

    def __init__(self, code: Code, text: str, lines: tuple[int, ...] = ()) -> None:
        super().__init__(_fitting(f"{code}: {text}"))
        self.code = code
        self.lines = lines


def _fitting(text: str) -> str:
    data = text.encode("utf-8", "replace")
    return text if len(data) <= LIMIT else data[:LIMIT].decode("utf-8", "ignore") + " ..."


def ambiguous(lines: Sequence[int], near_line: int | None, *, more: bool = False) -> MatchError:
    """Several equal matches, and nothing that chooses one."""
    shown = ", ".join(map(str, lines[:20])) + (", ..." if more or len(lines) > 20 else "")
    count = f"{len(lines)}{' or more' if more else ''}"
    if near_line is None:
        advice = "Add neighbouring lines to old_string until it is unique, or give near_line."
    else:
        advice = f"near_line {near_line} is equally near to two of them. Add neighbouring lines to old_string."
    text = f"old_string stands in {count} places, at lines {shown}. {advice} Nothing was changed."
    return MatchError("ambiguous", text, tuple(lines))


def not_found(text: str, old: Sequence[str], new: Sequence[str], near_line: int | None) -> MatchError:
    """No match: whether the edit was made already, the nearest region, and the first line that differs."""
    parts = ["old_string is not in the file (0 matches). Nothing was changed."]
    applied = _already(text, old, new)
    if applied:
        parts.append(f"new_string is already there: already applied at line {applied}?")
    start = nearest(text, old, near_line)
    if start is None:
        parts.append("None of its lines or words is in the file. Check the path, and read the file again.")
    else:
        lines = _lines_from(text, start, len(old))
        parts += _difference(lines, old)
        parts.append("The nearest text in the file:")
        parts += _region(text, start, lines)
        if len(old) > 20:
            parts.append("Smaller edits are easier to match.")
    return MatchError("not_found", "\n".join(parts))


def _already(text: str, old: Sequence[str], new: Sequence[str]) -> int | None:
    """The line at which the new text stands, if it is long enough to mean something and no part of the old one."""
    bare = "\n".join(new).strip()
    if len(bare) < 4 or bare in "\n".join(old):
        return None
    for end in ("\n", "\r\n", "\r") if "\n" in bare else ("\n",):
        at = text.find(bare.replace("\n", end))
        if at >= 0:
            return count_ends(text, 0, line_start(text, at)) + 1
    return None


def nearest(text: str, wanted: Sequence[str], near_line: int | None) -> tuple[int, int] | None:
    """The (line from 0, offset) at which most of the wanted lines would fall on their equals; else on their words."""
    votes = votes_for(text, wanted, whole=True) or votes_for(text, wanted, whole=False)
    if not votes:
        return None
    best = max(votes.values())
    aim = near_line - 1 if near_line else 0
    line = min((line for line, weight in votes.items() if weight == best), key=lambda line: (abs(line - aim), line))
    line = min(max(line, 0), count_ends(text, 0, len(text)))
    return line, offset_of(text, line)


def votes_for(text: str, wanted: Sequence[str], *, whole: bool) -> Counter[int]:
    """Where a block could begin (line from 0), weighed by the characters of its lines that stand where they should.

    whole: lines must be equal but for blanks at their ends; else it is enough that they hold the same longer words.
    """
    found = lines_in(text, wanted, _bare) if whole else _words_in(text, wanted)
    votes: Counter[int] = Counter()
    for number, index, weight in found:
        votes[number - index] += weight
    return votes


def lines_in(text: str, wanted: Sequence[str], fold: Callable[[str], str]) -> list[tuple[int, int, int]]:
    """Where the wanted lines stand: (line from 0, index of the wanted line, its length), the first hundred of each.

    `fold` may only drop blanks at a line's ends; lines are equal when they are after it.
    """
    places: list[tuple[int, int, int]] = []
    for index, line in _longest(wanted):
        core, same = _bare(line), fold(line)
        found = islice(occurrences(text, core), _MOST)
        places += [(at, index, len(core)) for at in found if fold(_line_at(text, at)) == same]
    return _numbered(text, places)


def _line_at(text: str, at: int) -> str:
    return chop(text[line_start(text, at) : line_end(text, at)])


def _words_in(text: str, wanted: Sequence[str]) -> list[tuple[int, int, int]]:
    words = {word: index for index, line in _longest(wanted) for word in _WORD.findall(line)}
    places: list[tuple[int, int, int]] = []
    for word in sorted(words, key=len, reverse=True)[:20]:
        places += [(at, words[word], len(word)) for at in islice(occurrences(text, word), _MOST)]
    return _numbered(text, places)


def _numbered(text: str, places: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The places with line numbers for offsets, counted in one pass over the text."""
    found: list[tuple[int, int, int]] = []
    number = counted = 0
    for at, index, weight in sorted(places):
        start = line_start(text, at)
        number += count_ends(text, counted, start)
        counted = start
        found.append((number, index, weight))
    return found


def _bare(line: str) -> str:
    return line.strip(BLANKS)


def _longest(wanted: Sequence[str]) -> list[tuple[int, str]]:
    """The lines with something in them, the fifty longest."""
    filled = [(index, line) for index, line in enumerate(wanted) if line.strip(BLANKS)]
    return sorted(filled, key=lambda item: -len(item[1]))[:50]


def _lines_from(text: str, start: tuple[int, int], count: int) -> list[str]:
    lines: list[str] = []
    offset = start[1]
    while offset < len(text) and len(lines) < count:
        end = line_end(text, offset)
        lines.append(chop(text[offset:end]))
        offset = end
    return lines


def _difference(lines: Sequence[str], wanted: Sequence[str]) -> Iterable[str]:
    """Nothing here knows the line's number: the region below shows it."""
    for index, want in enumerate(wanted):
        if index == len(wanted) - 1 and want == "":
            return []
        have = lines[index] if index < len(lines) else "(the file ends)"
        if have != want:
            same = min(len(have), len(want))
            column = next((i for i in range(same) if have[i] != want[i]), same)
            blanks = have.split() == want.split()
            return [
                f"First difference, in line {index + 1} of old_string{' (only blanks differ)' if blanks else ''}:",
                f"  file:       {_visible(have, column)}",
                f"  old_string: {_visible(want, column)}",
            ]
    return []


def _visible(line: str, column: int) -> str:
    """The part of a line around a column, blanks made visible."""
    first = max(0, column - _EXCERPT // 2)
    part = line[first : first + _EXCERPT]
    shown = "".join(_VISIBLE.get(char, char) for char in part)
    return f"{'…' if first else ''}{shown}{'…' if first + _EXCERPT < len(line) else ''}"


def _region(text: str, start: tuple[int, int], lines: Sequence[str]) -> Iterable[str]:
    line, offset = start
    before: list[str] = []
    while offset and len(before) < _CONTEXT:
        begin = line_start(text, offset - 1)
        before.insert(0, chop(text[begin:offset]))
        offset = begin
    count = len(before) + min(len(lines), _REGION) + _CONTEXT
    first = line - len(before) + 1
    return [
        f"{first + index:>5}\t{part[:_EXCERPT]}{'…' if len(part) > _EXCERPT else ''}"
        for index, part in enumerate(_lines_from(text, (0, offset), count))
    ]
