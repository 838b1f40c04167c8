"""The server's side of a forking host (Linux): restarted when dead or late, ended when idle."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
from typing import TYPE_CHECKING, Any

from turnstone_lsp.errors import ToolError
from turnstone_lsp.sandbox import frames
from turnstone_lsp.sandbox.host import IDLE_SECONDS, START_SECONDS, Answer, Process, Task, command_line, spawn
from turnstone_lsp.sandbox.levels import ALL, NONE, Level

if TYPE_CHECKING:
    from collections.abc import Sequence

log = logging.getLogger(__name__)

LATE_SECONDS = 2.0
"""Seconds after a call's time within which the host must have answered."""
AT_ONCE = 2
"""Calls that run at the same time; others wait."""


class ForkingHost:
    """See Host."""

    def __init__(self, task: Task, names: Sequence[str], highest: Level = "L4") -> None:
        self._task: Task = task
        self._names = names
        self._highest: Level = highest
        self._free = asyncio.Semaphore(AT_ONCE)
        self._numbers = itertools.count(1)
        self._run: _Run | None = None
        self._starting: asyncio.Task[_Run] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self.level: Level | None = None

    async def start(self) -> Level:
        """See Host. Cancelling the caller leaves it starting."""
        await self._running()
        return self.level or NONE

    async def call(self, body: bytes, *, timeout: float, cap: int, header: frames.Header | None = None) -> Answer:
        """See Host."""
        async with self._free:
            self._stay()
            try:
                run = await self._running()
                number = next(self._numbers)
                request = {**(header or {}), "id": number, "timeout": timeout, "cap": cap}
                return await run.ask(number, request, body, timeout + LATE_SECONDS)
            finally:
                self._leave()

    async def _running(self) -> _Run:
        if self._run is not None and not self._run.ended:
            return self._run
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
            self._starting.add_done_callback(self._started)
        return await asyncio.shield(self._starting)

    def _started(self, task: asyncio.Task[_Run]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # told to whoever waits; nobody waiting is no error

    async def _start(self) -> _Run:
        if self._run is not None:
            await self._run.close()
            self._run = None
        for highest in ALL[ALL.index(self._highest) :]:
            run = _Run(self._task, await spawn(command_line("host_main", self._task, highest, self._names)))
            try:
                ready = await run.hello(START_SECONDS)
            except BaseException:
                await run.close()
                raise
            if "failed" not in ready:
                self._run, self.level = run, _level(ready.get("ready"))
                log.info("%s sandbox: level %s%s", self._task, self.level, _because(ready.get("why")))
                return run
            await run.close()
            log.warning("%s sandbox at level %s: %s", self._task, highest, ready["failed"])
            if ready.get("fatal"):
                break
        raise ToolError(f"The {self._task} sandbox cannot be started: {ready['failed']}. Run turnstone-lsp doctor.")

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _leave(self) -> None:
        self._stay()
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end_idle)

    def _end_idle(self) -> None:
        if self._run is not None and not self._run.busy:
            self._run.stop()

    async def close(self) -> None:
        """See Host."""
        self._stay()
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        if self._run is not None:
            await self._run.close()
            self._run = None


def _level(value: object) -> Level:
    return next((level for level in ALL if level == value), NONE)


def _because(why: object) -> str:
    return f" ({why})" if why else ""


class _Run:
    """One host process, from its start to its end."""

    def __init__(self, task: Task, process: Process) -> None:
        self._task = task
        self._process = process
        self._write_lock = asyncio.Lock()
        self._hello: asyncio.Future[frames.Header] = asyncio.get_running_loop().create_future()
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._stopped = False
        self._listening = asyncio.create_task(self._listen())
        os.set_blocking(process.writing, False)

    @property
    def ended(self) -> bool:
        """Whether the process is gone or was told to go."""
        return self._stopped or self._listening.done()

    @property
    def busy(self) -> bool:
        """Whether a call runs."""
        return bool(self._waiting)

    async def hello(self, seconds: float) -> frames.Header:
        """Its first frame. Raises ToolError."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._hello), seconds)
        except TimeoutError:
            raise ToolError(f"The {self._task} sandbox did not start within {seconds:.0f} s; try again.") from None

    async def ask(self, number: int, request: frames.Header, body: bytes, seconds: float) -> Answer:
        """Send a request and wait for its answer. Raises ToolError."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(seconds):
                await self._send(frames.pack(request, body))
                return await answer
        except TimeoutError:
            self.stop()
            raise ToolError(f"The {self._task} sandbox did not answer in time and was ended; try again.") from None
        except asyncio.CancelledError:
            self._cancel(number)
            raise
        finally:
            self._waiting.pop(number, None)

    def _cancel(self, number: int) -> None:
        """Have the host end a call. A host that is sent something else or does not read is ended itself."""
        if self._stopped:
            return
        try:
            if self._write_lock.locked():
                raise BlockingIOError
            os.write(self._process.writing, frames.pack({"cancel": number}))
        except OSError:
            self.stop()

    async def _send(self, data: bytes) -> None:
        left = memoryview(data)
        async with self._write_lock:
            while left:
                try:
                    left = left[os.write(self._process.writing, left) :]
                except BlockingIOError:
                    await self._writable()
                except OSError:
                    self.stop()
                    raise ToolError(f"The {self._task} sandbox ended unexpectedly; try again.") from None
                except asyncio.CancelledError:
                    self.stop()  # a part of a frame may be in the pipe, and nothing can follow it
                    raise

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_writer(self._process.writing, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(self._process.writing)

    async def _listen(self) -> None:
        unpacker = frames.Unpacker()
        with contextlib.suppress(ValueError, KeyError, TypeError):  # no frame of ours: the host is not to be trusted
            while data := await self._process.reader.read():
                unpacker.feed(data)
                while (frame := unpacker.take()) is not None:
                    self._hear(*frame)
        self._lost()

    def _hear(self, header: frames.Header, body: bytes) -> None:
        if not self._hello.done():
            self._hello.set_result(header)
            return
        answer = self._waiting.get(header["id"])
        if answer is not None and not answer.done():
            answer.set_result(Answer(str(header["how"]), int(header["signal"]), body))

    def _lost(self) -> None:
        self._process.child.stop()
        error = ToolError(f"The {self._task} sandbox ended unexpectedly; try again.")
        futures: list[asyncio.Future[Any]] = [self._hello, *self._waiting.values()]
        for future in futures:
            if not future.done():
                future.set_exception(error)
                future.exception()

    def stop(self) -> None:
        """Begin to end the process; what runs in it fails."""
        self._stopped = True
        self._listening.cancel()
        self._lost()

    async def close(self) -> None:
        """End the process and wait until nothing is left of it."""
        self.stop()
        await asyncio.wait({self._listening})
        await self._process.close()
