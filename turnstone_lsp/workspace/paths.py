"""One path policy for every tool: roots, what a path from a model means, and what needs a question (C-04, C-07)."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import protected, uris, windows

if TYPE_CHECKING:
    from collections.abc import Iterable

_BIDI = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that reorder what a person sees of a name (C-18)."""


@dataclass(frozen=True, slots=True)
class Target:
    """A path as it was resolved: what it really is, and what must be asked before it is used.

    path: the real path, every component resolved; it need not exist. display: how to show it: relative to the
    session's folder when it is below it. inside: it is below a workspace root. link: the path as it was given, when
    a symbolic link leads from there to `path`. protected: why a write always asks. secret: why a read always asks.
    """

    path: Path
    display: str
    inside: bool
    link: Path | None = None
    protected: str | None = None
    secret: str | None = None

    def reasons(self, *, write: bool) -> tuple[str, ...]:
        """Why the user is asked even where the mode or a rule would allow it (a Plan's must_ask)."""
        reasons: list[str] = []
        if not self.inside:
            where = f"{self.link} leads to {self.path}, which" if self.link else str(self.path)
            reasons.append(f"{where} is outside the workspace")
        held = self.protected if write else self.secret
        if held:
            reasons.append(f"protected name: {held}" if write else held)
        return tuple(reasons)

    @property
    def shown(self) -> str:
        """`display`, with the real path behind a link."""
        return f"{self.link} -> {self.path}" if self.link else self.display


class Roots:
    """The workspace folders, which only the LSP client (or the command line) sets, and the session's folder.

    cwd is fixed when the session begins (faults.md 119): relative paths keep their meaning when the user switches
    editors or adds folders.
    """

    def __init__(self, folders: Iterable[Path], cwd: Path | None = None) -> None:
        self._paths = _real(folders)
        first = self._paths[0] if self._paths else Path.cwd()
        self.cwd = Path(os.path.realpath(cwd or first))
        if not self._paths:
            self._paths = (self.cwd,)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The roots' real paths, in the client's order."""
        return self._paths

    @property
    def key(self) -> Path:
        """What the workspace is remembered by: its first root."""
        return self._paths[0]

    def replace(self, folders: Iterable[Path]) -> None:
        """Take the client's new list of folders (didChangeWorkspaceFolders). An empty one leaves cwd as the root."""
        self._paths = _real(folders) or (self.cwd,)

    def contains(self, path: Path) -> bool:
        """Whether a real path is a root or below one, compared component by component."""
        parts = _cased(path)
        return any(parts[: len(root)] == root for root in map(_cased, self._paths))

    def root_of(self, path: Path) -> Path | None:
        """The innermost root that holds a real path."""
        parts = _cased(path)
        holding = [root for root in self._paths if parts[: len(root.parts)] == _cased(root)]
        return max(holding, key=lambda root: len(root.parts), default=None)

    def display(self, path: Path) -> str:
        """How a real path is shown: relative below the session's folder, else absolute."""
        shown, above = str(path), f"{self.cwd}{os.sep}"
        return shown.removeprefix(above) if path != self.cwd else "."

    def resolve(self, text: str, *, write: bool = False) -> Target:
        """The file or folder that a path from a model, or a file: URI, means.

        Relative paths are tried in the session's folder and in every root; a first component that is a root's name
        means that root. Blocks the thread for a few lstat calls.

        Raises:
            ToolError: The text is no usable path, two roots have a file of that name, or no tool may touch it.
        """
        given = self._locate(_checked(text), text)
        real = Path(os.path.realpath(given))
        if real.is_symlink():
            raise ToolError(f"path: {text} is a symbolic link that leads back to itself.")
        why = protected.blocked(real, write=write)
        if why:
            raise ToolError(f"path: {text} cannot be {'written' if write else 'read'} by any tool: {why}.")
        return Target(
            path=real,
            display=self.display(real),
            inside=self.contains(real) or (not write and protected.is_own_output(real)),
            link=given if given != real and os.path.lexists(given) and _links(given, real) else None,
            protected=protected.write_reason(real) or (protected.write_reason(given) if given != real else None),
            secret=protected.read_reason(real) or (protected.read_reason(given) if given != real else None),
        )

    def _locate(self, path: Path, text: str) -> Path:
        """The absolute path, `..` kept: only the file system knows where a link's parent is."""
        if path.is_absolute():
            return path
        candidates = [self.cwd / path]
        if len(self._paths) > 1 or self.cwd not in self._paths:
            candidates += [root / path for root in self._paths]
        candidates += [root.joinpath(*path.parts[1:]) for root in self._paths if path.parts[:1] == (root.name,)]
        found = {Path(os.path.realpath(c)): c for c in candidates if os.path.lexists(c)}
        if len(found) > 1 and not (self.cwd not in self._paths and os.path.lexists(candidates[0])):
            listed = " and ".join(str(real) for real in found)
            raise ToolError(f"path: {text} is ambiguous: {listed} exist. Give the absolute path of the one you mean.")
        if found:
            return next(iter(found.values()))
        return next((c for c in candidates if c.parent.is_dir()), candidates[0])


def _real(folders: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(Path(os.path.realpath(folder)) for folder in folders))


@lru_cache(maxsize=4_096)
def _cased(path: Path) -> tuple[str, ...]:
    return Path(os.path.normcase(path)).parts


def _links(given: Path, real: Path) -> bool:
    """Whether the difference between the two is a link below the place where they part, not just `..` or `.`."""
    return os.path.normpath(given) != str(real)


def _checked(text: str) -> Path:
    """The text as a path with ~ and file: expanded. Raises ToolError for what can be no path."""
    bad = (
        None
        if text.isascii() and text.isprintable()
        else next((c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in _BIDI), None)
    )
    if bad is not None:
        raise ToolError(f"path: {text!a} holds the control character U+{ord(bad):04X}; give the plain path.")
    if not text.strip():
        raise ToolError("path: it is empty; give the path of a file.")
    if text.startswith(("file:", "vscode-remote:")):
        from_uri = uris.to_path(text)
        if from_uri is None or "\0" in str(from_uri):
            raise ToolError(f"path: {text} is not a usable file: URI; give the path itself.")
        return from_uri
    if os.name == "nt":
        why = windows.refuse(text)
        if why:
            raise ToolError(f"path: {text} cannot be used: {why}.")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ToolError(f"path: {text} names a home folder that does not exist; give the absolute path.") from None
