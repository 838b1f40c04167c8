"""Supervised commands on Windows: a job object that ends all its processes when its handle closes.

Not run on Windows so far. The kernel closes the handle when this process dies, however it dies, and
JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE then ends every process of the job. The command starts suspended, so that no
child of it can start outside the job. Documentation: "Job Objects" in the Win32 API reference.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process.child import Child, Command, Exit

if TYPE_CHECKING:
    from collections.abc import Callable

_CREATE_SUSPENDED = 0x4
_CREATE_NEW_PROCESS_GROUP = 0x200
_CREATE_NO_WINDOW = 0x08000000
_EXTENDED_LIMITS = 9
_ACCOUNTING = 1
_KILL_ON_JOB_CLOSE = 0x2000


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION; only LimitFlags is set."""

    _fields_ = (
        ("times", ctypes.c_int64 * 2),
        ("flags", ctypes.c_uint32),
        ("sizes", ctypes.c_size_t * 2),
        ("active", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("classes", ctypes.c_uint32 * 2),
        ("io", ctypes.c_uint64 * 6),
        ("memory", ctypes.c_size_t * 4),
    )


class _Accounting(ctypes.Structure):
    """JOBOBJECT_BASIC_ACCOUNTING_INFORMATION."""

    _fields_ = (("times", ctypes.c_int64 * 4), ("counts", ctypes.c_uint32 * 4))


class WindowsChild(Child):
    """See Child."""

    def __init__(self, command: Command, on_gone: Callable[[Child], None]) -> None:
        super().__init__(command)
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._grace = command.grace
        self._kernel: Any = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]  # Windows only
        self._job = self._kernel.CreateJobObjectW(None, None)
        limits = _Limits(flags=_KILL_ON_JOB_CLOSE)
        self._kernel.SetInformationJobObject(self._job, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits))
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self, command: Command) -> None:
        """Start the command inside the job. Raises ToolError."""
        try:
            self._process = subprocess.Popen(  # noqa: ASYNC220 - returns as soon as the process exists
                list(command.argv),
                cwd=command.cwd,
                env=dict(command.env),
                stdin=command.fds[0],
                stdout=command.fds[1],
                stderr=command.fds[2],
                creationflags=_CREATE_SUSPENDED | _CREATE_NEW_PROCESS_GROUP | _CREATE_NO_WINDOW,
            )
        except OSError as error:
            self._on_gone(self)
            raise ToolError(f"{command.argv[0]} could not be started: {error.strerror}.") from error
        handle = int(self._process._handle)  # type: ignore[attr-defined]  # noqa: SLF001 - Windows only; no public way
        self._kernel.AssignProcessToJobObject(self._job, handle)
        ctypes.WinDLL("ntdll").NtResumeProcess(handle)  # type: ignore[attr-defined]  # Windows only
        self.pid = self._process.pid
        threading.Thread(target=self._watch, daemon=True, name="turnstone-job").start()

    def stop(self) -> None:
        """CTRL_BREAK to the group now, the end of the whole job after the grace."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.send_signal(signal.CTRL_BREAK_EVENT)  # type: ignore[attr-defined]  # Windows only
        threading.Timer(self._grace, lambda: self._kernel.TerminateJobObject(self._job, 1)).start()

    def wait_gone(self, timeout: float) -> bool:
        """See Child."""
        deadline = time.monotonic() + timeout
        while self._active() and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self._active()

    def _active(self) -> int:
        info = _Accounting()
        self._kernel.QueryInformationJobObject(self._job, _ACCOUNTING, ctypes.byref(info), ctypes.sizeof(info), None)
        return int(info.counts[2])

    def _watch(self) -> None:
        """In a thread: the command's end, then the job's."""
        if self._process is None:
            return
        code = self._process.wait()
        self._tell(self._exit.set_result, Exit(code))
        while self._active():
            time.sleep(0.2)
        self._kernel.CloseHandle(self._job)
        self._tell(self._gone.set_result, None)
        self._tell(self._on_gone, self)

    def _tell(self, what: Callable[..., object], value: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            self._loop.call_soon_threadsafe(what, value)
