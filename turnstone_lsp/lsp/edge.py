"""pygls with its traps closed: what stands between the wire and our handlers.

Each override names the trap of pygls 2.1.1 that it closes; `tests/lsp/test_stock_pygls.py` shows each trap in stock
pygls, so that the override can go when upstream mends it.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import json
import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import converters, types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage

from turnstone_lsp.errors import TurnstoneError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from cattrs import Converter

__all__ = ["ClientError", "EdgeProtocol", "RefusedError", "lsp_method", "plain_converter"]

log = logging.getLogger(__name__)

REQUEST_SECONDS = 10.0
"""Deadline of a request to the client that no person has to answer (faults.md 127)."""

_REQUEST_FAILED = -32803
_METHOD_NOT_FOUND = -32601


class ClientError(Exception):
    """The client answered a request with an error, or not in time."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.unknown_method = code == _METHOD_NOT_FOUND


class RefusedError(TurnstoneError):
    """A request of the client's whose parameters cannot be used; the text names them."""


def plain_converter() -> Converter:
    """A converter that leaves custom params plain JSON.

    Trap: pygls makes a namedtuple class of every object in them, which renames keys and takes 100 us each.
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

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._ids = itertools.count(1)
        self._initialized = False

    # -- in

    def receive(self, body: bytes) -> None:
        """Take one message. A request always gets an answer.

        Traps: pygls decodes with an object hook, so that a nested key "jsonrpc" loses the whole request; params that
        do not fit their type get no answer; what cannot be read pops up in the editor.
        """
        data: Any = None
        try:
            data = json.loads(body)
            if not isinstance(data, dict):
                log.warning("ignored a message that is no JSON object")
            elif "method" not in data:
                self._take_answer(data)
            elif (refusal := self._out_of_order(data["method"])) is None:
                self._dispatch(data)
            elif "id" in data:
                self._send_response(data["id"], None, refusal.to_response_error())
        except Exception as error:  # noqa: BLE001 - whatever a client sends must not end the connection
            if isinstance(data, dict) and "id" in data and "method" in data:
                self._refuse(data["id"], error)
            else:
                log.warning("ignored a message that cannot be read: %s", error)

    def _out_of_order(self, method: Any) -> JsonRpcException | None:
        """Why a message cannot be taken now. Trap: pygls leaves a request after shutdown without an answer."""
        if method == types.EXIT:
            return None
        if self._shutdown:
            return JsonRpcInvalidRequest("the server is shutting down")
        if method == types.INITIALIZE:
            again, self._initialized = self._initialized, True
            return JsonRpcInvalidRequest("the server was initialized before") if again else None
        return None if self._initialized else JsonRpcServerNotInitialized("initialize comes first")

    def _dispatch(self, data: dict[str, Any]) -> None:
        """Hand one request or notification to its handler, in a context of its own."""
        data.setdefault("jsonrpc", self.VERSION)
        message = self.structure_message(data)
        context = contextvars.copy_context()
        if "id" in data:
            context.run(self._handle_request, message.id, message.method, message.params)
        else:
            context.run(self._handle_notification, message.method, getattr(message, "params", None))

    def _refuse(self, msg_id: Any, error: Exception) -> None:
        refusal = error if isinstance(error, JsonRpcException) else JsonRpcInvalidParams.of(error)
        self._send_response(msg_id, None, refusal.to_response_error())

    def _execute_handler(
        self,
        msg_id: Any,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Trap: the future of every notification that a coroutine or generator handles is kept for ever."""

        def done(future: Future[Any]) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    def _send_handler_result(self, future: Future[Any], *, msg_id: Any) -> None:
        """Answer a request. Our own errors are whole sentences for the user; others are logged and named."""
        if future.cancelled():
            error: Any = JsonRpcRequestCancelled(f"Request {msg_id} was cancelled").to_response_error()
        elif (raised := future.exception()) is None:
            self._send_response(msg_id, future.result())
            return
        elif isinstance(raised, JsonRpcException):
            error = raised.to_response_error()
        elif isinstance(raised, RefusedError):
            error = JsonRpcInvalidParams(str(raised)).to_response_error()
        elif isinstance(raised, TurnstoneError):
            error = JsonRpcException(str(raised), _REQUEST_FAILED).to_response_error()
        else:
            log.error("request %s failed", msg_id, exc_info=raised)
            error = JsonRpcInternalError(f"{type(raised).__name__}: {raised}").to_response_error()
        self._send_response(msg_id, None, error)

    # -- out

    def _send_data(self, data: Any) -> None:
        """Trap: pygls escapes all but ASCII, so that such text is sent at up to six times its size."""
        if data is None or self.writer is None:
            return
        text = json.dumps(data, default=self._serialize_message, ensure_ascii=False, separators=(",", ":"))
        body = text.encode("utf-8", "backslashreplace")
        self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification with plain JSON params."""
        self._send_data({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any, *, seconds: float = REQUEST_SECONDS) -> Any:
        """Send a request with plain JSON params and wait for its plain JSON result.

        A caller that is cancelled, or the deadline, withdraws the request by $/cancelRequest; a late answer is
        ignored. Raises ClientError: an error, or no answer in time.

        Traps: pygls sends no dict for a method that lsprotocol knows, does not withdraw what nobody waits for any
        more, and takes a late answer for an error that pops up in the editor.
        """
        msg_id = next(self._ids)
        future = self._asked[msg_id] = asyncio.get_running_loop().create_future()
        self._send_data({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise ClientError(f"the editor did not answer {method} within {seconds:.0f} s") from None
        finally:
            if self._asked.pop(msg_id, None) is not None:
                self.notify("$/cancelRequest", {"id": msg_id})

    def _take_answer(self, data: dict[str, Any]) -> None:
        future = self._asked.pop(data.get("id", 0), None)
        if future is None or future.done():
            log.debug("ignored an answer that nobody waits for")
        elif isinstance(error := data.get("error"), dict):
            code = error.get("code")
            message = error.get("message") or "the editor answered with an error"
            future.set_exception(ClientError(str(message), code if isinstance(code, int) else None))
        else:
            future.set_result(data.get("result"))
