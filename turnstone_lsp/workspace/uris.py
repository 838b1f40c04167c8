"""file: URIs, as editors send them, to paths and back."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

_LOCAL_SCHEMES = frozenset({"file", "vscode-remote"})
"""A server that runs on the remote side has the files of vscode-remote: URIs on its own disk."""


def to_path(uri: str) -> Path | None:
    """The path of a URI, or None when it names no file (untitled:, git:, http: ...)."""
    parts = urlsplit(uri)
    if parts.scheme not in _LOCAL_SCHEMES or not parts.path:
        return None
    path = unquote(parts.path, errors="surrogateescape")
    if os.name == "nt":  # not run: file:///c%3A/x and file://host/share
        path = f"//{parts.netloc}{path}" if parts.netloc and parts.scheme == "file" else path.lstrip("/")
    return Path(path)


def from_path(path: Path) -> str:
    """The file: URI of an absolute path."""
    text = path.as_posix()
    if not text.startswith("/"):  # a Windows drive
        text = f"/{text}"
    return "file://" + quote(os.fsencode(text), safe="/~:")
