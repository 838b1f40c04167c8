"""Faults of endpoints and connections: told, retried, given up. faults.md 92-99, upstream-faults.md 80, 81, 89."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import pytest
from model_client import HELLO, LS, TOOLS, ask, client, fails, text_of
from model_server import StubServer

from turnstone_lsp.agent.failures import Failure
from turnstone_lsp.agent.model import CallPiece, Discarded, Model, Retrying, TextPiece
from turnstone_lsp.config.settings import ModelSettings


@pytest.mark.parametrize(
    "cut",
    [
        {"text": "abcdefgh", "chunk_chars": 1, "disconnect_after": 4},
        {"text": "abcdefgh", "chunk_chars": 1, "disconnect_after": 4, "disconnect_clean": True},
        {"tool_calls": [LS], "arg_chunk_chars": 2, "disconnect_after": 5},
        {"drop": True},
        {"text": "abcdefgh", "chunk_chars": 1, "garbage_after": 5},
        {"raw_events": [], "no_done": True},
    ],
    ids=str,
)
async def test_a_stream_that_dies_is_asked_for_again_and_its_text_declared_void(
    stub: StubServer, cut: dict[str, Any]
) -> None:
    """upstream-faults.md 80: 'connection dies mid-stream -> re-issue, drop the dead text'"""
    stub.set({"mode": "sequence", "replies": [cut, {"text": "whole"}]})
    reply, pieces = await ask(stub)
    assert reply.text == "whole"
    shown = [type(p) for p in pieces]
    if TextPiece in shown[:-1] or CallPiece in shown:
        assert Discarded in shown
    after = pieces[shown.index(Discarded) :] if Discarded in shown else pieces
    assert text_of(after) == "whole"
    assert len(stub.log()) == 2


async def test_a_silent_stream_is_given_up_and_tried_again(stub: StubServer) -> None:
    """faults.md 95"""
    stub.set({"mode": "sequence", "replies": [{"text": "abc", "chunk_chars": 1, "hold_after": 2}, {"text": "whole"}]})
    reply, pieces = await ask(stub, idle_timeout=0.3)
    assert reply.text == "whole"
    assert any(isinstance(p, Retrying) and "0 s" in p.reason for p in pieces)


async def test_comments_do_not_hide_a_stall(stub: StubServer) -> None:
    """faults.md 97: the timer runs on parsed events, not on bytes"""
    stub.set({"replies": [{"text": "abc", "chunk_chars": 1, "hold_after": 2, "comments_ms": 50}]})
    failure = await fails(stub, idle_timeout=0.4, max_retries=0)
    assert failure.kind == "stalled"
    assert "model.idle_timeout" in str(failure)


async def test_after_a_stall_the_next_request_works(stub: StubServer) -> None:
    """faults.md 96"""
    stub.set({"mode": "sequence", "replies": [{"text": "abc", "hold_after": 1}, {"text": "next"}]})
    async with client(stub, idle_timeout=0.3, max_retries=0) as model:
        with pytest.raises(Failure):
            _ = [p async for p in model.stream(HELLO, TOOLS)]
        pieces = [p async for p in model.stream(HELLO, TOOLS)]
    assert pieces[-1].text == "next"


async def test_retry_after_is_honoured_and_shown(stub: StubServer) -> None:
    """faults.md 99"""
    stub.set({"mode": "sequence", "replies": [{"status": 429, "retry_after": 0.3}, {"text": "ok"}]})
    before = time.monotonic()
    reply, pieces = await ask(stub)
    assert reply.text == "ok"
    (retrying,) = pieces[:1]
    assert isinstance(retrying, Retrying)
    assert 0.3 <= retrying.seconds < 1
    assert time.monotonic() - before >= 0.3
    assert "limits the rate" in retrying.reason


async def test_a_pause_that_is_too_long_is_told_instead_of_waited_for(stub: StubServer) -> None:
    stub.set({"replies": [{"status": 429, "retry_after": 3600}]})
    failure = await fails(stub)
    assert "60 minutes" in str(failure)
    assert len(stub.log()) == 1


async def test_bad_tool_json_that_the_server_could_not_read_is_tried_again_soon(stub: StubServer) -> None:
    """faults.md 93"""
    error = {"message": "error parsing tool call: raw='{\"a\"', err=invalid character"}
    stub.set({"mode": "sequence", "replies": [{"status": 500, "error": error}, {"text": "ok"}]})
    reply, pieces = await ask(stub)
    assert reply.text == "ok"
    assert pieces[0].seconds < 1


async def test_an_error_inside_the_stream_is_told(stub: StubServer) -> None:
    stub.set(
        {
            "replies": [
                {
                    "text": "abc",
                    "chunk_chars": 1,
                    "error_event_after": 2,
                    "error": {"message": "out of memory", "code": 500},
                }
            ]
        }
    )
    failure = await fails(stub, max_retries=0)
    assert failure.kind == "server"
    assert "out of memory" in str(failure)


async def test_no_request_after_stop_and_none_while_waiting(stub: StubServer) -> None:
    """upstream-faults.md 81: stop inside the back-off"""
    stub.set({"replies": [{"status": 503, "retry_after": 0.5}]})
    async with client(stub) as model:

        async def run() -> None:
            async for _ in model.stream(HELLO, TOOLS):
                pass

        task = asyncio.create_task(run())
        assert await asyncio.to_thread(stub.wait_for, 1)
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.7)
    assert len(stub.log()) == 1


async def test_stop_ends_the_request_at_once(stub: StubServer) -> None:
    stub.set({"replies": [{"text": "abc", "chunk_chars": 1, "hold_after": 2}]})
    async with client(stub) as model:
        stream = model.stream(HELLO, TOOLS)
        assert (await anext(stream)).text == "a"
        waiting = asyncio.create_task(anext(stream))
        await asyncio.sleep(0.05)
        waiting.cancel()
        before = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert time.monotonic() - before < 2


async def test_a_dead_endpoint_is_told_at_once() -> None:
    """'No 11 requests in 12 s on a dead backend'"""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    model = Model(ModelSettings(name="m", base_url=f"http://127.0.0.1:{port}/v1"))
    before = time.monotonic()
    with pytest.raises(Failure, match="cannot be reached") as failed:
        _ = [p async for p in model.stream(HELLO, TOOLS)]
    await model.close()
    assert failed.value.kind == "connection"
    assert "doctor" in str(failed.value)
    assert time.monotonic() - before < 10


CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"status": 401}, "auth", "OPENAI_API_KEY"),
    ({"status": 403}, "auth", "what the key may use"),
    ({"status": 402}, "quota", "account"),
    ({"status": 429, "error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}, "quota", "account"),
    ({"status": 404, "error": {"message": "The model `x` does not exist"}}, "not_found", "It lists: stub-model"),
    ({"status": 404, "error_body": "404 page not found"}, "not_found", "/v1"),
    ({"status": 400, "error": {"message": "This model's maximum context length is 8192 tokens, however you requested 9000"}}, "overflow", "too long"),
    ({"status": 400, "error": {"message": "too big", "code": "context_length_exceeded"}}, "overflow", "too long"),
    ({"status": 500, "error": {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}}, "overflow", "too long"),
    ({"status": 400, "error_body": {"error": "prompt is too long: 208310 tokens > 200000 maximum"}}, "overflow", "too long"),
    ({"status": 429, "error": {"message": "Request too large on tokens per min (TPM): Limit 10000"}}, "rate_limit", "limits the rate"),
    ({"status": 413, "error": {"message": "Request too large, tokens per minute (TPM)", "code": "rate_limit_exceeded"}}, "rate_limit", "limits the rate"),
    ({"status": 400, "error": {"message": "messages: at least one message is required"}}, "request", "refused"),
    ({"status": 422, "error_body": {"detail": [{"loc": ["body", "messages"], "msg": "bad"}]}}, "request", "bad"),
    ({"status": 503, "error_body": "<html><body>Bad Gateway</body></html>"}, "server", "Bad Gateway"),
    ({"status": 307, "headers": {"Location": "http://elsewhere.example/v1"}}, "request", "elsewhere.example"),
    ({"raw_body": "<html>hello</html>", "content_type": "text/html"}, "request", "/v1"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "kind", "says"), CASES, ids=[f"{i}-{c[1]}" for i, c in enumerate(CASES)])
async def test_each_failure_says_what_to_do(stub: StubServer, reply: dict[str, Any], kind: str, says: str) -> None:
    """upstream-faults.md 89: a rate limit is never taken for overflow, nor the other way round"""
    stub.set({"replies": [reply]})
    failure = await fails(stub, max_retries=0)
    assert (failure.kind, says in str(failure)) == (kind, True), str(failure)


async def test_an_overflow_teaches_the_window(stub: StubServer) -> None:
    stub.set({"replies": [{"status": 400, "error": {"message": "maximum context length is 8192 tokens"}}]})
    async with client(stub) as model:
        with pytest.raises(Failure):
            _ = [p async for p in model.stream(HELLO, TOOLS)]
        assert model.context_window == 8192


async def test_a_key_that_is_missing(stub: StubServer) -> None:
    stub.set({"key": "secret", "replies": [{"text": "x"}]})
    failure = await fails(stub)
    assert "needs a key" in str(failure)
    reply, _ = await ask(stub, api_key="secret")
    assert reply.text == "x"


async def test_no_key_reaches_another_host_by_redirect(stub: StubServer) -> None:
    with StubServer({"replies": [{"text": "other"}]}) as other:
        stub.set({"replies": [{"status": 307, "headers": {"Location": f"{other.base_url}/chat/completions"}}]})
        await fails(stub, api_key="secret", headers={"X-Key": "secret"})
        assert other.log() == []


async def test_settings_reach_the_endpoint_and_nothing_else_does(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    await ask(stub, temperature=0.2, max_tokens=99, reasoning_effort="low", headers={"X-Team": "a"})
    await ask(stub, tools=())
    first, second = stub.log()
    request = first["request"]
    assert (request["temperature"], request["max_tokens"], request["reasoning_effort"]) == (0.2, 99, "low")
    assert first["headers"]["x-team"] == "a"
    assert "openai-organization" not in first["headers"]
    assert sorted(second["request"]) == ["messages", "model", "stream", "stream_options"]


async def test_two_requests_at_a_time(stub: StubServer) -> None:
    async with client(stub) as model:

        async def one() -> str:
            return [p async for p in model.stream(HELLO, TOOLS)][-1].text

        assert await asyncio.gather(one(), one(), one()) == ["hi"] * 3
