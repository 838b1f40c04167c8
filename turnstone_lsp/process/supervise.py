"""The supervisor: one small process that starts one command and outlives none of its descendants.

Run by path as `python -I -S supervise.py` with a socket as standard input; it imports nothing but the standard
library and nothing that is slow to load. On the socket:

    in    a length (4 bytes, big endian) and a marshalled dict: argv, cwd, env, limits, fds, grace
    out   lines: "started PID" or "failed ERRNO WHERE"; "exited STATUS" (a wait status); then one "left PID NAME"
          for each process still alive but for their own children, and "settled"; "stuck PID" for one that could
          not be ended
    in    end of file: end everything - the server asked for it, or died

It exits when the command and all its descendants are gone. On Linux it is their subreaper, so that a double-forked
daemon or a setsid child becomes its child: "I have no child" then means that nothing is left. On macOS there is no
subreaper: the tree and the process group are watched by `ps`, and a process that left both escapes (this part has
not been run on macOS).
"""

# pathlib would be most of the start-up time:
# ruff: noqa: PTH123, PTH208
from __future__ import annotations

import contextlib
import marshal
import os
import select
import signal
import sys
import time
from typing import Any

CONTROL = 0
LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_FREEZE_ROUNDS = 50
_SETTLE_SECONDS = 0.15
_STUCK_SECONDS = 3.0
"""After this long under SIGKILL a process belongs to another user or hangs in the kernel: report it and go."""


class Supervisor:
    """The command, its descendants, and whoever asked for them."""

    def __init__(self) -> None:
        self.parent = os.getppid()
        self.stopping = False
        self.main = -1
        self.settle_at = 0.0
        self.known: set[int] = set()
        self.wake, self._wake_end = os.pipe()
        for fd in (self.wake, self._wake_end):
            os.set_blocking(fd, False)
        self.prctl = _load_prctl() if LINUX else None

    def run(self) -> None:
        """Start the command, watch it, and leave nothing behind."""
        if self.prctl:
            self.prctl(_PR_SET_CHILD_SUBREAPER, 1)
            self.prctl(_PR_SET_PDEATHSIG, signal.SIGUSR1)
        signal.set_wakeup_fd(self._wake_end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGUSR1, self._on_parent_death)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_stop)
        spec = _read_spec()
        if spec is None or not self._launch(spec):
            return
        poll = select.poll()
        poll.register(CONTROL, select.POLLIN | select.POLLHUP)
        poll.register(self.wake, select.POLLIN)
        while self._alive():
            for fd, _ in poll.poll(self._patience()):
                if fd == self.wake:
                    self._drain()
                elif not _hear():
                    self.stopping = True
            if self.stopping:
                self._settle()
                self._end(spec["grace"])
                break
            if self.settle_at and time.monotonic() >= self.settle_at:
                self._settle()
        self._settle()

    def _patience(self) -> float | None:
        """Milliseconds until something must be done unasked."""
        if self.settle_at:
            return max(self.settle_at - time.monotonic(), 0) * 1000
        return None if LINUX else 200

    def _settle(self) -> None:
        """Tell, once, who is left of an ended command; a moment after its end, so that programs have their names."""
        if self.settle_at:
            self.settle_at = 0.0
            left = self._descendants()
            table = _table_proc() if LINUX else _table_ps()
            heads = sorted(pid for pid in left if pid in table and table[pid][0] not in left)
            _say("\n".join([*(f"left {pid} {_name(pid)}" for pid in heads), "settled"]))

    def _on_stop(self, *_: object) -> None:
        self.stopping = True

    def _on_parent_death(self, *_: object) -> None:
        """The signal also comes when the server's *thread* that started us ends; only a new parent counts."""
        if os.getppid() != self.parent:
            self.stopping = True

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self.wake, 256):
                pass

    def _launch(self, spec: dict[str, Any]) -> bool:
        trouble, trouble_end = os.pipe()
        for fd in spec["fds"]:
            os.set_inheritable(fd, False)
        self.main = os.fork()
        if self.main == 0:
            _become(spec, self.prctl, trouble_end)
        os.close(trouble_end)
        for fd in set(spec["fds"]):
            os.close(fd)
        failure = os.read(trouble, 200)
        os.close(trouble)
        if failure:
            os.waitpid(self.main, 0)
            _say(f"failed {failure.decode()}")
            return False
        self.known.add(self.main)
        _say(f"started {self.main}")
        return True

    def _alive(self) -> bool:
        """Reap whoever ended; False when nobody is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not LINUX and bool(self._descendants())
            if pid == 0:
                return True
            self.known.discard(pid)
            if pid == self.main:
                _say(f"exited {status}")
                self.settle_at = time.monotonic() + _SETTLE_SECONDS

    def _descendants(self) -> set[int]:
        table = _table_proc() if LINUX else _table_ps()
        found = {os.getpid()} | (set() if LINUX else self.known)
        grew = True
        while grew:
            more = {pid for pid, (ppid, group) in table.items() if ppid in found or (not LINUX and group == self.main)}
            grew = not more <= found
            found |= more
        found.discard(os.getpid())
        self.known = found & table.keys()
        return set(self.known)

    def _end(self, grace: float) -> None:
        """SIGTERM, the grace, then freeze and kill until nobody is left."""
        for pid in self._descendants():
            _kill(pid, signal.SIGTERM)
            _kill(pid, signal.SIGCONT)
        deadline = time.monotonic() + grace
        while self._alive():
            left = deadline - time.monotonic()
            if left <= 0:
                break
            select.select([self.wake], [], [], min(left, 0.05))
            self._drain()
        deadline = time.monotonic() + _STUCK_SECONDS
        while self._alive() and time.monotonic() < deadline:
            for pid in self._frozen():
                _kill(pid, signal.SIGKILL)
            select.select([self.wake], [], [], 0.01)
            self._drain()
        for pid in self._descendants() if self._alive() else ():
            _say(f"stuck {pid}")

    def _frozen(self) -> set[int]:
        """All descendants, stopped first: what is stopped cannot fork while the rest is looked for."""
        seen: set[int] = set()
        for _ in range(_FREEZE_ROUNDS):
            fresh = self._descendants() - seen
            if not fresh:
                break
            for pid in fresh:
                _kill(pid, signal.SIGSTOP)
            seen |= fresh
        return seen


def _load_prctl() -> Any:
    import ctypes

    return ctypes.CDLL(None).prctl


def _read_spec() -> dict[str, Any] | None:
    size = _read_exactly(4)
    data = _read_exactly(int.from_bytes(size, "big")) if size else b""
    return marshal.loads(data) if data else None  # noqa: S302 - written by our own server, same interpreter


def _read_exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = os.read(CONTROL, count - len(data))
        if not piece:
            return b""
        data += piece
    return data


def _hear() -> bytes:
    try:
        return os.read(CONTROL, 64)
    except ConnectionError:
        return b""


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(CONTROL, line.encode("utf-8", "replace") + b"\n")


def _become(spec: dict[str, Any], prctl: Any, trouble: int) -> None:
    """In the forked child: turn into the command. Never returns."""
    where = "start"
    try:
        os.setsid()
        if prctl:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for target, fd in enumerate(spec["fds"]):
            os.dup2(fd, target)
        if spec["limits"]:
            import resource

            for which, value in spec["limits"].items():
                resource.setrlimit(getattr(resource, which), (value, value))
        where = "cwd"
        os.chdir(spec["cwd"])
        where = "program"
        os.execve(spec["argv"][0], spec["argv"], spec["env"])  # noqa: S606 - that is its purpose
    except OSError as error:
        os.write(trouble, f"{error.errno or 0} {where}".encode())
    finally:
        os._exit(127)


def _kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _table_proc() -> dict[int, tuple[int, int]]:
    """Pid -> (parent, process group) of every process that is not a zombie, from /proc."""
    table = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{entry}/stat", "rb") as file:
                state, parent, group = file.read().rpartition(b")")[2].split()[:3]
            if state not in b"ZX":
                table[int(entry)] = (int(parent), int(group))
    return table


def _table_ps() -> dict[int, tuple[int, int]]:
    """The same from `ps`, where there is no /proc (macOS; not run there)."""
    import subprocess

    listing = subprocess.run(
        ["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat="], stdout=subprocess.PIPE, check=False, text=True
    )
    rows = (line.split() for line in listing.stdout.splitlines())
    return {int(r[0]): (int(r[1]), int(r[2])) for r in rows if len(r) == 4 and not r[3].startswith("Z")}


def _name(pid: int) -> str:
    """The command line of a process, on one line; empty when unknown."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return " ".join(file.read(300).decode("utf-8", "replace").replace("\0", " ").split())
    except OSError:
        return ""


if __name__ == "__main__":
    Supervisor().run()
    os._exit(0)  # the interpreter's own farewell would only take time
