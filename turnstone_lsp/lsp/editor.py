"""The editor as the engine sees it: changes of open documents by versioned workspace/applyEdit."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.edge import ClientError
from turnstone_lsp.workspace import hunks

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.lsp.app import App
    from turnstone_lsp.workspace.documents import OpenDocument
    from turnstone_lsp.workspace.text import Units

log = logging.getLogger(__name__)

_APPLY_SECONDS = 10.0
_PREVIEW_SECONDS = None
"""A preview waits for a person."""


class LspEditor:
    """Implements workspace.editor.Editor."""

    def __init__(self, app: App) -> None:
        self._app = app

    def can_apply(self) -> str | None:
        """See Editor."""
        if self._app.client.can_apply_edit:
            return None
        return "this editor does not let a language server change documents (workspace/applyEdit)"

    async def apply(self, document: OpenDocument, base: str, result: str, label: str) -> str | None:
        """See Editor. The edits are the smallest whole-line changes, in one step for undo."""
        if document.text != base:
            return "the document has changed"
        edits = text_edits(document, base, result, self._app.documents.units)
        return await self._send(document, edits, label)

    async def preview(self, document: OpenDocument, base: str, result: str, label: str) -> str | None:
        """Send the change as one that the user confirms hunk by hunk in the editor's own preview."""
        annotation = "turnstone"
        edits = [
            {**edit, "annotationId": annotation}
            for edit in text_edits(document, base, result, self._app.documents.units)
        ]
        about = {annotation: {"label": label, "needsConfirmation": True, "description": "proposed by turnstone"}}
        return await self._send(document, edits, label, about)

    async def _send(
        self, document: OpenDocument, edits: list[dict[str, Any]], label: str, annotations: dict[str, Any] | None = None
    ) -> str | None:
        if self._app.client.document_changes:
            # A document that Neovim has just opened has version 0, which its client takes for "no version".
            version = document.version or None
            identifier = {"uri": document.uri, "version": version}
            edit: dict[str, Any] = {"documentChanges": [{"textDocument": identifier, "edits": edits}]}
        else:
            edit = {"changes": {document.uri: edits}}
        if annotations:
            edit["changeAnnotations"] = annotations
        seconds = _PREVIEW_SECONDS if annotations else _APPLY_SECONDS
        try:
            answer = await self._app.protocol.ask(
                "workspace/applyEdit", {"label": label, "edit": edit}, seconds=seconds
            )
        except ClientError as error:
            return str(error)
        said = answer if isinstance(answer, dict) else {}
        return None if said.get("applied") is True else str(said.get("failureReason") or "the editor refused the edit")

    async def save(self, path: Path) -> bool:
        """See Editor. LSP has no request for saving; clients that speak our protocol save by themselves."""
        document = self._app.documents.get(path)
        if document is None or not self._app.client.speaks.reviews:
            return False
        try:
            await self._app.protocol.ask(protocol.SAVE, {"uri": document.uri})
        except ClientError as error:
            log.info("the editor did not save %s: %s", path, error)
            return False
        await asyncio.sleep(0)
        return True


def text_edits(document: OpenDocument, base: str, result: str, units: Units) -> list[dict[str, Any]]:
    """The change from base to result as LSP TextEdits, in the client's position units."""
    edits = []
    for hunk in hunks.between(base, result):
        begin, end = document.table.position(hunk.offset, units), document.table.position(hunk.offset_end, units)
        edits.append(
            {
                "range": {
                    "start": {"line": begin[0], "character": begin[1]},
                    "end": {"line": end[0], "character": end[1]},
                },
                "newText": "".join(hunk.new),
            }
        )
    return edits
