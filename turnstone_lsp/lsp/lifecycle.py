"""From start to end: stdio, signals, the editor's death. However it ends, no child process stays behind."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from turnstone_lsp.lsp.transport import Writer, read_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from turnstone_lsp.lsp.server import TurnstoneServer

log = logging.getLogger(__name__)

_CLOSE_SECONDS = 2.0
"""How long turns and children get to end in good order, after the children were told."""
_LEAVE_SECONDS = 5.0
"""After which the process ends whatever still runs (a thread in a read that never returns)."""
_PARENT_SECONDS = 2.0
"""Between two looks at the editor's process, where the system cannot tell."""


def serve_stdio(make: Callable[[], TurnstoneServer]) -> int:
    """Serve one client until it says exit, closes our input, dies, or a signal comes. Returns the exit code."""
    if sys.stdin is None or sys.stdin.isatty():
        print("turnstone-lsp serves LSP over stdio, for an editor. For a terminal: turnstone-lsp ask", file=sys.stderr)
        return 2
    level = os.environ.get("TURNSTONE_LOG_LEVEL", "warning").upper()
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("turnstone_lsp").setLevel(level if level in logging.getLevelNamesMapping() else "WARNING")
    return asyncio.run(_serve(make))


async def _serve(make: Callable[[], TurnstoneServer]) -> int:
    server = make()
    ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def end(code: int) -> None:
        if not ending.done():
            ending.set_result(code)

    with _stdout() as descriptor:
        loop = asyncio.get_running_loop()

        def gone() -> None:
            loop.call_soon_threadsafe(end, 1)

        writer = Writer(descriptor, gone)
        server.connection.writer = writer
        server.protocol.set_writer(writer)
        server.protocol.on_exit = end
        watch = _Watch(lambda: end(1))
        server.on_initialize = watch.begin
        for number in _signals():
            with contextlib.suppress(NotImplementedError, ValueError):  # Windows (not run) has no such handlers
                loop.add_signal_handler(number, end, 128 + number)
        reading = asyncio.create_task(read_messages(server.protocol.receive, sys.stdin.buffer))
        reading.add_done_callback(lambda _: end(0))
        code = await ending
        _leave_in_time(code)
        server.app.close_now()
        reading.cancel()
        watch.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await server.app.close()
        await server.connection.close()
        writer.close()
    return code


def _signals() -> list[signal.Signals]:
    return [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def _stdout() -> Iterator[int]:
    """The real stdout, for the protocol alone: a stray print goes to stderr instead."""
    sys.stdout.flush()
    descriptor = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _leave_in_time(code: int) -> None:
    timer = threading.Timer(_LEAVE_SECONDS, os._exit, (code,))
    timer.daemon = True
    timer.start()


class _Watch:
    """Watches the editor's process: it may die without closing our input, when a child of it holds the other end."""

    def __init__(self, on_death: Callable[[], None]) -> None:
        self._on_death = on_death
        self._descriptor: int | None = None
        self._polling: asyncio.Task[None] | None = None

    def begin(self, process_id: int | None) -> None:
        """Watch the process that the initialize request names, if it is one of this machine's."""
        if process_id is None or process_id <= 0 or sys.platform == "win32":
            return  # Windows (not run): there the closed input has to do
        try:
            self._descriptor = os.pidfd_open(process_id)
        except ProcessLookupError:
            log.info("the client's process %d is not on this machine; it is not watched", process_id)
        except (AttributeError, OSError):  # not Linux, or an old one
            if _alive(process_id):
                self._polling = asyncio.get_running_loop().create_task(self._poll(process_id))
        else:
            asyncio.get_running_loop().add_reader(self._descriptor, self._died)

    def _died(self) -> None:
        log.warning("the editor is gone")
        self.close()
        self._on_death()

    async def _poll(self, process_id: int) -> None:
        while _alive(process_id):  # noqa: ASYNC110 - the other process sets no event
            await asyncio.sleep(_PARENT_SECONDS)
        self._on_death()

    def close(self) -> None:
        """Watch no more."""
        if self._descriptor is not None:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
        if self._polling is not None:
            self._polling.cancel()


def _alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
