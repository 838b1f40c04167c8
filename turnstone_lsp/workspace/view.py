"""Workspace: files as the editor sees them. Every tool reads through it, so all tools see the same text."""

from __future__ import annotations

import asyncio
import hashlib
import os
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import codec, editorconfig, opening
from turnstone_lsp.workspace.declared import Declared
from turnstone_lsp.workspace.proposals import Staging
from turnstone_lsp.workspace.reads import ReadLog, digest
from turnstone_lsp.workspace.snapshot import Fingerprint, Snapshot, TextFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path
    from typing import Any

    from turnstone_lsp.config.settings import EditSettings
    from turnstone_lsp.workspace.documents import OpenDocument, OpenDocuments
    from turnstone_lsp.workspace.editor import Editor
    from turnstone_lsp.workspace.paths import Roots, Target

_INLINE_CHARACTERS = 64 * 1024
"""Up to here a hash is quicker than handing it to a thread."""


class Workspace:
    """One agent's view of the files: open buffers over disk, what it has read, and locks shared with other agents."""

    def __init__(self, roots: Roots, documents: OpenDocuments, editor: Editor, edits: EditSettings) -> None:
        self.roots = roots
        self.documents = documents
        self.editor = editor
        self.edits = edits
        self.reads = ReadLog()
        self.staging = Staging()
        """The pending changes of the batch that is being prepared."""
        self.after_edit: Callable[[Path], Coroutine[Any, Any, str]] | None = None
        """Asked after each applied edit for what the model should know (new diagnostics); set by a front end."""
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._told: dict[Path, tuple[object, ...]] = {}

    def child(self) -> Workspace:
        """The view of a sub-agent: the same files, documents and locks; reads of its own."""
        child = Workspace(self.roots, self.documents, self.editor, self.edits)
        child._locks = self._locks
        child.after_edit = self.after_edit
        return child

    def begin_batch(self) -> None:
        """The calls of one reply are prepared from here on: nothing is pending."""
        self.staging = Staging()

    async def resolve(self, text: str, *, write: bool = False) -> Target:
        """See Roots.resolve. Raises ToolError."""
        return await asyncio.to_thread(self.roots.resolve, text, write=write)

    def lock(self, path: Path) -> asyncio.Lock:
        """The lock of a real path, shared by parent and sub-agents (faults.md 45). Hold it from check to write."""
        lock = self._locks.get(path)
        if lock is None:
            lock = self._locks[path] = asyncio.Lock()
        return lock

    async def snapshot(self, path: Path) -> Snapshot:
        """The whole text of the file at a real path: the open document's, else the disk's, strictly decoded.

        A file that does not exist gives `exists=False`, empty text and the format that a new file gets.

        Raises:
            ToolError: It is binary, undecodable, unreadable, or not a regular file.
        """
        document = self.documents.get(path)
        if document is not None:
            return await _of_document(document, path)
        return await asyncio.to_thread(self.disk_snapshot, path)

    def disk_snapshot(self, path: Path) -> Snapshot:
        """What `snapshot` gives for a file that is not open. Blocks; for use in threads."""
        try:
            with opening.open_verified(path) as descriptor:
                data, state = _read_whole(descriptor)
        except FileNotFoundError:
            return Snapshot(path, "", self.new_format(path), Fingerprint(""), exists=False)
        except OSError as error:
            raise unreadable(self.roots.display(path), error) from None
        fingerprint = Fingerprint(
            hashlib.sha256(data).hexdigest(), state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
        )
        text, form = codec.decode(data, self.roots.display(path), self.declared_encoding(path))
        return Snapshot(path, text, form, fingerprint)

    @property
    def declared(self) -> Declared:
        """Encodings declared by the setting."""
        return Declared(self.edits.encodings, [str(root) for root in self.roots.paths])

    def declared_encoding(self, path: Path) -> str | None:
        """The encoding declared for a file outside of itself: by the setting, the editor, or .editorconfig."""
        document = self.documents.get(path)
        told = codec.normalise(document.encoding) if document and document.encoding else None
        return self.declared.encoding(str(path)) or told or editorconfig.declared_for(path).encoding

    def new_format(self, path: Path) -> TextFormat:
        """How a new file at this path is to be written."""
        found = editorconfig.declared_for(path)
        encoding = self.declared.encoding(str(path)) or found.encoding or "utf-8"
        return TextFormat(encoding, found.bom if encoding == found.encoding else b"", found.eol or "\n")

    async def changed_since_read(self) -> list[Path]:
        """Files whose text is no longer what this agent has seen. Each state of a file is reported once."""
        changed: list[Path] = []
        for path in self.reads:
            state = await asyncio.to_thread(self._state, path)
            record = self.reads.get(path)
            if record is None or self._told.get(path) == state:
                continue
            try:
                snapshot = await self.snapshot(path) if not self._unchanged(path, state) else None
                differs = snapshot is not None and self.reads.stale(snapshot) is not None
            except ToolError:
                differs = True
            self._told[path] = state
            if differs:
                changed.append(path)
        return changed

    def _unchanged(self, path: Path, state: tuple[object, ...]) -> bool:
        record = self.reads.get(path)
        if record is None or self.documents.get(path) is not None:
            return False
        seen = record.fingerprint
        return state == (seen.dev, seen.ino, seen.size, seen.mtime_ns)

    def _state(self, path: Path) -> tuple[object, ...]:
        document = self.documents.get(path)
        if document is not None:
            return (document.uri, document.version, hash(document.text))
        try:
            state = path.stat()
        except OSError:
            return ()
        return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


async def _of_document(document: OpenDocument, path: Path) -> Snapshot:
    text, version = document.text, document.version
    sha256 = digest(text) if len(text) <= _INLINE_CHARACTERS else await asyncio.to_thread(digest, text)
    form = TextFormat(document.encoding or "utf-8", eol=codec.dominant_eol(text))
    return Snapshot(path, text, form, Fingerprint(sha256, size=len(text)), version)


def _read_whole(descriptor: int) -> tuple[bytes, os.stat_result]:
    """All bytes and the state that they belong to; read again while another program is writing."""
    for _ in range(3):
        before = os.fstat(descriptor)
        os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read()
        after = os.fstat(descriptor)
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
            break
    return data, after


def unreadable(name: str, error: OSError) -> ToolError:
    """An operating system's refusal as a sentence."""
    return ToolError(f"{name} cannot be read: {error.strerror or error}.")
