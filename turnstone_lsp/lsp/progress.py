"""$/progress for a turn: text as it comes, in clients that show progress."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from typing import TYPE_CHECKING

from turnstone_lsp.agent.events import Event, Notice, StateChanged, TextDelta, ToolCallUpdate
from turnstone_lsp.lsp.edge import ClientError
from turnstone_lsp.process.text import visible

if TYPE_CHECKING:
    from turnstone_lsp.lsp.app import App

_REPORT_SECONDS = 0.1
_TAIL = 120


class TurnProgress:
    """The progress of one turn, under a token of ours or the caller's."""

    def __init__(self, app: App, token: str | int | None = None) -> None:
        self._app = app
        self._given = token is not None
        self.token: str | int = token if token is not None else f"turnstone-{secrets.token_hex(6)}"
        self._text = ""
        self._begun = False
        self._timer: asyncio.TimerHandle | None = None

    async def begin(self) -> None:
        """Open it; quietly nothing where the client cannot."""
        if not self._given:
            if not self._app.client.work_done_progress:
                return
            try:
                await self._app.protocol.ask("window/workDoneProgress/create", {"token": self.token})
            except ClientError:
                return
        self._begun = True
        self._send({"kind": "begin", "title": "turnstone", "cancellable": True, "message": "thinking"})

    def take(self, event: Event) -> None:
        """Report one event, joined with its neighbours."""
        match event:
            case TextDelta(text=text):
                self._text = (self._text + text)[-4 * _TAIL :]
            case ToolCallUpdate(header=header, status="pending" | "in_progress") if header:
                self._text = f"{header}\n"
            case StateChanged(state="requires_action"):
                self._text = "waiting for you\n"
            case Notice(text=text):
                self._text = f"{text}\n"
            case _:
                return
        if self._begun and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_REPORT_SECONDS, self._report)

    def _report(self) -> None:
        self._timer = None
        line = self._text.rstrip("\n").rsplit("\n", 1)[-1][-_TAIL:]
        if self._begun and line.strip():
            self._send({"kind": "report", "message": visible(line)})

    def end(self, message: str) -> None:
        """Close it, with what was still to be reported."""
        if self._timer is not None:
            self._timer.cancel()
            self._report()
        if self._begun:
            self._begun = False
            with contextlib.suppress(RuntimeError):
                self._send({"kind": "end", "message": message})

    def _send(self, value: dict[str, object]) -> None:
        self._app.notify("$/progress", {"token": self.token, "value": value})
