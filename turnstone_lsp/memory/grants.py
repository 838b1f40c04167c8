"""Approvals and trust that outlast a session, bound to what they were given for (C-03)."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from turnstone_lsp.memory import query

if TYPE_CHECKING:
    from turnstone_lsp.memory.database import Database

GrantKind = Literal["tool", "command", "prefix", "path", "host"]


@dataclass(frozen=True, slots=True)
class Grant:
    """An "always": this tool, this pattern, and the files it was given for.

    kind "command": `pattern` is the exact command line; "prefix": `argv` is an argv prefix that each simple command
    of a line must match; "path": `pattern` is a real path, or FOLDER/** for all below it; "host": the host itself;
    "tool": any call of the tool.
    bound: (real path, SHA-256) of the workspace programs that the approval let run; when one changed it is void.
    """

    tool: str
    kind: GrantKind
    pattern: str = ""
    argv: tuple[str, ...] = ()
    bound: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """As shown to the user: "bash: git status *"."""
        return f"{self.tool}: {self.pattern or 'every call'}"


def add(db: Database, grant: Grant, workspace: str = "") -> None:
    """Keep a grant for a workspace (its real path), or for the user everywhere ("")."""
    body = query.clean(json.dumps(asdict(grant), sort_keys=True))
    db.run(
        "INSERT INTO grants(workspace, body, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (query.clean(workspace), body, time.time()),
    )


def listed(db: Database, workspace: str = "") -> list[tuple[int, Grant]]:
    """The user's grants and those of the workspace, with the ids by which they are revoked."""
    rows = db.rows("SELECT id, body FROM grants WHERE workspace IN ('', ?) ORDER BY id", (query.clean(workspace),))
    return [(row_id, _grant(body)) for row_id, body in rows]


def revoke(db: Database, grant_id: int) -> bool:
    """Take a grant back; False when there is none with that id."""
    return db.run("DELETE FROM grants WHERE id = ?", (grant_id,)) > 0


def _grant(body: str) -> Grant:
    fields = json.loads(body)
    bound = tuple((path, digest) for path, digest in fields["bound"])
    return Grant(fields["tool"], fields["kind"], fields["pattern"], tuple(fields["argv"]), bound)


def trust(db: Database, folder: Path) -> None:
    """Trust a folder: this one, at this real path, with this inode. Folders in it and links to it gain nothing."""
    real, inode = _identity(folder)
    db.run(
        "INSERT INTO trust VALUES (?, ?, ?) ON CONFLICT(path) DO UPDATE SET inode = excluded.inode,"
        " created = excluded.created",
        (real, inode, time.time()),
    )


def untrust(db: Database, folder: Path) -> None:
    """Take trust back."""
    db.run("DELETE FROM trust WHERE path = ?", (query.clean(os.path.realpath(folder)),))


def trusted(db: Database, folder: Path) -> bool:
    """Whether the folder was trusted and is still the same one (a new clone at the old path is not)."""
    try:
        real, inode = _identity(folder)
    except OSError:
        return False
    return db.row("SELECT 1 FROM trust WHERE path = ? AND inode = ?", (real, inode)) is not None


def _identity(folder: Path) -> tuple[str, int]:
    """The folder's real path and its inode, as the signed 64-bit number that SQLite holds."""
    real = Path(os.path.realpath(folder))
    inode = real.stat().st_ino & (2**64 - 1)
    return query.clean(str(real)), inode - 2**64 if inode >= 2**63 else inode
