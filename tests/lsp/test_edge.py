"""The hardened edge: each trap of pygls 2.1.1 (style.md A5) is closed. `test_stock_pygls.py` shows the traps."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsp_client import RpcError, connected
from pygls.protocol import LanguageServerProtocol
from scripted import MINIMAL, start

from turnstone_lsp.lsp.edge import ClientError
from turnstone_lsp.lsp.server import TurnstoneServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from lsp_client import LspClient


@pytest.fixture
async def client(project: Path) -> AsyncIterator[LspClient]:
    async with connected() as client:
        await start(client, project, MINIMAL)
        yield client


async def _alive(client: LspClient) -> None:
    assert (await client.command("turnstone.state"))["state"] == "idle"


def _echo(client: LspClient) -> list[Any]:
    """Register a custom request and a custom notification that keep what they get."""
    got: list[Any] = []

    @client.server.feature("test/echo")
    def echo(params: Any) -> Any:
        got.append(params)
        return params

    @client.server.feature("test/note")
    async def note(params: Any) -> None:
        got.append(params)

    return got


@pytest.mark.parametrize(
    "params",
    [
        {"class": 1, "x y": 2, "_p": 3, "type_name": "Gone", "nested": {"def": {"if": [1]}}},
        {"text": {"jsonrpc": "2.0", "id": 1, "method": "x"}},
        {"deep": [{"jsonrpc": "2.0"}]},
    ],
    ids=["odd names", "a nested message", "a nested key"],
)
async def test_custom_params_and_results_stay_plain_json(client: LspClient, params: dict[str, Any]) -> None:
    got = _echo(client)
    assert await client.request("test/echo", params) == params
    assert got == [params]


async def test_a_nested_jsonrpc_key_in_a_command_is_answered(client: LspClient) -> None:
    with pytest.raises(RpcError, match="unknown argument 'jsonrpc'"):
        await client.command("turnstone.state", jsonrpc="2.0", id=4)


async def test_results_of_our_requests_are_plain_json(client: LspClient) -> None:
    client.handlers["test/ask"] = lambda _: {"class": {"jsonrpc": "2.0"}}
    assert await client.server.connection.ask("test/ask", {}) == {"class": {"jsonrpc": "2.0"}}


async def test_params_that_do_not_fit_are_answered_with_an_error(client: LspClient) -> None:
    with pytest.raises(RpcError) as caught:
        await client.request("textDocument/codeAction", {"textDocument": 7})
    assert caught.value.code == -32602
    await _alive(client)


async def test_an_unknown_method_is_answered(client: LspClient) -> None:
    with pytest.raises(RpcError) as caught:
        await client.request("no/such", {})
    assert caught.value.code == -32601


async def test_before_initialize_and_after_shutdown_requests_are_answered() -> None:
    async with connected() as client:
        with pytest.raises(RpcError) as early:
            await client.request("workspace/executeCommand", {"command": "turnstone.state"})
        assert early.value.code == -32002
        await client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        with pytest.raises(RpcError, match="initialized before"):
            await client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        await client.request("shutdown")
        with pytest.raises(RpcError) as late:
            await client.request("workspace/executeCommand", {"command": "turnstone.state"})
        assert late.value.code == -32600


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"7", b'"x"', b"null", b"\xff\xfe", b'{"jsonrpc":"2.0"}', b"[" * 100_000, b'{"id":[1],"result":1}',
     b'{"jsonrpc":"2.0","method":7}', b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"none"}}'],
)  # fmt: skip
async def test_what_cannot_be_read_neither_ends_nor_pops_up(client: LspClient, body: bytes) -> None:
    client.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    await _alive(client)
    assert not client.all("window/showMessage")


_server = TurnstoneServer()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "command", "arguments"])
                | st.text(),
                inner,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_taken_without_raising(message: Any) -> None:  # fmt: skip
    """Issue 6, item 5: a fuzzer on the JSON-RPC edge."""
    sent: list[bytes] = []
    _server.protocol.set_writer(type("Kept", (), {"write": staticmethod(sent.append), "close": lambda _: None})())
    _server.protocol.receive(json.dumps(message).encode("utf-8", "surrogatepass"))
    if isinstance(message, dict) and isinstance(message.get("method"), str) and "id" in message:
        assert len(sent) == (message["method"] != "exit")


async def test_header_names_are_not_case_sensitive(client: LspClient) -> None:
    body = b'{"jsonrpc":"2.0","id":"x","method":"no/such"}'
    client.send_bytes(b"content-type: a/b\r\ncontent-LENGTH:   %d\r\n\r\n%b" % (len(body), body))
    await client.until(lambda: [m for m in client.received if m.get("id") == "x"])


async def test_a_huge_length_ends_the_connection_without_memory(client: LspClient) -> None:
    client.send_bytes(b"Content-Length: 40000000000\r\n\r\n")
    await asyncio.wait_for(client.reading_ended.wait(), 30)


async def test_other_tasks_run_between_the_frames_of_a_burst(client: LspClient) -> None:
    got = _echo(client)
    turns: list[int] = []

    async def count() -> None:
        while len(got) < 500:
            turns.append(len(got))
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    body = b'{"jsonrpc":"2.0","method":"test/note","params":{}}'
    client.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) * 500)
    await asyncio.wait_for(counting, 30)
    assert len(set(turns)) > 100


async def test_notifications_leave_no_future_behind(client: LspClient) -> None:
    _echo(client)
    for _ in range(200):
        client.notify("test/note", {})
        client.notify("textDocument/didSave", {"textDocument": {"uri": "file:///x"}})
    await _alive(client)
    await client.until(lambda: not client.server.protocol._request_futures)
    assert not client.server.protocol._result_types
    assert not client.server.protocol.progress.tokens


async def test_a_late_answer_is_ignored(client: LspClient) -> None:
    """faults.md 128"""
    release = asyncio.Event()

    async def slowly(_: Any) -> None:
        await release.wait()

    client.handlers["test/ask"] = slowly
    asking = asyncio.create_task(client.server.connection.ask("test/ask", {}))
    await client.until(lambda: client.all("test/ask"))
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await client.until(lambda: client.all("$/cancelRequest"))
    release.set()
    await _alive(client)
    assert not client.all("window/showMessage")
    assert not client.server.protocol._asked


async def test_every_request_to_the_client_has_a_deadline(client: LspClient) -> None:
    """faults.md 127"""

    async def never(_: Any) -> None:
        await asyncio.Event().wait()

    client.handlers["test/ask"] = never
    with pytest.raises(ClientError, match=r"did not answer test/ask within 0 s"):
        await client.server.connection.ask("test/ask", {}, seconds=0.05)
    await client.until(lambda: client.all("$/cancelRequest"))


async def test_an_error_of_ours_is_logged_and_does_not_pop_up(
    client: LspClient, caplog: pytest.LogCaptureFixture
) -> None:
    @client.server.feature("test/broken")
    async def broken(_: Any) -> None:
        raise ZeroDivisionError("oops")

    client.notify("test/broken", {})
    with pytest.raises(RpcError, match="ZeroDivisionError: oops"):
        await client.request("test/broken", {})
    await client.until(lambda: "oops" in caplog.text)
    assert not client.all("window/showMessage")


async def test_a_dict_for_a_method_that_lsprotocol_knows_is_sent(client: LspClient) -> None:
    client.handlers["window/showDocument"] = lambda params: {"success": params["uri"] == "file:///x"}
    assert await client.server.connection.ask("window/showDocument", {"uri": "file:///x"}) == {"success": True}


async def test_text_is_sent_in_utf8(client: LspClient) -> None:
    _echo(client)
    assert await client.request("test/echo", {"t": "日本 🎉 \ud800"}) == {"t": "日本 🎉 \ud800"}


async def test_a_cancelled_command_really_stops(client: LspClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from turnstone_lsp.lsp import commands

    ended: list[str] = []

    async def slow(*_: Any) -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    monkeypatch.setitem(commands._HANDLERS, "turnstone.models", slow)
    ident, future = client.begin("workspace/executeCommand", {"command": "turnstone.models"})
    await _alive(client)
    client.notify("$/cancelRequest", {"id": ident})
    with pytest.raises(RpcError) as caught:
        await asyncio.wait_for(future, 10)
    assert caught.value.code == -32800
    assert ended == ["cancelled"]


def _overrides() -> list[str]:
    from turnstone_lsp.lsp.edge import EdgeProtocol

    return [name for name in vars(EdgeProtocol) if hasattr(LanguageServerProtocol, name) and not name.startswith("__")]


def test_what_is_overridden_still_exists_upstream() -> None:
    """An override of a method that pygls has renamed would do nothing, silently."""
    assert {"_execute_handler", "_send_handler_result", "_send_data", "notify"} <= set(_overrides())
