"""Every tool result is cut to a size that fits: head and tail stay, the whole is kept in a file for read_file."""

from __future__ import annotations

import os
import re
import time

from turnstone_lsp.config import folders

FLOOR = 2_000
"""Characters that are shown however small the limit is."""
_KEEP_SECONDS = 7 * 24 * 3600


def cap(text: str, limit: int, call_id: str) -> str:
    """`text` unchanged when it fits, else its head and tail with a line between that says what was left out, where."""
    limit = max(limit, FLOOR)
    if len(text) <= limit:
        return text
    path = _keep(text, call_id)
    head = limit * 2 // 3
    tail = limit - head
    left = len(text) - limit
    return f"{text[:head]}\n[... {left:,} characters left out; the whole is in {path} (read_file) ...]\n{text[-tail:]}"


def _keep(text: str, call_id: str) -> str:
    folder = folders.output_dir()
    horizon = time.time() - _KEEP_SECONDS
    for old in folder.iterdir():
        if old.stat().st_mtime < horizon:
            old.unlink(missing_ok=True)
    path = folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', call_id)[:64]}-{time.time_ns():x}.txt"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    return str(path)
