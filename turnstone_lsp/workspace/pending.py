"""Records of writes under way, so that what a killed process left is put right at the next start.

A record is a file in our state folder, locked by the process that made it: a record whose lock can be taken belongs to
nobody any more. It names the temporary file to remove and, for a write in place, holds both contents.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.config import folders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows (not run): a record cannot be locked, and is left to its age
    fcntl = None  # type: ignore[assignment]

_NAME = "record"


@dataclass(frozen=True, slots=True)
class InPlace:
    """A write in place: the file as it was and as it is to be."""

    old: bytes
    new: bytes


def _folder() -> Path:
    folder = folders.state_dir() / "writing"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@contextlib.contextmanager
def recorded(path: Path, temporary: Path | None, contents: InPlace | None = None) -> Iterator[None]:
    """Keep a record while the body writes `path`. With contents, both are on the disk before the body runs."""
    place = _folder() / secrets.token_hex(8)
    place.mkdir(mode=0o700)
    try:
        if contents is not None:
            _put(place / "old", contents.old)
            _put(place / "new", contents.new)
        body = {"path": os.fsencode(path).hex(), "temporary": os.fsencode(temporary).hex() if temporary else None}
        with (place / _NAME).open("wb") as file:
            _lock(file.fileno())
            file.write(json.dumps(body).encode())
            file.flush()
            if contents is not None:
                os.fsync(file.fileno())
            yield
    finally:
        _remove(place)


def _put(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _lock(descriptor: int) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(place: Path) -> None:
    for name in (_NAME, "old", "new"):
        (place / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        place.rmdir()


def repair() -> list[str]:
    """Put right what killed processes left: temporary files go, torn files get their new content. What was done."""
    done: list[str] = []
    for place in sorted(_folder().iterdir()):
        with contextlib.suppress(OSError, ValueError, KeyError):
            done += _repair_one(place)
    return done


def _repair_one(place: Path) -> list[str]:
    record = place / _NAME
    if not record.exists():  # killed before the record was whole: nothing had been written yet
        if not _young(place):
            _remove(place)
        return []
    with record.open("rb+") as file:
        if not _lock(file.fileno()):
            return []
        body = file.read()
        done = _put_right(place, json.loads(body)) if body else []
        _remove(place)
    return done


def _young(place: Path) -> bool:
    """Perhaps just being made by another server."""
    import time

    return time.time() - place.stat().st_mtime < 60


def _put_right(place: Path, body: dict[str, str | None]) -> list[str]:
    done = []
    temporary = os.fsdecode(bytes.fromhex(body["temporary"])) if body["temporary"] else None
    if temporary is not None and os.path.lexists(temporary):
        os.unlink(temporary)  # noqa: PTH108 - a name as bytes
        done.append(f"removed the temporary file {temporary}")
    if (place / "new").exists():
        path = os.fsdecode(bytes.fromhex(body["path"] or ""))
        old, new = (place / "old").read_bytes(), (place / "new").read_bytes()
        with open(path, "rb+") as file:  # noqa: PTH123 - a name as bytes
            if is_torn(file.read(), old, new):
                file.seek(0)
                file.write(new)
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
                done.append(f"finished the interrupted write of {path}")
    return done


def is_torn(data: bytes, old: bytes, new: bytes) -> bool:
    """Whether the content is a mixture of both: some of the new one, then the rest of the old. Neither is torn."""
    if data in (old, new):
        return False
    same = len(os.path.commonprefix([data, new]))
    return data[same:] == old[same : len(data)] and len(data) in (len(old), max(len(old), same), same, len(new))
