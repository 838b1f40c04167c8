"""What a reader of a notation returns, and the cursor that it reads with.

A reader is given a place in a text where a notation may begin. What it reads there is one of three things: a `Block`,
ordinary text (None), or MORE: not to be known yet. With `final` no more text comes and MORE is never the answer.
Readers are steady: what is once decided for a text holds for every longer one, so that an output means the same
however it was cut into pieces. The cursor sees to that: it never looks past the end of what is there without
raising.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

Call = dict[str, Any]
"""{"name": str, "arguments": dict, or the raw text where it is no JSON object}"""
Names = Sequence[str]


class Undecided(enum.Enum):
    """The answer when more text is needed."""

    MORE = "more"


MORE: Final = Undecided.MORE


@dataclass(frozen=True, slots=True)
class Block:
    """Calls that stand in the text up to `end`.

    closed: the notation's own end was seen, so the last call is whole even if the reply was cut right after it.
    text: what of the block is to be shown.
    """

    calls: tuple[Call, ...]
    end: int
    closed: bool = True
    text: str = ""


Outcome = Block | Undecided | None

_DECODER = json.JSONDecoder(strict=False)  # raw line breaks in strings lose nothing
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][\w.:/-]*")


class MoreError(Exception):
    """More text is needed to go on."""


class CutError(Exception):
    """The output ends in the middle of the notation."""


class NoCallError(Exception):
    """This is ordinary text."""


@dataclass(frozen=True, slots=True)
class Broken:
    """JSON that no further text can mend; `at`: where it went wrong."""

    at: int


class Cursor:
    """A place in the text, with the calls read so far."""

    def __init__(self, text: str, at: int, final: bool, names: Names) -> None:
        self.text = text
        self.at = at
        self.final = final
        self.names = names
        self.calls: list[Call] = []
        self.closed = True
        self.shown = ""
        self.half = False
        """The output ends in the middle of a marker that was looked for."""

    def more(self) -> NoReturn:
        """The text ends here, but the notation does not."""
        raise CutError if self.final else MoreError

    def skip(self) -> None:
        """Go past blanks."""
        self.at = skip(self.text, self.at)

    def back(self) -> None:
        """Go back over blanks: they belong to what follows."""
        while self.at and self.text[self.at - 1].isspace():
            self.at -= 1

    def peek(self) -> str:
        """The next character that is no blank; empty at the end of a final text."""
        self.skip()
        if self.at < len(self.text):
            return self.text[self.at]
        if not self.final:
            raise MoreError
        return ""

    def looking(self, *markers: str) -> str | None:
        """The one of these markers that stands here, after blanks."""
        self.skip()
        undecided = False
        for marker in markers:
            part = self.text[self.at : self.at + len(marker)]
            if part == marker:
                return marker
            undecided |= marker.startswith(part)
        if undecided and not self.final:
            raise MoreError
        self.half |= undecided
        return None

    def take(self, *markers: str) -> str | None:
        """The same, going past it."""
        marker = self.looking(*markers)
        if marker is not None:
            self.at += len(marker)
        return marker

    def until(self, *markers: str) -> str:
        """The text up to the first of these markers, going past it."""
        found = first_of(self.text, self.at, markers)
        if found is None:
            self.more()
        part = self.text[self.at : found[0]]
        self.at = found[1]
        return part

    def name(self) -> str:
        """The name that stands here, after blanks. Raises NoCallError where none does."""
        if not self.peek():
            self.more()
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise NoCallError
        if found.end() == len(self.text):
            self.more()
        self.at = found.end()
        return found[0]

    def json(self) -> Any:
        """The JSON value that stands here; a Broken, without going on, where it is none."""
        if not self.peek():
            self.more()
        found = json_at(self.text, self.at)
        if found is MORE:
            self.more()
        if isinstance(found, Broken):
            return found
        value, self.at = found
        return value

    def close(self, *closers: str) -> bool:
        """Go past the closing marker. Without it the last call counts as whole only if other text follows."""
        if self.take(*closers):
            self.closed = True
            return True
        rest = self.text[self.at :] if self.peek() else ""
        self.closed = bool(rest) and not any(closer.startswith(rest) for closer in closers)
        return False


def read(reader: Callable[[Cursor], None], text: str, at: int, final: bool, names: Names) -> Outcome:
    """What a reader finds at a place. A notation that is cut off gives the calls before the cut."""
    cursor = Cursor(text, at, final, names)
    try:
        reader(cursor)
    except MoreError:
        return MORE
    except NoCallError:
        return Block(tuple(cursor.calls), len(text)) if cursor.half else None
    except CutError:
        return Block(tuple(cursor.calls), len(text))
    cursor.back()
    return Block(tuple(cursor.calls), cursor.at, cursor.closed, cursor.shown)


def skip(text: str, at: int) -> int:
    """The next place that is no blank."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def json_at(text: str, at: int) -> tuple[Any, int] | Undecided | Broken:
    """The JSON value that begins here and where it ends; MORE while it is whole so far but has not ended."""
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        return Broken(at)
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        if not rest or error.msg.startswith("Unterminated string"):
            return MORE
        if error.msg.startswith("Invalid \\u") and len(text) - error.pos < 6:
            return MORE
        if error.msg.startswith("Expecting value") and any(word.startswith(rest) for word in _LITERALS):
            return MORE
        return Broken(error.pos)


def first_of(text: str, at: int, markers: Sequence[str]) -> tuple[int, int] | None:
    """(start, end) of the earliest of these markers."""
    found = [(i, i + len(m)) for m in markers if (i := text.find(m, at)) >= 0]
    return min(found, default=None, key=lambda pair: (pair[0], -pair[1]))


def balanced(text: str, at: int) -> int | None:
    """The end of the bracketed Python expression that begins at `at`; None where it has not ended."""
    depth = 0
    place = at
    while place < len(text):
        character = text[place]
        if character in "\"'":
            quote = character * 3 if text.startswith(character * 3, place) else character
            end = _string_end(text, place + len(quote), quote)
            if end is None:
                return None
            place = end
            continue
        depth += (character in "([{") - (character in ")]}")
        place += 1
        if depth == 0:
            return place
    return None


def _string_end(text: str, at: int, quote: str) -> int | None:
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(quote, at):
            return at + len(quote)
        else:
            at += 1
    return None
