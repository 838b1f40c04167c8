"""Calls in a forking host: one confined child for each, watched until it ends or is ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from turnstone_lsp.sandbox import child, limits

if TYPE_CHECKING:
    from collections.abc import Callable

How = Literal["ok", "error", "signal", "timeout", "output", "cancelled", "unconfined"]
"""ok, error: the code ended and said so; signal: it was killed; timeout, output, cancelled: ended by us; unconfined:
a layer did not hold, and nothing was run.
"""
_CHUNK = 65_536
_ERROR = 1


@dataclass(slots=True)
class Call:
    """A running child. deadline: on the monotonic clock; cap: bytes of output."""

    pid: int
    watch: int
    output: int
    status: int
    deadline: float
    cap: int
    done: Callable[[Call], None]
    data: bytearray = field(default_factory=bytearray)
    how: How | None = None
    signal: int = 0
    cpu: float = 0.0

    def stop(self, how: How) -> None:
        """End the child at once; the first reason counts."""
        if self.how is None:
            self.how = how
            os.kill(self.pid, signal.SIGKILL)


class Calls:
    """The children of a host. Single-threaded: `step` does whatever is to be done."""

    def __init__(self, confinement: child.Confinement, null: int) -> None:
        self._confinement = confinement
        self._null = null
        self._poll = select.poll()
        self._by_fd: dict[int, Call] = {}

    def start(self, run: Callable[[], bool], *, timeout: float, cap: int, done: Callable[[Call], None]) -> Call:
        """Fork a child that runs `run`; `done` is called when it has ended. Raises OSError when it cannot be forked."""
        output, output_end = os.pipe()
        status, status_end = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._in_child(run, output_end, status_end, parent, int(timeout) + 2)
        os.close(output_end)
        os.close(status_end)
        os.set_blocking(output, False)
        call = Call(pid, os.pidfd_open(pid), output, status, time.monotonic() + timeout, cap, done)
        for fd in (call.watch, call.output):
            self._by_fd[fd] = call
            self._poll.register(fd, select.POLLIN)
        return call

    def _in_child(self, run: Callable[[], bool], output: int, status: int, parent: int, seconds: int) -> None:
        code = _ERROR
        with contextlib.suppress(BaseException):  # whatever it is, the child must not go on as the host
            child.confine(
                self._confinement,
                null=self._null,
                output=output,
                status=status,
                parent=parent,
                seconds=seconds,
                memory=limits.MEMORY,
            )
            code = 0 if run() else _ERROR
        os._exit(code)

    def step(self, control: int | None = None) -> bool:
        """Wait for something to happen and deal with it. True when `control` can be read, or has ended."""
        if control is not None:
            self._poll.register(control, select.POLLIN)
        next_deadline = min((call.deadline for call in self.calls if call.how is None), default=None)
        wait = None if next_deadline is None else max(0.0, next_deadline - time.monotonic()) * 1000 + 1
        heard = False
        for fd, _ in self._poll.poll(wait):
            if fd == control:
                heard = True
            elif (call := self._by_fd.get(fd)) is not None:
                self._read(call)
                if fd == call.watch:
                    self._finish(call)
        now = time.monotonic()
        for call in self.calls:
            if call.deadline <= now:
                call.stop("timeout")
        return heard

    @property
    def calls(self) -> list[Call]:
        """Those that run."""
        return [call for fd, call in self._by_fd.items() if fd == call.watch]

    def _read(self, call: Call) -> None:
        """Take what the child has written, at most its cap."""
        with contextlib.suppress(BlockingIOError):
            while call.output in self._by_fd:
                piece = os.read(call.output, _CHUNK)
                call.data += piece[: call.cap - len(call.data)]
                if not piece:
                    self._forget(call.output)
                elif len(call.data) >= call.cap:
                    call.stop("output")
                    return

    def _finish(self, call: Call) -> None:
        _, status, usage = os.wait4(call.pid, 0)
        confined = os.read(call.status, 1) == child.CONFINED
        self._forget(call.watch)
        if call.output in self._by_fd:
            self._forget(call.output)
        for fd in (call.watch, call.output, call.status):
            os.close(fd)
        call.cpu = usage.ru_utime + usage.ru_stime
        if call.how is None:
            call.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            code = os.waitstatus_to_exitcode(status)
            call.how = "signal" if call.signal else "ok" if code == 0 else "error"
            if not confined:
                call.how = "unconfined"
        call.done(call)

    def _forget(self, fd: int) -> None:
        del self._by_fd[fd]
        self._poll.unregister(fd)
