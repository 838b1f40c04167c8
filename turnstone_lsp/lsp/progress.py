"""$/progress of a turn: its text as it comes, in clients that show progress; cancelling it stops the turn."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from turnstone_lsp.agent.events import Event, Notice, StateChanged, TextDelta, ToolCallUpdate, ToolOutput
from turnstone_lsp.lsp.edge import ClientError
from turnstone_lsp.process.text import visible

if TYPE_CHECKING:
    from turnstone_lsp.lsp.connection import Connection

_INTERVAL = 0.1
_LONGEST = 200
"""Characters of a report: the end of the line that is being written."""

Token = str | int


class TurnProgress:
    """The progress of one turn, under a token of ours or of the caller who waits for the turn's end."""

    def __init__(self, connection: Connection, token: Token | None = None) -> None:
        self._connection = connection
        self._given = token is not None
        self.token: Token = token if token is not None else f"turnstone-{secrets.token_hex(6)}"
        self._line = ""
        self._reported = ""
        self._begun = False
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self) -> None:
        """Open it; nothing where the client has no progress. A client must agree to a token of ours first."""
        if not self._given:
            if not self._connection.client.work_done_progress:
                return
            try:
                await self._connection.ask("window/workDoneProgress/create", {"token": self.token})
            except ClientError:
                return
        self._begun = True
        self._send({"kind": "begin", "title": "turnstone", "cancellable": True, "message": "thinking"})
        self._soon()

    def take(self, event: Event) -> None:
        """Report one event, together with those that follow soon."""
        match event:
            case TextDelta(text=text) | ToolOutput(text=text):
                self._line = (self._line + text)[-4 * _LONGEST :]
            case ToolCallUpdate(header=header, status="pending" | "in_progress") if header:
                self._line = f"{header}\n"
            case StateChanged(state="requires_action"):
                self._line = "waiting for your answer\n"
            case Notice(text=text):
                self._line = f"{text}\n"
            case _:
                return
        self._soon()

    def _soon(self) -> None:
        if self._begun and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_INTERVAL, self._report)

    def _report(self) -> None:
        self._timer = None
        line = self._line.rstrip("\n").rpartition("\n")[2][-_LONGEST:]
        if line.strip() and line != self._reported:
            self._reported = line
            self._send({"kind": "report", "message": visible(line)})

    def end(self, message: str) -> None:
        """Close it, after what is still to be reported."""
        if self._timer is not None:
            self._timer.cancel()
        if self._begun:
            self._report()
            self._begun = False
            self._send({"kind": "end", "message": visible(message)})

    def _send(self, value: dict[str, object]) -> None:
        self._connection.notify("$/progress", {"token": self.token, "value": value})
