"""Where two lists of lines differ, in time that stays bounded: anchored on lines that are unique in both.

difflib alone is quadratic and worse; on two versions of a long file with many equal lines it takes minutes. Here the
common beginning and end are cut off, lines that occur once on each side and in the same order split the rest
(patience diff), and difflib sees only the small gaps between them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Range = tuple[int, int, int, int]
"""a[i1:i2] is replaced by b[j1:j2]."""

_SMALL = 60_000
"""Product of the lengths up to which difflib is asked; above it, a gap without anchors is one difference."""


def differences(a: Sequence[str], b: Sequence[str]) -> list[Range]:
    """The differing ranges, in order; between two of them at least one line is equal."""
    return list(_joined(_between(a, b, (0, len(a), 0, len(b)))))


def _joined(ranges: Iterator[Range]) -> Iterator[Range]:
    """Ranges that touch are one."""
    last: Range | None = None
    for found in ranges:
        if last is not None and last[1] == found[0] and last[3] == found[2]:
            last = (last[0], found[1], last[2], found[3])
            continue
        if last is not None:
            yield last
        last = found
    if last is not None:
        yield last


def _between(a: Sequence[str], b: Sequence[str], part: Range) -> Iterator[Range]:
    i1, i2, j1, j2 = part
    while i1 < i2 and j1 < j2 and a[i1] == b[j1]:
        i1, j1 = i1 + 1, j1 + 1
    while i1 < i2 and j1 < j2 and a[i2 - 1] == b[j2 - 1]:
        i2, j2 = i2 - 1, j2 - 1
    if i1 == i2 and j1 == j2:
        return
    if i1 == i2 or j1 == j2:
        yield (i1, i2, j1, j2)
    elif (i2 - i1) * (j2 - j1) <= _SMALL:
        matcher = SequenceMatcher(None, a[i1:i2], b[j1:j2], autojunk=False)
        for tag, x1, x2, y1, y2 in matcher.get_opcodes():
            if tag != "equal":
                yield (i1 + x1, i1 + x2, j1 + y1, j1 + y2)
    else:
        anchors = _anchors(a, b, (i1, i2, j1, j2))
        if not anchors:
            yield (i1, i2, j1, j2)
            return
        for i, j in anchors:
            yield from _between(a, b, (i1, i, j1, j))
            i1, j1 = i + 1, j + 1
        yield from _between(a, b, (i1, i2, j1, j2))


def _anchors(a: Sequence[str], b: Sequence[str], part: Range) -> list[tuple[int, int]]:
    """Pairs of equal lines, unique on both sides, in the longest run that keeps the order."""
    i1, i2, j1, j2 = part
    counts_a, counts_b = Counter(a[i1:i2]), Counter(b[j1:j2])
    places = {b[j]: j for j in range(j1, j2) if counts_b[b[j]] == 1}
    pairs = [(i, places[a[i]]) for i in range(i1, i2) if counts_a[a[i]] == 1 and a[i] in places]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs, which rise in their first, that also rises in its second."""
    ends: list[int] = []  # the smallest second with which a run of that length can end
    holders: list[int] = []  # the index of the pair that does
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        at = bisect_left(ends, j)
        before.append(holders[at - 1] if at else -1)
        ends[at : at + 1] = [j]
        holders[at : at + 1] = [index]
    run: list[tuple[int, int]] = []
    index = holders[-1] if holders else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]
