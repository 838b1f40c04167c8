"""A file's text as it was read: what every tool sees, and what an edit is bound to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TextFormat:
    r"""How a file's bytes carry its text. Kept by every write.

    encoding: a Python codec name ("utf-8", "utf-16-le", "latin-1", ...), without the BOM;
    bom: the byte-order mark found, or b""; eol: the dominant line ending, one of "\n", "\r\n", "\r".
    """

    encoding: str = "utf-8"
    bom: bytes = b""
    eol: str = "\n"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Identity of a file's content: the stat identity and the SHA-256 of its bytes (or of a buffer's UTF-8 text)."""

    sha256: str
    dev: int = 0
    ino: int = 0
    size: int = -1
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole text of one file at one moment.

    text: as decoded, BOM removed, line endings as they stand; version: the editor's document version when the text
    is an open buffer's, else None; exists: False for a file that is not there (text is then "").
    """

    path: Path
    text: str
    format: TextFormat
    fingerprint: Fingerprint
    version: int | None = None
    exists: bool = True

    @property
    def is_buffer(self) -> bool:
        """True when the text is an open document's rather than the disk's."""
        return self.version is not None
