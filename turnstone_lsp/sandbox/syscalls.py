"""Numbers of the system calls that the filter names, for x86-64 and aarch64 (Linux's asm/unistd.h)."""

from __future__ import annotations

MACHINES = ("x86_64", "aarch64")

_COMPUTING = """
write 1 64, read 0 63, futex 202 98, clock_gettime 228 113, brk 12 214, mmap 9 222, munmap 11 215, mremap 25 216,
mprotect 10 226, madvise 28 233, msync 26 227, mincore 27 232, readv 19 65, writev 20 66, pread64 17 67,
preadv 295 69, lseek 8 62, close 3 57, fstat 5 80, dup 32 23, dup2 33 -, dup3 292 24,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigtimedwait 128 137,
rt_sigsuspend 130 133, sigaltstack 131 132, restart_syscall 219 128, nanosleep 35 101, clock_nanosleep 230 115,
clock_getres 229 114, gettimeofday 96 169, time 201 -, times 100 153, getitimer 36 102, setitimer 38 103,
alarm 37 -, pause 34 -, poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, set_robust_list 273 99,
get_robust_list 274 100, rseq 334 293, sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121,
sched_getscheduler 145 120, getcpu 309 168, membarrier 324 283, getpid 39 172, getppid 110 173, gettid 186 178,
getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getresuid 118 148, getresgid 120 150,
getgroups 115 158, getpgrp 111 -, getpgid 121 155, getsid 124 156, getrusage 98 165, getrlimit 97 163,
sysinfo 99 179, uname 63 160, getcwd 79 17, getrandom 318 278, exit 60 93, exit_group 231 94
"""
_READING = """
statx 332 291, stat 4 -, lstat 6 -, access 21 -, faccessat 269 48, faccessat2 439 439, getdents64 217 61
"""
_JUDGED = """
newfstatat 262 79, openat 257 56, fcntl 72 25, tgkill 234 131, prlimit64 302 261, ioctl 16 29, clone 56 220,
clone3 435 435
"""


def _numbers(table: str, machine: str) -> dict[str, int]:
    column = 1 + MACHINES.index(machine)
    rows = (row.split() for row in table.replace("\n", " ").split(","))
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def computing(machine: str) -> dict[str, int]:
    """Calls that computing needs and that reach nothing outside the process: always allowed."""
    return _numbers(_COMPUTING, machine)


def reading(machine: str) -> dict[str, int]:
    """Calls that look at files without opening them: allowed where something else guards the files.

    Not readlink: Landlock does not cover it, and /proc would tell the folders of other processes.
    """
    return _numbers(_READING, machine)


def judged(machine: str) -> dict[str, int]:
    """Calls that are judged by their arguments, or answered with an error that libraries understand."""
    return _numbers(_JUDGED, machine)
