"""The levels of confinement, by name.

L4  namespaces, Landlock and the system call filter
L3  Landlock and the filter (where user namespaces are refused, as in many containers)
L2  the filter alone, which then lets nothing be opened (kernels without Landlock)
L1  none: limits of time, memory and output only. Every call asks
"""

from __future__ import annotations

from typing import Literal

from turnstone_lsp.sandbox import landlock, seccomp

Level = Literal["L4", "L3", "L2", "L1"]
NONE: Level = "L1"
ALL: tuple[Level, ...] = ("L4", "L3", "L2", "L1")


def offered() -> Level:
    """What this system offers at least, asked of the kernel within microseconds; the host then proves its level."""
    if not seccomp.available():
        return "L1"
    return "L3" if landlock.abi() else "L2"
