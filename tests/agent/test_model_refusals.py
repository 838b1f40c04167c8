"""What endpoints refuse, settings and sub-calls, choice of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from model_client import HELLO, TOOLS, ask, client, fails, made

from turnstone_lsp.agent.model import Model
from turnstone_lsp.config.settings import ModelSettings
from turnstone_lsp.errors import ConfigError

if TYPE_CHECKING:
    from model_server import StubServer


@pytest.mark.parametrize("words", [None, "Extra inputs are not permitted: temperature", 'unknown field "temperature"'])
async def test_a_refused_parameter_is_left_out_from_then_on(stub: StubServer, words: str | None) -> None:
    """design.md: one retry without the parameter that a 400 names"""
    stub.set({"refuses": {"temperature": words}, "replies": [{"text": "x"}]})
    async with client(stub, temperature=0.5) as model:
        for _ in range(2):
            assert [p async for p in model.stream(HELLO, TOOLS)][-1].text == "x"
    assert ["temperature" in r for r in stub.requests()] == [True, False, False]


async def test_max_tokens_goes_by_its_other_name(stub: StubServer) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    stub.set({"refuses": {"max_tokens": None}, "replies": [{"text": "x"}]})
    await ask(stub, max_tokens=50)
    assert stub.requests()[-1]["max_completion_tokens"] == 50
    stub.set({"refuses": {"max_tokens": words, "max_completion_tokens": None}, "replies": [{"text": "x"}]})
    await ask(stub, max_tokens=50)
    assert not {"max_tokens", "max_completion_tokens"} & stub.requests()[-1].keys()


async def test_a_parameter_that_stays_refused_ends_it(stub: StubServer) -> None:
    stub.set({"replies": [{"status": 400, "error": {"message": "temperature is wrong", "param": "temperature"}}]})
    failure = await fails(stub, temperature=9.0)
    assert "temperature is wrong" in str(failure)
    assert len(stub.log()) == 2


NO_TOOLS = [
    "registry.ollama.ai/library/gemma:2b does not support tools",
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "tools param requires --jinja flag",
    None,
]


@pytest.mark.parametrize("words", NO_TOOLS)
async def test_without_tool_support_tools_go_in_by_prompt(stub: StubServer, words: str | None) -> None:
    """issue 7: 'Models without tool support get the tools by prompt when the endpoint refuses them'"""
    called = 'Looking.\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'
    stub.set({"strict": True, "refuses": {"tools": words}, "replies": [{"text": called}, {"text": "One file."}]})
    messages = [{"role": "system", "content": "Be brief."}, *HELLO]
    async with client(stub) as model:
        reply = [p async for p in model.stream(messages, TOOLS)][-1]
        assert made(reply) == [("bash", {"command": "ls"})]
        messages += [reply.message, {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "content": "a.txt"}]
        assert [p async for p in model.stream(messages, TOOLS)][-1].text
    refused, first, second = stub.requests()
    assert "tools" in refused
    assert "tools" not in first
    assert first["messages"][0]["content"].startswith("Be brief.")
    assert '"name":"read_file"' in first["messages"][0]["content"]
    assert "tool_calls" not in str(second["messages"])
    assert second["messages"][-1] == {"role": "user", "content": "<tool_response>\na.txt\n</tool_response>"}
    assert second["messages"][-2]["content"] == called


async def test_without_a_system_role_its_text_goes_to_the_user(stub: StubServer) -> None:
    error = {"message": "System role not supported"}
    stub.set(
        {
            "rules": [{"when": {"system_contains": "Be"}, "reply": {"status": 400, "error": error}}],
            "replies": [{"text": "x"}],
        }
    )
    await ask(stub, messages=[{"role": "system", "content": "Be brief."}, *HELLO])
    assert stub.requests()[-1]["messages"] == [{"role": "user", "content": "Be brief.\n\nhello"}]


async def test_reasoning_that_is_refused_is_not_sent_back_again(stub: StubServer) -> None:
    error = {"message": "property 'reasoning_content' is unsupported"}
    replies = [{"status": 400, "error": error}, {"text": "x"}]
    stub.set({"mode": "sequence", "replies": replies})
    answer = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
    }
    await ask(stub, messages=[*HELLO, answer, {"role": "tool", "tool_call_id": "c", "content": "r"}])
    first, second = stub.requests()
    assert first["messages"][1]["reasoning_content"] == "hm"
    assert "reasoning_content" not in second["messages"][1]


async def test_half_a_surrogate_pair_does_not_break_the_request(stub: StubServer) -> None:
    await ask(stub, messages=[{"role": "user", "content": "a \ud83d b é"}])
    assert stub.requests()[-1]["messages"][0]["content"] == "a ? b é"


async def test_a_sub_call_has_no_tools_and_the_settings_of_the_session(stub: StubServer) -> None:
    """upstream-faults.md 78"""
    stub.set({"replies": [{"text": "<think>hm</think>It is <tool_call>{} there."}]})
    async with client(stub, temperature=0.1) as model:
        answer = await model.complete(system="s", prompt="p", model="small")
    assert answer == "It is <tool_call>{} there."
    request = stub.requests()[0]
    assert (request["model"], request["temperature"], "tools" in request) == ("small", 0.1, False)


async def test_models_are_listed_and_switched(stub: StubServer) -> None:
    stub.set({"models": [{"id": "nomic-embed-text"}, {"id": "a"}, {"id": "b"}], "replies": [{"text": "x"}]})
    async with client(stub, name="") as model:
        assert await model.models() == ["nomic-embed-text", "a", "b"]
        assert model.name == "a"
        model.use("b")
        _ = [p async for p in model.stream(HELLO, TOOLS)]
    assert stub.requests()[0]["model"] == "b"


async def test_an_endpoint_without_models(stub: StubServer) -> None:
    stub.set({"models": [], "replies": [{"text": "x"}]})
    assert "lists no models" in str(await fails(stub, name=""))


@pytest.mark.parametrize("url", ["localhost:11434", "ftp://x/v1", "not a url", "http://"])
async def test_a_base_url_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match=r"model\.base_url"):
        await Model(ModelSettings(name="m", base_url=url)).describe()
