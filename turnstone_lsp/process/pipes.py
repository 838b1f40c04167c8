"""Reading and feeding pipes without blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import IO

_CHUNK = 65_536


class Reader:
    """The read end of a pipe. Closing it is safe at any time and more than once."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        if sys.platform != "win32":
            os.set_blocking(fd, False)

    async def read(self) -> bytes:
        """The next bytes, at most 64 KiB; b"" at the end. Lets other tasks run between two reads."""
        await asyncio.sleep(0)
        if sys.platform == "win32":  # no readiness for pipes there; not run on Windows
            return await asyncio.to_thread(os.read, self._fd, _CHUNK)
        while self._fd >= 0:
            try:
                return os.read(self._fd, _CHUNK)
            except BlockingIOError:
                await self._readable()
        return b""

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._fd, _resolve, ready)
        try:
            await ready
        finally:
            if self._fd >= 0:
                loop.remove_reader(self._fd)

    def close(self) -> None:
        """Close the descriptor."""
        if self._fd < 0:
            return
        if sys.platform != "win32":
            with contextlib.suppress(RuntimeError):  # no running loop: nothing is registered
                asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)
        self._fd = -1


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def source(data: bytes | None) -> IO[bytes]:
    """A file that is a child's standard input: these bytes, or the null device."""
    if data is None:
        return Path(os.devnull).open("rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(data)
    file.seek(0)
    return file
