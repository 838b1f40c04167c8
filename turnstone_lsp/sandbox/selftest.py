"""The self-test of a host: a level counts only when these canaries have tried to get out and could not."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import socket  # all of them before a call: at L2 it can import nothing
import sys
from typing import TYPE_CHECKING

from turnstone_lsp.sandbox import kernel
from turnstone_lsp.sandbox.levels import NONE, Level

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.sandbox.calls import Call, Calls

CANARY = "/etc/passwd"
"""A file that everybody may read and that no call may."""
_SECONDS = 5.0
_SIGSYS = 31
_GETPID_BY_INT_80 = bytes.fromhex("b814000000cd80c3")  # mov eax, 20; int 0x80; ret


def _read() -> None:
    os.close(os.open(CANARY, os.O_RDONLY))


def _write() -> None:
    for folder in ("/dev/shm", "/tmp", "/var/tmp", "."):  # noqa: S108 - tried because anybody may write there
        path = f"{folder}/turnstone-canary-{os.getpid()}"
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            os.unlink(path)
            return
    raise PermissionError


def _connect() -> None:
    for family in (socket.AF_INET, socket.AF_UNIX):
        with contextlib.suppress(OSError):
            socket.socket(family).close()
            return
    raise PermissionError


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _kill() -> None:
    os.kill(os.getppid(), 0)


def _look() -> None:
    os.stat(CANARY)


_ATTEMPTS: dict[str, Callable[[], None]] = {
    "read a file": _read,
    "write a file": _write,
    "open a socket": _connect,
    "start a process": _fork,
    "signal its parent": _kill,
}


def _escapes(attempts: dict[str, Callable[[], None]]) -> bool:
    """In a child: try each, write the names of those that worked, and say at the end that all were tried."""
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        os.write(1, f"{name}\n".encode())
    os.write(1, b"tried\n")
    return True


def _foreign_call() -> bool:
    """In a child: a system call by the 32-bit numbers; must not return."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(_GETPID_BY_INT_80)
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
    return True


def prove(calls: Calls, level: Level) -> tuple[Level, str]:
    """The level that holds, and why it is lower than `level` if it is."""
    if level == NONE:
        return NONE, "this system has no Landlock and no system call filter that we know"
    tried = _run(calls, lambda: _escapes(_ATTEMPTS))
    *escaped, last = tried.data.decode("utf-8", "replace").split("\n")[:-1] or [""]
    if tried.how != "ok" or last != "tried":
        return NONE, f"the self-test did not run ({tried.how})"
    if escaped:
        return NONE, f"the self-test could {', '.join(escaped)}"
    if kernel.machine() == "x86_64" and sys.platform == "linux":
        foreign = _run(calls, _foreign_call)
        if (foreign.how, foreign.signal) != ("signal", _SIGSYS):
            return NONE, "the self-test could make 32-bit system calls"
    if level == "L4" and _run(calls, lambda: _escapes({"look": _look})).data != b"tried\n":
        return "L3", "paths outside the libraries can be seen"
    return level, ""


def _run(calls: Calls, attempt: Callable[[], bool]) -> Call:
    ended: list[Call] = []
    call = calls.start(attempt, timeout=_SECONDS, cap=4096, done=ended.append)
    while not ended:
        calls.step()
    return call
