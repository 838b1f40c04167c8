"""Linux: what a file is beside its bytes, carried over to the file that replaces it."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

_UNSUPPORTED = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENOSYS, errno.ENODATA}
_ACL = "system.posix_acl_access"


def keep(source: int, target: int, state: os.stat_result) -> bool:
    """Give `target` the owner, mode, ACL and extended attributes of `source`; False when it cannot have them.

    Security labels and capabilities are carried over where the system allows it. Owner first: a change of it clears
    the set-id bits.
    """
    mine = os.fstat(target)
    if (mine.st_uid, mine.st_gid) != (state.st_uid, state.st_gid):
        try:
            os.fchown(target, state.st_uid, state.st_gid)
        except PermissionError:
            return False
    os.fchmod(target, stat.S_IMODE(state.st_mode))
    wanted, present = _attributes(source), _attributes(target)
    if _ACL in present and _ACL not in wanted:  # inherited from the folder
        with contextlib.suppress(OSError):
            os.removexattr(target, _ACL)
    return all(_carry(source, target, name) for name in wanted)


def _carry(source: int, target: int, name: str) -> bool:
    try:
        value = os.getxattr(source, name)
        if name.startswith("security.") and _value(target, name) == value:
            return True
        os.setxattr(target, name, value)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        return not name.startswith(("user.", _ACL))
    return True


def _value(descriptor: int, name: str) -> bytes | None:
    try:
        return os.getxattr(descriptor, name)
    except OSError:
        return None


def _attributes(descriptor: int) -> list[str]:
    try:
        return os.listxattr(descriptor)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return []
        raise


def sync(descriptor: int) -> None:
    """Wait until the file is on the disk."""
    os.fsync(descriptor)


def replace(temporary: str, name: str, folder: int | None) -> None:
    """Put the temporary file in the place of another."""
    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def sync_folder(folder: int | None) -> None:
    """Wait until the folder's entries are on the disk."""
    if folder is not None:
        os.fsync(folder)
