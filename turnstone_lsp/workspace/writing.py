"""Durable writes that keep what a file is: mode, owner, extended attributes, links.

A file is replaced by a new one (temporary, fsync, rename, fsync of the folder). Where that would break something - a
hard link, an owner that we may not set, a folder that takes no new file - it is written in place, after both contents
were put safe. A reader of a replaced file, and a start after a kill, find the old bytes or the new ones.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import sys
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import metadata_linux, metadata_macos, metadata_windows, opening, pending
from turnstone_lsp.workspace.snapshot import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import ModuleType

_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
_NO_LINKS = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.ENOSYS, errno.EMLINK}
_NO_ROOM_IN_FOLDER = {errno.EACCES, errno.EPERM, errno.EROFS}
_NAME_BYTES = 200
"""Of a file's name in that of its temporary file: most file systems take 255 bytes in all."""


class MovedError(ToolError):
    """The file is not what it was when the change was approved; nothing was written."""


def for_platform(name: str) -> ModuleType:
    """The module that carries metadata over and puts files in place on a platform (sys.platform)."""
    if name == "win32":
        return metadata_windows
    return metadata_macos if name == "darwin" else metadata_linux


_system = for_platform(sys.platform)


def write(path: Path, pieces: Iterable[bytes], expected: Fingerprint | None) -> Fingerprint:
    """Put bytes into the file at a real path; its fingerprint afterwards. Blocks; for use in threads.

    Args:
        path: The file. Folders that are missing above it are made.
        pieces: The whole content. Gone through twice when the file is written in place.
        expected: The file as it was just compared with what was approved; None when it must not exist yet.

    Raises:
        MovedError: It has changed, appeared or gone since. Nothing was written.
        ToolError: It cannot be written; the text says why. Nothing was written.
    """
    try:
        with _made_folders(path), _folder(path) as folder:
            sha256 = _replace(path, folder, pieces, expected) if expected else _create(path, folder, pieces)
            state = os.stat(_name(path, folder), dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror or error}. Nothing was changed.") from error
    return Fingerprint(sha256, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


def remove(path: Path, expected: Fingerprint) -> None:
    """Delete a file that is still as expected (undo of a creation). Raises MovedError, ToolError."""
    try:
        with _folder(path) as folder:
            _check(path, folder, expected)
            os.unlink(_name(path, folder), dir_fd=folder)
            _system.sync_folder(folder)
    except OSError as error:
        raise ToolError(f"{path} cannot be deleted: {error.strerror or error}.") from error


@contextlib.contextmanager
def _made_folders(path: Path) -> Iterator[None]:
    """The folders above a file; those that were made go again when the body fails."""
    if path.parent.is_dir():
        yield
        return
    missing = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise


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
    name = os.fsencode(path.name)[:_NAME_BYTES].decode("utf-8", "ignore")
    return path.with_name(f".{name}.ts-{secrets.token_hex(4)}")


def _create(path: Path, folder: int | None, pieces: Iterable[bytes]) -> str:
    """A new file: whole under a temporary name first, then linked to its own, which must be free."""
    temporary = _temporary(path)
    with pending.recorded(path, temporary):
        try:
            descriptor = os.open(_name(temporary, folder), _NEW, 0o666, dir_fd=folder)
            try:
                sha256 = _write_all(descriptor, pieces)
                _system.sync(descriptor)
            finally:
                os.close(descriptor)
            _link(path, temporary, folder)
        finally:
            _drop(temporary, folder)
        _system.sync_folder(folder)
    return sha256


def _link(path: Path, temporary: Path, folder: int | None) -> None:
    """Give the temporary file its name, if that is still free."""
    try:
        os.link(_name(temporary, folder), _name(path, folder), src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        raise MovedError(f"{path} has appeared since the change was approved. Nothing was written; read it.") from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without hard links. Between these two calls another program can make the file.
        if os.path.lexists(path):
            raise MovedError(f"{path} has appeared since the change was approved; read it first.") from None
        os.rename(_name(temporary, folder), _name(path, folder), src_dir_fd=folder, dst_dir_fd=folder)


def _drop(temporary: Path, folder: int | None) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_name(temporary, folder), dir_fd=folder)


def _replace(path: Path, folder: int | None, pieces: Iterable[bytes], expected: Fingerprint) -> str:
    state = _check(path, folder, expected)
    if not state.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise ToolError(f"{path} is read-only. Nothing was changed; change its permissions if you want that.")
    sha256 = None if state.st_nlink > 1 else _by_rename(path, folder, pieces, expected)
    return sha256 or _in_place(path, folder, pieces, expected)


def _by_rename(path: Path, folder: int | None, pieces: Iterable[bytes], expected: Fingerprint) -> str | None:
    """Write a temporary file and put it in place; None when it could not be made like the original."""
    temporary = _temporary(path)
    with pending.recorded(path, temporary):
        try:
            descriptor = os.open(_name(temporary, folder), _NEW, 0o600, dir_fd=folder)
        except OSError as error:
            if error.errno in _NO_ROOM_IN_FOLDER:
                return None
            raise
        try:
            try:
                sha256 = _write_all(descriptor, pieces)
                if not _made_alike(path, folder, descriptor):
                    return None
                _system.sync(descriptor)
            finally:
                os.close(descriptor)
            _check(path, folder, expected)
            _system.replace(_name(temporary, folder), _name(path, folder), folder)
        finally:
            _drop(temporary, folder)
        _system.sync_folder(folder)
    return sha256


def _made_alike(path: Path, folder: int | None, target: int) -> bool:
    source = os.open(_name(path, folder), os.O_RDONLY | _FLAGS, dir_fd=folder)
    try:
        return bool(_system.keep(source, target, os.fstat(source)))
    finally:
        os.close(source)


def _in_place(path: Path, folder: int | None, pieces: Iterable[bytes], expected: Fingerprint) -> str:
    """Write over the old bytes, once they and the new ones are safe in a record."""
    descriptor = os.open(_name(path, folder), os.O_RDWR | _FLAGS, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            old = file.read()
        with pending.recorded(path, None, pending.InPlace([old], pieces)):
            _check(path, folder, expected)
            try:
                sha256 = _overwrite(descriptor, pieces)
            except OSError:
                _overwrite(descriptor, [old])
                raise
    finally:
        os.close(descriptor)
    return sha256


def _overwrite(descriptor: int, pieces: Iterable[bytes]) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    sha256 = _write_all(descriptor, pieces)
    os.ftruncate(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR))
    _system.sync(descriptor)
    return sha256


def _write_all(descriptor: int, pieces: Iterable[bytes]) -> str:
    """Write the pieces; the SHA-256 of them in hex."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
    return digest.hexdigest()


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
        raise MovedError(f"{path} has changed since the change was approved. Nothing was written; read it again.")
    return state
