"""How many tokens a model can see: what its endpoint says, else what is known of its name."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from turnstone_lsp.agent import loopback

if TYPE_CHECKING:
    from turnstone_lsp.agent.endpoint import Endpoint

DEFAULT = 32_768
OLLAMA_DEFAULT = 4096
"""Ollama's own limit where neither the model nor the server was given another; longer prompts are cut silently."""
_FIELDS = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
_KNOWN = (
    (r"gpt-4\.1|gemini", 1_000_000),
    (r"gpt-5|\bo[134]\b|o[134]-", 200_000),
    (r"claude", 200_000),
    (r"gpt-4o|gpt-oss|deepseek|llama-?3\.[1-9]|llama-?[4-9]|mistral|devstral|magistral|codestral|glm-?4", 128_000),
    (r"kimi|qwen3-coder|grok|minimax", 200_000),
    (r"gemma-?[3-9]", 128_000),
    (r"gpt-3\.5", 16_000),
    (r"qwen", 32_768),
)
"""Part of a name -> tokens, rounded down; only used where the endpoint says nothing."""


async def ask(endpoint: Endpoint, model: str, entry: dict[str, Any] | None) -> tuple[int, bool]:
    """(tokens, sure). entry: the model's record in the endpoint's list. Unsure: it may be worth asking again later.

    Local servers are asked first for the window that is in force: what they list is often the one that the model was
    trained for.
    """
    if endpoint.local:
        tokens = await _local(endpoint, model)
        if tokens is not None:
            return tokens
    listed = listed_window(entry)
    return (listed, True) if listed else (by_name(model), True)


def listed_window(entry: dict[str, Any] | None) -> int | None:
    """The window that a record of /v1/models states, under any of its usual names."""
    meta = (entry or {}).get("meta")
    for record, names in ((entry or {}, _FIELDS), (meta if isinstance(meta, dict) else {}, ("n_ctx", "n_ctx_train"))):
        for name in names:
            if (value := _positive(record.get(name))) is not None:
                return value
    return None


def by_name(model: str) -> int:
    """The window that models of this name have at least."""
    return next((tokens for pattern, tokens in _KNOWN if re.search(pattern, model.casefold())), DEFAULT)


async def _local(endpoint: Endpoint, model: str) -> tuple[int, bool] | None:
    parts = urlsplit(endpoint.base_url)
    port, host = parts.port or 80, "::1" if parts.hostname == "::1" else "127.0.0.1"
    props, loaded, shown, studio = await asyncio.gather(
        loopback.fetch(port, "/props", host=host),
        loopback.fetch(port, "/api/ps", host=host),
        loopback.fetch(port, "/api/show", {"model": model}, host=host),
        loopback.fetch(port, f"/api/v0/models/{model}", host=host),
    )
    if tokens := _llama_cpp(props):
        return tokens, True
    if tokens := _studio(studio):
        return tokens, True
    return _ollama(loaded, shown, model)


def _llama_cpp(props: Any) -> int | None:
    """llama.cpp: the window of one slot."""
    generation = props.get("default_generation_settings") if isinstance(props, dict) else None
    return _positive(generation.get("n_ctx")) if isinstance(generation, dict) else None


def _studio(model: Any) -> int | None:
    """LM Studio: what the model was loaded with."""
    return _positive(model.get("loaded_context_length")) if isinstance(model, dict) else None


def _ollama(loaded: Any, shown: Any, model: str) -> tuple[int, bool] | None:
    """Ollama: what the running model has, else what its file sets, else the server's default."""
    running = loaded.get("models") if isinstance(loaded, dict) else None
    for record in running if isinstance(running, list) else ():
        if isinstance(record, dict) and model in (record.get("name"), record.get("model")):
            tokens = _positive(record.get("context_length"))
            if tokens:
                return tokens, True
    if not isinstance(shown, dict) or not isinstance(shown.get("model_info"), dict):
        return None
    trained = next((_positive(v) for k, v in shown["model_info"].items() if k.endswith(".context_length")), None)
    set_here = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.MULTILINE)
    tokens = int(set_here[1]) if set_here else OLLAMA_DEFAULT
    return min(tokens, trained or tokens), set_here is not None


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
