"""Where the model is: settings, else OPENAI_* variables, else a local server on its usual port."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from turnstone_lsp.errors import ConfigError

if TYPE_CHECKING:
    from turnstone_lsp.config.settings import ModelSettings

OPENAI_URL = "https://api.openai.com/v1"
PLACEHOLDER_KEY = "no-key-needed"
LOCAL_SERVERS = (("Ollama", 11434), ("llama.cpp", 8080), ("LM Studio", 1234), ("vLLM", 8000))
PROBE_SECONDS = 1.0
DEFAULT_WINDOW = 32_768
_WINDOW_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx", "n_ctx_train")

NO_MODEL = (
    "There is no model to ask. Three ways to get one: (1) set model.base_url and model.name in the settings "
    "(`turnstone-lsp path config` says where); (2) set OPENAI_API_KEY, and OPENAI_BASE_URL for another endpoint; "
    "(3) start a local server: Ollama, llama.cpp, LM Studio or vLLM on its usual port is found by itself."
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint and what is known of it."""

    base_url: str
    api_key: str

    @property
    def where(self) -> str:
        """As named in messages: the URL without credentials."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def is_loopback(base_url: str) -> bool:
    """Whether the endpoint is on this machine, so that it may need no key."""
    host = urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


async def find(settings: ModelSettings) -> Endpoint:
    """The endpoint to use. Raises ConfigError with the three ways to get one.

    The loader has already put OPENAI_BASE_URL and OPENAI_API_KEY into the settings, where they are set.
    """
    if settings.base_url:
        base_url = settings.base_url.rstrip("/")
        if urlsplit(base_url).scheme not in ("http", "https"):
            raise ConfigError(f"model.base_url: '{base_url}' is not a URL; it starts with http:// or https://.")
        return Endpoint(base_url, settings.api_key or PLACEHOLDER_KEY)
    if settings.api_key:
        return Endpoint(OPENAI_URL, settings.api_key)
    found = await asyncio.gather(*(_speaks_openai(port) for _, port in LOCAL_SERVERS))
    for (_, port), there in zip(LOCAL_SERVERS, found, strict=True):
        if there:
            return Endpoint(f"http://127.0.0.1:{port}/v1", PLACEHOLDER_KEY)
    raise ConfigError(NO_MODEL)


async def _speaks_openai(port: int) -> bool:
    """Whether something on this loopback port lists models. A key is never sent."""
    with contextlib.suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
        async with asyncio.timeout(PROBE_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(f"GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
                answer = await reader.read(1_000_000)
            finally:
                writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return b" 200 " in head.split(b"\r\n", 1)[0] and isinstance(json.loads(body).get("data"), list)
    return False


def window_of(model: dict[str, Any]) -> int | None:
    """The context window that a /v1/models entry states, under any of its usual names."""
    meta = model.get("meta")
    for record in (model, meta if isinstance(meta, dict) else {}):
        for name in _WINDOW_FIELDS:
            value = record.get(name)
            if isinstance(value, int) and value > 0:
                return value
    return None
