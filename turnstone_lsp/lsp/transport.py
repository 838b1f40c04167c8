"""Framed messages over stdin and stdout, without ever blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import stat
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

MAX_BODY = 64 * 1024 * 1024
"""Bytes of one message. A longer one ends the connection: what follows it could not be told apart from its body."""
MAX_BACKLOG = 256 * 1024 * 1024
"""Bytes that wait for a client that has stopped reading, before the client is given up."""
_PIECE = 4096
"""Bytes that a pipe or socket which reports itself writable takes at once (PIPE_BUF on Linux)."""
_HEADER_LINE = 1 << 16


class Writer:
    """Sends messages in order. What the client does not take at once waits for a thread, never for the loop.

    Trap: pygls writes and flushes on the event loop, so a client that stops reading stops the server.
    """

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._quick = _quick_writer(descriptor)
        self._ready = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.backlog = 0
        """Bytes that wait for the client."""

    def write(self, data: bytes) -> None:
        """Send one message, or queue what the client does not take now."""
        with self._ready:
            if self._closed:
                return
            if not self.backlog:
                try:
                    data = self._quick(data)
                except OSError:
                    self._break()
                    return
            if data:
                self._enqueue(data)

    def _enqueue(self, data: bytes) -> None:
        self._queue.append(data)
        self.backlog += len(data)
        if self.backlog > MAX_BACKLOG:
            log.error("the client has left %d bytes unread; it is given up", self.backlog)
            self._break()
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lsp-writer", daemon=True)
            self._thread.start()
        self._ready.notify()

    def _break(self) -> None:
        self._closed = True
        self._queue.clear()
        self._ready.notify()
        self._on_broken()

    def close(self, patience: float = 1.0) -> None:
        """Send what is queued, for at most `patience` seconds. Blocks."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        if self._thread is not None:
            self._thread.join(patience)

    def _run(self) -> None:
        """The thread: it alone may wait for the client."""
        while True:
            with self._ready:
                while not self._queue and not self._closed:
                    self._ready.wait()
                if not self._queue:
                    return
                data = self._queue.popleft()
            try:
                _write_all(self._descriptor, data)
            except OSError:
                with self._ready:
                    self._break()
                return
            with self._ready:
                self.backlog -= len(data)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:  # stdout shares its open file with stdin, which the loop made non-blocking
            select.select((), (descriptor,), ())


def _quick_writer(descriptor: int) -> Callable[[bytes], bytes]:
    """A function that writes what can be written without waiting and returns the rest.

    Only pipes and sockets say reliably that they take a piece; to everything else the thread writes.
    """
    mode = os.fstat(descriptor).st_mode
    if sys.platform == "win32" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return lambda data: data
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)

    def quick(data: bytes) -> bytes:
        at = 0
        while at < len(data):
            events = poll.poll(0)
            if not events:
                break
            if not events[0][1] & select.POLLOUT:
                raise BrokenPipeError
            try:
                at += os.write(descriptor, data[at : at + _PIECE])
            except BlockingIOError:
                break
        return data[at:]

    return quick


async def read_messages(handle: Callable[[bytes], None], stream: BinaryIO) -> None:
    """Hand over each message's body until the input ends. Other tasks run between two messages.

    Traps: pygls takes three thread hops a message, knows one spelling of the header, and allocates whatever length
    the header names.
    """
    reader = asyncio.StreamReader(limit=_HEADER_LINE)
    transport = await _connect(reader, stream)
    try:
        while (length := await _read_header(reader)) is not None:
            if length > MAX_BODY:
                log.error("a message of %d bytes is longer than %d; the connection ends", length, MAX_BODY)
                return
            handle(await reader.readexactly(length))
            await asyncio.sleep(0)
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        if transport is not None:
            transport.close()


async def _read_header(reader: asyncio.StreamReader) -> int | None:
    """The length that a header gives; None at the end of the input. Header names are not case-sensitive."""
    length: int | None = None
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            log.error("a header line is longer than %d bytes; the connection ends", _HEADER_LINE)  # noqa: TRY400 - the place tells nothing
            return None
        if not line:
            return None
        name, _, value = line.strip().partition(b":")
        if not name:
            if length is not None:
                return length
            continue
        value = value.strip()
        if name.strip().lower() == b"content-length" and value.isdigit() and len(value) < 20:
            length = int(value)


async def _connect(reader: asyncio.StreamReader, stream: BinaryIO) -> asyncio.BaseTransport | None:
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":
        with contextlib.suppress(ValueError, OSError):  # a plain file, as in a try by hand, is read by the thread
            transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stream)
            return transport
    threading.Thread(target=_feed, args=(loop, reader, stream.fileno()), name="lsp-reader", daemon=True).start()
    return None


def _feed(loop: asyncio.AbstractEventLoop, reader: asyncio.StreamReader, descriptor: int) -> None:
    """Windows (not run), and inputs that are no pipe: a thread waits for the bytes."""
    with contextlib.suppress(RuntimeError):  # the loop has ended
        while data := os.read(descriptor, 65536):
            loop.call_soon_threadsafe(reader.feed_data, data)
        loop.call_soon_threadsafe(reader.feed_eof)
