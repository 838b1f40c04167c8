"""Connection: the connected client, and what can be asked of it. Nothing here knows the engine."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from turnstone_lsp.lsp.client import Client
from turnstone_lsp.lsp.edge import REQUEST_SECONDS, ClientError
from turnstone_lsp.process.text import visible

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from turnstone_lsp.lsp.edge import EdgeProtocol
    from turnstone_lsp.lsp.transport import Writer

log = logging.getLogger(__name__)

_LEVELS = {"error": 1, "warning": 2, "info": 3}


class Connection:
    """One client."""

    def __init__(self, wire: EdgeProtocol) -> None:
        self._wire = wire
        self.client = Client()
        self.writer: Writer | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def backlog(self) -> int:
        """Bytes that the client has not read yet."""
        return self.writer.backlog if self.writer else 0

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._wire.notify(method, params)

    async def ask(self, method: str, params: Any, *, seconds: float = REQUEST_SECONDS) -> Any:
        """Send a request; its plain JSON result. Raises ClientError."""
        return await self._wire.ask(method, params, seconds=seconds)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something in the background; it is kept until it ends, and what it raises goes to the log."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        if self._closed:
            task.cancel()
        return task

    async def close(self) -> None:
        """End what runs in the background; nothing new is begun."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a background task failed", exc_info=error)

    def show_message(self, text: str, level: str = "info") -> None:
        """Tell the user something that must not be missed. Never for internal errors: those go to the log."""
        self.notify("window/showMessage", {"type": _LEVELS[level], "message": visible(text, keep="\n\t")})

    async def show_document(self, uri: str, *, focus: bool = False) -> bool:
        """Open a document, by default without taking the focus (faults.md 53). False where the client cannot."""
        if not self.client.show_document:
            return False
        try:
            answer = await self.ask("window/showDocument", {"uri": uri, "takeFocus": focus})
        except ClientError as error:
            log.info("the editor did not open %s: %s", uri, error)
            return False
        return isinstance(answer, dict) and answer.get("success") is True

    def refresh_lenses(self) -> None:
        """Have the client ask for its code lenses again."""
        if self.client.code_lens_refresh:
            self.spawn(self._refresh_lenses())

    async def _refresh_lenses(self) -> None:
        try:
            await self.ask("workspace/codeLens/refresh", None)
        except ClientError as error:
            log.debug("code lenses were not refreshed: %s", error)
