"""Where the user is: a client's own description, or what LSP says, as the engine's EditorContext."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.prompt import Diagnostic, EditorContext, Selection
from turnstone_lsp.lsp.protocol import field
from turnstone_lsp.workspace import uris

if TYPE_CHECKING:
    from turnstone_lsp.workspace.documents import OpenDocuments

SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


def context_of(params: dict[str, Any], documents: OpenDocuments) -> EditorContext | None:
    """From `{uri, range | selection, visibleRange, openFiles, diagnostics}`; malformed parts are left out."""
    uri = field(params, "uri", str, "")
    span = field(params, "range", dict) or field(params, "selection", dict)
    visible = field(params, "visibleRange", dict)
    diagnostics = field(params, "diagnostics", list, [])
    if not uri and not diagnostics:
        return None
    return EditorContext(
        uri=uri,
        path=_path(uri),
        language_id=field(params, "languageId", str, ""),
        selection=selection(uri, span, documents) if span else None,
        visible=_lines(visible) if visible else None,
        open_files=tuple(_path(u) for u in field(params, "openFiles", list, []) if isinstance(u, str)),
        diagnostics=tuple(d for raw in diagnostics if isinstance(raw, dict) and (d := _diagnostic(raw, uri))),
    )


def selection(uri: str, span: dict[str, Any], documents: OpenDocuments) -> Selection | None:
    """The selected text of an open document; None for an empty selection."""
    document = documents.by_uri(uri)
    start, end = _position(span.get("start")), _position(span.get("end"))
    if document is None or start is None or end is None or start == end:
        return None
    table = document.table
    begin, finish = table.offset(*start, documents.units), table.offset(*end, documents.units)
    text = document.text[begin:finish]
    if not text:
        return None
    last = end[0] if end[1] or end[0] == start[0] else end[0] - 1
    return Selection(text, start[0] + 1, last + 1)


def _position(value: object) -> tuple[int, int] | None:
    if not isinstance(value, dict):
        return None
    line, character = field(value, "line", int), field(value, "character", int)
    return (line, character) if line is not None and character is not None and line >= 0 else None


def _lines(span: dict[str, Any]) -> tuple[int, int] | None:
    start, end = _position(span.get("start")), _position(span.get("end"))
    return (start[0] + 1, end[0] + 1) if start and end else None


def _diagnostic(raw: dict[str, Any], uri: str) -> Diagnostic | None:
    message = field(raw, "message", str)
    span = field(raw, "range", dict, {})
    start = _position(span.get("start"))
    if message is None:
        return None
    return Diagnostic(
        _path(field(raw, "uri", str, uri)),
        start[0] + 1 if start else 1,
        SEVERITIES.get(field(raw, "severity", int, 1), "error"),
        message,
        field(raw, "source", str, ""),
    )


def _path(uri: str) -> str:
    path = uris.to_path(uri)
    return str(path) if path else uri
