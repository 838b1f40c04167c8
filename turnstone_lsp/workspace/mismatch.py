"""What a model is told when its edit has no place, or more than one: enough to send the right one, in under 2 kB."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import Literal

from turnstone_lsp.errors import ToolError

LIMIT = 1_950
_CONTEXT = 3
_LINE = 160
_VISIBLE = str.maketrans({"\t": "→", " ": "·", "\u00a0": "⍽", "\r": "␍", "\u200b": "�"})

Code = Literal["not_found", "ambiguous"]


class MatchError(ToolError):
    """An edit without its one place. `code` says which way; `lines` are the 1-based lines of equal matches."""

    def __init__(self, code: Code, text: str, lines: tuple[int, ...] = ()) -> None:
        super().__init__(text[:LIMIT])
        self.code = code
        self.lines = lines


def ambiguous(lines: list[int], near_line: int | None) -> MatchError:
    """Several equal matches, and nothing that chooses one."""
    shown = ", ".join(map(str, lines[:20])) + (", ..." if len(lines) > 20 else "")
    count = f"{len(lines)}{'+' if len(lines) >= 1_000 else ''}"
    why = f" near_line {near_line} is equally near to two of them." if near_line is not None else ""
    return MatchError(
        "ambiguous",
        f"ambiguous: old_string matches {count} places, at lines {shown}.{why} Add neighbouring lines to old_string "
        "until it is unique, or give near_line. Nothing was changed.",
        tuple(lines),
    )


def not_found(text: str, old: str, new: str, near_line: int | None) -> MatchError:
    """No match: the nearest region, the first line that differs, and whether the edit was made already."""
    parts = ["not_found: old_string is not in the file (0 matches). Nothing was changed."]
    applied = _already(text, old, new)
    if applied:
        parts.append(f"The new text is already there: already applied at line {applied}?")
    lines = text.split("\n")
    wanted = old.removesuffix("\n").split("\n")
    start = _nearest(lines, wanted, near_line)
    if start is not None:
        parts += _difference(lines, wanted, start)
        parts.append(_region(lines, start, len(wanted)))
    else:
        parts.append("No line of it is in the file. Read the file again, and check the path.")
    return MatchError("not_found", "\n".join(parts))


def _already(text: str, old: str, new: str) -> int | None:
    bare = new.strip()
    if len(bare) < 4 or bare in old:
        return None
    at = text.find(new)
    at = text.find(bare) if at < 0 else at
    return text.count("\n", 0, at) + 1 if at >= 0 else None


def _nearest(lines: list[str], wanted: list[str], near_line: int | None) -> int | None:
    """The 0-based line at which most lines of `wanted` would fall on their equals."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        places.setdefault(line.strip(), []).append(number)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(wanted):
        bare = line.strip()
        found = places.get(bare, ()) if bare else ()
        if len(found) <= 200:
            weight = max(1, min(len(bare), 40))
            for number in found:
                votes[number - offset] += weight
    if votes:
        best = max(votes.values())
        at_best = [start for start, count in votes.items() if count == best]
        aim = (near_line or 1) - 1
        return max(0, min(at_best, key=lambda start: (abs(start - aim), start)))
    longest = max(wanted, key=lambda line: len(line.strip()))
    sample = [line for line in lines if line.strip()][:20_000]
    close = difflib.get_close_matches(longest, sample, 1, 0.6) if len(longest) < 500 and len(sample) < 5_000 else []
    return max(0, lines.index(close[0]) - wanted.index(longest)) if close else None


def _difference(lines: list[str], wanted: list[str], start: int) -> list[str]:
    for offset, line in enumerate(wanted):
        number = start + offset
        have = lines[number] if number < len(lines) else ""
        if have.rstrip() != line.rstrip():
            return [
                f"First difference at line {number + 1} (blanks made visible):",
                f"  file:       {_visible(have)}",
                f"  old_string: {_visible(line)}",
            ]
    for offset, line in enumerate(wanted):
        if start + offset < len(lines) and lines[start + offset] != line:
            return [f"Line {start + offset + 1} differs in its blanks: {_visible(lines[start + offset])}"]
    return []


def _visible(line: str) -> str:
    return line[:_LINE].translate(_VISIBLE) + ("…" if len(line) > _LINE else "")


def _region(lines: list[str], start: int, count: int) -> str:
    first = max(0, start - _CONTEXT)
    last = min(len(lines), start + min(count, 12) + _CONTEXT)
    shown = [f"{n + 1:6}\t{lines[n][:_LINE]}" for n in range(first, last)]
    return "The nearest text in the file:\n" + "\n".join(shown)
