"""Namespaces: a process that has no network, sees no other process, and no file but the libraries.

The layer that hides even that something exists. Works for root and, where the system lets ordinary users make user
namespaces, for them; some systems refuse it or cripple it, so it is tried in a process of its own first.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import struct
from typing import TYPE_CHECKING

from turnstone_lsp.sandbox import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

_NEW_MOUNT, _NEW_UTS, _NEW_IPC, _NEW_USER, _NEW_PID, _NEW_NET = (
    *(0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000),
)
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 2, 4, 0x4000, 0x40000
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_FROM_FD, _DETACH = 1, 4, 2
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_TRY_SECONDS = 5.0


def available(readable: Iterable[str]) -> bool:
    """Whether `enter` works here: tried in a forked process."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            enter(readable)
            code = 0
        except OSError:
            code = 1
        finally:
            os._exit(code)
    descriptor = os.pidfd_open(pid)
    try:
        if not select.select([descriptor], [], [], _TRY_SECONDS)[0]:
            os.kill(pid, signal.SIGKILL)
        return os.waitpid(pid, 0)[1] == 0
    finally:
        os.close(descriptor)


def enter(readable: Iterable[str]) -> None:
    """Move this process to new namespaces and a read-only root that holds only `readable`; its next child is the
    first process of the new process namespace. Needs to be single-threaded. Raises OSError, and is then half moved.
    """
    uid, gid = os.geteuid(), os.getegid()
    flags = _NEW_USER | _NEW_MOUNT | _NEW_PID | _NEW_NET | _NEW_IPC | _NEW_UTS
    kernel.checked(kernel.libc().unshare(flags), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(descriptor, text.encode())
        os.close(descriptor)
    _change_root(_outermost(readable))


def _outermost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(path for path in paths if os.path.exists(path)):
        if not any(path.startswith(f"{other}/") or path == other for other in kept):
            kept.append(path)
    return kept


def _change_root(paths: list[str]) -> None:
    trees = [(path, _clone(path)) for path in paths]
    hold = next(folder for folder in ("/tmp", "/run", "/var", "/usr") if os.path.isdir(folder))  # noqa: S108 - covered
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE, None)
    _mount("tmpfs", hold, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    for path, tree in trees:
        target = hold + path
        if os.path.isdir(f"/proc/self/fd/{tree}"):
            os.makedirs(target, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        destination = os.fsencode(target)
        kernel.syscall(kernel.MOVE_MOUNT, "move_mount", tree, b"", _AT_FDCWD, destination, _MOVE_FROM_FD)
        os.close(tree)
    os.chdir(hold)
    kernel.checked(kernel.libc().syscall(_PIVOT_ROOT[kernel.machine()], b".", b"."), "pivot_root")
    kernel.checked(kernel.libc().umount2(b".", _DETACH), "umount")
    os.chdir("/")
    _read_only(_AT_FDCWD, b"/", _AT_RECURSIVE)


def _clone(path: str) -> int:
    """A read-only copy of the tree of mounts at `path`, attached nowhere, as a descriptor."""
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE
    tree = kernel.syscall(kernel.OPEN_TREE, f"open_tree {path}", _AT_FDCWD, os.fsencode(path), flags)
    _read_only(tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE)
    return tree


def _read_only(folder: int, path: bytes, flags: int) -> None:
    attributes = struct.pack("=QQQQ", _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV, 0, 0, 0)
    number = kernel.MOUNT_SETATTR
    kernel.syscall(number, "mount_setattr", folder, path, flags, attributes, len(attributes))


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind, data)]
    result = kernel.libc().mount(*words[:3], ctypes.c_ulong(flags), words[3])
    kernel.checked(result, f"mount {target}")
