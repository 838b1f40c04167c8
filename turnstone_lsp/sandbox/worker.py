"""The server's side where processes are not forked: a warm worker waits, serves one call, and is thrown away.

Level L1: time and output are limited, and the platform's supervisor ends it with all that it started; nothing else
holds, so every call asks. Run on Linux by the tests; not run on macOS and Windows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.sandbox import frames
from turnstone_lsp.sandbox.host import IDLE_SECONDS, START_SECONDS, Answer, Process, Task, command_line, spawn
from turnstone_lsp.sandbox.levels import NONE, Level

if TYPE_CHECKING:
    from collections.abc import Sequence

log = logging.getLogger(__name__)


class WorkerHost:
    """See Host. Calls go one at a time; while one runs, nothing waits, so that memory is held once."""

    def __init__(self, task: Task, names: Sequence[str]) -> None:
        self._task: Task = task
        self._names = names
        self._one = asyncio.Lock()
        self._spare: asyncio.Task[Process] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self.level: Level | None = NONE

    async def start(self) -> Level:
        """See Host."""
        await asyncio.shield(self._warm())
        return NONE

    async def call(self, body: bytes, *, timeout: float, cap: int, header: frames.Header | None = None) -> Answer:
        """See Host."""
        async with self._one:
            self._stay()
            spare = self._warm()
            worker = await asyncio.shield(spare)
            self._spare = None
            try:
                request = frames.pack({**(header or {}), "timeout": timeout, "cap": cap}, body)
                return await _serve(worker, request, timeout, cap)
            finally:
                await worker.close()
                self._warm()
                self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end_idle)

    def _warm(self) -> asyncio.Task[Process]:
        """The worker that waits, or is being started."""
        if self._spare is None or (self._spare.done() and _lost(self._spare)):
            self._spare = asyncio.create_task(self._start())
            self._spare.add_done_callback(_retrieve)
        return self._spare

    async def _start(self) -> Process:
        worker = await spawn(command_line("worker_main", self._task, NONE, self._names))
        try:
            async with asyncio.timeout(START_SECONDS):
                ready = await _hello(worker)
        except BaseException as error:
            await worker.close()
            if isinstance(error, TimeoutError):
                raise ToolError(f"The {self._task} worker did not start in time; try again.") from None
            raise
        if "failed" in ready:
            await worker.close()
            raise ToolError(f"The {self._task} worker cannot be started: {ready['failed']}.")
        log.info("%s worker: level %s (%s)", self._task, NONE, ready.get("why"))
        return worker

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _end_idle(self) -> None:
        if self._spare is None:
            return
        if not self._spare.done():
            self._spare.cancel()  # still starting; that ends its process
        elif not _lost(self._spare):
            self._spare.result().child.stop()

    async def close(self) -> None:
        """See Host."""
        self._stay()
        if self._spare is not None:
            self._spare.cancel()
            await asyncio.wait({self._spare})
            if not self._spare.cancelled() and self._spare.exception() is None:
                await self._spare.result().close()
            self._spare = None


def _lost(spare: asyncio.Task[Process]) -> bool:
    return spare.cancelled() or spare.exception() is not None or spare.result().child.ended


def _retrieve(task: asyncio.Task[Process]) -> None:
    """Mark an exception as seen: whoever waits still gets it."""
    if not task.cancelled():
        task.exception()


async def _hello(worker: Process) -> frames.Header:
    unpacker = frames.Unpacker()
    while (frame := unpacker.take()) is None:
        data = await worker.reader.read()
        if not data:
            raise ToolError("The worker ended before it was ready; run turnstone-lsp doctor.")
        unpacker.feed(data)
    return frame[0]


async def _serve(worker: Process, request: bytes, timeout: float, cap: int) -> Answer:
    """Have a worker serve its one call."""
    output = bytearray()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            await asyncio.to_thread(_write, worker.writing, request)
            while len(output) < cap and (piece := await worker.reader.read()):
                output += piece
            if len(output) >= cap:
                return Answer("output", 0, bytes(output[:cap]))
            ended = await worker.child.exited()
            how = "signal" if ended.signal else "ok" if ended.code == 0 else "error"
            return Answer(how, ended.signal or 0, bytes(output))
    return Answer("timeout", 0, bytes(output))


def _write(fd: int, data: bytes) -> None:
    left = memoryview(data)
    with contextlib.suppress(OSError):  # its end is seen on the other pipe
        while left:
            left = left[os.write(fd, left) :]
