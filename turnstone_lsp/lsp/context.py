"""Where the user is: a client's own description, or what LSP says, as the engine's EditorContext."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnstone_lsp.config import folders
from turnstone_lsp.workspace import uris

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from turnstone_lsp.agent.prompt import Diagnostic, EditorContext, Selection
    from turnstone_lsp.workspace.documents import OpenDocuments

SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


def context_of(params: dict[str, Any], documents: OpenDocuments) -> EditorContext | None:
    """From a Context record, or `{uri, range, diagnostics}`. Clients err: malformed parts are left out.

    What the client does not say is filled in from its open documents. None when there is nothing to say.
    """
    from turnstone_lsp.agent.prompt import EditorContext

    uri = field(params, "uri", str, "")
    span = field(params, "range", dict) or field(params, "selection", dict)
    visible = field(params, "visibleRange", dict)
    problems = [_diagnostic(raw, uri) for raw in field(params, "diagnostics", list, []) if isinstance(raw, dict)]
    open_uris = field(params, "openFiles", list) or [d.uri for d in documents if not is_ours(d.path)]
    context = EditorContext(
        uri=uri,
        path=_path(uri),
        language_id=field(params, "languageId", str) or _language(uri, documents),
        selection=selection(uri, span, documents) if span else None,
        visible=_lines(visible) if visible else None,
        open_files=tuple(_path(u) for u in open_uris if isinstance(u, str)),
        diagnostics=tuple(problem for problem in problems if problem),
    )
    return context if uri or context.open_files or context.diagnostics else None


def is_ours(path: Path | None) -> bool:
    """A transcript or diff of ours, which says nothing about the user's work."""
    return path is not None and path.is_relative_to(folders.state_dir())


def _language(uri: str, documents: OpenDocuments) -> str:
    document = documents.by_uri(uri)
    return document.language_id if document else ""


def selection(uri: str, span: dict[str, Any], documents: OpenDocuments) -> Selection | None:
    """The selected text of an open document; None for an empty selection."""
    from turnstone_lsp.agent.prompt import Selection

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
    from turnstone_lsp.agent.prompt import Diagnostic

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


def field(params: Mapping[str, Any], name: str, kind: type, default: Any = None) -> Any:
    """A field of a client's object if it is of its kind, else the default."""
    value = params.get(name)
    return value if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) else default
