"""Desk: what the sessions of one connection share of their user: documents, editor, open questions."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from turnstone_lsp.config import folders
from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.dialog import Dialog
from turnstone_lsp.lsp.editor import LspEditor
from turnstone_lsp.lsp.prompts import Prompts
from turnstone_lsp.lsp.stream import UpdateStream
from turnstone_lsp.lsp.transcript import Transcript
from turnstone_lsp.workspace import uris
from turnstone_lsp.workspace.documents import OpenDocuments

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.lsp.connection import Connection
    from turnstone_lsp.lsp.prompts import Prompt
    from turnstone_lsp.workspace.proposals import Proposal

_KEPT_SECONDS = 7 * 86_400


class Desk:
    """The user's side of one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.documents = OpenDocuments()
        self.editor = LspEditor(connection, self.documents)
        self.stream = UpdateStream(connection)
        self.dialog = Dialog(connection)
        self.prompts = Prompts(self._prompt_changed, self._prompt_resolved)
        self.save_after_accept = True
        self._transcripts: dict[str, Transcript] = {}

    def transcript(self, session_id: str) -> Transcript:
        """A session's transcript."""
        if session_id not in self._transcripts:
            self._transcripts[session_id] = Transcript(self, session_id)
        return self._transcripts[session_id]

    def transcript_at(self, path: Path | None) -> Transcript | None:
        """The transcript that a document is."""
        return next((t for t in self._transcripts.values() if path is not None and t.path == path), None)

    def transcript_of(self, uri: str) -> Transcript | None:
        """The transcript of a URI that the client does not hold open."""
        path = uris.to_path(uri)
        return self.transcript_at(path.resolve()) if path is not None else None

    async def show_pending(self, session_id: str) -> None:
        """Open the transcript, where a session's open questions stand in full; say where, if it cannot be opened."""
        transcript = self.transcript(session_id)
        await transcript.write()
        if not await self.connection.show_document(transcript.uri):
            self.connection.show_message(f"turnstone waits for your answer in {transcript.path}")

    async def show_changes(self, proposal: Proposal) -> bool:
        """Open a pending change as a diff beside the work. False where the client cannot; never a reason to fail."""
        if not self.connection.client.show_document:
            return False
        path = await asyncio.to_thread(_write_diff, proposal.path.name, proposal.id, proposal.diff())
        return await self.connection.show_document(uris.from_path(path))

    async def show_text(self, name: str, text: str) -> bool:
        """Open a text as a document of ours."""
        path = await asyncio.to_thread(_write, name, text)
        return await self.connection.show_document(uris.from_path(path), focus=True)

    async def close(self) -> None:
        """Bring what the user can read up to date for the last time."""
        for transcript in self._transcripts.values():
            await transcript.close()

    def _prompt_changed(self, prompt: Prompt) -> None:
        self.transcript(prompt.session_id).refresh()
        self.connection.refresh_lenses()

    def _prompt_resolved(self, prompt: Prompt) -> None:
        speaks = self.connection.client.speaks
        if speaks.approvals or speaks.reviews:
            self.connection.notify(protocol.RESOLVED, {"promptId": prompt.id})


def _write_diff(name: str, ident: str, diff: str) -> Path:
    return _write(f"{name[:80]}-{ident}.diff", diff + "\n")


def _write(name: str, text: str) -> Path:
    """A document to be shown, private to the user; old ones go."""
    folder = folders.state_dir() / "shown"
    folder.mkdir(mode=0o700, exist_ok=True)
    horizon = time.time() - _KEPT_SECONDS
    for old in folder.iterdir():
        if old.stat().st_mtime < horizon:
            old.unlink(missing_ok=True)
    path = folder.resolve() / name
    path.write_text(text, "utf-8", "backslashreplace")
    return path
