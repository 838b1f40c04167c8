"""Finds the one place that an edit means, or says why there is none. Pure; never by similarity.

Tiers, tried in order; the first that finds anything decides, and it must find exactly one place:

    exact            the text as it stands
    line endings     CR LF, LF and CR are one
    trailing blanks  blanks before a line's end do not count
    line numbers     numbers pasted from a listing, in sequence on every line, are taken off
    typographic      curly quotes, dashes and special blanks are their plain forms
    indentation      whole lines whose indents differ by one one-to-one map, applied to the new text too

Lines that are equal in old_string and new_string keep the file's own characters, so that a folding changes no more
than the edit does. The new text takes the line endings of its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from turnstone_lsp.workspace import blocks, indentation, typography
from turnstone_lsp.workspace.blocks import BLANKS, Block
from turnstone_lsp.workspace.hunks import count_ends, line_start
from turnstone_lsp.workspace.linediff import differences
from turnstone_lsp.workspace.mismatch import MatchError, ambiguous, lines_in, not_found

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Match", "MatchError", "Tier", "find"]

Tier = Literal["exact", "line endings", "trailing blanks", "line numbers", "typographic", "indentation"]

_MOST_SHOWN = 1_000
_DRIFT = 2
"""Lines by which a block may have grown or shrunk and still be known as nearly equal."""
_EOL = re.compile(r"\r\n|\r|\n")
_NUMBERED = (
    re.compile(r"[ \t]*(\d+)(\t|[ ]?[|│→:](?:[ ]|\Z)|\Z)"),  # a blank after the mark belongs to it
    re.compile(r"[ \t]*(\d+)(\t|[ ]?[|│→:]|\Z)"),  # it belongs to the line
)
"""A line number and its mark, as listings have them; a blank line's may have lost its mark."""
_NAME = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Match:
    """Replace text[start:end] by `replacement`. line: the 1-based line of `start`."""

    start: int
    end: int
    replacement: str
    tier: Tier
    line: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A place, and the old and new lines as they are to be read there. write: a new line as the file writes it."""

    tier: Tier
    block: Block
    old: Sequence[str]
    new: Sequence[str]
    fold: Callable[[str], str]
    write: Callable[[str, int | None], str]


def find(text: str, old_string: str, new_string: str, near_line: int | None = None) -> Match:
    """The one place where `old_string` stands in `text`, and what to put there.

    near_line (1-based) chooses among the equal matches of a tier; a tie is refused. Raises MatchError, whose text tells
    the model what to do.
    """
    if not old_string:
        raise MatchError("empty", "old_string is empty. Give the text to replace; write_file makes a new file.")
    if old_string == new_string:
        raise MatchError("no_change", "old_string and new_string are the same, so there is nothing to do.")
    first = text.find(old_string)
    if first >= 0:
        if text.find(old_string, first + 1) >= 0:
            places = list(islice(blocks.occurrences(text, old_string, first), _MOST_SHOWN + 1))
            first = _choose(text, places, near_line)
        end = first + len(old_string)
        return _match(text, first, end, _exact_replacement(text, first, old_string, new_string), "exact")
    old, new = _EOL.split(old_string), _EOL.split(new_string)
    for tier in _TIERS:
        found = tier(text, old, new)
        if found:
            start = _choose(text, [candidate.block.start for candidate in found], near_line)
            chosen = next(candidate for candidate in found if candidate.block.start == start)
            return _match(text, start, chosen.block.end, _rebase(text, chosen), chosen.tier)
    raise not_found(text, old, new, near_line)


def _match(text: str, start: int, end: int, replacement: str, tier: Tier) -> Match:
    line = count_ends(text, 0, line_start(text, start)) + 1
    if text[start:end] == replacement:
        raise MatchError("no_change", f"The file already has this text at line {line}, so there is nothing to do.")
    return Match(start, end, replacement, tier, line)


def _choose(text: str, places: Sequence[int], near_line: int | None) -> int:
    """The place that is meant. Raises MatchError for several equal ones."""
    if len(places) == 1:
        return places[0]
    lines: list[int] = []
    line, counted = 1, 0
    for place in places:
        start = line_start(text, place)
        line += count_ends(text, counted, start)
        counted = start
        lines.append(line)
    more = len(places) > _MOST_SHOWN
    if near_line is None or more:
        raise ambiguous(lines[:_MOST_SHOWN], near_line, more=more)
    distances = [abs(line - near_line) for line in lines]
    if distances.count(min(distances)) > 1:
        raise ambiguous(lines, near_line)
    return places[distances.index(min(distances))]


# -- replacement


def _exact_replacement(text: str, start: int, old: str, new: str) -> str:
    if "\r" not in text:
        return new.replace("\r\n", "\n")
    ends = _EOL.findall(old)
    if len(set(ends)) <= 1:
        return _with_ends(new, ends[0] if ends else _local_end(text, start, start + len(old)))
    lines = _EOL.split(old)
    block = Block(start, start + len(old), tuple(lines), tuple(ends))
    return _rebase(text, _Candidate("exact", block, lines, _EOL.split(new), _as_is, _verbatim))


def _with_ends(new: str, end: str) -> str:
    new = new.replace("\r\n", "\n")
    return new if end == "\n" else new.replace("\n", end)


def _local_end(text: str, start: int, end: int) -> str:
    """The line ending in use at a place: the next one, else the one before it, else LF."""
    found = _EOL.search(text, end)
    if found:
        return found.group()
    before = line_start(text, start)
    return "\r\n" if text[before - 2 : before] == "\r\n" else text[before - 1 : before] or "\n"


def _rebase(text: str, found: _Candidate) -> str:
    """The new lines, but the file's own wherever old and new agree."""
    block, old, new, fold = found.block, found.old, found.new, found.fold
    kept: dict[int, int] = {}  # index of a new line -> index of the old line that it is
    paired: dict[int, int] = {}  # index of a new line -> index of the old line that it replaces
    i = j = 0
    for i1, i2, j1, j2 in [
        *differences([fold(line) for line in old], [fold(line) for line in new]),
        (len(old), len(old), len(new), len(new)),
    ]:
        kept.update(zip(range(j, j1), range(i, i1), strict=True))
        paired.update(zip(range(j1, j2), range(i1, i2), strict=False))
        i, j = i2, j2
    ends = [end for end in block.ends if end]
    end = ends[0] if ends else _local_end(text, block.start, block.end)
    pieces: list[str] = []
    last = len(new) - 1
    for index, line in enumerate(new):
        own = kept.get(index)
        pieces.append(found.write(line, paired.get(index)) if own is None else block.lines[own])
        if own is not None and own < len(block.ends):
            end = block.ends[own] or end
        if index < last:
            pieces.append(end)
    no_final_end = len(block.ends) > 0 and block.ends[-1] == ""
    if no_final_end and last > 0 and new[-1] == "":
        pieces[-2] = ""
    return "".join(pieces)


# -- tiers


def _as_is(line: str) -> str:
    return line


def _bare_end(line: str) -> str:
    return line.rstrip(BLANKS)


def _bare(line: str) -> str:
    return line.strip(BLANKS)


def _verbatim(line: str, _: int | None) -> str:
    return line


def _found(text: str, wanted: Sequence[str], fold: Callable[[str], str], *, partial: bool) -> list[Block]:
    found = blocks.find(text, wanted, fold, partial=partial)
    if found is None:
        raise MatchError("ambiguous", "old_string has too little in it to be found. Add neighbouring lines to it.")
    return found


def _lines_tier(text: str, old: Sequence[str], new: Sequence[str]) -> list[_Candidate]:
    """Line endings, then trailing blanks."""
    found = _found(text, old, _bare_end, partial=True)
    same = [block for block in found if list(block.lines) == list(old)]
    if same:
        return [_Candidate("line endings", block, old, new, _as_is, _verbatim) for block in same]
    return [_Candidate("trailing blanks", block, old, new, _bare_end, _verbatim) for block in found]


def _numbers_tier(text: str, old: Sequence[str], new: Sequence[str]) -> list[_Candidate]:
    """Pasted whole lines, so that each must be a whole line of the file."""
    for pattern in _NUMBERED:
        bare = _without_numbers(old, pattern)
        if bare is None:
            continue
        found = _found(text, bare, _bare_end, partial=False)
        if found:
            bare_new = _new_without_numbers(old, new, pattern)
            return [_Candidate("line numbers", block, bare, bare_new, _bare_end, _verbatim) for block in found]
    return []


def _without_numbers(lines: Sequence[str], pattern: re.Pattern[str]) -> list[str] | None:
    """The lines without their numbers; None unless every line has one, in sequence."""
    numbered = lines[:-1] if lines[-1] == "" and len(lines) > 1 else lines
    found = [pattern.match(line) for line in numbered]
    numbers = [int(match[1]) for match in found if match]
    if len(numbers) < len(numbered) or not any(match and match[2] for match in found):
        return None
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    bare = [line[match.end() :] for line, match in zip(numbered, found, strict=True) if match]
    return [*bare, *lines[len(numbered) :]]


def _new_without_numbers(old: Sequence[str], new: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    """The new lines without numbers, if they are a listing too: one that begins with the number old_string begins with.

    Raises MatchError when only some of its lines have a number.
    """
    found = [pattern.match(line) for line in new]
    filled = [match for line, match in zip(new, found, strict=True) if line.strip(BLANKS)]
    begins = pattern.match(old[0])
    if not filled or filled[0] is None or begins is None or int(filled[0][1]) != int(begins[1]):
        return list(new)
    if not all(filled):
        raise MatchError(
            "line_numbers",
            "Some lines of new_string begin with a line number, some do not. Send both strings without line numbers.",
        )
    return [line[match.end() :] if match else line for line, match in zip(new, found, strict=True)]


def _typographic_tier(text: str, old: Sequence[str], new: Sequence[str]) -> list[_Candidate]:
    if text.isascii() and all(line.isascii() for line in old):
        return []
    folded, wanted = typography.fold(text), [typography.fold(line) for line in old]
    found: list[Block] | None = []
    if len(wanted) == 1:
        size = len(wanted[0])
        places = islice(blocks.occurrences(folded, wanted[0]), _MOST_SHOWN + 1)
        found = [Block(at, at + size, (text[at : at + size],), ()) for at in places]
    if not found:
        found = blocks.find(folded, wanted, _bare_end, partial=True, original=text)
    candidates: list[_Candidate] = []
    for block in found or ():
        marks = typography.Marks(block.lines, old, text)

        def write(line: str, index: int | None, block: Block = block, marks: typography.Marks = marks) -> str:
            return marks.restore(line, *((None, None) if index is None else (old[index], block.lines[index])))

        candidates.append(_Candidate("typographic", block, old, new, _bare_end, write))
    return candidates


def _indentation_tier(text: str, old: Sequence[str], new: Sequence[str]) -> list[_Candidate]:
    candidates: list[_Candidate] = []
    for block in _found(text, old, _bare, partial=False):
        mapping = indentation.learn(block.lines, old)
        whole = indentation.extend(mapping, new, text) if mapping else None
        if whole is None:
            return []

        def write(line: str, _: int | None, mapping: dict[str, str] = whole) -> str:
            indent = indentation.indent_of(line)
            return mapping[indent] + line[len(indent) :] if line.strip(BLANKS) else line

        candidates.append(_Candidate("indentation", block, old, new, _bare_end, write))
    if len(candidates) == 1 and _has_twin(text, candidates[0].block, old):
        return []
    return candidates


def _has_twin(text: str, block: Block, old: Sequence[str]) -> bool:
    """Whether a nearly equal block stands elsewhere: it may be the one that was meant, and have drifted.

    That one has the very indents of old_string, and most of its lines or its first and last; a block that only looks
    alike, with indents of its own, is none.
    """
    line = count_ends(text, 0, block.start)
    at: dict[int, set[int]] = {}  # where a block would begin -> its lines that stand where they should
    for number, index, _ in lines_in(text, old, _bare_end):
        if not line <= number < line + len(old):
            at.setdefault(number - index, set()).add(index)
    return any(_is_near(text, old, begin, at) for begin in at)


def _is_near(text: str, old: Sequence[str], begin: int, at: dict[int, set[int]]) -> bool:
    """Whether the lines from line `begin` on are nearly those of old_string, perhaps with a few more among them."""
    filled = [index for index, part in enumerate(old) if part.strip(BLANKS)]
    found = set[int]().union(*(at.get(begin + drift, ()) for drift in range(_DRIFT + 1)))
    half = sum(len(_bare(old[index])) for index in filled) / 2
    many = sum(len(_bare(old[index])) for index in found) >= half or len(found) >= max(3, len(filled) - 1)
    if not many and not _has_both_ends(old, filled, found):
        return False
    return all(
        indentation.indent_of(old[index]) in indentation.indents_at(text, begin + index, _DRIFT + 1)
        for index in filled
        if index not in found
    )


def _has_both_ends(old: Sequence[str], filled: Sequence[int], found: set[int]) -> bool:
    """Whether the first and the last line are there, and have something in them that not every block has."""
    ends = (filled[0], filled[-1])
    return len(filled) > 2 and found.issuperset(ends) and all(_NAME.search(old[index]) for index in ends)


_TIERS = (_lines_tier, _numbers_tier, _typographic_tier, _indentation_tier)
