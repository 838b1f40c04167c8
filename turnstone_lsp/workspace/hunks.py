"""Hunks: the places in which two texts differ, as whole lines; any subset of them is a text of its own."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.workspace.text import chop, split_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

CONTEXT = 3
_FINE_LINES = 4_000
"""Differing lines up to which hunks are found line by line; above, one hunk spans them (difflib is quadratic)."""
_NO_EOL = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines [start, end) of the base (0-based), replaced by `new` (lines with their ends)."""

    start: int
    end: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    new_start: int
    """0-based line in the result, with every hunk accepted."""


def between(base: Sequence[str], result: Sequence[str]) -> tuple[Hunk, ...]:
    """The hunks that turn `base` into `result`; both are lines with their ends."""
    head = _common(base, result)
    tail = _common(base[head:][::-1], result[head:][::-1])
    a, b = base[head : len(base) - tail], result[head : len(result) - tail]
    if not a and not b:
        return ()
    if len(a) + len(b) > _FINE_LINES:
        return (Hunk(head, head + len(a), tuple(a), tuple(b), head),)
    codes = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return tuple(
        Hunk(head + i1, head + i2, tuple(a[i1:i2]), tuple(b[j1:j2]), head + j1)
        for tag, i1, i2, j1, j2 in codes
        if tag != "equal"
    )


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


def apply(base: Sequence[str], hunks: Sequence[Hunk], accepted: Collection[int]) -> str:
    """The base with the accepted hunks, by index."""
    out: list[str] = []
    at = 0
    for index, hunk in enumerate(hunks):
        out += base[at : hunk.start]
        out += hunk.new if index in accepted else base[hunk.start : hunk.end]
        at = hunk.end
    return "".join([*out, *base[at:]])


def unified(base: Sequence[str], hunks: Iterable[Hunk], old_name: str, new_name: str) -> str:
    """A whole unified diff, never cut."""
    lines = [f"--- {old_name}", f"+++ {new_name}"]
    for group in _groups(list(hunks)):
        lines += _section(base, group)
    return "\n".join(lines)


def _groups(hunks: list[Hunk]) -> Iterator[list[Hunk]]:
    """Hunks whose contexts meet are shown together."""
    group: list[Hunk] = []
    for hunk in hunks:
        if group and hunk.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(hunk)
    if group:
        yield group


def _section(base: Sequence[str], group: list[Hunk]) -> list[str]:
    first = max(0, group[0].start - CONTEXT)
    last = min(len(base), group[-1].end + CONTEXT)
    new_first = max(0, group[0].new_start - (group[0].start - first))
    added = sum(len(h.new) - (h.end - h.start) for h in group)
    old_count = last - first
    lines = [f"@@ -{_range(first, old_count)} +{_range(new_first, old_count + added)} @@"]
    at = first
    for hunk in group:
        for line in base[at : hunk.start]:
            lines += _shown(" ", line)
        for line in hunk.old:
            lines += _shown("-", line)
        for line in hunk.new:
            lines += _shown("+", line)
        at = hunk.end
    for line in base[at:last]:
        lines += _shown(" ", line)
    return lines


def _range(first: int, count: int) -> str:
    return f"{first + 1 if count else first},{count}"


def _shown(mark: str, line: str) -> list[str]:
    bare = chop(line)
    return [mark + bare] if bare != line else [mark + bare, _NO_EOL]


def lines_of(text: str) -> list[str]:
    """A text as lines with their ends; no empty line after the last end."""
    lines = split_lines(text)
    return lines[:-1] if lines and lines[-1] == "" else lines
