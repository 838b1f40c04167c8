"""Supervised commands on Linux and macOS: one `supervise.py` per command, held by a socket.

The socket is the leash: the supervisor ends everything when our end closes, which the kernel does for us on every
way to die. (The macOS half of the supervisor has not been run.)
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import marshal
import os
import signal
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process.child import Child, Command, Exit, Process

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

_SCRIPT = str(Path(__file__).with_name("supervise.py"))
_LOADER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
MARK = "TURNSTONE_CALL"
"""Environment variable by which the descendants of a murdered supervisor are found."""


class PosixChild(Child):
    """See Child. `on_gone` is called once, when nothing is left."""

    def __init__(self, command: Command, on_gone: Callable[[Child], None]) -> None:
        super().__init__(command)
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._token = uuid.uuid4().hex
        self._buffer = b""
        self._left: list[Process] = []
        self._status: int | None = None
        self._leash, theirs = socket.socketpair()
        with theirs:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", _SCRIPT],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _LOADER if name in os.environ},
                pass_fds=command.fds,
                start_new_session=True,
                cwd="/",
            )
        self._leash.setblocking(False)
        self._loop.add_reader(self._leash.fileno(), self._hear)

    async def start(self, command: Command) -> None:
        """Tell the supervisor what to run; returns when it runs. Raises ToolError when it cannot be started."""
        env = dict(command.env) | {MARK: self._token}
        spec = {
            "argv": [os.fsencode(word) for word in command.argv],
            "cwd": os.fsencode(command.cwd),
            "env": {os.fsencode(k): os.fsencode(v) for k, v in env.items()},
            "limits": dict(command.limits),
            "fds": list(command.fds),
            "grace": command.grace,
        }
        data = marshal.dumps(spec)
        with contextlib.suppress(OSError):  # a dead supervisor is heard of on the leash
            await self._loop.sock_sendall(self._leash, len(data).to_bytes(4, "big") + data)
        await self._started

    def stop(self) -> None:
        """See Child."""
        with contextlib.suppress(OSError):
            self._leash.shutdown(socket.SHUT_WR)

    def wait_gone(self, timeout: float) -> bool:
        """See Child."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(timeout)
            if self._loop.is_closed():
                self._leash.close()  # else the loop hears its end and tells who waits
            return True
        return False

    def _hear(self) -> None:
        try:
            data = self._leash.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._supervisor_ended()
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self._note(*line.decode("utf-8", "replace").split(" ", 2))

    def _note(self, word: str, first: str = "", rest: str = "") -> None:
        if word == "started":
            self.pid = int(first)
            _resolve(self._started, None)
        elif word == "failed":
            self._fail(ToolError(_why(int(first), rest, self.name)))
        elif word == "exited":
            self._status = int(first)
        elif word == "left":
            self._left.append(Process(int(first), rest))
        elif word == "stuck":
            log.warning("process %s of %r could not be ended", first, self.name)
        elif word == "settled" and self._status is not None:
            _resolve(self._exit, _decode(self._status, tuple(self._left)))

    def _fail(self, error: Exception) -> None:
        for future in (self._started, self._exit):
            if not future.done():
                future.set_exception(error)

    def _supervisor_ended(self) -> None:
        self._loop.remove_reader(self._leash.fileno())
        self._leash.close()
        if self._supervisor.wait() != 0:
            _sweep(self._token)
        self._fail(ToolError("The process that supervises commands was killed; nothing of the command is left."))
        _resolve(self._gone, None)
        self._on_gone(self)


T = TypeVar("T")


def _resolve(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)


def _decode(status: int, left: tuple[Process, ...]) -> Exit:
    if os.WIFSIGNALED(status):
        return Exit(None, os.WTERMSIG(status), left)
    return Exit(os.WEXITSTATUS(status), None, left)


def _why(errno: int, where: str, name: str) -> str:
    reason = os.strerror(errno) if errno else "unknown error"
    if where == "cwd":
        return f"The session's folder cannot be entered ({reason}); restore it, or start a new session."
    return f"{name.split(' ', 1)[0]} could not be started: {reason}."


def _sweep(token: str) -> None:
    """Kill what a supervisor left behind that was itself killed: whoever carries the call's mark (Linux only)."""
    mark = f"{MARK}={token}".encode()
    for _ in range(20):
        found = 0
        for entry in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in entry.read_bytes():
                    os.kill(int(entry.parent.name), signal.SIGKILL)
                    found += 1
        if not found:
            return
