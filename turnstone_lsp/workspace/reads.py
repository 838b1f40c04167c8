"""Which files an agent has read, and what it saw: an edit needs a read, and a file unchanged since."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnstone_lsp.workspace.hunks import offset_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turnstone_lsp.workspace.snapshot import Fingerprint, Snapshot

_TEXT_KEPT = 512 * 1024
"""Characters up to which a file's text is kept to say later what changed in it."""
_TEXTS_KEPT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Shown:
    """Lines that a read showed; `first` and `last` are 1-based and both included. sha256 is of the lines' UTF-8."""

    first: int
    last: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """What an agent has seen of a file.

    fingerprint: of the file when it was read; its sha256 may be "" after a read in part. digest: SHA-256 of the whole
    text, "" after a read in part; text: the whole text, while it is kept; shown: the lines seen when not the whole.
    """

    fingerprint: Fingerprint
    digest: str = ""
    text: str | None = None
    shown: tuple[Shown, ...] = ()

    @property
    def whole(self) -> bool:
        """The whole file was read (or written)."""
        return bool(self.digest)


def digest(text: str) -> str:
    """SHA-256 of a text's UTF-8, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def text_digest(snapshot: Snapshot) -> str:
    """SHA-256 of a snapshot's text; the bytes' own where the bytes are the text's UTF-8."""
    if snapshot.is_buffer or (snapshot.format.encoding == "utf-8" and not snapshot.format.bom):
        return snapshot.fingerprint.sha256
    return digest(snapshot.text)


class ReadLog:
    """One agent's reads, by real path."""

    def __init__(self) -> None:
        self._records: dict[Path, ReadRecord] = {}
        self._kept = 0

    def __iter__(self) -> Iterator[Path]:
        return iter(tuple(self._records))

    def get(self, path: Path) -> ReadRecord | None:
        """What was seen of a file; None when it was not read."""
        return self._records.get(path)

    def note(self, snapshot: Snapshot) -> None:
        """The whole of a file was read, or was just written: this is the text that the agent knows."""
        text = snapshot.text if len(snapshot.text) <= _TEXT_KEPT else None
        self._put(snapshot.path, ReadRecord(snapshot.fingerprint, text_digest(snapshot), text))

    def note_part(self, path: Path, fingerprint: Fingerprint, shown: Shown) -> None:
        """Some lines of a file were read. Adds to other reads of the same state; replaces those of an older one."""
        before = self._records.get(path)
        same = before is not None and _identity(before.fingerprint) == _identity(fingerprint)
        if before is not None and same:
            if not before.whole:
                self._put(path, replace(before, shown=(*before.shown, shown)))
            return
        self._put(path, ReadRecord(fingerprint, shown=(shown,)))

    def forget(self, path: Path) -> None:
        """Drop what is known of a file."""
        dropped = self._records.pop(path, None)
        self._kept -= len(dropped.text or "") if dropped else 0

    def stale(self, snapshot: Snapshot) -> str | None:
        """Why an edit of this state of a file is refused: never read, or changed since; None when it may go on."""
        record = self._records.get(snapshot.path)
        if record is None:
            return "it has not been read in this session; call read_file on it first"
        if not snapshot.exists:
            return "it was deleted after it was read"
        if record.whole:
            return None if record.digest == text_digest(snapshot) else "it was changed after it was read; read it again"
        text = snapshot.text
        for part in record.shown:
            start = offset_of(text, part.first - 1)
            lines = text[start : offset_of(text, part.last - part.first + 1, start)]
            if digest(lines) != part.sha256:
                return f"lines {part.first}-{part.last} were changed after they were read; read them again"
        return None

    def _put(self, path: Path, record: ReadRecord) -> None:
        self.forget(path)
        self._records[path] = record
        self._kept += len(record.text or "")
        for old, kept in tuple(self._records.items()):
            if self._kept <= _TEXTS_KEPT:
                return
            if kept.text is not None and old != path:
                self._kept -= len(kept.text)
                self._records[old] = replace(kept, text=None)


def _identity(fingerprint: Fingerprint) -> tuple[object, ...]:
    """What tells two states of a file apart without its whole text: stat for a file, the hash for a buffer."""
    if fingerprint.ino:
        return fingerprint.dev, fingerprint.ino, fingerprint.size, fingerprint.mtime_ns
    return (fingerprint.sha256,)
