"""The JSON events of a stream of server-sent events, with a timer on events rather than on bytes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.failures import Failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_MOST_BYTES = 64 * 1024 * 1024
"""An event that is longer than this is given up."""
_TRANSPORT = ("httpx2", "httpcore2", "httpx", "httpcore", "anyio", "h11", "ssl")


async def events(body: AsyncIterator[bytes], idle_timeout: float, where: str) -> AsyncIterator[dict[str, Any]]:
    """The events up to [DONE] or the end. Comments and empty lines are no events: they do not reset the timer.

    Raises Failure: stalled, when no event came for `idle_timeout` seconds; cut, when the connection broke or an event
    is no JSON.
    """
    reader = _Events(where)
    loop = asyncio.get_running_loop()
    last = loop.time()
    while True:
        part = await _next(body, last + idle_timeout, idle_timeout, where)
        for event in reader.feed(part):
            if event is None:
                return
            last = loop.time()
            yield event
        if part is None:
            return


async def _next(body: AsyncIterator[bytes], deadline: float, idle_timeout: float, where: str) -> bytes | None:
    try:
        async with asyncio.timeout_at(deadline):
            return await anext(body, None)
    except TimeoutError:
        raise Failure(
            "stalled",
            f"{where} sent nothing for {idle_timeout:.0f} s. If the model needs longer, raise model.idle_timeout.",
        ) from None
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__module__.split(".")[0] not in _TRANSPORT:
            raise
        raise Failure("cut", f"The connection to {where} broke in the middle of the answer.") from error


class _Events:
    """Bytes to events. A line of data that is JSON is an event; else it goes on, up to an empty line."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, part: bytes | None) -> list[dict[str, Any] | None]:
        """The events that have ended, None for [DONE]. part: None when nothing more comes."""
        *lines, self._rest = (self._rest + (part if part is not None else b"\n\n")).split(b"\n")
        if len(self._rest) > _MOST_BYTES:
            raise Failure("cut", f"{self._where} sent an event without end.")
        found: list[dict[str, Any] | None] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._line(line[5:].strip(), found)
            elif self._data and not line.strip():
                raise Failure("cut", f"{self._where} sent an event that is not JSON in the middle of its answer.")
        return found

    def _line(self, data: bytes, found: list[dict[str, Any] | None]) -> None:
        if data == b"[DONE]" and not self._data:
            found.append(None)
            return
        if data:
            self._data.append(data)
        try:
            event = json.loads(b"\n".join(self._data)) if self._data else None
        except ValueError:
            return
        self._data = []
        if isinstance(event, dict):
            found.append(event)
