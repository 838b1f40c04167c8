"""The event stream to a client of our protocol: numbered, joined, paced, and kept for a resync."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.events import ReasoningDelta, TextDelta, ToolOutput
from turnstone_lsp.agent.wire import to_json
from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.encoding import shown

if TYPE_CHECKING:
    from turnstone_lsp.agent.events import Event
    from turnstone_lsp.lsp.connection import Connection

INTERVAL = 0.03
"""Seconds between two messages, at least."""
_SLOW_CLIENT = 1024 * 1024
"""Unread bytes above which a client gets fewer, longer messages."""
KEPT_EVENTS = 5_000
KEPT_CHARACTERS = 4_000_000
"""How much is kept for a client that asks for what it missed."""

_Delta = TextDelta | ReasoningDelta | ToolOutput


class UpdateStream:
    """All sessions' events of one connection, under one count."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: list[tuple[str, Event]] = []
        self._pieces: list[str] = []
        """Further text of the last waiting event, which is then a delta."""
        self._timer: asyncio.TimerHandle | None = None
        self._last_sent = -INTERVAL
        self._kept: deque[tuple[int, dict[str, Any]]] = deque()
        self._kept_characters = 0
        self.seq = 0
        """The number of the newest event that was sent."""

    def emit(self, session_id: str, event: Event) -> None:
        """Queue one event. It is sent at once when nothing was sent in the last interval."""
        if isinstance(event, _Delta) and self._waiting and _continues(self._waiting[-1], session_id, event):
            self._pieces.append(event.text)
        else:
            self._join_pieces()
            self._waiting.append((session_id, event))
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(max(loop.time(), self._last_sent + INTERVAL), self._due)

    def since(self, seq: int) -> tuple[list[dict[str, Any]], bool]:
        """The events after a number, and whether those are all that there were."""
        events = [event for _, event in self._kept if event["seq"] > seq]
        oldest = self._kept[0][1]["seq"] if self._kept else self.seq + 1
        return events, seq + 1 >= oldest

    def flush(self) -> None:
        """Send what is queued now: something else that the client gets must not come before it."""
        if self._timer is not None:
            self._timer.cancel()
        self._due()

    def _due(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        if self._connection.backlog > _SLOW_CLIENT:
            self._timer = loop.call_later(10 * INTERVAL, self._due)
            return
        self._join_pieces()
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._last_sent = loop.time()
            self._connection.notify(protocol.UPDATE, {"events": [self._numbered(*entry) for entry in waiting]})

    def _numbered(self, session_id: str, event: Event) -> dict[str, Any]:
        self.seq += 1
        record = {"seq": self.seq, "sessionId": session_id, **to_json(shown(event))}
        size = sum(len(value) for value in record.values() if isinstance(value, str))
        self._kept.append((size, record))
        self._kept_characters += size
        while len(self._kept) > KEPT_EVENTS or (self._kept_characters > KEPT_CHARACTERS and len(self._kept) > 1):
            self._kept_characters -= self._kept.popleft()[0]
        return record

    def _join_pieces(self) -> None:
        if self._pieces:
            session_id, event = self._waiting[-1]
            assert isinstance(event, _Delta)  # noqa: S101 - only deltas gather pieces
            self._waiting[-1] = session_id, type(event)(_key(event), event.text + "".join(self._pieces))
            self._pieces.clear()


def _key(event: _Delta) -> str:
    return event.call_id if isinstance(event, ToolOutput) else event.message_id


def _continues(last: tuple[str, Event], session_id: str, event: _Delta) -> bool:
    before = last[1]
    return last[0] == session_id and isinstance(before, type(event)) and _key(before) == _key(event)
