"""The openai SDK behind one door: its client, made for an endpoint, and its errors as ours."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from turnstone_lsp.agent.failures import Failure, from_status
from turnstone_lsp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openai import AsyncOpenAI

    from turnstone_lsp.agent.endpoint import Endpoint
    from turnstone_lsp.config.settings import ModelSettings

_MARGIN_SECONDS = 5.0
"""The transport waits longer than our own timer, which knows events from bytes."""


def import_sdk() -> None:
    """Import what the first request needs. Takes about 0.6 s of one core, so it is done in a thread."""
    import openai

    openai.AsyncOpenAI.chat  # noqa: B018 - its first use imports some eighty modules more


async def connect(endpoint: Endpoint, settings: ModelSettings) -> AsyncOpenAI:
    """A client of this endpoint. Retries are ours, and it follows no redirect: neither key nor conversation goes to
    another host. Raises ConfigError for a CA file or proxy that cannot be used.
    """
    return await asyncio.to_thread(_make, endpoint, settings)


def _make(endpoint: Endpoint, settings: ModelSettings) -> AsyncOpenAI:
    import openai

    timeout = openai.Timeout(settings.idle_timeout + _MARGIN_SECONDS, connect=settings.connect_timeout)
    try:
        transport = openai.DefaultAsyncHttpxClient(
            proxy=settings.proxy or None,
            verify=_verification(endpoint, settings),
            timeout=timeout,
            follow_redirects=False,
            trust_env=not endpoint.local,  # a proxy in the environment cannot reach this machine's loopback
        )
    except ValueError as error:
        raise ConfigError(f"model.proxy: '{settings.proxy}' cannot be used ({error}).") from error
    client = openai.AsyncOpenAI(
        api_key=endpoint.api_key,
        base_url=endpoint.base_url,
        max_retries=0,
        timeout=timeout,
        default_headers=settings.headers or None,
        http_client=transport,
    )
    if urlsplit(endpoint.base_url).hostname != "api.openai.com":
        client.organization = client.project = None  # the SDK takes them from the environment; they are OpenAI's
    return client


def _verification(endpoint: Endpoint, settings: ModelSettings) -> ssl.SSLContext | bool:
    """Certificates to trust. Loading them takes a tenth of a second, so not for plain HTTP."""
    if not settings.ca_file:
        return settings.proxy != "" or not endpoint.base_url.startswith("http://")
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        raise ConfigError(f"model.ca_file: {settings.ca_file} cannot be used ({error}); give a PEM file.") from error


@contextlib.asynccontextmanager
async def translated(endpoint: Endpoint, model: str) -> AsyncIterator[None]:
    """Within it the SDK's errors are Failures."""
    import openai

    where = endpoint.where
    try:
        yield
    except openai.APIStatusError as error:
        with contextlib.suppress(Exception):  # the body may break off too; the status is known
            await error.response.aread()
        failure = from_status(error.status_code, _body(error), error.response.headers, where, model)
        if error.status_code == 401 and not endpoint.has_key:
            failure = Failure("auth", f"{where} needs a key. Set OPENAI_API_KEY or model.api_key to a key for it.")
        raise failure from error
    except openai.APIConnectionError as error:
        raise _unreachable(error, where) from error


def _body(error: Any) -> Any:
    try:
        return error.response.json()
    except Exception:  # noqa: BLE001 - whatever it is, it is no JSON
        with contextlib.suppress(Exception):
            return error.response.text
    return ""


def _unreachable(error: Exception, where: str) -> Failure:
    cause = error.__cause__ or error
    kind = type(cause).__name__
    if kind in ("ReadTimeout", "WriteTimeout", "PoolTimeout"):
        text = f"{where} did not begin to answer in time. If the model needs longer, raise model.idle_timeout."
        return Failure("stalled", text)
    if kind in ("ReadError", "WriteError", "RemoteProtocolError", "LocalProtocolError", "CloseError"):
        return Failure("cut", f"{where} closed the connection before it answered.")
    words = str(cause) or kind
    if "CERTIFICATE" in words.upper() or "SSL" in words.upper():
        return Failure("connection", f"{where} has no certificate that is trusted here ({words}). See model.ca_file.")
    text = f"{where} cannot be reached ({words}). Is it running, and is model.base_url right? `turnstone-lsp doctor`"
    return Failure("connection", f"{text} checks it.")
