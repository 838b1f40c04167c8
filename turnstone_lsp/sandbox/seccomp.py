"""The system call filter: an allow-list for computing, assembled here for x86-64 and aarch64.

What is not on the list fails with EPERM. A call by the numbers of another architecture (32-bit, x32) kills the
process: there they mean other calls.
"""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache

from turnstone_lsp.sandbox import kernel, syscalls

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_LD, _JEQ, _JSET, _JGE, _RET = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _EAGAIN, _ENOTTY, _ENOSYS = (_ERRNO | number for number in (1, 11, 25, 38))
_NR, _ARCH, _ARGUMENTS = 0, 4, 16
"""Offsets in struct seccomp_data. Arguments are 64 bits wide, the low half first."""

_NOT_READ_ONLY = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000
"""Flags of open(2) that ask for more than reading: access mode, CREAT, TRUNC, APPEND, and TMPFILE's own bit."""
_FCNTL = (0, 1, 2, 3, 4, 1030)
"""DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC. Not SETOWN and SETSIG: they have the kernel kill others."""
_AT_EMPTY_PATH = 0x1000
_FILTER_MODE = 2

Step = tuple[int, int, int, int]
"""An instruction: code, jump if true, jump if false, operand."""


def available() -> bool:
    """Whether this kernel filters system calls and we know its numbers."""
    if not kernel.machine():
        return False
    try:
        kernel.prctl(kernel.PR_GET_SECCOMP)
    except OSError:
        return False
    return True


def _answer(number: int, action: int) -> list[Step]:
    return [(_JEQ, 0, 1, number), (_RET, 0, 0, action)]


def _load(argument: int, half: int = 0) -> Step:
    return (_LD, 0, 0, _ARGUMENTS + 8 * argument + 4 * half)


def _when(number: int, tests: list[Step]) -> list[Step]:
    """For one call: `tests` end in an answer on every way, and are skipped for any other call."""
    return [(_JEQ, 0, len(tests), number), *tests]


def _equal(argument: int, value: int) -> list[Step]:
    """Go on if the argument's low half is the value; else EPERM."""
    return [_load(argument), (_JEQ, 1, 0, value), (_RET, 0, 0, _EPERM)]


def _null(argument: int) -> list[Step]:
    """Go on if the argument is a null pointer; else EPERM."""
    high = [_load(argument, 1), (_JEQ, 1, 0, 0), (_RET, 0, 0, _EPERM)]
    return [*_equal(argument, 0), *high]


_PERMIT: Step = (_RET, 0, 0, _ALLOW)
_REFUSE: Step = (_RET, 0, 0, _EPERM)


def program(machine: str, pid: int, *, files: bool) -> bytes:
    """The filter for the process `pid` as BPF.

    files: it may open files for reading and look at them, because Landlock guards them; else it can open nothing.
    """
    own_signals = _when(syscalls.judged(machine)["tgkill"], [*_equal(0, pid), _PERMIT])
    return _for_any_process(machine, files=files) + _assemble([*own_signals, _REFUSE])


@cache
def _for_any_process(machine: str, *, files: bool) -> bytes:
    """All of the filter that is the same for every process: the host assembles it once."""
    judged = syscalls.judged(machine)
    steps: list[Step] = [
        (_LD, 0, 0, _ARCH),
        (_JEQ, 1, 0, _AUDIT_ARCH[machine]),
        (_RET, 0, 0, _KILL_PROCESS),
        (_LD, 0, 0, _NR),
    ]
    if machine == "x86_64":
        steps += [(_JGE, 0, 1, _X32_BIT), (_RET, 0, 0, _KILL_PROCESS)]
    allowed = syscalls.computing(machine)
    if files:
        allowed |= syscalls.reading(machine) | {"newfstatat": judged["newfstatat"]}
        refuse_writing = [_load(2), (_JSET, 0, 1, _NOT_READ_ONLY), _REFUSE, _PERMIT]
        steps += _when(judged["openat"], refuse_writing)
    else:  # the C library's fstat is this call with an empty path
        steps += _when(judged["newfstatat"], [*_equal(3, _AT_EMPTY_PATH), _PERMIT])
    for number in allowed.values():
        steps += _answer(number, _ALLOW)
    commands: list[Step] = [(_JEQ, 0, 1, command) for command in _FCNTL]
    steps += _when(judged["fcntl"], [_load(1), *(step for c in commands for step in (c, _PERMIT)), _REFUSE])
    steps += _when(judged["prlimit64"], [*_equal(0, 0), *_null(2), _PERMIT])
    steps += _answer(judged["ioctl"], _ENOTTY)
    steps += _answer(judged["clone"], _EAGAIN)
    steps += _answer(judged["clone3"], _ENOSYS)
    return _assemble(steps)


def _assemble(steps: list[Step]) -> bytes:
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def restrict(*, files: bool) -> None:
    """Put this process under the filter for good. Needs no_new_privs. Raises OSError."""
    code = program(kernel.machine(), os.getpid(), files=files)
    filter_ = _Program(len(code) // 8, code)
    kernel.prctl(kernel.PR_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(filter_))
