"""Texts that undo and redo go back to: content-addressed, private, as differences where whole copies would be big."""

from __future__ import annotations

import os
import secrets
import time
from typing import TYPE_CHECKING, Any

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace.hunks import Change, apply_changes
from turnstone_lsp.workspace.reads import digest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

DELTA_CHARACTERS = 8 * 1024 * 1024
"""Above this a text is kept as what differs from the text that followed it."""
_SETTLING_SECONDS = 3_600
"""An image without a record may be that of a change under way in another server."""

Way = dict[str, Any]
"""How to get one text from another, as JSON: image, the name of the kept text; spans, None when that is the whole, else
[start, length, size] for each place: `length` characters of the present text become the next `size` of the kept.
"""


class Images:
    """A folder of texts by the SHA-256 of their UTF-8."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def way_back(self, old: str, changes: Sequence[Change], sha256: str | None = None) -> Way:
        """Keep what it takes to get `old`, whose digest may be known, from the text that the changes made of it."""
        if len(old) <= DELTA_CHARACTERS:
            return {"image": self._keep(old, sha256), "spans": None}
        spans: list[list[int]] = []
        shift = 0
        for change in changes:
            spans.append([change.start + shift, len(change.text), change.end - change.start])
            shift += len(change.text) - (change.end - change.start)
        return {"image": self._keep("".join(old[c.start : c.end] for c in changes)), "spans": spans}

    def go(self, way: Way, present: str) -> tuple[str, list[Change]]:
        """The text that a way leads to from the present one, and the changes it makes. Raises ToolError if expired."""
        kept = self._load(way["image"])
        if way["spans"] is None:
            return kept, [Change(0, len(present), kept)]
        changes: list[Change] = []
        at = 0
        for start, length, size in way["spans"]:
            changes.append(Change(start, start + length, kept[at : at + size]))
            at += size
        return apply_changes(present, changes), changes

    def total(self) -> int:
        """Bytes that are kept."""
        return sum(entry.stat().st_size for entry in self._folder.iterdir())

    def size(self, name: str) -> int:
        """Bytes of one kept text; 0 when it is gone."""
        path = self._folder / name
        return path.stat().st_size if path.exists() else 0

    def drop_all_but(self, names: Collection[str]) -> None:
        """Remove what no record names any more."""
        horizon = time.time() - _SETTLING_SECONDS
        for path in self._folder.iterdir():
            if path.name not in names and path.stat().st_mtime < horizon:
                path.unlink(missing_ok=True)

    def _keep(self, text: str, sha256: str | None = None) -> str:
        name = sha256 or digest(text)
        path = self._folder / name
        try:
            os.utime(path)  # kept already; young again
        except FileNotFoundError:
            put(path, text.encode("utf-8", "surrogatepass"))
        return name

    def _load(self, name: str) -> str:
        try:
            text = (self._folder / name).read_bytes().decode("utf-8", "surrogatepass")
        except FileNotFoundError:
            raise ToolError("its text is no longer kept (settings edits.undo_days, edits.undo_bytes)") from None
        if digest(text) != name:
            raise ToolError("its kept text was damaged")
        return text


def put(path: Path, data: bytes) -> None:
    """Make a private file whole, or not at all. Not forced to the disk: it outlives the process, which is enough."""
    temporary = f"{path}.{secrets.token_hex(4)}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)
    os.replace(temporary, path)  # noqa: PTH105 - a string is quicker here, and this is on the way of every edit
