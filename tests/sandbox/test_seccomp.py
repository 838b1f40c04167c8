"""The system call filter, instruction by instruction, for both machines: what a call may ask of the kernel (C-09)."""

from __future__ import annotations

import struct

import pytest

from turnstone_lsp.sandbox import seccomp, syscalls

ALLOW, KILL = "allow", "kill"
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386, ARM = 0x40000003, 0x40000028
PID = 4321
MACHINES = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
BOTH = pytest.mark.parametrize("files", [True, False])


def verdict(program: bytes, number: int, *arguments: int, arch: int) -> str:
    """Run the filter as the kernel does (linux/filter.h): "allow", "kill", or "errno N"."""
    filled = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=iIQ6Q", number - (1 << 32) if number >> 31 else number, arch, 0, *filled)
    steps = list(struct.iter_unpack("=HBBI", program))
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif code == 0x06:
            action = operand & 0xFFFF0000
            return {0x7FFF0000: ALLOW, 0x80000000: KILL}.get(action, f"errno {operand & 0xFFFF}")
        else:
            holds = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}
            at += if_true if holds[code] else if_false


class Filter:
    def __init__(self, machine: str, *, files: bool) -> None:
        self._program = seccomp.program(machine, PID, files=files)
        self._arch = ARCH[machine]
        self.numbers = syscalls.computing(machine) | syscalls.reading(machine) | syscalls.judged(machine)

    def __call__(self, call: str | int, *arguments: int, arch: int | None = None) -> str:
        number = self.numbers[call] if isinstance(call, str) else call
        return verdict(self._program, number, *arguments, arch=arch or self._arch)


@MACHINES
@BOTH
def test_numbers_of_another_architecture_kill(machine: str, files: bool) -> None:
    asked = Filter(machine, files=files)
    others = {I386, ARM, *ARCH.values()} - {ARCH[machine]}
    assert {asked("write", arch=other) for other in others} == {KILL}
    if machine == "x86_64":
        assert {asked(0x40000000 + number) for number in (0, 1, 41, 512, 0x7FFFFFF)} == {KILL}
        assert asked(0xFFFFFFFF) == KILL


@MACHINES
@BOTH
def test_only_what_is_listed_is_allowed(machine: str, files: bool) -> None:
    asked = Filter(machine, files=files)
    listed = set(syscalls.computing(machine).values())
    listed |= set(syscalls.reading(machine).values()) if files else set()
    judged = set(syscalls.judged(machine).values())
    for number in set(range(1024)) - judged:
        assert asked(number) == (ALLOW if number in listed else "errno 1"), number


@MACHINES
def test_files_are_opened_for_reading_only_and_not_at_all_without_landlock(machine: str) -> None:
    asked = Filter(machine, files=True)
    cloexec, directory, path = 0o2000000, 0o200000, 0o10000000
    for flags in (0, cloexec, cloexec | directory, path):
        assert asked("openat", 0, 0, flags) == ALLOW
        assert Filter(machine, files=False)("openat", 0, 0, flags) == "errno 1"
    for flags in (1, 2, 3, 0o100, 0o1000, 0o2000, 0o20000000 | directory | 2, 0o20000000, cloexec | 1):
        assert asked("openat", 0, 0, flags) == "errno 1"


@MACHINES
def test_without_landlock_only_open_descriptors_are_looked_at(machine: str) -> None:
    asked = Filter(machine, files=False)
    assert asked("newfstatat", 3, 0, 0, 0x1000) == ALLOW
    assert asked("newfstatat", 3, 0, 0, 0) == "errno 1"
    assert Filter(machine, files=True)("newfstatat", 3, 0, 0, 0) == ALLOW


@MACHINES
@BOTH
def test_nobody_else_is_signalled(machine: str, files: bool) -> None:
    """abort() works; a signal to another process, also one sent by the kernel on our behalf, does not."""
    asked = Filter(machine, files=files)
    assert asked("tgkill", PID, PID, 6) == ALLOW
    assert asked("tgkill", PID + 1, PID + 1, 9) == "errno 1"
    get, set_flags, set_owner, set_signal, set_owner_ex = 3, 4, 8, 10, 15
    assert asked("fcntl", 1, get) == asked("fcntl", 1, set_flags, 0o20000) == ALLOW
    assert {asked("fcntl", 1, command) for command in (set_owner, set_signal, set_owner_ex)} == {"errno 1"}


@MACHINES
@BOTH
def test_limits_are_read_and_not_set(machine: str, files: bool) -> None:
    asked = Filter(machine, files=files)
    assert asked("prlimit64", 0, 7, 0, 0x7FFF00000000) == ALLOW
    assert asked("prlimit64", 0, 7, 0x7FFF00000000, 0) == "errno 1"
    assert asked("prlimit64", 0, 7, 1, 0) == "errno 1"
    assert asked("prlimit64", 77, 7, 0, 0) == "errno 1"


@MACHINES
@BOTH
def test_libraries_get_answers_that_they_understand(machine: str, files: bool) -> None:
    asked = Filter(machine, files=files)
    assert asked("ioctl", 1, 0x5401) == "errno 25"
    assert asked("clone", 0x11) == "errno 11"
    assert asked("clone3") == "errno 38"


def test_a_few_numbers_as_the_kernels_tables_have_them() -> None:
    """asm/unistd_64.h and asm-generic/unistd.h."""
    x86 = syscalls.computing("x86_64") | syscalls.reading("x86_64") | syscalls.judged("x86_64")
    arm = syscalls.computing("aarch64") | syscalls.reading("aarch64") | syscalls.judged("aarch64")
    known = {"openat": (257, 56), "mmap": (9, 222), "exit_group": (231, 94), "getrandom": (318, 278), "ioctl": (16, 29)}
    known |= {"tgkill": (234, 131), "clone": (56, 220), "prlimit64": (302, 261), "futex": (202, 98)}
    assert {name: (x86[name], arm[name]) for name in known} == known
    assert len(set(x86.values())) == len(x86)
    assert len(set(arm.values())) == len(arm)
