"""The layers that hold a child: no new privileges, limits, Landlock, seccomp, no capabilities. Linux only.

Each function raises OSError when the kernel does not give what was asked; a caller that promised a layer then ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT = 1, 38, 24, 47
_SIGKILL = 9


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, *arguments: int) -> int:
    """The system call, checked."""
    filled = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_LIBC.prctl(option, *filled), f"prctl {option}")


def die_with_parent() -> None:
    """The kernel kills this process when its parent dies."""
    prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def no_new_privileges() -> None:
    """No set-user-id program gives anything from here on; needed for the next layers without root."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


# -- limits


def limit(seconds: int, memory: int) -> None:
    """Processor time in seconds, address space in bytes; no files written, no processes, no core."""
    for name, value in {
        "RLIMIT_CPU": seconds,
        "RLIMIT_AS": memory,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_NPROC": 0,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }.items():
        resource.setrlimit(getattr(resource, name), (value, value))


# -- capabilities


def drop_capabilities() -> None:
    """Give up all of them for good, also as root."""
    for number in range(64):
        try:
            prctl(_PR_CAPBSET_DROP, number)
        except OSError:
            break
    with contextlib.suppress(OSError):
        prctl(_PR_CAP_AMBIENT, 4)  # clear all
    header = struct.pack("=Ii", 0x20080522, 0)  # version 3, this process
    _checked(_LIBC.capset(header, bytes(24)), "capset")


# -- Landlock

_LANDLOCK = {"create": 444, "add": 445, "restrict": 446}
_READ = (1 << 2) | (1 << 3)  # READ_FILE, READ_DIR
_FS_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""ABI -> how many file system rights it knows."""


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def landlock_abi() -> int:
    """The kernel's Landlock version; 0 without it. Asked of the system call: files about it may be missing."""
    found = _LIBC.syscall(_LANDLOCK["create"], None, ctypes.c_size_t(0), 1)
    return max(0, int(found))


def landlock(readable: Iterable[str]) -> None:
    """From here on only files below `readable` can be opened, and only for reading; no TCP, no signals outside."""
    abi = landlock_abi()
    if abi < 1:
        raise OSError("this kernel has no Landlock")
    rights = (1 << _FS_RIGHTS.get(min(abi, 5), 16)) - 1
    network = 0b11 if abi >= 4 else 0
    scoped = 0b11 if abi >= 6 else 0
    attributes = struct.pack("=QQQ", rights, network, scoped)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = _checked(_LIBC.syscall(_LANDLOCK["create"], attributes, ctypes.c_size_t(len(attributes)), 0), "landlock")
    try:
        for path in readable:
            _allow(ruleset, path)
        _checked(_LIBC.syscall(_LANDLOCK["restrict"], ruleset, 0), "landlock_restrict_self")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rights = _READ if os.path.isdir(path) else 1 << 2  # noqa: PTH112 - no pathlib in the child
        rule = _PathBeneath(rights, descriptor)
        _checked(_LIBC.syscall(_LANDLOCK["add"], ruleset, 1, ctypes.byref(rule), 0), "landlock_add_rule")
    finally:
        os.close(descriptor)


# -- seccomp


class _Calls(NamedTuple):
    """One machine's system call numbers. allow: always; files: looking at and reading files."""

    arch: int
    allow: tuple[int, ...]
    files: tuple[int, ...]
    openat: int
    tgkill: int
    prlimit64: int
    ioctl: int
    clone: int
    clone3: int


_X86 = _Calls(
    0xC000003E,
    (
        *(0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 19, 20, 24, 25, 28, 32, 35, 39, 60, 63, 72, 79, 96, 97, 98),
        *(99, 100, 102, 104, 107, 108, 110, 131, 186, 201, 202, 204, 218, 228, 229, 230, 231, 271, 273, 309, 318, 324),
        334,
    ),
    (4, 6, 21, 89, 217, 262, 267, 269, 332, 439),
    openat=257,
    tgkill=234,
    prlimit64=302,
    ioctl=16,
    clone=56,
    clone3=435,
)
_ARM = _Calls(  # not run
    0xC00000B7,
    (
        *(17, 23, 25, 57, 62, 63, 64, 65, 66, 67, 73, 80, 93, 94, 96, 98, 99, 101, 113, 114, 115, 122, 123, 124, 132),
        *(134, 135, 139, 153, 160, 163, 165, 169, 172, 173, 174, 175, 176, 177, 178, 179, 214, 215, 216, 222, 226, 233),
        *(278, 283, 293),
    ),
    (48, 61, 78, 79, 291, 439),
    openat=56,
    tgkill=131,
    prlimit64=261,
    ioctl=29,
    clone=220,
    clone3=435,
)
_MACHINES = {"x86_64": _X86, "aarch64": _ARM}

_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_EPERM, _ENOTTY, _EAGAIN, _ENOSYS = (0x00050000 | n for n in (1, 25, 11, 38))
_LD, _JEQ, _JSET, _JGE, _RET = 0x20, 0x15, 0x45, 0x35, 0x06
_WRITING = 0o3 | 0o100 | 0o1000 | 0o2000 | 0o20000000  # access mode, CREAT, TRUNC, APPEND, TMPFILE


def seccomp_program(*, files: bool) -> bytes:
    """The filter for this machine, as BPF. Without `files` nothing can be opened or looked at.

    Raises OSError on a machine whose system call numbers are not known here.
    """
    numbers = _MACHINES.get(platform.machine())
    if numbers is None:
        raise OSError(f"no system call table for {platform.machine()}")
    code: list[tuple[int, int, int, int]] = [
        (_LD, 0, 0, 4),  # architecture first: 32-bit calls have other numbers
        (_JEQ, 1, 0, numbers.arch),
        (_RET, 0, 0, _KILL),
        (_LD, 0, 0, 0),
        (_JGE, 0, 1, 0x40000000),  # x32
        (_RET, 0, 0, _KILL),
    ]
    answers = {numbers.ioctl: _ENOTTY, numbers.clone: _EAGAIN, numbers.clone3: _ENOSYS}
    for number, answer in answers.items():
        code += [(_JEQ, 0, 1, number), (_RET, 0, 0, answer)]
    pid = os.getpid()
    code += [
        (_JEQ, 0, 4, numbers.tgkill),
        (_LD, 0, 0, 16),
        (_JEQ, 0, 1, pid),
        (_RET, 0, 0, _ALLOW),
        (_RET, 0, 0, _EPERM),
    ]
    code += [  # only its own limits, and only to read them
        (_JEQ, 0, 8, numbers.prlimit64),
        *((_LD, 0, 0, 16), (_JEQ, 0, 5, 0), (_LD, 0, 0, 32), (_JEQ, 0, 3, 0), (_LD, 0, 0, 36), (_JEQ, 0, 1, 0)),
        (_RET, 0, 0, _ALLOW),
        (_RET, 0, 0, _EPERM),
    ]
    allowed = numbers.allow
    if files:
        code += [(_JEQ, 0, 4, numbers.openat), (_LD, 0, 0, 32), (_JSET, 0, 1, _WRITING), (_RET, 0, 0, _EPERM)]
        code += [(_RET, 0, 0, _ALLOW)]
        allowed += numbers.files
    for number in allowed:
        code += [(_JEQ, 0, 1, number), (_RET, 0, 0, _ALLOW)]
    code.append((_RET, 0, 0, _EPERM))
    return b"".join(struct.pack("=HBBI", *step) for step in code)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def seccomp(*, files: bool) -> None:
    """Allow only the system calls of computing (and, with `files`, of reading files)."""
    code = seccomp_program(files=files)
    program = _Program(len(code) // 8, code)
    prctl(22, 2, ctypes.addressof(program))  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
