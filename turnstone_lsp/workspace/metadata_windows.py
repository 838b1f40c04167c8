"""Windows: ReplaceFileW keeps the ACL, attributes and streams of the replaced file. Not run."""

from __future__ import annotations

import os
import sys
import time

_ATTEMPTS = 10
_SHARING = {5, 32, 33}
"""Access denied, sharing violation, lock violation: a scanner or an indexer has the file open for a moment."""


def keep(source: int, target: int, state: os.stat_result) -> bool:
    """Nothing to carry over: `replace` keeps it."""
    del source, target, state
    return True


def sync(descriptor: int) -> None:
    """FlushFileBuffers, by os.fsync."""
    os.fsync(descriptor)


def replace(temporary: str, name: str, folder: int | None) -> None:
    """ReplaceFileW, tried again while another program holds the file open. Raises OSError."""
    del folder
    if sys.platform == "win32":
        import ctypes

        for attempt in range(_ATTEMPTS):
            if ctypes.windll.kernel32.ReplaceFileW(name, temporary, None, 1, None, None):
                return
            code = ctypes.GetLastError()
            if code not in _SHARING or attempt == _ATTEMPTS - 1:
                raise ctypes.WinError(code)
            time.sleep(0.05)
    raise NotImplementedError


def sync_folder(folder: int | None) -> None:
    """Windows has no such call."""
    del folder
