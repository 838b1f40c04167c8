"""What one "always" stores, for how long it holds, and when it is void (C-03, faults 77).

A stored approval names one tool and one pattern. A program or script of the workspace that it lets run is bound by
its content: when the file changes, the question is asked again.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.agent.options import RUNNERS, WRAPPERS, program
from turnstone_lsp.agent.rules import words
from turnstone_lsp.memory.grants import Grant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turnstone_lsp.agent.ui import Scope
    from turnstone_lsp.memory.store import Store
    from turnstone_lsp.tools.base import Plan, Subject

_GONE = "missing"


def grant_for(tool: str, plan: Plan) -> Grant | None:
    """What an "always" for this call would store; None where it is not offered: blocked, doubtful, or no pattern."""
    subject = plan.subject
    if subject is None or subject.pattern is None or plan.block or plan.must_ask:
        return None
    if subject.kind == "command":
        return _command_grant(tool, subject)
    if subject.kind == "path":
        return Grant(tool, "path", subject.pattern)
    if subject.kind == "host":
        return Grant(tool, "host", subject.text)
    return Grant(tool, "tool")


def _command_grant(tool: str, subject: Subject) -> Grant:
    """An argv prefix where the pattern is one that is safe to store, else the exact line."""
    pattern = words(subject.pattern or "")
    prefix = pattern[:-1]
    if (
        pattern[-1:] == ("*",)
        and prefix
        and subject.prefixes
        and all(argv[: len(prefix)] == prefix for argv in subject.prefixes)
        and program(prefix) not in WRAPPERS
        and not (len(prefix) == 1 and program(prefix) in RUNNERS)
    ):
        return Grant(tool, "prefix", subject.pattern or "", prefix)
    return Grant(tool, "command", subject.text)


def bound_files(grant: Grant, argvs: Iterable[Sequence[str]], cwd: Path) -> tuple[Path, ...]:
    """The files whose content decides what the approved command does: programs named by a path, scripts of runners."""
    found: dict[Path, None] = {}
    for argv in [grant.argv] if grant.kind == "prefix" else argvs:
        if not argv:
            continue
        candidates = [argv[0]] if "/" in argv[0] else []
        if program(argv) in RUNNERS:
            candidates += [w for w in argv[1:] if not w.startswith("-")][:1]
        for word in candidates:
            path = (cwd / Path(word).expanduser()).resolve()
            if path.is_file():
                found[path] = None
    return tuple(found)


def digest(path: Path) -> str:
    """SHA-256 of a file, or a mark when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return _GONE


def _bind(grant: Grant, argvs: Iterable[Sequence[str]], cwd: Path) -> Grant:
    if grant.kind not in {"prefix", "command"}:
        return grant
    return replace(grant, bound=tuple((str(p), digest(p)) for p in bound_files(grant, argvs, cwd)))


def _in_force(grants: Iterable[Grant]) -> list[Grant]:
    return [g for g in grants if all(digest(Path(path)) == known for path, known in g.bound)]


class Approvals:
    """The approvals that hold in one session: its own, the workspace's and the user's."""

    def __init__(self, store: Store, workspace: str, cwd: Path) -> None:
        self._store = store
        self._workspace = workspace
        self._cwd = cwd
        self._session: list[Grant] = []

    async def current(self) -> list[Grant]:
        """The grants in force now; those bound to a file that changed since are left out."""
        stored = [grant for _, grant in await self._store.grants(self._workspace)]
        grants = self._session + stored
        return await asyncio.to_thread(_in_force, grants) if any(g.bound for g in grants) else grants

    async def remember(self, tool: str, plan: Plan, scope: Scope) -> Grant | None:
        """Keep an approval for its scope; what was stored, or None ("once", or a call without an "always")."""
        grant = grant_for(tool, plan)
        if grant is None or scope == "once":
            return None
        argvs = plan.subject.prefixes if plan.subject else ()
        grant = await asyncio.to_thread(_bind, grant, argvs, self._cwd)
        if scope == "session":
            self._session.append(grant)
        else:
            await self._store.grant(grant, self._workspace if scope == "workspace" else "")
        return grant
