"""What a search found, whichever engine looked; kept small while it grows."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_LINES = 250
"""Matching lines shown of one search."""
LINE_SHOWN = 400
"""Characters shown of one matching line."""
LONGEST_LINE = 1_000_000
"""Bytes of a line beyond which only its number is told."""
TOO_LONG = f"[a line of more than {LONGEST_LINE:,} bytes]"
_NAMED = 5
_SLACK = 30
"""Lines more than a file can be given when all before it get one; long lines may lose theirs to it."""


@dataclass(slots=True)
class FileHits:
    """Matching lines of one file: how many there are, and the first of them as (number, text, characters left out)."""

    path: str
    count: int = 0
    lines: list[tuple[int, str, int]] = field(default_factory=list)


@dataclass(slots=True)
class Found:
    """The result of a search.

    files: only those with matches, in no order; more_files, more_lines: matches in files beyond those, when there are
    very many; ignored: how many files and folders .gitignore kept out; ignored_names: the first of them; binary: files
    that match and are no text; failed: (path, reason) of what could not be read; stopped: why the search ended before
    its end, or "".
    """

    files: list[FileHits] = field(default_factory=list)
    more_files: int = 0
    more_lines: int = 0
    ignored: int = 0
    ignored_names: list[str] = field(default_factory=list)
    binary: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    stopped: str = ""

    def room(self) -> int:
        """How many lines of the next file with matches can be wanted: every file before it gets at least one."""
        return max(MOST_LINES - len(self.files) + _SLACK, 1)

    def ignore(self, path: str) -> None:
        """Count something that .gitignore keeps out."""
        self.ignored += 1
        insort(self.ignored_names, path)
        del self.ignored_names[_NAMED:]


def as_shown(text: str) -> tuple[str, int]:
    """A matching line cut to what is shown, and the characters left out. Bytes that are no text become U+FFFD."""
    clean = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if not text.isascii() else text
    return clean[:LINE_SHOWN], max(len(clean) - LINE_SHOWN, 0)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A file with matches, and how many of them are shown."""

    hits: FileHits
    shown: int


def choose(found: Found, budget: int, name: Callable[[str], str]) -> tuple[list[Chosen], list[Chosen]]:
    """Which lines to show: all when they fit, else spread over the files, in turns, in the order of their paths.

    Returns what is shown, and the files of which lines are left out. budget: characters; name: how a path is shown.
    """
    files = sorted(found.files, key=lambda hits: hits.path)
    most = MOST_LINES
    shown = [0] * len(files)
    names = [len(name(hits.path)) for hits in files[:most]]
    active = list(range(min(len(files), most)))
    depth = 0
    while active and most > 0:
        going = []
        for index in active:
            hits = files[index]
            cost = names[index] + len(hits.lines[depth][1]) + 12 if depth < len(hits.lines) else budget + 1
            if cost <= budget and most > 0:
                shown[index] += 1
                budget -= cost
                most -= 1
                going.append(index)
        active = going
        depth += 1
    every = [Chosen(hits, count) for hits, count in zip(files, shown, strict=True)]
    return [one for one in every if one.shown], [one for one in every if one.shown < one.hits.count]
