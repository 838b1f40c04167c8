"""Open documents: what editors hold. Their text is the truth over the disk.

Kept as lines, so that a keystroke in a 5 MB document costs a line, not the document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.workspace import uris
from turnstone_lsp.workspace.text import LineTable, Units, split_lines, to_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Change:
    """One content change of didChange. Without a range, `text` is the whole document."""

    text: str
    start: tuple[int, int] | None = None
    """(line, character), both from 0, in the client's position units."""
    end: tuple[int, int] | None = None


class OpenDocument:
    """One document that the editor holds open.

    path: the real path, or None for an untitled document; dirty: changed since it was opened or saved;
    encoding: what the editor says the file's encoding is, when it says so.
    """

    __slots__ = ("_lines", "_table", "_text", "dirty", "encoding", "language_id", "path", "uri", "version")

    def __init__(self, uri: str, path: Path | None, text: str, version: int, language_id: str = "") -> None:
        self.uri = uri
        self.path = path
        self.version = version
        self.language_id = language_id
        self.dirty = False
        self.encoding: str | None = None
        self._text: str | None = text
        self._lines: list[str] | None = None
        self._table: LineTable | None = None

    @property
    def text(self) -> str:
        """The whole text. Joined when first asked for after a change, then kept."""
        if self._text is None:
            self._text = "".join(self._lines or ())
        return self._text

    @property
    def table(self) -> LineTable:
        """The line table of the present text."""
        if self._table is None:
            self._table = LineTable(self.text)
        return self._table

    @property
    def name(self) -> str:
        """How to call it: its path, or its URI when it has none."""
        return str(self.path) if self.path else self.uri

    def change(self, change: Change, units: Units) -> None:
        """Take one change. Positions beyond a line's or the text's end mean that end, as LSP says."""
        self._table = None
        if change.start is None or change.end is None:
            self._text, self._lines = change.text, None
            return
        if self._lines is None:
            self._lines = split_lines(self.text)
        self._text = None
        _splice(self._lines, change.start, change.end, change.text, units)


def _splice(lines: list[str], start: tuple[int, int], end: tuple[int, int], text: str, units: Units) -> None:
    first, begin = _place(lines, *start, units)
    last, finish = _place(lines, *end, units)
    if (last, finish) < (first, begin):
        first, begin, last, finish = last, finish, first, begin
    piece = lines[first][:begin] + text + lines[last][finish:]
    if first and piece.startswith("\n") and lines[first - 1].endswith("\r"):
        # a \n put right after a lone \r makes one line end of the two
        first -= 1
        piece = lines[first] + piece
    new = split_lines(piece)
    if last + 1 < len(lines) and new[-1] == "":
        new.pop()
    lines[first : last + 1] = new


def _place(lines: list[str], line: int, character: int, units: Units) -> tuple[int, int]:
    if line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    return line, to_index(lines[line], character, units)


class OpenDocuments:
    """All open documents, by URI and by real path. Used from the event loop's thread alone."""

    def __init__(self, units: Units = "utf-16") -> None:
        self.units: Units = units
        """What the client's positions count."""
        self._by_uri: dict[str, OpenDocument] = {}

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(tuple(self._by_uri.values()))

    def open(self, uri: str, text: str, version: int, language_id: str = "") -> OpenDocument:
        """Take a document that the editor opened (again)."""
        path = uris.to_path(uri)
        real = path.resolve() if path else None
        document = self._by_uri[uri] = OpenDocument(uri, real, text, version, language_id)
        return document

    def change(self, uri: str, version: int, changes: Iterable[Change]) -> OpenDocument | None:
        """Take a didChange. None for a document that was never opened, which is ignored."""
        document = self._by_uri.get(uri)
        if document is None:
            return None
        for change in changes:
            document.change(change, self.units)
        document.version = version
        document.dirty = True
        return document

    def save(self, uri: str, text: str | None = None) -> None:
        """Take a didSave; `text` when the client includes it."""
        document = self._by_uri.get(uri)
        if document is None:
            return
        if text is not None and text != document.text:
            document.change(Change(text), self.units)
        document.dirty = False

    def close(self, uri: str) -> None:
        """Forget a document; the disk is the truth again."""
        self._by_uri.pop(uri, None)

    def by_uri(self, uri: str) -> OpenDocument | None:
        """The document of a URI."""
        return self._by_uri.get(uri)

    def get(self, path: Path) -> OpenDocument | None:
        """The open document of a real path. Open under several names, the one with unsaved changes is meant."""
        found = [document for document in self._by_uri.values() if document.path == path]
        return max(found, key=lambda document: document.dirty) if found else None

    def dirty(self) -> list[OpenDocument]:
        """Documents with unsaved changes, untitled ones with text included."""
        return [d for d in self._by_uri.values() if d.dirty or (d.path is None and d.text)]
