"""Indents as a model wrote them, to indents as the file has them: one one-to-one map, and what follows from it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from turnstone_lsp.workspace.hunks import line_end, offset_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    _Rule = Callable[[str], str | None]

_INDENT = re.compile(r"[ \t]*")
_FILLED = re.compile(r"^([ \t]*)(?=[^ \t\r\n])", re.MULTILINE)
_WIDTHS = (4, 2, 8, 3)
_SAMPLE = 2_000
"""Lines from which a file's own width is told."""


def indent_of(line: str) -> str:
    """The blanks that a line begins with."""
    found = _INDENT.match(line)
    return found.group() if found else ""


def learn(own: Sequence[str], old: Sequence[str]) -> dict[str, str] | None:
    """Model's indent -> file's indent, from lines that agree but for their indents; None unless one-to-one."""
    mapping: dict[str, str] = {}
    for ours, theirs in zip(own, old, strict=True):
        if theirs.strip() and mapping.setdefault(indent_of(theirs), indent_of(ours)) != indent_of(ours):
            return None
    return mapping if len(set(mapping.values())) == len(mapping) else None


def indents_at(text: str, first: int, count: int) -> set[str]:
    """The indents of `count` lines of a text from line `first`, from 0; blank lines have none."""
    start = offset_of(text, max(first, 0))
    lines = islice(_FILLED.finditer(text, start), 2 * count)
    end = start
    for _ in range(count):
        end = line_end(text, end)
    return {match[1] for match in lines if match.start() < end}


def extend(mapping: dict[str, str], lines: Iterable[str], text: str) -> dict[str, str] | None:
    """The map with the indents of further lines of the file `text`, where it determines them; None where it does not.

    The simplest kind of rule that gives the whole map decides; two rules of that kind that disagree decide nothing.
    """
    missing = {indent_of(line) for line in lines if line.strip()} - mapping.keys()
    if not missing:
        return mapping
    for kind in _kinds(mapping, {*mapping, *missing}, text):
        answers = {
            tuple(rule(indent) for indent in sorted(missing))
            for rule in kind
            if all(rule(have) == want for have, want in mapping.items())
        }
        if answers:
            found = dict(zip(sorted(missing), answers.pop(), strict=True))
            known = {indent: mapped for indent, mapped in found.items() if mapped is not None}
            return None if answers or len(known) < len(found) else {**mapping, **known}
    return None


def _kinds(mapping: dict[str, str], known: set[str], text: str) -> Iterator[Sequence[_Rule]]:
    """Rules from the simplest kind on: moved in or out; another width; tabs for blanks or back; that and moved.

    known: all indents that the model used, the smallest of which is taken for its width.
    """
    theirs = min((len(have) for have in known if have), default=0)
    rescaled = [_rescale(theirs, ours) for ours in _WIDTHS if ours != theirs and _is_unit(text, ours)]
    moved = list(_moved(mapping, _same))
    if len(mapping) == 1 and "" not in mapping:
        # one level alone does not tell a move from another unit ("  " -> "    "), so that both must agree
        yield moved + rescaled
    else:
        yield moved
        yield rescaled
    units = [convert for width in _WIDTHS for convert in (_to_tabs(width), _to_blanks(width))]
    yield units
    for convert in units:
        yield list(_moved(mapping, convert))


def _is_unit(text: str, width: int) -> bool:
    """Whether a file is indented by so many blanks at a time."""
    indents = [len(match[1]) for match in islice(_FILLED.finditer(text), _SAMPLE) if match[1].startswith(" ")]
    return sum(indent % width == 0 for indent in indents) > 0.9 * len(indents)


def _moved(mapping: dict[str, str], convert: Callable[[str], str]) -> Iterator[_Rule]:
    """Convert, then put a constant before or take one off, as the smallest indent of the map says."""
    have, want = min(mapping.items(), key=lambda item: len(item[0]))
    base = convert(have)
    if want.endswith(base):
        prefix = want[: len(want) - len(base)]
        yield lambda indent: prefix + convert(indent)
    elif base.endswith(want):
        dropped = base[: len(base) - len(want)]
        yield lambda indent: _without(convert(indent), dropped)


def _without(indent: str, dropped: str) -> str | None:
    return indent.removeprefix(dropped) if indent.startswith(dropped) else None


def _same(indent: str) -> str:
    return indent


def _to_tabs(width: int) -> Callable[[str], str]:
    def convert(indent: str) -> str:
        columns = indent.count(" ") + width * indent.count("\t")
        return "\t" * (columns // width) + " " * (columns % width)

    return convert


def _to_blanks(width: int) -> Callable[[str], str]:
    return lambda indent: indent.replace("\t", " " * width)


def _rescale(theirs: int, ours: int) -> _Rule:
    theirs = max(theirs, 1)

    def convert(indent: str) -> str | None:
        if "\t" in indent or len(indent) % theirs:
            return None
        return " " * (len(indent) // theirs * ours)

    return convert
