"""Some lines of a file, read without the rest: what is skipped costs a glance, and nothing of it stays in memory."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turnstone_lsp.workspace import codec
from turnstone_lsp.workspace.reads import Shown
from turnstone_lsp.workspace.snapshot import Fingerprint, TextFormat
from turnstone_lsp.workspace.text import chop, split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LINE_LIMIT = 2000
"""Characters of one line that are shown."""
_CHUNK = 1024 * 1024
_BREAK = re.compile(rb"\r\n|\r|\n")
_PIECE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_NUMBER_WIDTH = 7
"""About what a line's number adds to the output."""


@dataclass(frozen=True, slots=True)
class Window:
    """The lines asked for: from `first` (1-based), at most `limit`, within `budget` characters of output."""

    first: int = 1
    limit: int | None = None
    budget: int = 32_000


@dataclass(slots=True)
class Slice:
    """Lines of a text from line `first` (1-based) on, each without its end and cut to LINE_LIMIT characters.

    left_out: for the index of each cut line, the characters that it lacks; more: lines follow; full: they follow
    because the budget was used up; ends: the line ends seen; final_end: the last line shown has one;
    sha256: of all the text of the lines shown, uncut.
    """

    first: int
    lines: list[str] = field(default_factory=list)
    left_out: dict[int, int] = field(default_factory=dict)
    more: bool = False
    full: bool = False
    ends: set[str] = field(default_factory=set)
    final_end: bool = True
    sha256: str = ""

    @property
    def last(self) -> int:
        """The number of the last line shown."""
        return self.first + len(self.lines) - 1

    def shown(self) -> Shown:
        """What to put in the read log."""
        return Shown(self.first, self.last, self.sha256)


@dataclass(frozen=True, slots=True)
class DiskSlice:
    """A slice of a file on disk. total: how many lines were counted when the slice begins beyond the last one."""

    slice: Slice
    form: TextFormat
    fingerprint: Fingerprint
    total: int | None = None


def take(pieces: Iterable[str], window: Window) -> Slice:
    """Collect lines from pieces of text, each at most one line long and a line's end only at a piece's end.

    Stops after the window's lines, or before a line that would bring the output over its budget.
    """
    taker = _Taker(Slice(window.first), window.budget)
    for piece in pieces:
        if not taker.begun and window.limit is not None and len(taker.slice.lines) >= window.limit:
            taker.slice.more = True
            break
        if not taker.feed(piece):
            break
    else:
        if taker.begun:
            taker.end_line("")
    taker.slice.sha256 = taker.digest.hexdigest()
    return taker.slice


class _Taker:
    """The slice so far, and the line that is being read."""

    def __init__(self, result: Slice, budget: int) -> None:
        self.slice = result
        self.digest = hashlib.sha256()
        self.begun = False
        self._budget = budget

    def feed(self, piece: str) -> bool:
        """Take a piece; False when the line that it ends finds no more room."""
        if not self.begun:
            self.begun, self._kept, self._length, self._digest = True, "", 0, self.digest.copy()
        content = chop(piece)
        self._kept += content[: LINE_LIMIT - len(self._kept)]
        self._length += len(content)
        self._digest.update(piece.encode("utf-8", "surrogatepass"))
        return len(content) == len(piece) or self.end_line(piece[len(content) :])

    def end_line(self, end: str) -> bool:
        result = self.slice
        self.begun = False
        room = self._budget - _NUMBER_WIDTH
        if len(self._kept) > room and result.lines:
            result.more = result.full = True
            return False
        shown = self._kept[:room]
        if len(shown) < self._length:
            result.left_out[len(result.lines)] = self._length - len(shown)
        result.lines.append(shown)
        result.final_end = bool(end)
        result.ends.update({end} - {""})
        self._budget = room - len(shown)
        self.digest = self._digest
        return True


def of_text(text: str, window: Window) -> tuple[Slice, int]:
    """A slice of a text in memory, and how many lines the text has."""
    lines = split_lines(text)
    if lines[-1] == "":
        lines.pop()
    return take(lines[window.first - 1 :], window), len(lines)


def streams(encoding: str) -> bool:
    """Whether a line's end is the same byte in this encoding as in ASCII, so that lines can be counted in bytes."""
    return not encoding.startswith(("utf-16", "utf-32", "iso2022", "hz")) and "\r\n".encode(encoding) == b"\r\n"


def of_file(descriptor: int, name: str, declared: str | None, window: Window) -> DiskSlice:
    """A slice of an open file in an encoding that `streams`. Only what is shown is decoded.

    Raises ToolError when the file is binary, or what is shown is not valid in its encoding.
    """
    state = os.fstat(descriptor)
    head = os.pread(descriptor, 8192, 0)
    encoding, bom = codec.find_format(head, declared)
    codec.check_text(name, head, state.st_size, encoding)
    os.lseek(descriptor, len(bom), os.SEEK_SET)
    fingerprint = Fingerprint("", state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    start, counted, rest = _skip(descriptor, window.first - 1, len(bom))
    if rest is None:
        return DiskSlice(Slice(window.first), TextFormat(encoding, bom), fingerprint, total=counted)
    found = take(_decoded(descriptor, rest, start, name, encoding), window)
    eol = next((end for end in ("\n", "\r\n", "\r") if end in found.ends), "\n")
    return DiskSlice(found, TextFormat(encoding, bom, eol), fingerprint, None if found.lines else counted)


def _chunks(descriptor: int) -> Iterator[bytes]:
    """The rest of a file in pieces that never end between CR and LF."""
    while chunk := os.read(descriptor, _CHUNK):
        yield _whole_end(descriptor, chunk)


def _whole_end(descriptor: int, chunk: bytes) -> bytes:
    while chunk.endswith(b"\r") and (following := os.read(descriptor, 1)):
        chunk += following
    return chunk


def _skip(descriptor: int, lines: int, offset: int) -> tuple[int, int, bytes | None]:
    """Pass over `lines` lines: the offset then reached, the lines passed, and the bytes already read from there.

    Where the text has fewer lines, those bytes are None and the count is of all its lines.
    """
    counted, ended = 0, True
    if lines == 0:
        return offset, 0, b""
    for chunk in _chunks(descriptor):
        carriage = chunk.count(b"\r")
        breaks = chunk.count(b"\n") + (carriage - chunk.count(b"\r\n") if carriage else 0)
        if counted + breaks >= lines:
            end = _nth_break(chunk, lines - counted, plain=not carriage)
            return offset + end, lines, chunk[end:]
        counted += breaks
        offset += len(chunk)
        ended = chunk.endswith((b"\n", b"\r"))
    return offset, counted + (not ended), None


def _nth_break(chunk: bytes, number: int, *, plain: bool) -> int:
    """The index just after the n-th line end."""
    if plain:
        index = -1
        for _ in range(number):
            index = chunk.index(b"\n", index + 1)
        return index + 1
    matches = _BREAK.finditer(chunk)
    for _ in range(number - 1):
        next(matches)
    return next(matches).end()


def _decoded(descriptor: int, rest: bytes, offset: int, name: str, encoding: str) -> Iterator[str]:
    """The text from `offset` on, in pieces of at most a line. Raises ToolError when it comes to bytes that are none."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for chunk in _then(rest, descriptor):
        begun = offset - len(decoder.getstate()[0])  # a character that the last chunk cut in two
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            yield from _PIECE.findall(error.object[: error.start].decode(encoding))
            raise codec.undecodable(name, encoding, begun + error.start, error.object[error.start]) from None
        yield from _PIECE.findall(text)
        offset += len(chunk)


def _then(rest: bytes, descriptor: int) -> Iterator[bytes]:
    """The bytes already read, the rest of the file, and b"" for its end."""
    if rest:
        yield rest
    yield from _chunks(descriptor)
    yield b""
