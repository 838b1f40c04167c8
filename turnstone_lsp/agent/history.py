"""History: one agent's messages, in the store before anything acts on them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnstone_lsp.memory.store import Store

Message = dict[str, Any]

CHECKPOINT_SECONDS = 1.0
"""Streaming text is kept at least this often."""


class History:
    """The conversation of a session (thread "") or of one of its sub-agents (thread: its call id).

    Without a store nothing outlives the process (`turnstone-lsp tool`).
    """

    def __init__(self, store: Store | None, session_id: str, messages: list[Message], *, thread: str = "") -> None:
        self._store = store
        self._session_id = session_id
        self._thread = thread
        self._turn = ""
        self._kept_at = 0.0
        self.messages = messages
        """In the OpenAI shape, system prompt first."""

    @classmethod
    async def resume(cls, store: Store, session_id: str) -> History:
        """An earlier conversation: compacted as it was, every call answered."""
        return cls(store, session_id, await store.load(session_id))

    def call_ids(self) -> set[str]:
        """Ids of all calls in the conversation: a later call may not take one again."""
        return {call["id"] for message in self.messages for call in message.get("tool_calls") or ()}

    def begin_turn(self, turn_id: str) -> None:
        """What is added from now on belongs to this turn."""
        self._turn = turn_id

    async def add(self, message: Message) -> None:
        """Append one message; durable when it returns."""
        await self.keep(message)
        self.messages.append(message)

    async def keep(self, message: Message) -> None:
        """Store one message that takes its place in `messages` later (results of calls that end in any order)."""
        if self._store is not None:
            await self._store.append(self._session_id, message, turn=self._turn, thread=self._thread)

    async def checkpoint(self, pieces: Sequence[str]) -> None:
        """Keep an answer as streamed so far, once a second; joined only then."""
        now = time.monotonic()
        if self._store is not None and now - self._kept_at >= CHECKPOINT_SECONDS:
            self._kept_at = now
            message = {"role": "assistant", "content": "".join(pieces)}
            await self._store.checkpoint(self._session_id, message, turn=self._turn, thread=self._thread)

    async def discard(self) -> None:
        """Forget the half-streamed answer: its request is tried again."""
        if self._store is not None:
            await self._store.discard(self._session_id, thread=self._thread)

    async def reload(self) -> None:
        """Take the conversation as the store repairs it: after an interrupted turn every call has its answer."""
        if self._store is not None:
            self.messages[:] = await self._store.load(self._session_id, thread=self._thread)
