"""Changes and hunks of a text: what is replaced by what. Any subset of the hunks gives a text of its own.

A change is a range of characters, a hunk a range of whole lines. Everything is by offset into the base, so that the
cost of an edit is that of the edit, not of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.workspace.linediff import differences
from turnstone_lsp.workspace.text import chop, split_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

CONTEXT = 3
"""Lines shown around a hunk."""
_NO_EOL = "\\ No newline at end of file"
_STRIDE = 1 << 14
_GROWTH = 1 << 22


@dataclass(frozen=True, slots=True)
class Change:
    """base[start:end] becomes `text`. calls: the ids of the calls that made it so."""

    start: int
    end: int
    text: str
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines [start, end) of the base, counted from 0, become `new`.

    old, new: the lines with their ends; new_start: the line, from 0, in the result with every hunk accepted;
    offset: where in the base's characters it begins; calls: the calls that made it.
    """

    start: int
    end: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    new_start: int
    offset: int
    calls: frozenset[str] = frozenset()

    @property
    def offset_end(self) -> int:
        """Where in the base's characters it ends."""
        return self.offset + sum(map(len, self.old))


def lines_of(text: str) -> list[str]:
    """A text as lines with their ends; no empty line after the last end."""
    lines = split_lines(text)
    return lines[:-1] if lines[-1] == "" else lines


def apply_changes(base: str, changes: Sequence[Change]) -> str:
    """The base with all changes, which are in order and do not overlap."""
    return _pieced(base, ((change.start, change.end, change.text) for change in changes))


def _pieced(base: str, parts: Iterable[tuple[int, int, str]]) -> str:
    """The base with base[start:end] replaced by a text, part by part.

    Grown at its end, which CPython does in place: slices of a large base, joined, would take its memory twice.
    """
    result = ""
    at = 0
    for start, end, text in (*parts, (len(base), len(base), "")):
        for piece in range(at, start, _GROWTH):
            result += base[piece : min(piece + _GROWTH, start)]
        result += text
        at = end
    return result


def apply_hunks(base: str, hunks: Sequence[Hunk], accepted: Collection[int]) -> str:
    """The base with the accepted hunks, by index."""
    chosen = (hunk for index, hunk in enumerate(hunks) if index in accepted)
    return _pieced(base, ((hunk.offset, hunk.offset_end, "".join(hunk.new)) for hunk in chosen))


def compose(base: str, changes: Sequence[Change], edit: Change) -> tuple[Change, ...]:
    """The changes of the base when `edit`, whose range is one of the text that `changes` give, comes on top.

    Changes that the edit overlaps become one with it.
    """
    before: list[Change] = []
    after: list[Change] = []
    touched: list[tuple[int, Change]] = []  # with where the change begins in the edited text
    shift = shift_before = shift_through = 0
    for change in changes:
        begin = change.start + shift
        shift += len(change.text) - (change.end - change.start)
        if begin + len(change.text) <= edit.start:
            before.append(change)
            shift_before = shift_through = shift
        elif begin >= edit.end:
            after.append(change)
        else:
            touched.append((begin, change))
            shift_through = shift
    start, end, text, calls = edit.start - shift_before, edit.end - shift_through, edit.text, edit.calls
    if touched:
        first_begin, first = touched[0]
        last_begin, last = touched[-1]
        if edit.start >= first_begin:
            start = first.start
            text = first.text[: edit.start - first_begin] + text
        if edit.end <= last_begin + len(last.text):
            end = last.end
            text += last.text[edit.end - last_begin :]
        calls = calls.union(*(change.calls for _, change in touched))
    merged = _trimmed(base, Change(start, end, text, calls))
    return (*before, *([merged] if merged else []), *after)


def _trimmed(base: str, change: Change) -> Change | None:
    """The change without what it leaves as it is; None when that is all of it."""
    start, end, text = change.start, change.end, change.text
    head = common_prefix(base, start, end, text)
    if head == end - start == len(text):
        return None
    tail = common_suffix(base, start + head, end, text, head)
    return Change(start + head, end - tail, text[head : len(text) - tail], change.calls)


def common_prefix(base: str, start: int, end: int, text: str) -> int:
    """How many characters base[start:end] and `text` have in common at their beginning."""
    limit = min(end - start, len(text))
    at = 0
    while at < limit:
        step = min(_STRIDE, limit - at)
        if base[start + at : start + at + step] != text[at : at + step]:
            return at + _first_difference(base[start + at : start + at + step], text[at : at + step])
        at += step
    return limit


def common_suffix(base: str, start: int, end: int, text: str, text_start: int = 0) -> int:
    """How many characters base[start:end] and text[text_start:] have in common at their end."""
    limit = min(end - start, len(text) - text_start)
    at = 0
    while at < limit:
        step = min(_STRIDE, limit - at)
        one = base[end - at - step : end - at]
        other = text[len(text) - at - step : len(text) - at]
        if one != other:
            return at + _first_difference(one[::-1], other[::-1])
        at += step
    return limit


def _first_difference(one: str, other: str) -> int:
    return next(i for i, (x, y) in enumerate(zip(one, other, strict=True)) if x != y)


def line_start(text: str, offset: int) -> int:
    """Where the line that an offset stands in begins."""
    if 0 < offset < len(text) and text[offset - 1] == "\r" and text[offset] == "\n":
        offset -= 1
    newline = text.rfind("\n", 0, offset) + 1
    return max(newline, text.rfind("\r", newline, offset) + 1)


def line_end(text: str, offset: int) -> int:
    """Where the line that an offset stands in ends, its line end included."""
    newline = text.find("\n", offset)
    stop = newline if newline >= 0 else len(text)
    carriage = text.find("\r", offset, stop)
    if carriage >= 0 and carriage + 1 != newline:
        return carriage + 1
    return newline + 1 if newline >= 0 else len(text)


def offset_of(text: str, line: int, start: int = 0) -> int:
    """Where a line begins, counted from 0 at the line that begins at `start`; the text's length without such a line."""
    at, stride = start, _STRIDE
    while line:
        stop = min(at + stride, len(text))
        if text[stop - 1 : stop + 1] == "\r\n":
            stop += 1
        ends = count_ends(text, at, stop)
        if ends < line and stop == len(text):
            return stop
        if ends < line:
            at, line = stop, line - ends
        elif stride > 64:
            stride //= 8
        else:
            at, line = line_end(text, at), line - 1
    return at


def count_ends(text: str, start: int, end: int) -> int:
    """Line ends in text[start:end], which does not end between CR and LF."""
    newlines = text.count("\n", start, end)
    if text.find("\r", start, end) < 0:
        return newlines
    return newlines + text.count("\r", start, end) - text.count("\r\n", start, end)


def hunks_of(base: str, changes: Sequence[Change], known: tuple[int, int] = (0, 0)) -> tuple[Hunk, ...]:
    """The hunks that changes make, each as small as lines allow.

    known: the offset at which some line begins, and that line's number from 0, so that lines need not be counted twice.
    """
    hunks: list[Hunk] = []
    (counted, line), delta = known, 0
    for start, end, part in _regions(base, changes):
        line += count_ends(base, counted, start) if counted <= start else -count_ends(base, start, counted)
        counted = start
        old = lines_of(base[start:end])
        inner = [Change(c.start - start, c.end - start, c.text) for c in part]
        new = lines_of(apply_changes(base[start:end], inner))
        calls = frozenset[str]().union(*(c.calls for c in part))
        offsets = _offsets(start, old)
        for i1, i2, j1, j2 in differences(old, new):
            first = line + i1
            hunk = Hunk(first, line + i2, tuple(old[i1:i2]), tuple(new[j1:j2]), first + delta, offsets[i1], calls)
            hunks.append(hunk)
            delta += (j2 - j1) - (i2 - i1)
    return tuple(hunks)


def _offsets(start: int, lines: list[str]) -> list[int]:
    offsets = [start]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets


def _regions(base: str, changes: Sequence[Change]) -> Iterator[tuple[int, int, list[Change]]]:
    """Whole lines of the base that hold changes; changes whose lines meet are together."""
    region: tuple[int, int, list[Change]] | None = None
    for change in changes:
        start, end = _whole_lines(base, change)
        if region is not None and start <= region[1]:
            region = (region[0], max(end, region[1]), [*region[2], change])
            continue
        if region is not None:
            yield region
        region = (start, end, [change])
    if region is not None:
        yield region


def _whole_lines(base: str, change: Change) -> tuple[int, int]:
    start = line_start(base, change.start)
    after_end = change.end == 0 or (base[change.end - 1] in "\r\n" and base[change.end - 1 : change.end + 1] != "\r\n")
    ends_so = change.text[-1:] == "\n" or (change.text == "" and change.start == start)
    if change.end > change.start and after_end and ends_so:
        return start, change.end
    return start, line_end(base, change.end)


def unified(base: str, hunks: Sequence[Hunk], old_name: str, new_name: str) -> str:
    """A whole unified diff, never cut; "" without hunks."""
    if not hunks:
        return ""
    lines = [f"--- {old_name}", f"+++ {new_name}"]
    delta = 0
    for group in _groups(hunks):
        lines += _section(base, group, delta)
        delta += sum(len(hunk.new) - len(hunk.old) for hunk in group)
    return "\n".join(lines)


def _groups(hunks: Sequence[Hunk]) -> Iterator[list[Hunk]]:
    """Hunks whose contexts meet are shown together."""
    group: list[Hunk] = []
    for hunk in hunks:
        if group and hunk.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(hunk)
    if group:
        yield group


def _section(base: str, group: Sequence[Hunk], delta: int) -> list[str]:
    above, below = _lines_before(base, group[0].offset), _lines_after(base, group[-1].offset_end)
    shown: list[str] = [mark for line in above for mark in _shown(" ", line)]
    at = group[0].offset
    between = 0
    for hunk in group:
        equal = lines_of(base[at : hunk.offset])
        between += len(equal)
        for mark, lines in ((" ", equal), ("-", hunk.old), ("+", hunk.new)):
            shown += [part for line in lines for part in _shown(mark, line)]
        at = hunk.offset_end
    shown += [part for line in below for part in _shown(" ", line)]
    around = len(above) + between + len(below)
    old = around + sum(len(hunk.old) for hunk in group)
    new = around + sum(len(hunk.new) for hunk in group)
    first = group[0].start - len(above)
    return [f"@@ -{_range(first, old)} +{_range(first + delta, new)} @@", *shown]


def _lines_before(base: str, offset: int) -> list[str]:
    lines: list[str] = []
    while offset and len(lines) < CONTEXT:
        start = line_start(base, offset - 1)
        lines.insert(0, base[start:offset])
        offset = start
    return lines


def _lines_after(base: str, offset: int) -> list[str]:
    lines: list[str] = []
    while offset < len(base) and len(lines) < CONTEXT:
        end = line_end(base, offset)
        lines.append(base[offset:end])
        offset = end
    return lines


def _range(first: int, count: int) -> str:
    return f"{first + 1 if count else first},{count}"


def _shown(mark: str, line: str) -> list[str]:
    bare = chop(line)
    return [mark + bare] if bare != line else [mark + bare, _NO_EOL]


def whole(old: str, new: str) -> tuple[Change, ...]:
    """What makes `new` of `old`, as one change, cut to what differs."""
    return compose(old, (), Change(0, len(old), new))


def between(old: str, new: str) -> tuple[Hunk, ...]:
    """The hunks that make `new` of `old`."""
    return hunks_of(old, whole(old, new))


def difference(old: str, new: str, old_name: str, new_name: str) -> str:
    """The whole unified diff of two texts; "" when they are equal."""
    return unified(old, between(old, new), old_name, new_name)
