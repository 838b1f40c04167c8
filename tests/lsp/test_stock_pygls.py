"""The traps of stock pygls that `lsp/edge.py`, `transport.py` and `documents.py` close (style.md A5).

Each test shows one trap as it is upstream. One that fails means that upstream has mended it: then our override can go.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from lsprotocol import types
from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

if TYPE_CHECKING:
    from concurrent.futures import Future


class Stock:
    """A stock server with its output kept."""

    def __init__(self) -> None:
        self.server = LanguageServer("stock", "1")
        self.sent: list[dict[str, Any]] = []
        self.server.protocol.set_writer(self)  # type: ignore[arg-type]

    def write(self, data: bytes) -> None:
        self.sent.append(json.loads(data.split(b"\r\n\r\n", 1)[1]))

    def close(self) -> None:
        """Nothing is open."""

    async def feed(self, *messages: Any, header: bytes = b"Content-Length") -> None:
        """Read the messages as pygls reads them, to the end of the input."""
        import threading

        reader = asyncio.StreamReader()
        for message in messages:
            body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            reader.feed_data(b"%b: %d\r\n\r\n%b" % (header, len(body), body))
        reader.feed_eof()
        await run_async(threading.Event(), reader, self.server.protocol, error_handler=self.server.report_server_error)
        await asyncio.sleep(0.05)

    def popups(self) -> list[str]:
        return [m["params"]["message"] for m in self.sent if m.get("method") == "window/showMessage"]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(100)


@pytest.fixture
def stock() -> Stock:
    return Stock()


async def test_params_become_namedtuples_that_rename_and_lose_keys(stock: Stock) -> None:
    got: list[Any] = []
    stock.server.feature("test/echo")(lambda params: got.append(params))  # noqa: PLW0108 - it must take attributes
    await stock.feed({"method": "test/echo", "params": {"class": 1, "type_name": "Gone"}})
    assert got[0]._fields == ("_0",)


async def test_a_nested_jsonrpc_key_loses_the_request(stock: Stock) -> None:
    stock.server.feature("test/echo")(lambda _: 1)
    await stock.feed({"id": 1, "method": "test/echo", "params": {"text": {"jsonrpc": "2.0", "id": 9}}})
    assert not [m for m in stock.sent if m.get("id") == 1]


async def test_params_that_do_not_fit_get_no_answer(stock: Stock) -> None:
    stock.server.feature(types.TEXT_DOCUMENT_CODE_ACTION)(lambda _: [])
    await stock.feed({"id": 1, "method": "textDocument/codeAction", "params": {"textDocument": 7}})
    assert not [m for m in stock.sent if m.get("id") == 1]
    assert stock.popups()


async def test_what_cannot_be_read_pops_up(stock: Stock) -> None:
    await stock.feed(b"{")
    assert stock.popups()


async def test_one_spelling_of_the_header(stock: Stock) -> None:
    stock.server.feature("test/echo")(lambda _: 1)
    await stock.feed({"id": 1, "method": "test/echo", "params": None}, header=b"content-length")
    assert not stock.sent


async def test_a_cancelled_command_runs_to_its_end(stock: Stock) -> None:
    ended: list[str] = []

    @stock.server.command("slow")
    async def slow(*_: Any) -> None:
        await asyncio.sleep(0.02)
        ended.append("ran to its end")

    params = {"command": "slow", "arguments": []}
    await stock.feed(
        {"id": 1, "method": "workspace/executeCommand", "params": params},
        {"method": "$/cancelRequest", "params": {"id": 1}},
    )
    assert stock.sent[0]["error"]["code"] == -32800
    assert ended == ["ran to its end"]


async def test_a_late_answer_raises(stock: Stock) -> None:
    """pygls#621"""
    asking = asyncio.ensure_future(stock.server.protocol.send_request_async("test/ask", None, msg_id="x"))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.sleep(0)
    await stock.feed({"id": "x", "result": None})
    assert stock.popups()
    assert not [m for m in stock.sent if m.get("method") == "$/cancelRequest"]


async def test_notifications_leave_futures_behind(stock: Stock) -> None:
    @stock.server.feature("test/note")
    async def note(_: Any) -> None:
        """Nothing."""

    await stock.feed(*({"method": "test/note", "params": {}} for _ in range(20)))
    assert len(stock.server.protocol._request_futures) == 20


async def test_a_dict_for_a_known_method_is_never_sent(stock: Stock) -> None:
    stock.server.protocol.send_request("window/showDocument", {"uri": "file:///x"})
    assert not [m for m in stock.sent if m.get("method") == "window/showDocument"]


async def test_a_request_after_shutdown_gets_no_answer(stock: Stock) -> None:
    await stock.feed({"id": 1, "method": "shutdown"}, {"id": 2, "method": "test/echo"})
    assert [m["id"] for m in stock.sent if "id" in m] == [1]


async def test_text_is_escaped(stock: Stock) -> None:
    written: list[bytes] = []
    stock.server.protocol.set_writer(type("W", (), {"write": staticmethod(written.append), "close": lambda _: 0})())
    stock.server.protocol.notify("test/note", {"t": "日本"})
    assert b"\\u65e5" in written[0]


async def test_result_types_of_requests_are_kept(stock: Stock) -> None:
    """pygls#608"""
    future: Future[Any] = stock.server.protocol.send_request("test/ask", None, msg_id="x")
    await stock.feed({"id": "x", "error": {"code": 1, "message": "no"}})
    assert future.exception() is not None
    assert "x" in stock.server.protocol._result_types


def test_lines_end_where_lsp_has_no_line_ends() -> None:
    """pygls splits by str.splitlines: an edit after a form feed lands on another line."""
    document = TextDocument("file:///x", "a\fb\nlast\n", 1)
    place = types.Position(line=1, character=0)
    change = types.TextDocumentContentChangePartial(range=types.Range(start=place, end=place), text="> ")
    document.apply_change(change)
    assert document.source != "a\fb\n> last\n"


async def test_the_frames_of_a_burst_leave_no_room_for_other_tasks(stock: Stock) -> None:
    handled: list[Any] = []
    other: list[int] = []
    stock.server.feature("test/note")(lambda params: handled.append(params))  # noqa: PLW0108 - as above

    async def count() -> None:
        other.append(len(handled))

    task = asyncio.create_task(count())
    await stock.feed(*({"method": "test/note", "params": {}} for _ in range(50)))
    await task
    assert other == [50]


_SERVER = """
import sys, threading
from lsprotocol import types
from pygls.lsp.server import LanguageServer
s = LanguageServer("stock", "1")
@s.feature("test/flood")
def flood(_):
    print("flooding", file=sys.stderr, flush=True)
    for _ in range(64):
        s.protocol.notify("test/data", {"x": "y" * 65536})
    print("flooded", file=sys.stderr, flush=True)
s.start_io()
"""


def _run(messages: bytes) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(messages)
    process.stdin.flush()
    return process


def test_a_client_that_does_not_read_blocks_the_loop() -> None:
    body = b'{"jsonrpc":"2.0","method":"test/flood","params":{}}'
    process = _run(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    try:
        assert process.stderr is not None
        while b"flooding" not in process.stderr.readline():
            pass
        import select

        assert not select.select([process.stderr], [], [], 1.0)[0], "it got past the writes that nobody reads"
    finally:
        process.kill()
        process.communicate()


def test_a_huge_length_ends_the_process_with_a_memory_error() -> None:
    process = _run(b"Content-Length: 40000000000000\r\n\r\n{")
    _, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert b"MemoryError" in errors or b"OverflowError" in errors
