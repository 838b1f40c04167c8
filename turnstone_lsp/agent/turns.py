"""Turns: one user request and all that follows from it, until exactly one final state."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from turnstone_lsp.agent.events import StopReason


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended. text: the final answer; message: for failed and limit, what happened and what to do."""

    stop_reason: StopReason
    text: str = ""
    message: str = ""


class Turn:
    """A running turn. `cancel` and `wait` may be called by anyone, any number of times."""

    def __init__(self, session_id: str) -> None:
        self.id = f"turn-{secrets.token_hex(6)}"
        self.session_id = session_id
        self._task: asyncio.Task[TurnResult] | None = None

    def run(self, work: Coroutine[None, None, TurnResult]) -> None:
        """Start the turn's work; called once, by the session."""
        self._task = asyncio.create_task(work, name=self.id)

    @property
    def running(self) -> bool:
        """True until the final state is reached."""
        return self._task is not None and not self._task.done()

    def cancel(self) -> None:
        """Ask the turn to stop. Its work ends children and prompts on the way out, and reports `cancelled`."""
        if self._task is not None and not self._task.done() and not self._task.cancelling():
            self._task.cancel()

    async def wait(self) -> TurnResult:
        """The turn's end. Cancelling the waiter does not cancel the turn."""
        if self._task is None:
            return TurnResult("cancelled")
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled():  # cancelled before its first step
                return TurnResult("cancelled")
            raise
