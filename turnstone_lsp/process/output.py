"""A command's output in bounded memory: plain text line by line, head and tail kept, the whole in a file.

Work per byte is constant, whatever comes: a line without end, a million lines, binary data.
"""

from __future__ import annotations

import codecs
import collections
from typing import TYPE_CHECKING

from turnstone_lsp.process.spool import LIMIT as SPOOL_LIMIT
from turnstone_lsp.process.spool import Spool
from turnstone_lsp.process.text import Terminal, last_of_line, show_hidden

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_LONGEST_LINE = 4096
"""A line longer than this is passed on in parts."""
_LIVE_LINES = 10_000
"""This many lines are shown one by one; after that, what arrives together is shown together."""
_LIVE_LIMIT = 1_000_000
"""Characters shown while the command runs."""
_RAW_TAIL = 65_536
_SNIFF = 8192
_TOO_SHORT_TO_TELL = 64
"""Fewer bytes with many NULs are rather a short NUL-separated list than UTF-16."""
_MAGIC = (
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF", "PDF document"),
    (b"\x7fELF", "ELF program"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"SQLite format 3", "SQLite database"),
)
_TEXT_BYTES = bytes({7, 8, 9, 10, 12, 13, 27} | set(range(0x20, 0x7F)) | set(range(0x80, 0x100)))


def binary_kind(data: bytes) -> str | None:
    """What kind of binary data this is, or None for text (in any ASCII-compatible encoding, NUL-separated too)."""
    sample = data[:_SNIFF]
    for magic, kind in _MAGIC:
        if sample.startswith(magic):
            return kind
    if not sample:
        return None
    control = len(sample.translate(None, _TEXT_BYTES))
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    lines = sample.count(b"\0") <= len(sample) // 4 or len(sample) < _TOO_SHORT_TO_TELL
    return None if lines and (control - sample.count(b"\0")) * 10 < len(sample) and broken * 4 < len(sample) else "data"


class Collector:
    """Takes bytes, keeps text.

    keep: characters kept in memory; name: for the file; live: gets each piece of text as it is complete;
    transform: applied to every piece before it is kept or shown (redaction).
    """

    def __init__(
        self,
        keep: int,
        name: str,
        live: Callable[[str], None] | None = None,
        transform: Callable[[str], str] | None = None,
    ) -> None:
        self.bytes_seen = 0
        self.binary: str | None = None
        self.spool: Spool | None = None
        self.detached = False
        self._keep, self._name, self._live, self._transform = keep, name, live, transform
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._terminal = Terminal()
        self._line = ""
        self._head: list[str] = []
        self._head_size = 0
        self._tail: collections.deque[str] = collections.deque()
        self._tail_size = 0
        self._chars = 0
        self._shown = self._lines = 0
        self._raw_tail = b""
        self._to_spool: list[str] = []

    def detach(self) -> None:
        """The call has its result: nothing is shown any more, only the file grows."""
        self._live = None
        self.detached = True

    # -- what comes in

    @property
    def pending(self) -> bool:
        """A part of a line waits for its end."""
        return bool(self._line)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        first = self.bytes_seen == 0
        self.bytes_seen += len(data)
        if first:
            self.binary = binary_kind(data)
        if self.binary:
            return
        if self.bytes_seen - len(data) > SPOOL_LIMIT + self._keep:
            self._raw_tail = (self._raw_tail + data)[-_RAW_TAIL:]
            return
        self._assemble(self._terminal.feed(self._decoder.decode(data)))

    def flush(self) -> None:
        """Pass on a part of a line that has waited long enough; a progress line waits for its end."""
        if "\r" not in self._line:
            line, self._line = self._line, ""
            if line:
                self._take(line)

    def finish(self) -> None:
        """The output has ended."""
        self._assemble(self._terminal.feed(self._decoder.decode(b"", final=True)))
        self._line = last_of_line(self._line)
        self.flush()

    def _assemble(self, text: str) -> None:
        cut = text.rfind("\n") + 1
        if cut:
            whole, text = self._line + text[:cut], text[cut:]
            self._line = ""
            if "\r" not in whole and self._lines >= _LIVE_LINES:
                self._take(whole)
            else:
                lines = [last_of_line(line.removesuffix("\r")) + "\n" for line in whole[:-1].split("\n")]
                for piece in lines if self._lines < _LIVE_LINES else ["".join(lines)]:
                    self._take(piece)
        self._line += text
        if len(self._line) > _LONGEST_LINE and "\r" in self._line:
            self._line = last_of_line(self._line) + ("\r" if self._line.endswith("\r") else "")
        if len(self._line) > _LONGEST_LINE:
            line, self._line = self._line, ""
            self._take(line)

    def _take(self, text: str) -> None:
        text = show_hidden(text)
        if self._transform:
            text = self._transform(text)
        self._chars += len(text)
        self._lines += 1
        self._show(text)
        self._to_spool.append(text)
        room = self._keep * 2 // 3 - self._head_size
        if room > 0:
            self._head.append(text[:room])
            self._head_size += len(self._head[-1])
            text = text[room:]
        if text:
            self._tail.append(text)
            self._tail_size += len(text)
            while self._tail_size - len(self._tail[0]) >= self._keep:
                self._tail_size -= len(self._tail.popleft())

    def _show(self, text: str) -> None:
        if self._live is None or self._shown >= _LIVE_LIMIT:
            return
        self._shown += len(text)
        self._live(text)
        if self._shown >= _LIVE_LIMIT:
            self._live("\n[more output follows; it is not shown while the command runs]\n")

    # -- what goes out

    def spool_work(self, *, force: bool = False) -> Callable[[], None] | None:
        """Blocking work to do in a thread: bring the file up to date. None while everything fits in memory."""
        if self.spool is None and not force and self._chars <= self._keep:
            return None
        text, self._to_spool = "".join(self._to_spool), []
        if not text and self.spool is not None:
            return None

        def work() -> None:
            if self.spool is None:
                self.spool = Spool(self._name)
            self.spool.write(text)

        return work

    @property
    def path(self) -> Path | None:
        """The file with the whole text, if one was needed."""
        return self.spool.path if self.spool else None

    def text(self) -> tuple[str, str, int]:
        """Head, tail, and how many characters were left out between them (bytes, where nobody decoded them)."""
        head, tail = "".join(self._head), "".join(self._tail)
        unread = 0
        if self._raw_tail:
            unread = self.bytes_seen - SPOOL_LIMIT
            tail = show_hidden(Terminal().feed(self._raw_tail.decode("utf-8", "replace"))).replace("\r", "\n")
            tail = self._transform(tail) if self._transform else tail
        elif self._chars <= self._keep:
            return head, tail, 0
        tail = tail[-(self._keep - self._keep * 2 // 3) :]
        return head, tail, max(self._chars + unread - len(head) - len(tail), 0)
