"""Durable writes that keep what a file is: mode, owner, extended attributes, links.

A file is replaced by a new one (temporary, fsync, rename, fsync of the folder). Where that would break something - a
hard link, or an owner that we may not set - it is written in place, after both contents were put safe. A reader, and
a start after a kill, find the old bytes or the new ones.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import opening, pending
from turnstone_lsp.workspace.snapshot import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW_FILE |= getattr(os, "O_NOFOLLOW", 0)
_UNSUPPORTED = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL, errno.ENOSYS}


class MovedError(ToolError):
    """The file is not what it was when the change was approved; nothing was written."""


def write(path: Path, data: bytes, expected: Fingerprint | None) -> Fingerprint:
    """Put `data` into the file at a real path; its fingerprint afterwards. Blocks; for use in threads.

    expected: the file as it was when the change was approved, or None when it must not exist yet.

    Raises:
        MovedError: It has changed, appeared or gone since. Nothing was written.
        ToolError: It cannot be written; the text says why. Nothing was written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _folder(path) as folder:
            if expected is None:
                _create(path, folder, data)
            else:
                _replace(path, folder, data, expected)
        state = os.lstat(path)
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror or error}. Nothing was changed.") from error
    return Fingerprint(hashlib.sha256(data).hexdigest(), state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


def remove(path: Path, expected: Fingerprint) -> None:
    """Delete a file that is still as expected (undo of a creation). Raises MovedError, ToolError."""
    try:
        with _folder(path) as folder:
            _check(path, folder, expected)
            os.unlink(path.name if folder is not None else path, dir_fd=folder)
            _sync_folder(folder)
    except OSError as error:
        raise ToolError(f"{path} cannot be deleted: {error.strerror or error}.") from error


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[int | None]:
    """A verified descriptor of the file's folder, where the system has such a thing."""
    if sys.platform == "win32":  # not run
        yield None
        return
    with opening.open_folder(path.parent) as descriptor:
        yield descriptor


def _name(path: Path, folder: int | None) -> str:
    return path.name if folder is not None else str(path)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name[:100]}.ts-{secrets.token_hex(4)}")


def _create(path: Path, folder: int | None, data: bytes) -> None:
    """A new file: whole under a temporary name first, then linked to its own, which must be free."""
    temporary = _temporary(path)
    with pending.recorded(path, temporary):
        try:
            umask = _umask()
            _fill(temporary, folder, data, 0o666 & ~umask)
            try:
                os.link(_name(temporary, folder), _name(path, folder), src_dir_fd=folder, dst_dir_fd=folder)
            except FileExistsError:
                raise MovedError(f"{path} has appeared since the change was approved; read it first.") from None
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    raise
                _create_without_links(path, temporary, folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(_name(temporary, folder), dir_fd=folder)
        _sync_folder(folder)


def _create_without_links(path: Path, temporary: Path, folder: int | None) -> None:
    """On a file system without hard links: claim the name, then rename over it."""
    os.close(os.open(_name(path, folder), _NEW_FILE, 0o600, dir_fd=folder))
    os.replace(_name(temporary, folder), _name(path, folder), src_dir_fd=folder, dst_dir_fd=folder)


def _replace(path: Path, folder: int | None, data: bytes, expected: Fingerprint) -> None:
    before = _check(path, folder, expected)
    if not os.access(path, os.W_OK):
        raise ToolError(f"{path} is read-only for you. Nothing was changed; change its permissions if you want that.")
    temporary = _temporary(path)
    if before.st_nlink > 1:
        _in_place(path, data, expected)
        return
    with pending.recorded(path, temporary):
        try:
            kept = _fill(temporary, folder, data, None, like=path, state=before)
            if kept:
                _check(path, folder, expected)
                os.replace(_name(temporary, folder), _name(path, folder), src_dir_fd=folder, dst_dir_fd=folder)
                _sync_folder(folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(_name(temporary, folder), dir_fd=folder)
    if not kept:
        _in_place(path, data, expected)


def _fill(
    temporary: Path,
    folder: int | None,
    data: bytes,
    mode: int | None,
    *,
    like: Path | None = None,
    state: os.stat_result | None = None,
) -> bool:
    """Make the temporary file, as like the original as may be; False when its owner cannot be kept."""
    descriptor = os.open(_name(temporary, folder), _NEW_FILE, 0o600, dir_fd=folder)
    try:
        _write_all(descriptor, data)
        if mode is not None:
            os.fchmod(descriptor, mode)
        elif like is not None and state is not None and not _copy_metadata(like, descriptor, state):
            return False
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[: 1 << 24]) :]


def _copy_metadata(like: Path, descriptor: int, state: os.stat_result) -> bool:
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (state.st_uid, state.st_gid):
        try:
            os.fchown(descriptor, state.st_uid, state.st_gid)
        except PermissionError:
            return False
    os.fchmod(descriptor, stat.S_IMODE(state.st_mode))
    if hasattr(os, "listxattr"):
        for name in _attributes(like):
            try:
                os.setxattr(descriptor, name, os.getxattr(like, name))
            except OSError as error:
                if error.errno not in _UNSUPPORTED:
                    raise
                if name.startswith(("user.", "system.posix_acl")):
                    return False
    return True


def _attributes(path: Path) -> list[str]:
    try:
        return os.listxattr(path)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return []
        raise


def _in_place(path: Path, data: bytes, expected: Fingerprint) -> None:
    old = path.read_bytes()
    if hashlib.sha256(old).hexdigest() != expected.sha256:
        raise moved(path)
    with pending.recorded(path, None, pending.InPlace(old, data)):
        descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
        try:
            _write_all(descriptor, data)
            os.ftruncate(descriptor, len(data))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check(path: Path, folder: int | None, expected: Fingerprint) -> os.stat_result:
    """The file's state, which must be the expected one. Only the stat identity: the content was just compared."""
    try:
        state = os.stat(_name(path, folder), dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise MovedError(f"{path} was deleted since the change was approved. Nothing was written.") from None
    if not stat.S_ISREG(state.st_mode):
        raise MovedError(f"{path} is {opening.kind_name(state.st_mode)} now. Nothing was written.")
    known = (expected.dev, expected.ino, expected.size, expected.mtime_ns)
    if (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns) != known:
        raise moved(path)
    return state


def moved(path: Path) -> MovedError:
    """The file is no longer what the approval was for."""
    return MovedError(f"{path} has changed since the change was approved. Nothing was written; read it again.")


def _sync_folder(folder: int | None) -> None:
    if folder is not None:
        os.fsync(folder)


def _umask() -> int:
    """The process's umask. Python can only read it by setting it; Linux shows it without."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text("ascii").splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    umask = os.umask(0o022)
    os.umask(umask)
    return umask
