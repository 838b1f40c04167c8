"""Text sync: LSP's notifications into OpenDocuments.

Full sync is what we ask for (a change costs a copy of the text); incremental changes are understood all the same. The
place of pygls' own workspace is taken, since it splits lines by str.splitlines, which moves every later edit after a
form feed, NEL or U+2028. What editors do and must not matter here: Neovim opens documents at version 0 and skips
versions, sends an empty file as one line end, and reloads by didClose and didOpen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnstone_lsp.workspace import uris
from turnstone_lsp.workspace.documents import Change

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lsprotocol import types

    from turnstone_lsp.workspace.documents import OpenDocuments


def opened(documents: OpenDocuments, params: types.DidOpenTextDocumentParams) -> None:
    """The editor opened a document: from now on its text is the truth."""
    document = params.text_document
    language = document.language_id
    documents.open(document.uri, document.text, document.version, getattr(language, "value", None) or str(language))


def changed(documents: OpenDocuments, params: types.DidChangeTextDocumentParams) -> None:
    """The document's text changed, wholly or in places."""
    changes = [_change(change) for change in params.content_changes]
    documents.change(params.text_document.uri, params.text_document.version, changes)


def _change(change: types.TextDocumentContentChangeEvent) -> Change:
    span = getattr(change, "range", None)
    if span is None:
        return Change(change.text)
    return Change(change.text, (span.start.line, span.start.character), (span.end.line, span.end.character))


def take_context(documents: OpenDocuments, params: dict[str, Any]) -> None:
    """What a client of our protocol knows of its documents besides their text: encoding, unsaved changes."""
    uri, encoding = params.get("uri"), params.get("encoding")
    if isinstance(uri, str) and isinstance(encoding, str) and (document := documents.by_uri(uri)) is not None:
        document.encoding = encoding
    unsaved = params.get("unsaved")
    if isinstance(unsaved, list):
        names = {name for name in unsaved if isinstance(name, str)}
        for document in documents:
            document.dirty = document.uri in names


def folder(uri: str | None) -> Path | None:
    """The real folder of a workspace URI; None when it is none of ours."""
    path = uris.to_path(uri) if uri else None
    return path.resolve() if path is not None else None


def roots_of(params: types.InitializeParams) -> list[Path]:
    """The workspace folders of the initialize request; none when the client names none."""
    named: Iterable[str | None]
    if params.workspace_folders:
        named = [f.uri for f in params.workspace_folders]
    elif params.root_uri:
        named = [params.root_uri]
    else:
        named = [uris.from_path(_absolute(params.root_path))] if params.root_path else []
    return [path for path in map(folder, named) if path is not None]


def _absolute(path: str) -> Path:
    from pathlib import Path

    return Path(path).absolute()


def roots_after(roots: list[Path], params: types.DidChangeWorkspaceFoldersParams) -> list[Path]:
    """The folders after a change, in order."""
    gone = {folder(f.uri) for f in params.event.removed}
    kept = [root for root in roots if root not in gone]
    added = [path for path in (folder(f.uri) for f in params.event.added) if path is not None and path not in kept]
    return kept + added
