"""Where the model is: settings, else OPENAI_* variables, else a local server on its usual port."""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from turnstone_lsp.agent import loopback
from turnstone_lsp.errors import ConfigError

if TYPE_CHECKING:
    from turnstone_lsp.config.settings import ModelSettings

OPENAI_URL = "https://api.openai.com/v1"
PLACEHOLDER_KEY = "no-key-needed"
"""The SDK wants a key; this stands for none."""
LOCAL_SERVERS = (("Ollama", 11434), ("llama.cpp", 8080), ("LM Studio", 1234), ("vLLM", 8000))
"""Name and usual loopback port, in the order in which they are taken when several answer."""

NO_MODEL = (
    "There is no model to ask. Three ways to get one: (1) set model.base_url and model.name in the settings "
    "(`turnstone-lsp path config` says where); (2) set OPENAI_API_KEY, and OPENAI_BASE_URL for another endpoint; "
    "(3) start a local server: Ollama, llama.cpp, LM Studio or vLLM on its usual port is found by itself."
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint. The key was set for it, or is a placeholder."""

    base_url: str
    api_key: str = field(repr=False)

    @property
    def where(self) -> str:
        """As named in messages: the URL without credentials and query."""
        parts = urlsplit(self.base_url)
        host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
        return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

    @property
    def local(self) -> bool:
        """On this machine: no proxy stands between, and it may be asked for more than OpenAI's paths."""
        return is_loopback(self.base_url)

    @property
    def has_key(self) -> bool:
        """Whether a key was set."""
        return self.api_key != PLACEHOLDER_KEY


def is_loopback(base_url: str) -> bool:
    """Whether the URL's host is this machine."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def find(settings: ModelSettings) -> Endpoint:
    """The endpoint to use. Raises ConfigError with the three ways to get one.

    The loader has already put OPENAI_BASE_URL and OPENAI_API_KEY into the settings, where they are set. A key without
    an endpoint is OpenAI's; a server that was only found is never given one.
    """
    if settings.base_url:
        return Endpoint(_checked(settings.base_url), settings.api_key or PLACEHOLDER_KEY)
    if settings.api_key:
        return Endpoint(OPENAI_URL, settings.api_key)
    found = await asyncio.gather(*(_lists_models(port) for _, port in LOCAL_SERVERS))
    for (_, port), there in zip(LOCAL_SERVERS, found, strict=True):
        if there:
            return Endpoint(f"http://127.0.0.1:{port}/v1", PLACEHOLDER_KEY)
    raise ConfigError(NO_MODEL)


def _checked(base_url: str) -> str:
    """The URL without what people paste along with it. Raises ConfigError where it is none."""
    url = base_url.strip().rstrip("/").removesuffix("/chat/completions")
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        raise ConfigError(
            f"model.base_url: '{base_url}' is not a URL. Write it like http://localhost:11434/v1, or leave it out."
        )
    return url


async def _lists_models(port: int) -> bool:
    """Whether something on this loopback port speaks OpenAI's protocol."""
    listing = await loopback.fetch(port, "/v1/models")
    return isinstance(listing, dict) and isinstance(listing.get("data"), list)
