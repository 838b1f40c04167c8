"""Framed messages over stdin and stdout, without ever blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

MAX_BODY = 64 * 1024 * 1024
"""Bytes of one message; a longer one ends the connection, since nothing after it could be trusted."""
MAX_BACKLOG = 256 * 1024 * 1024
"""Bytes that wait for a client that has stopped reading, before it is given up."""


class Writer:
    """Queues what is sent; a thread writes it. Trap: pygls writes and flushes on the loop."""

    def __init__(self, stream: BinaryIO, on_broken: Callable[[], None]) -> None:
        self._stream = stream
        self._on_broken = on_broken
        self._ready = threading.Condition()
        self._queue: list[bytes] = []
        self._closed = False
        self.backlog = 0
        """Bytes that are queued."""
        self._thread = threading.Thread(target=self._run, name="lsp-writer", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Queue one message."""
        with self._ready:
            if self._closed:
                return
            self._queue.append(data)
            self.backlog += len(data)
            if self.backlog > MAX_BACKLOG:
                self._closed = True
                self._queue.clear()
                self._on_broken()
            self._ready.notify()

    def close(self) -> None:
        """Write what is queued, for at most a second."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._thread.join(1.0)

    def _run(self) -> None:
        while True:
            with self._ready:
                while not self._queue and not self._closed:
                    self._ready.wait()
                if not self._queue:
                    return
                data = b"".join(self._queue)
                self._queue.clear()
            try:
                self._stream.write(data)
                self._stream.flush()
            except (OSError, ValueError):
                self._on_broken()
                return
            with self._ready:
                self.backlog -= len(data)


async def read_messages(handle: Callable[[bytes], None], stream: BinaryIO) -> None:
    """Hand over each message's body until the end of the input. Other tasks run between two messages."""
    reader = asyncio.StreamReader(limit=1 << 20)
    await _connect(reader, stream)
    try:
        while (length := await _read_header(reader)) is not None:
            if length > MAX_BODY:
                log.error("a message of %d bytes is more than %d; the connection ends", length, MAX_BODY)
                return
            handle(await reader.readexactly(length))
            await asyncio.sleep(0)
    except (asyncio.IncompleteReadError, ConnectionError):
        return


async def _read_header(reader: asyncio.StreamReader) -> int | None:
    """The length that a header gives; None at the end of the input. Header names are not case-sensitive."""
    length = 0
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            log.error("a header line is too long; the connection ends")  # noqa: TRY400 - nothing more to trace
            return None
        if not line:
            return None
        name, _, value = line.strip().partition(b":")
        if not name and not value:
            if length:
                return length
            continue
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)


async def _connect(reader: asyncio.StreamReader, stream: BinaryIO) -> None:
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":
        with contextlib.suppress(ValueError, OSError):  # a plain file, as in a test by hand: read in a thread
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stream)
            return
    threading.Thread(target=_feed, args=(loop, reader, stream.fileno()), name="lsp-reader", daemon=True).start()


def _feed(loop: asyncio.AbstractEventLoop, reader: asyncio.StreamReader, descriptor: int) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended
        while data := os.read(descriptor, 65536):
            loop.call_soon_threadsafe(reader.feed_data, data)
        loop.call_soon_threadsafe(reader.feed_eof)
