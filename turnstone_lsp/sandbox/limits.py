"""Limits and privileges of a call: what it may use, and that it can gain nothing."""

from __future__ import annotations

import contextlib
import resource
import struct
from typing import TYPE_CHECKING

from turnstone_lsp.sandbox import kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

MEMORY = 2 * 1024**3
"""Bytes of address space of a call."""
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_AMBIENT_CLEAR_ALL = 4
_HIGHEST_CAPABILITY = 63


def limit(cpu_seconds: int, memory: int) -> None:
    """Set the limits of this process for good: seconds of processor time, bytes of address space; no file grows, no
    process or thread starts, no core is written. A limit that this system lacks is left out.
    """
    values: Mapping[str, int] = {
        "RLIMIT_CPU": cpu_seconds,
        "RLIMIT_AS": memory,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_NPROC": 0,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    for name, value in values.items():
        if (which := getattr(resource, name, None)) is not None:
            resource.setrlimit(which, (value, value))


def no_new_privileges() -> None:
    """No program that this process starts gains anything; the next layers need it. And nobody dumps its memory."""
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def drop_capabilities() -> None:
    """Give up every capability for good, also those of root and of a user namespace. Raises OSError."""
    with contextlib.suppress(OSError):  # without CAP_SETPCAP, and past the last one that the kernel knows
        for number in range(_HIGHEST_CAPABILITY + 1):
            kernel.prctl(kernel.PR_CAPBSET_DROP, number)
    with contextlib.suppress(OSError):  # a kernel without ambient capabilities
        kernel.prctl(kernel.PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    kernel.checked(kernel.libc().capset(header, bytes(24)), "capset")
