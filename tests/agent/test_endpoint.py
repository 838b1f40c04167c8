"""Where the model is found, and how many tokens it can see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from model_client import client

from turnstone_lsp.agent import endpoint, windows
from turnstone_lsp.agent.endpoint import OPENAI_URL, PLACEHOLDER_KEY
from turnstone_lsp.config.settings import ModelSettings
from turnstone_lsp.errors import ConfigError

if TYPE_CHECKING:
    from model_server import StubServer


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch, stub: StubServer) -> None:
    """Only the scripted server's port counts as a usual one; a second one is closed."""
    monkeypatch.setattr(endpoint, "LOCAL_SERVERS", (("closed", 1), ("stub", stub.port)))


async def test_a_local_server_is_found_on_its_usual_port(stub: StubServer, ports: None) -> None:
    """issue 2: 'else a local server found on its usual loopback port'"""
    found = await endpoint.find(ModelSettings())
    assert (found.base_url, found.api_key) == (f"http://127.0.0.1:{stub.port}/v1", PLACEHOLDER_KEY)


async def test_a_server_that_was_only_found_is_never_given_a_key(ports: None) -> None:
    found = await endpoint.find(ModelSettings(api_key="secret"))
    assert (found.base_url, found.api_key) == (OPENAI_URL, "secret")


async def test_what_is_no_model_server_is_passed_over(stub: StubServer, ports: None) -> None:
    stub.set({"prefix": "/other", "replies": [{"text": "x"}]})
    with pytest.raises(ConfigError) as none:
        await endpoint.find(ModelSettings())
    for way in ("model.base_url", "OPENAI_API_KEY", "local server"):
        assert way in str(none.value)


async def test_settings_come_first(ports: None) -> None:
    found = await endpoint.find(ModelSettings(base_url="https://models.example/v1/", api_key="k"))
    assert (found.base_url, found.api_key) == ("https://models.example/v1", "k")


async def test_a_url_that_was_copied_too_long() -> None:
    found = await endpoint.find(ModelSettings(base_url="http://localhost:8000/v1/chat/completions"))
    assert found.base_url == "http://localhost:8000/v1"


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.8.0.1/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://localhost.example.org/v1", False),
        ("http://10.0.0.1/v1", False),
    ],
)
def test_loopback(url: str, local: bool) -> None:
    assert endpoint.is_loopback(url) is local


def test_messages_name_the_endpoint_without_credentials() -> None:
    where = endpoint.Endpoint("http://user:pass@[::1]:8080/v1?key=x", "secret")
    assert where.where == "http://[::1]:8080/v1"
    assert "secret" not in repr(where)


OLLAMA: dict[str, Any] = {"model_info": {"qwen3.context_length": 40960}}
RUNNING: dict[str, Any] = {"models": [{"name": "m", "context_length": 16384}]}


@pytest.mark.parametrize(
    ("scenario", "tokens"),
    [
        ({"models": [{"id": "m", "max_model_len": 9000}]}, 9000),  # vLLM
        ({"models": [{"id": "m", "context_length": 9001}]}, 9001),  # OpenRouter and others
        ({"models": [{"id": "m", "meta": {"n_ctx_train": 9002}}]}, 9002),  # llama.cpp, as trained
        ({"models": [{"id": "m", "meta": {"n_ctx_train": 9002}}], "paths": {"/props": {"default_generation_settings": {"n_ctx": 4242}}}}, 4242),
        ({"models": [{"id": "m"}], "paths": {"/api/show": OLLAMA}}, 4096),  # Ollama cuts there unless told otherwise
        ({"models": [{"id": "m"}], "paths": {"/api/show": {**OLLAMA, "parameters": "stop x\nnum_ctx   8192"}}}, 8192),
        ({"models": [{"id": "m"}], "paths": {"/api/show": OLLAMA, "/api/ps": RUNNING}}, 16384),
        ({"models": [{"id": "m"}], "paths": {"/api/v0/models/m": {"max_context_length": 99, "loaded_context_length": 8000}}}, 8000),
        ({"models": [{"id": "m"}]}, windows.DEFAULT),
    ],
)  # fmt: skip
async def test_the_window_is_what_the_endpoint_says(stub: StubServer, scenario: dict[str, Any], tokens: int) -> None:
    """issue 7: 'window size from the endpoint, a table, or a setting'"""
    stub.set({**scenario, "replies": [{"text": "x"}]})
    async with client(stub, name="m") as model:
        assert model.context_window is None
        assert await model.window() == tokens
    async with client(stub, name="m", context_window=77) as model:
        assert await model.window() == 77


async def test_ollama_is_asked_again_once_the_model_runs(stub: StubServer) -> None:
    scenario: dict[str, Any] = {"models": [{"id": "m"}], "replies": [{"text": "x"}]}
    stub.set({**scenario, "paths": {"/api/show": OLLAMA}})
    async with client(stub, name="m") as model:
        assert await model.window() == windows.OLLAMA_DEFAULT
        stub.set({**scenario, "paths": {"/api/show": OLLAMA, "/api/ps": RUNNING}})
        assert await model.window() == 16384
        assert model.context_window == 16384


@pytest.mark.parametrize(
    ("name", "least"),
    [("gpt-4o-mini", 128_000), ("Qwen2.5-Coder:7b", 32_768), ("claude-sonnet", 200_000), ("x", 32_768)],
)
def test_known_names(name: str, least: int) -> None:
    assert windows.by_name(name) == least
