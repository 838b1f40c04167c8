"""Finds the one place that an edit means, or says why there is none. Pure; never by similarity.

Tiers, tried in order; a tier that finds a place ends the search, and each must find exactly one:

    exact            the text as it stands
    line endings     CR LF, LF and CR are one
    trailing blanks  blanks before a line's end do not count
    line numbers     numbers pasted from a listing, in sequence on every line, are taken off
    typographic      curly quotes, dashes and special spaces are their plain forms
    indentation      whole lines whose indents differ by one one-to-one map, applied to the new text too

Lines that are the same in old_string and new_string keep the file's own characters, so a tier changes no more than
the edit does.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from turnstone_lsp.workspace import indentation
from turnstone_lsp.workspace.mismatch import MatchError, ambiguous, not_found
from turnstone_lsp.workspace.text import split_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Match", "MatchError", "find"]

Tier = Literal["exact", "line endings", "trailing blanks", "line numbers", "typographic", "indentation"]

_EOL = re.compile(r"\r\n|\n|\r")
_NUMBERED = re.compile(r"\A[ \t]*(\d+)(?:\t|[ \t]*[|│→:][ \t]?|(?=\Z))")
_FOLDS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys(
            "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
        ),
    }
)
"""One character for one character, so that places stay the same."""
_REBASE_LINES = 2_000
"""Lines of old_string up to which unchanged lines are found one by one (difflib is quadratic)."""


@dataclass(frozen=True, slots=True)
class Match:
    """Replace text[start:end] by `replacement`. `line` is the 1-based line of `start`."""

    start: int
    end: int
    replacement: str
    tier: Tier
    line: int


def find(text: str, old_string: str, new_string: str, near_line: int | None = None) -> Match:
    """The one place where `old_string` stands in `text`, and what to put there.

    near_line (1-based) chooses among equal matches of the first tier that has any; a tie is refused. Raises
    MatchError, whose text tells the model what to do.
    """
    places = list(_occurrences(text, old_string))
    if places:
        start = _choose(text, places, near_line)
        replacement = _with_eol(new_string, _local_eol(text, start, start + len(old_string)))
        return Match(start, start + len(old_string), replacement, "exact", _line_of(text, start))
    folded = _Folded(text)
    old, new = _EOL.sub("\n", old_string), _EOL.sub("\n", new_string)
    for tier, search in _TIERS:
        found = search(folded, old, new)
        if found:
            return folded.match(tier, found, near_line)
    raise not_found(folded.text, old, new, near_line)


def _occurrences(text: str, wanted: str, limit: int = 1_000) -> Iterator[int]:
    """Starts of the non-overlapping occurrences, at most `limit`."""
    at = text.find(wanted)
    while at >= 0 and limit:
        yield at
        limit -= 1
        at = text.find(wanted, at + len(wanted))


def _choose(text: str, places: list[int], near_line: int | None) -> int:
    """The place that is meant. Raises MatchError for several equal ones."""
    if len(places) == 1:
        return places[0]
    lines = [_line_of(text, p) for p in places]
    if near_line is None:
        raise ambiguous(lines, None)
    distances = [abs(line - near_line) for line in lines]
    best = min(distances)
    if distances.count(best) > 1:
        raise ambiguous(lines, near_line)
    return places[distances.index(best)]


def _line_of(text: str, at: int) -> int:
    crlf = text.count("\r\n", 0, at) if "\r" in text else 0
    cr = text.count("\r", 0, at) if crlf or "\r" in text else 0
    return text.count("\n", 0, at) + cr - crlf + 1


def _local_eol(text: str, start: int, end: int) -> str:
    """The line ending used at a place: inside it, else the next, else the one before it, else LF."""
    found = _EOL.search(text, start, end) or _EOL.search(text, end)
    if found:
        return found.group()
    before = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start))
    if before < 0:
        return "\n"
    return "\r\n" if text[before - 1 : before + 1] == "\r\n" else text[before]


def _with_eol(new: str, eol: str) -> str:
    if eol == "\n" and "\r" not in new:
        return new
    return _EOL.sub("\n", new).replace("\n", eol)


@dataclass(frozen=True, slots=True)
class _Found:
    """A place in the folded text, with the old and new text as they are to be read there."""

    start: int
    end: int
    old: str
    new: str


class _Folded:
    """The text with every line ending as LF, and the way back to the places of the original."""

    def __init__(self, text: str) -> None:
        self.original = text
        self.plain = "\r" not in text
        self.text = text if self.plain else _EOL.sub("\n", text)
        self._wide: list[int] | None = None  # places in `text` of line ends that take two characters in `original`

    def at(self, place: int) -> int:
        """A place in the folded text as a place in the original."""
        if self.plain:
            return place
        if self._wide is None:
            wide, shift = [], 0
            for found in re.finditer("\r\n", self.original):
                wide.append(found.start() - shift)
                shift += 1
            self._wide = wide
        return place + bisect_left(self._wide, place)

    def match(self, tier: Tier, found: list[_Found], near_line: int | None) -> Match:
        start = _choose(self.text, [f.start for f in found], near_line)
        chosen = next(f for f in found if f.start == start)
        begin, end = self.at(chosen.start), self.at(chosen.end)
        own = self.original[begin:end]
        replacement = _keep_unchanged(own, chosen.old, chosen.new, _local_eol(self.original, begin, end))
        return Match(begin, end, replacement, tier, _line_of(self.original, begin))


def _keep_unchanged(own: str, old: str, new: str, eol: str) -> str:
    """`new`, but with the file's own lines wherever old and new agree. `own` and `old` have the same lines."""
    own_lines, old_lines, new_lines = split_lines(own), split_lines(old), split_lines(new)
    if len(own_lines) != len(old_lines) or max(len(old_lines), len(new_lines)) > _REBASE_LINES:
        return _with_eol(new, eol)
    out: list[str] = []
    matcher = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            out += own_lines[i1:i2]
        else:
            out += [_with_eol(line, eol) for line in new_lines[j1:j2]]
    return "".join(out)


# -- tiers


def _eol_tier(folded: _Folded, old: str, new: str) -> list[_Found]:
    found = [_Found(at, at + len(old), old, new) for at in _occurrences(folded.text, old)]
    short = old.removesuffix("\n")
    if not found and short and short != old and folded.text.endswith(short):  # the file has no final line end
        at = len(folded.text) - len(short)
        found = [_Found(at, at + len(short), short, new.removesuffix("\n"))]
    return found


def _blanks_tier(folded: _Folded, old: str, new: str) -> list[_Found]:
    if not old.strip():
        return []
    lines = old.split("\n")
    bare = [line.rstrip(" \t") for line in lines]
    pattern = r"[ \t]*\n".join(re.escape(line) for line in bare)
    if len(lines) == 1 or bare[-1] == "":
        pattern += "" if lines[-1] == "" else r"(?=[ \t]*(?:\n|\Z))"
    found = list(re.finditer(pattern, folded.text))
    return [_Found(m.start(), m.end(), old, new) for m in found] if old not in ("", "\n") else []


def _numbers_tier(folded: _Folded, old: str, new: str) -> list[_Found]:
    bare_old = _without_numbers(old)
    if bare_old is None or not bare_old.strip():
        return []
    bare_new = _without_numbers(new, sequence=False)
    bare_new = new if bare_new is None else bare_new
    for search in (_eol_tier, _blanks_tier, _typographic_tier):
        if found := search(folded, bare_old, bare_new):
            return found
    return []


def _without_numbers(text: str, *, sequence: bool = True) -> str | None:
    """The text without a line number on each of its lines; None when not every line has one, in sequence."""
    lines = text.split("\n")
    last = lines.pop() if lines[-1] == "" else None
    found = [_NUMBERED.match(line) for line in lines]
    if not lines or not all(found):
        return None
    numbers = [int(m.group(1)) for m in found if m]
    steps = {b - a for a, b in zip(numbers, numbers[1:], strict=False)}
    if sequence and steps - {1}:
        return None
    bare = [line[m.end() :] for line, m in zip(lines, found, strict=True) if m]
    return "\n".join([*bare, *([""] if last is not None else [])])


def _typographic_tier(folded: _Folded, old: str, new: str) -> list[_Found]:
    text, wanted = folded.text.translate(_FOLDS), old.translate(_FOLDS)
    out = []
    for at in _occurrences(text, wanted):
        own = folded.text[at : at + len(old)]
        out.append(_Found(at, at + len(old), old, _like(own, old, new)))
    return out or [_Found(m.start, m.end, m.old, m.new) for m in _blanks_tier(_Folded(text), wanted, new)]


def _like(own: str, old: str, new: str) -> str:
    """`new` with the marks that the file uses where the model used others, if each of the model's means one of them."""
    mapping: dict[int, str] = {}
    for theirs, ours in zip(old, own, strict=True):
        if theirs != ours and mapping.setdefault(ord(theirs), ours) != ours:
            return new
    for theirs, ours in zip(old, own, strict=True):
        if theirs == ours:
            mapping.pop(ord(theirs), None)
    return new.translate(mapping)


def _indentation_tier(folded: _Folded, old: str, new: str) -> list[_Found]:
    return [_Found(*found) for found in indentation.find(folded.text, old, new)]


_TIERS: tuple[tuple[Tier, Callable[[_Folded, str, str], list[_Found]]], ...] = (
    ("line endings", _eol_tier),
    ("trailing blanks", _blanks_tier),
    ("line numbers", _numbers_tier),
    ("typographic", _typographic_tier),
    ("indentation", _indentation_tier),
)
