"""Before- and after-images of files: content-addressed, private, as deltas where whole copies would be big."""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import TYPE_CHECKING, Any

from turnstone_lsp.errors import ToolError

if TYPE_CHECKING:
    from pathlib import Path

DELTA_BYTES = 8 * 1024 * 1024
"""Above this an image is kept as what differs from its counterpart."""


def sha256(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


class Images:
    """A folder of contents by their hash."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def keep(self, data: bytes) -> str:
        """Store a content once; its name."""
        name = sha256(data)
        path = self._folder / name
        if not path.exists():
            temporary = path.with_name(f".{name}.{secrets.token_hex(4)}")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        return name

    def load(self, name: str) -> bytes:
        """A stored content. Raises ToolError when it has expired."""
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            raise ToolError("What this turn changed is no longer kept (edits.undo_days, edits.undo_bytes).") from None

    def pair(self, before: bytes, after: bytes) -> dict[str, Any]:
        """Both images of a change, as a record that `side` reads."""
        if max(len(before), len(after)) <= DELTA_BYTES:
            return {"before": self.keep(before), "after": self.keep(after)}
        head = _common(before, after)
        tail = _common_tail(before[head:], after[head:])
        return {
            "head": head,
            "tail": tail,
            "old": self.keep(before[head : len(before) - tail]),
            "new": self.keep(after[head : len(after) - tail]),
        }

    def side(self, record: dict[str, Any], wanted: str, present: bytes) -> bytes:
        """The image "before" or "after" of a change; `present` is the file's content, which is the other one."""
        if "head" not in record:
            return self.load(record[wanted])
        middle = self.load(record["old" if wanted == "before" else "new"])
        return present[: record["head"]] + middle + present[len(present) - record["tail"] :]

    def total(self) -> int:
        """Bytes that are kept."""
        return sum(path.stat().st_size for path in self._folder.iterdir())

    def drop_all_but(self, names: set[str]) -> None:
        """Remove what no record names any more."""
        for path in self._folder.iterdir():
            if path.name not in names and not path.name.startswith("."):
                path.unlink(missing_ok=True)


def _common(a: bytes, b: bytes) -> int:
    """Length of the common beginning, by halving: comparing slices is much faster than bytes one by one."""
    low, high = 0, min(len(a), len(b))
    x, y = memoryview(a), memoryview(b)
    while low < high:
        middle = (low + high + 1) // 2
        if x[low:middle] == y[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_tail(a: bytes, b: bytes) -> int:
    low, high = 0, min(len(a), len(b))
    x, y = memoryview(a), memoryview(b)
    while low < high:
        middle = (low + high + 1) // 2
        if x[len(a) - middle : len(a) - low] == y[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle - 1
    return low
