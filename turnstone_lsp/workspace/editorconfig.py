"""The two things an .editorconfig says about a file's bytes: charset and end_of_line (https://editorconfig.org)."""

from __future__ import annotations

import contextlib
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.workspace import globs

if TYPE_CHECKING:
    from pathlib import Path

_CHARSETS = {
    "latin1": ("iso8859-1", b""),
    "utf-8": ("utf-8", b""),
    "utf-8-bom": ("utf-8", b"\xef\xbb\xbf"),
    "utf-16be": ("utf-16-be", b"\xfe\xff"),
    "utf-16le": ("utf-16-le", b"\xff\xfe"),
}
_ENDS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
_MOST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Declared:
    """What applies to one file. bom and eol are for new files; an existing file keeps its own."""

    encoding: str | None = None
    bom: bytes = b""
    eol: str | None = None


def declared_for(path: Path) -> Declared:
    """What the .editorconfig files above `path` say of it: the nearest file's last matching section wins."""
    values: dict[str, str] = {}
    for folder in path.parents:
        sections, root = _read(folder / ".editorconfig")
        relative = path.relative_to(folder).as_posix()
        found: dict[str, str] = {}
        for glob, pairs in sections:
            if globs.matches(glob, relative):
                found.update(pairs)
        values = found | values
        if root:
            break
    encoding, bom = _CHARSETS.get(values.get("charset", ""), (None, b""))
    return Declared(encoding, bom, _ENDS.get(values.get("end_of_line", "")))


def _read(path: Path) -> tuple[list[tuple[str, dict[str, str]]], bool]:
    """The sections of one file as (glob, pairs), and whether it says root = true. Not there or unreadable: nothing."""
    sections: list[tuple[str, dict[str, str]]] = []
    root = False
    with contextlib.suppress(OSError):
        state = path.stat()
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MOST_BYTES:
            return [], False
        for raw in path.read_text("utf-8-sig", "replace").splitlines():
            line = raw.strip()
            if line.startswith("[") and line.endswith("]"):
                sections.append((line[1:-1], {}))
            elif "=" in line and line[0] not in "#;":
                key, value = (part.strip().lower() for part in line.split("=", 1))
                if sections:
                    sections[-1][1][key] = value
                elif key == "root":
                    root = value == "true"
    return sections, root
