"""Files that keep the full text of a long output, private to the user, where read_file finds them."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from typing import TYPE_CHECKING

from turnstone_lsp.config import folders

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 10 * 1024 * 1024
"""Bytes of one file; what comes after is counted and let go."""
_KEEP_SECONDS = 7 * 24 * 3600


class Spool:
    """One growing file with mode 0600. Writes block: call them in a thread. Closing waits for a write under way."""

    def __init__(self, name: str) -> None:
        folder = folders.output_dir()
        _prune(folder)
        safe = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:64] or "output"
        self.path = folder / f"{safe}-{time.time_ns():x}.txt"
        self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._lock = threading.Lock()
        self._size = 0

    @property
    def full(self) -> bool:
        """True when LIMIT is reached."""
        return self._size >= LIMIT

    def write(self, text: str) -> None:
        """Append; what does not fit is left out, and a full disk is no error of the command."""
        data = text.encode("utf-8", "backslashreplace")
        with self._lock, contextlib.suppress(OSError):
            room = LIMIT - self._size
            if self._fd >= 0 and room > 0:
                self._size += os.write(self._fd, data[:room])

    def close(self) -> None:
        """Close the file; it stays."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = -1


def _prune(folder: Path) -> None:
    horizon = time.time() - _KEEP_SECONDS
    for old in folder.iterdir():
        with contextlib.suppress(OSError):
            if old.stat().st_mtime < horizon:
                old.unlink()
