"""Records of writes under way, so that what a killed process left is put right at the next start.

A record is a file in our state folder, locked by the process that made it: one whose lock can be taken belongs to
nobody any more. It names the temporary file to remove and, for a write in place, holds both contents: the file is
then found old, new, or torn between the two, and a torn one is finished.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.config import folders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

if sys.platform != "win32":
    import fcntl

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class InPlace:
    """A write in place: the file as it was, and as it is to be."""

    old: Iterable[bytes]
    new: Iterable[bytes]


def folder() -> Path:
    """Where the records are."""
    place = folders.state_dir() / "writing"
    if not place.is_dir():
        place.mkdir(mode=0o700, exist_ok=True)
    return place


@contextlib.contextmanager
def recorded(path: Path, temporary: Path | None, contents: InPlace | None = None) -> Iterator[None]:
    """Keep a record while the body writes `path`. With contents, both are on the disk before the body runs."""
    record, descriptor = _begin()
    try:
        _fill(descriptor, path, temporary, contents)
        yield
    finally:
        os.close(descriptor)
        record.unlink(missing_ok=True)


def _begin() -> tuple[Path, int]:
    """A new record that is ours."""
    while True:
        record = folder() / secrets.token_hex(8)
        descriptor = os.open(record, _NEW, 0o600)
        if _lock(descriptor) and os.fstat(descriptor).st_nlink:
            return record, descriptor
        os.close(descriptor)  # a server that starts took it, empty as it was, for one that was left


def _fill(descriptor: int, path: Path, temporary: Path | None, contents: InPlace | None) -> None:
    header = {
        "path": os.fsencode(path).hex(),
        "temporary": os.fsencode(temporary).hex() if temporary else None,
        "in_place": contents is not None,
    }
    _write(descriptor, json.dumps(header).encode() + b"\n")
    if contents is None:
        return
    sizes = [_write(descriptor, *contents.old), _write(descriptor, *contents.new)]
    # the trailer comes last: a record without one was never whole, and its write never begun
    _write(descriptor, b"".join(size.to_bytes(8, "big") for size in sizes))
    os.fsync(descriptor)


def _write(descriptor: int, *pieces: bytes) -> int:
    total = 0
    for piece in pieces:
        view = memoryview(piece)
        total += len(view)
        while view:
            view = view[os.write(descriptor, view) :]
    return total


def _lock(descriptor: int) -> bool:
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def repair() -> list[str]:
    """Put right what killed processes left; what was done, in sentences. Blocks. To be called at every start."""
    done: list[str] = []
    for record in sorted(folder().iterdir()):
        with contextlib.suppress(OSError):
            done += _repair_one(record)
    return done


def _repair_one(record: Path) -> list[str]:
    if sys.platform == "win32":  # not run: Windows does not let a file be renamed that another process holds open
        record = record.rename(record.with_suffix(".left"))
    descriptor = os.open(record, _OPEN)
    try:
        if not _lock(descriptor):
            return []
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            header = file.readline()
            done = _put_right(header, file.read()) if header.endswith(b"\n") else []
    finally:
        os.close(descriptor)
    record.unlink(missing_ok=True)
    return done


def _put_right(header: bytes, body: bytes) -> list[str]:
    fields = json.loads(header)
    path = Path(os.fsdecode(bytes.fromhex(fields["path"])))
    if fields["in_place"]:
        return _finish(path, body)
    temporary = Path(os.fsdecode(bytes.fromhex(fields["temporary"])))
    if not os.path.lexists(temporary):
        return []
    temporary.unlink()
    return [f"removed {temporary}, left by a write that was interrupted"]


def _finish(path: Path, body: bytes) -> list[str]:
    sizes = (int.from_bytes(body[-16:-8], "big"), int.from_bytes(body[-8:], "big")) if len(body) >= 16 else (0, 0)
    if sum(sizes) + 16 != len(body):
        return []
    old, new = body[: sizes[0]], body[sizes[0] : -16]
    descriptor = os.open(path, _OPEN | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb+") as file:
        if not is_torn(file.read(), old, new):
            return []
        file.seek(0)
        file.write(new)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    return [f"finished the write of {path} that was interrupted"]


def is_torn(data: bytes, old: bytes, new: bytes) -> bool:
    """Whether the content is the beginning of the new one and then the rest of the old, and not one of the two.

    Anything else has been written by someone else since, and is left alone.
    """
    if data in (old, new):
        return False
    same = common_prefix(data, new)
    return data[same:] == old[same:]


def common_prefix(one: bytes, other: bytes) -> int:
    """How many bytes two contents have in common at their beginning; by halving, which compares in large pieces."""
    low, high = 0, min(len(one), len(other))
    x, y = memoryview(one), memoryview(other)
    while low < high:
        middle = (low + high + 1) // 2
        if x[low:middle] == y[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
