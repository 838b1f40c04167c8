"""macOS: as on Linux, by copyfile(3) and F_FULLFSYNC. Not run: written after Apple's manual pages."""

from __future__ import annotations

import ctypes
import os
import stat
from typing import TYPE_CHECKING

from turnstone_lsp.workspace import metadata_linux

if TYPE_CHECKING:
    from collections.abc import Callable

_COPYFILE_ACL = 1 << 0
_COPYFILE_XATTR = 1 << 2
_F_FULLFSYNC = 51


def keep(source: int, target: int, state: os.stat_result) -> bool:
    """Give `target` the owner, mode, flags, ACL and extended attributes of `source`; False when it cannot have them."""
    mine = os.fstat(target)
    if (mine.st_uid, mine.st_gid) != (state.st_uid, state.st_gid):
        try:
            os.fchown(target, state.st_uid, state.st_gid)
        except PermissionError:
            return False
    os.fchmod(target, stat.S_IMODE(state.st_mode))
    copy: Callable[..., int] = ctypes.CDLL(None, use_errno=True).fcopyfile
    return copy(source, target, None, _COPYFILE_ACL | _COPYFILE_XATTR) == 0


def sync(descriptor: int) -> None:
    """By F_FULLFSYNC: on macOS fsync alone leaves the bytes in the drive's cache."""
    import fcntl

    try:
        fcntl.fcntl(descriptor, _F_FULLFSYNC)
    except OSError:
        os.fsync(descriptor)


replace = metadata_linux.replace
sync_folder = metadata_linux.sync_folder
