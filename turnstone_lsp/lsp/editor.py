"""The editor as the engine sees it: open documents are changed through it alone, and what it answers is not believed.

A client of our protocol gets `turnstone/applyEdit`, any other one workspace/applyEdit with the document's version. The
caller (`workspace/applying.py`) compares the synced text afterwards, whatever the answer was.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.edge import ClientError
from turnstone_lsp.lsp.encoding import hunk_json
from turnstone_lsp.lsp.inverse import without_ours
from turnstone_lsp.workspace import hunks
from turnstone_lsp.workspace.text import LineTable

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.lsp.connection import Connection
    from turnstone_lsp.workspace.documents import OpenDocument, OpenDocuments
    from turnstone_lsp.workspace.text import Units

log = logging.getLogger(__name__)

PERSON_SECONDS = 24 * 3600.0
"""Transport deadline of a request that a person answers: a preview, a question."""
_SYNC_SECONDS = 2.0
"""How long a change may take to come back as the synced text (Neovim waits 150 ms, others up to a second)."""
_KEEP, _TAKE_BACK = "Keep the text as it is", "Take turnstone's change back"


class LspEditor:
    """Implements workspace.editor.Editor."""

    def __init__(self, connection: Connection, documents: OpenDocuments) -> None:
        self._connection = connection
        self._documents = documents

    def can_apply(self) -> str | None:
        """See Editor."""
        client = self._connection.client
        if client.can_apply_edit or client.speaks.reviews:
            return None
        return "this editor does not let a language server change open documents (workspace/applyEdit)"

    async def apply(self, document: OpenDocument, base: str, result: str, label: str) -> str | None:
        """See Editor. Whole-line changes, as few as there are, in one request and so in one step of undo."""
        unchecked = document.version == 0 and not self._connection.client.speaks.reviews
        reason = await self.change(document, base, result, label)
        if unchecked and reason is None:
            self._connection.spawn(self._watch_unchecked(document, base, result))
        return reason

    async def change(self, document: OpenDocument, base: str, result: str, label: str) -> str | None:
        """The same for a document in which nothing can be lost (the transcript)."""
        if document.text != base:
            return "the document has changed"
        if self._connection.client.speaks.reviews:
            return await self._apply_richly(document, base, result, label)
        return await self._apply_edit(document, text_edits(base, result, self._documents.units), label)

    async def preview(self, document: OpenDocument, base: str, result: str, label: str) -> str | None:
        """Send the change as one that the user confirms place by place in the editor's own preview."""
        edits = [{**edit, "annotationId": "turnstone"} for edit in text_edits(base, result, self._documents.units)]
        about = {"label": label, "needsConfirmation": True, "description": "proposed by turnstone"}
        return await self._apply_edit(document, edits, label, {"turnstone": about})

    async def save(self, path: Path) -> bool:
        """See Editor. LSP has no request for it; clients of our protocol have."""
        document = self._documents.get(path)
        if document is None or not self._connection.client.speaks.reviews:
            return False
        try:
            answer = await self._connection.ask(protocol.SAVE_DOCUMENT, {"uri": document.uri})
        except ClientError as error:
            log.info("the editor did not save %s: %s", path, error)
            return False
        return isinstance(answer, dict) and answer.get("saved") is True

    async def _apply_richly(self, document: OpenDocument, base: str, result: str, label: str) -> str | None:
        params = {
            "uri": document.uri,
            "version": document.version,
            "baseText": base,
            "newText": result,
            "hunks": [hunk_json(h) for h in hunks.between(base, result)],
            "label": label,
        }
        try:
            answer = await self._connection.ask(protocol.APPLY_EDIT, params)
        except ClientError as error:
            return str(error)
        return _reason(answer, "reason")

    async def _apply_edit(
        self, document: OpenDocument, edits: list[dict[str, Any]], label: str, annotations: dict[str, Any] | None = None
    ) -> str | None:
        edit: dict[str, Any]
        if self._connection.client.document_changes:
            identifier = {"uri": document.uri, "version": document.version}
            edit = {"documentChanges": [{"textDocument": identifier, "edits": edits}]}
        else:
            edit = {"changes": {document.uri: edits}}
        if annotations:
            edit["changeAnnotations"] = annotations
        params = {"label": label, "edit": edit}
        seconds = {"seconds": PERSON_SECONDS} if annotations else {}
        try:
            answer = await self._connection.ask("workspace/applyEdit", params, **seconds)
        except ClientError as error:
            return str(error)
        return _reason(answer, "failureReason")

    async def _watch_unchecked(self, document: OpenDocument, base: str, result: str) -> None:
        """A document at version 0 (just opened in Neovim) is not checked by its editor: the user's typing may have
        come first, and the change went on top of it. Then say so, and offer the way back.
        """
        now = await self._settled(document, base, result)
        back = without_ours(base, result, now) if now not in (base, result) else None
        if back is None:
            return
        message = f"{document.name} changed while turnstone's edit was on its way. Look at the text there."
        params = {"type": 2, "message": message, "actions": [{"title": _KEEP}, {"title": _TAKE_BACK}]}
        try:
            answer = await self._connection.ask("window/showMessageRequest", params, seconds=PERSON_SECONDS)
        except ClientError:
            return
        current = self._documents.by_uri(document.uri)
        if isinstance(answer, dict) and answer.get("title") == _TAKE_BACK and current is not None:
            again = without_ours(base, result, current.text)
            if again is not None:
                edits = text_edits(current.text, again, self._documents.units)
                await self._apply_edit(current, edits, "turnstone: take back")

    async def _settled(self, document: OpenDocument, base: str, result: str) -> str:
        """The text once it is the result, or another text than the base, or time is up."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _SYNC_SECONDS
        while True:
            text = (self._documents.by_uri(document.uri) or document).text
            if text == result or loop.time() >= end or (text != base and loop.time() >= end - _SYNC_SECONDS / 2):
                return text
            await asyncio.sleep(0.02)


def _reason(answer: Any, field: str) -> str | None:
    if isinstance(answer, dict) and answer.get("applied") is True:
        return None
    why = answer.get(field) if isinstance(answer, dict) else None
    return str(why or "the editor refused the edit")


def text_edits(base: str, result: str, units: Units) -> list[dict[str, Any]]:
    """The change from base to result as LSP TextEdits of whole lines, in the client's position units."""
    table = LineTable(base)

    def place(offset: int) -> dict[str, int]:
        line, character = table.position(offset, units)
        return {"line": line, "character": character}

    return [
        {"range": {"start": place(h.offset), "end": place(h.offset_end)}, "newText": "".join(h.new)}
        for h in hunks.between(base, result)
    ]
