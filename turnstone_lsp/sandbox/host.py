"""The server's side of a host process: started when first needed, restarted when dead or late, ended when idle."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Literal

from turnstone_lsp.errors import ToolError

Task = Literal["math", "html"]

START_SECONDS = 60.0
LATE_SECONDS = 3.0
IDLE_SECONDS = 600.0
_THREADS = ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB")
_RUN = "import sys; sys.path[:0] = {0!r}; from turnstone_lsp.sandbox.host_main import main; main({1!r})"
_PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])
_LINE_LIMIT = 16 * 1024 * 1024


def environment() -> dict[str, str]:
    """An environment from nothing: no key of the user's is in it."""
    made = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MPLBACKEND": "Agg", "PYTHONHASHSEED": "random"}
    made |= {f"{name}_NUM_THREADS": "1" for name in _THREADS}
    # On some processors OpenBLAS is right only with the core type that the system sets.
    return made | {k: v for k, v in os.environ.items() if k in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "SYSTEMROOT")}


def module_folders() -> list[str]:
    """Where the host finds our package and its libraries beside its own: never the working folder."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [_PACKAGE_PARENT, *(folder for folder in named if Path(folder).is_absolute())]


class Host:
    """One host. Calls go one at a time."""

    def __init__(self, task: Task) -> None:
        self._task: Task = task
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self.level = ""
        """The level that its self-test proved; "" before it has run."""

    async def start(self) -> str:
        """Start it if it does not run; its level. Raises ToolError."""
        if self._process is not None and self._process.returncode is None:
            return self.level
        code = _RUN.format(module_folders(), self._task)
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-B",
            "-c",
            code,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/" if os.name == "posix" else None,
            env=environment(),
            start_new_session=True,
            limit=_LINE_LIMIT,
        )
        try:
            ready = await self._answer(START_SECONDS)
        except BaseException:
            self.kill()
            raise
        self.level = str(ready["level"])
        return self.level

    async def call(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """One call. Cancelling it kills its child. Raises ToolError when the host cannot be had."""
        async with self._lock:
            self._stay()
            await self.start()
            process = self._process
            if process is None or process.stdin is None:
                raise ToolError(f"The {self._task} sandbox did not start. Try again.")
            try:
                process.stdin.write(json.dumps({**request, "timeout": timeout}).encode() + b"\n")
                await process.stdin.drain()
                return await self._answer(timeout + LATE_SECONDS)
            except asyncio.CancelledError:
                await self._cancel()
                raise
            except (ConnectionError, BrokenPipeError):
                self.kill()
                raise ToolError(f"The {self._task} sandbox ended unexpectedly. Try again.") from None
            finally:
                self._leave()

    async def _cancel(self) -> None:
        """Have the host kill its child; a host that does not answer is killed itself."""
        process = self._process
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(OSError, TimeoutError, ToolError):
            process.stdin.write(b"{}\n")
            await asyncio.shield(self._answer(LATE_SECONDS))
            return
        self.kill()

    async def _answer(self, seconds: float) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdout is None:
            raise ToolError(f"The {self._task} sandbox is not running. Try again.")
        try:
            async with asyncio.timeout(seconds):
                line = await process.stdout.readline()
        except TimeoutError:
            self.kill()
            raise ToolError(f"The {self._task} sandbox did not answer in time and was ended. Try again.") from None
        if not line:
            self.kill()
            raise ToolError(f"The {self._task} sandbox ended unexpectedly. Try again.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _leave(self) -> None:
        self._stay()
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self.kill)

    def kill(self) -> None:
        """End it at once; its children end with it."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def close(self) -> None:
        """End it and wait for that."""
        self._stay()
        self.kill()
        if self._process is not None:
            await self._process.wait()
            self._process = None
