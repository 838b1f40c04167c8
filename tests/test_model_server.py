"""The scripted model server, as the openai client sees it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
import pytest
from model_server import StubServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer({"replies": [{"text": "hello there", "chunk_chars": 3}]}) as server:
        yield server


def drain(stub: StubServer, **request: Any) -> tuple[str, dict[int, list[str]], str | None]:
    """(text, index -> [name, arguments], finish reason) of one streamed reply."""
    messages = request.pop("messages", [{"role": "user", "content": "x"}])
    text, calls, finish = "", dict[int, list[str]](), None
    with openai.OpenAI(base_url=stub.base_url, api_key=request.pop("api_key", "k"), max_retries=0) as client:
        for chunk in client.chat.completions.create(model="m", messages=messages, stream=True, **request):
            for choice in chunk.choices:
                finish = choice.finish_reason or finish
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or []:
                    slot = calls.setdefault(call.index, ["", ""])
                    slot[0] += call.function.name or ""
                    slot[1] += call.function.arguments or ""
    return text, calls, finish


def test_text_is_streamed_and_the_request_recorded_whole(stub: StubServer) -> None:
    assert drain(stub, temperature=0.5) == ("hello there", {}, "stop")
    (record,) = stub.log()
    assert record["request"]["temperature"] == 0.5
    assert record["headers"]["authorization"] == "Bearer k"
    assert record["outcome"] == "ok"
    assert stub.wait_for(1)


def test_calls_are_sent_as_scripted_and_interleaved(stub: StubServer) -> None:
    made = [{"name": "a", "arguments": {"k": "v" * 50}}, {"name": "b", "arguments": "ls -la"}]
    stub.set({"replies": [{"tool_calls": made, "interleave": True, "arg_chunk_chars": 2}]})
    _, calls, finish = drain(stub)
    assert json.loads(calls[0][1]) == {"k": "v" * 50}
    assert calls[1] == ["b", "ls -la"]
    assert finish == "tool_calls"


def test_faults_by_request(stub: StubServer) -> None:
    cut = {"text": "abcdefgh", "chunk_chars": 1, "disconnect_after": 4}
    stub.set({"mode": "sequence", "replies": [{"status": 429, "retry_after": 2}, {"status": 500}, cut, {"text": "x"}]})
    with pytest.raises(openai.RateLimitError) as limited:
        drain(stub)
    assert limited.value.response.headers["retry-after"] == "2"
    with pytest.raises(openai.InternalServerError):
        drain(stub)
    with pytest.raises(Exception, match=r".") as broken:
        drain(stub)
    assert not isinstance(broken.value, openai.APIStatusError)
    assert drain(stub)[0] == "x"
    assert [r["outcome"] for r in stub.log()] == ["status 429", "status 500", "cut", "ok"]


def test_a_refused_parameter_is_named(stub: StubServer) -> None:
    stub.set({"refuses": {"max_tokens": None}, "replies": [{"text": "x"}]})
    with pytest.raises(openai.BadRequestError) as refused:
        drain(stub, max_tokens=5)
    assert refused.value.param == "max_tokens"
    assert drain(stub)[0] == "x"


def test_a_key_is_demanded(stub: StubServer) -> None:
    stub.set({"key": "right", "replies": [{"text": "x"}]})
    with pytest.raises(openai.AuthenticationError):
        drain(stub, api_key="wrong")
    assert drain(stub, api_key="right")[0] == "x"


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ({"role": "system", "content": "late"}, "system message must stand first"),
        ({"role": "tool", "tool_call_id": "x", "content": ""}, "without a preceding call"),
        ({"role": "assistant", "content": ""}, "needs content"),
        (
            {
                "role": "assistant",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "a", "arguments": "{"}}],
            },
            "not JSON",
        ),
    ],
)
def test_a_strict_endpoint_refuses_an_illegal_history(stub: StubServer, message: dict[str, Any], fault: str) -> None:
    stub.set({"strict": True, "replies": [{"text": "x"}]})
    with pytest.raises(openai.BadRequestError, match=fault):
        drain(stub, messages=[{"role": "user", "content": "x"}, message])


def test_rules_models_and_further_paths(stub: StubServer) -> None:
    stub.set(
        {
            "rules": [{"when": {"last_contains": "MAGIC"}, "reply": {"text": "rule"}}],
            "replies": [{"text": "plain"}],
            "models": [{"id": "a", "meta": {"n_ctx_train": 8192}}],
        }
    )
    assert drain(stub, messages=[{"role": "user", "content": "MAGIC"}])[0] == "rule"
    assert drain(stub)[0] == "plain"
    with openai.OpenAI(base_url=stub.base_url, api_key="k") as client:
        assert [m.id for m in client.models.list().data] == ["a"]
