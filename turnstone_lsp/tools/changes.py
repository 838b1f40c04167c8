"""Which files a command changed: known by comparing stat identities before and after, within a bound.

Looked at: the files that the agent has read, and the workspace's files from the top down, as many as MAX_FILES and
MAX_SECONDS allow; version control data, dependencies and caches are left out. A change beyond the bound is not seen.
"""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_FILES = 5_000
MAX_SECONDS = 0.25
MAX_REPORTED = 200
_SKIPPED = frozenset(
    {
        *(".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", "target"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".cache", ".gradle", ".next", ".terraform", ".eggs"),
    }
)

State = tuple[int, int, int]
"""(inode, size, mtime in ns)."""


class Watch:
    """The files' states when it was made. Blocks; for use in threads."""

    def __init__(self, roots: Iterable[Path], also: Iterable[Path] = ()) -> None:
        self._roots = tuple(roots)
        self._also = tuple(also)[-MAX_FILES:]
        self._before, self._whole = self._look()

    def changed(self) -> tuple[Path, ...]:
        """Files that differ, appeared or went since then, at most MAX_REPORTED."""
        after, whole = self._look()
        new = after.keys() - self._before.keys() if self._whole else set()
        gone = (
            self._before.keys() - after.keys()
            if whole
            else {p for p in self._also if p in self._before and p not in after}
        )
        different = {path for path in after.keys() & self._before.keys() if after[path] != self._before[path]}
        return tuple(sorted(new | gone | different)[:MAX_REPORTED])

    def _look(self) -> tuple[dict[Path, State], bool]:
        """The states found, and whether the bound was not reached."""
        states: dict[Path, State] = {}
        for path in self._also:
            try:
                state = path.stat()
            except OSError:
                continue
            states[path] = (state.st_ino, state.st_size, state.st_mtime_ns)
        deadline = time.monotonic() + MAX_SECONDS
        folders = deque(self._roots)
        while folders:
            if len(states) >= MAX_FILES or time.monotonic() > deadline:
                return states, False
            _list(folders.popleft(), states, folders)
        return states, True


def _list(folder: Path, states: dict[Path, State], folders: deque[Path]) -> None:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED:
                        folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    state = entry.stat(follow_symlinks=False)
                    states[Path(entry.path)] = (state.st_ino, state.st_size, state.st_mtime_ns)
    except OSError:
        return
