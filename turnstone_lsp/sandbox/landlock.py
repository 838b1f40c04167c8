"""Landlock: which files a process may still open. Documented in the kernel's userspace-api/landlock."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import TYPE_CHECKING

from turnstone_lsp.sandbox import kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_ASK_VERSION, _PATH_BENEATH = 1, 1
_FS_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""ABI -> how many file system rights it knows; 16 from the fifth on."""


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def abi() -> int:
    """The kernel's Landlock version, 0 without it. Asked of the system call: files about it may be missing."""
    if not kernel.machine():
        return 0
    try:
        return kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, "landlock", None, 0, _ASK_VERSION)
    except OSError:
        return 0


def ruleset(readable: Iterable[str]) -> int:
    """A rule set as a descriptor: only files below `readable` may be opened, only to be read; no TCP; from ABI 6 on no
    signal to, and no abstract socket of, a process outside. Paths that do not exist are left out. Raises OSError.
    """
    version = abi()
    handled = (1 << _FS_RIGHTS.get(version, 16)) - 1
    network, scoped = 0b11, 0b11  # TCP bind and connect; abstract sockets and signals
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    attributes = struct.pack("=QQQ", handled, network, scoped)[:size]
    descriptor = kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, "landlock", attributes, size, 0)
    for path in readable:
        _allow(descriptor, path)
    return descriptor


def _allow(descriptor: int, path: str) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights = _READ_FILE | _READ_DIR if os.path.isdir(path) else _READ_FILE
        rule = _PathBeneath(rights, parent)
        number = kernel.LANDLOCK_ADD_RULE
        kernel.syscall(number, "landlock rule", descriptor, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(parent)


def restrict(descriptor: int) -> None:
    """Put this process under the rule set for good. Needs no_new_privs. Raises OSError."""
    kernel.syscall(kernel.LANDLOCK_RESTRICT_SELF, "landlock restrict", descriptor, 0)
