"""Open first, then verify: the descriptor, not the name, is what a check is about (C-04).

A path that was resolved and judged may be swapped for a link before it is opened. So files are opened without
following a final link, and the descriptor's own path and kind are then compared with what was judged.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# a FIFO without a writer must not hang, and no terminal becomes ours
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_ATTEMPTS = 10
"""An editor that saves by rename unlinks the file just opened; that is no attack, and the next attempt sees the new."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def kind_name(mode: int) -> str:
    """What a file that is not regular is."""
    return _KINDS.get(stat.S_IFMT(mode), "not a regular file")


@contextlib.contextmanager
def open_verified(path: Path) -> Iterator[int]:
    """A descriptor, for reading, of the regular file at a real path; closed at the end.

    Raises:
        FileNotFoundError: There is none.
        ToolError: It is no regular file, or the path now leads elsewhere.
        OSError: It cannot be opened (permissions ...).
    """
    state = os.lstat(path)  # judged before opening, since opening a device may do something
    if not stat.S_ISREG(state.st_mode) and not stat.S_ISLNK(state.st_mode):
        raise ToolError(f"{path} is {kind_name(state.st_mode)}, not a file with text.")
    descriptor = _open(path, _READ | _NO_WAIT)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise ToolError(f"{path} is {kind_name(mode)}, not a file with text.")
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def open_folder(path: Path) -> Iterator[int]:
    """A verified descriptor of the folder at a real path, for use as dir_fd. POSIX only. Raises as open_verified."""
    descriptor = _open(path, _READ | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path, flags: int) -> int:
    for _ in range(_ATTEMPTS):
        try:
            descriptor = os.open(path, flags)
        except OSError as error:
            if error.errno == errno.ELOOP or path.is_symlink():
                break
            raise
        if leads_to(descriptor, path):
            return descriptor
        os.close(descriptor)
    raise ToolError(f"{path} was replaced by a link while it was being opened; nothing was read or written.")


def leads_to(descriptor: int, path: Path) -> bool:
    """Whether a descriptor is that of the real path itself, no component of it having been swapped for a link."""
    if sys.platform == "linux" and os.path.isdir("/proc/self/fd"):  # noqa: PTH112 - Path.is_dir would hide no error
        return os.readlink(f"/proc/self/fd/{descriptor}") == str(path)  # noqa: PTH115 - as above
    here, there = os.fstat(descriptor), path.stat()  # not run: macOS, Windows
    return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino) and os.path.realpath(path) == str(path)
