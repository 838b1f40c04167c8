"""System calls that Python's standard library does not offer: checked, for Linux on x86-64 and aarch64."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

from turnstone_lsp.sandbox.syscalls import MACHINES

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_GET_SECCOMP = 21
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
"""Newer system calls have the same number on every machine."""
_SIGKILL = 9


@cache
def machine() -> str:
    """The machine whose system call numbers count here; "" where we do not know them, and for 32-bit Python."""
    if sys.platform != "linux" or sys.maxsize < 2**32:
        return ""
    name = os.uname().machine
    return name if name in MACHINES else ""


@cache
def libc() -> Any:
    """The C library."""
    return ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> int:
    """The result of a system call. Raises OSError for a negative one."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, what: str, *arguments: object) -> int:
    """A system call by number; arguments are int (passed as C long), bytes, None and ctypes objects. Raises OSError."""
    prepared = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return checked(int(libc().syscall(ctypes.c_long(number), *prepared)), what)


def prctl(option: int, *arguments: int) -> int:
    """Call prctl; arguments that are not given are 0. Raises OSError."""
    filled = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    return checked(int(libc().prctl(ctypes.c_int(option), *filled)), f"prctl {option}")


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which forked it, ends; end now if it has already ended."""
    prctl(PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
