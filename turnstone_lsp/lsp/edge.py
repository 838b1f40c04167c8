"""pygls with its traps closed: what stands between the wire and our handlers.

Each override names the trap of pygls 2.1.1 that it closes; `tests/lsp/test_traps.py` shows each trap in stock pygls, so
that an override can go when upstream mends it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from lsprotocol import converters
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage
from pygls.protocol.language_server import lsp_method

if TYPE_CHECKING:
    from collections.abc import Callable

    from cattrs import Converter

log = logging.getLogger(__name__)

REQUEST_SECONDS = 10.0
"""Deadline of a request to the client that no person has to answer."""


class ClientError(Exception):
    """The client answered a request with an error, or not in time."""


def plain_converter() -> Converter:
    """A converter that leaves custom params and results plain JSON.

    Trap: pygls makes a namedtuple class of every object in them, which renames keys and costs 100 us each.
    """
    converter = converters.get_converter()
    converter.register_structure_hook(
        JsonRPCRequestMessage,
        lambda o, _: JsonRPCRequestMessage(o["id"], o["method"], o["jsonrpc"], o.get("params")),
    )
    converter.register_structure_hook(
        JsonRPCNotification, lambda o, _: JsonRPCNotification(o["method"], o["jsonrpc"], o.get("params"))
    )
    converter.register_structure_hook(
        JsonRPCResponseMessage, lambda o, _: JsonRPCResponseMessage(o["id"], o["jsonrpc"], o.get("result"))
    )
    return converter


class EdgeProtocol(LanguageServerProtocol):
    """The protocol of one connection."""

    def receive(self, body: bytes) -> None:
        """Take one message. A request always gets an answer.

        Traps: pygls decodes with an object hook, so a nested key "jsonrpc" loses the whole request; and params that do
        not fit their type give no answer at all.
        """
        data: Any = None
        try:
            data = json.loads(body)
            if not isinstance(data, dict):
                log.warning("ignored a message that is no JSON object")
                return
            self.handle_message(self.structure_message(data))
        except Exception as error:
            if isinstance(data, dict) and "id" in data and "method" in data:
                known = isinstance(error, JsonRpcException)
                refusal = error if isinstance(error, JsonRpcException) and known else JsonRpcInvalidParams.of(error)
                self._send_response(data["id"], None, refusal.to_response_error())
            else:
                log.warning("ignored a message that cannot be read: %s", error)

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Trap: the future of every notification's coroutine is kept for ever."""

        def done(future: Future[Any]) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    def _handle_response(self, msg_id: str | int, result: Any | None = None, error: Any | None = None) -> None:
        """Trap: an answer that comes after its request was cancelled raises, and pops up in the editor."""
        future = self._request_futures.get(msg_id)
        if future is not None and future.done():
            self._request_futures.pop(msg_id)
            return
        super()._handle_response(msg_id, result, error)

    def _handle_cancel_notification(self, msg_id: str | int) -> None:
        """Cancel a request of the client's. Trap: the future of a generator handler is no task, so nothing stops."""
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.cancel()

    def _send_data(self, data: Any) -> None:
        """Trap: pygls escapes all but ASCII, logs every body, and blocks the loop when the client does not read."""
        if data is None or self.writer is None:
            return
        body = json.dumps(data, default=self._serialize_message, ensure_ascii=False).encode("utf-8", "backslashreplace")
        self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def tell(self, method: str, params: Any) -> None:
        """Send a notification of plain JSON."""
        self._send_data({"jsonrpc": self.VERSION, "method": method, "params": params})

    async def ask(self, method: str, params: Any, *, seconds: float | None = REQUEST_SECONDS) -> Any:
        """Send a request of plain JSON to the client and wait for its result, as plain JSON.

        Without a deadline (None) a person is asked; cancelling the caller then tells the client by $/cancelRequest.
        Raises ClientError: an error, or no answer in time.
        """
        msg_id = f"s-{uuid.uuid4()}"
        future: Future[Any] = Future()
        self._request_futures[msg_id] = future
        self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "method": method, "params": params})
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise ClientError(f"the editor did not answer {method} within {seconds:.0f} s") from None
        except JsonRpcException as error:
            raise ClientError(error.message or str(error)) from error
        finally:
            if self._request_futures.pop(msg_id, None) is not None:
                self.tell("$/cancelRequest", {"id": msg_id})

    def report(self, error: Exception, source: type) -> None:
        """Errors go to the log. Trap: pygls pops each one up in the editor."""
        log.error("%s: %s", source.__name__, error, exc_info=error if not isinstance(error, JsonRpcException) else None)


__all__ = ["ClientError", "EdgeProtocol", "lsp_method", "plain_converter"]
