"""The model client: streaming chat completions from any OpenAI-compatible endpoint, through the openai SDK.

A request gives a stream of pieces that ends with a `Reply`, or raises `Failure`. Retries are made here; text shown
before one is declared void by `Discarded`.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent import endpoint as endpoints
from turnstone_lsp.agent.assembly import ToolCall
from turnstone_lsp.agent.failures import Failure, from_status, message_of
from turnstone_lsp.agent.reading import Reply, TextPiece, ThoughtPiece, read_reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from openai import AsyncOpenAI

    from turnstone_lsp.agent.endpoint import Endpoint
    from turnstone_lsp.config.settings import ModelSettings

__all__ = ["Discarded", "Model", "Reply", "Retrying", "TextPiece", "ThoughtPiece", "ToolCall"]

BACKOFF_SECONDS = (1.0, 2.0, 5.0, 10.0, 20.0)
LONGEST_WAIT = 120.0


@dataclass(frozen=True, slots=True)
class Discarded:
    """What was streamed so far is void: the request is made again."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request failed and is made again in `seconds`."""

    reason: str
    seconds: float


Piece = TextPiece | ThoughtPiece | Discarded | Retrying | Reply


class Model:
    """The client of one endpoint, found and connected on first use."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._client: AsyncOpenAI | None = None
        self._endpoint: Endpoint | None = None
        self._listed: list[dict[str, Any]] | None = None
        self._name = settings.name
        self._refused: set[str] = set()
        """Parameters that this endpoint does not take."""
        self._opening = asyncio.Lock()

    @property
    def name(self) -> str:
        """The model's name; empty until the endpoint was asked, when no setting names one."""
        return self._name

    @property
    def context_window(self) -> int | None:
        """Tokens that the model can see, where a setting or the endpoint says so."""
        if self._settings.context_window:
            return self._settings.context_window
        entry = next((m for m in self._listed or () if m.get("id") == self._name), None)
        return endpoints.window_of(entry) if entry else None

    def use(self, name: str) -> None:
        """Answer with another model of this endpoint from now on."""
        self._name = name

    async def preload(self) -> None:
        """Import the SDK off the loop, so that the first request need not wait for it."""
        await asyncio.to_thread(_import_sdk)

    async def describe(self) -> tuple[str, str]:
        """(endpoint, model name), after asking the endpoint for its models. Raises ConfigError, Failure."""
        where = await self._open()
        await self.models()
        return where.where, self._name

    async def models(self) -> list[str]:
        """Names of the endpoint's models. Raises Failure when it does not answer."""
        await self._list()
        return [str(m.get("id")) for m in self._listed or ()]

    async def stream(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, model: str | None = None
    ) -> AsyncIterator[Piece]:
        """One reply to the conversation. The last piece is a Reply. Raises Failure, ConfigError.

        Stopping is cancellation: it aborts the request, and no other is made.
        """
        attempt = 0
        while True:
            shown = False
            try:
                async for piece in self._once(messages, tools, model):
                    shown = True
                    yield piece
                return
            except Failure as failure:
                if failure.kind == "parameter" and self._drop(failure.parameter):
                    continue
                if not failure.retryable or attempt >= self._settings.max_retries:
                    raise
                if shown:
                    yield Discarded()
                seconds = _wait(failure, attempt)
                yield Retrying(str(failure), seconds)
                await asyncio.sleep(seconds)
                attempt += 1

    async def complete(self, *, system: str, prompt: str, model: str | None = None) -> str:
        """One answer without tools, with the settings of the session. Raises Failure, ConfigError."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        async for piece in self.stream(messages, (), model=model):
            if isinstance(piece, Reply):
                return piece.text
        raise AssertionError("a stream ends with a reply")

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    # -- one request

    async def _once(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], model: str | None
    ) -> AsyncIterator[TextPiece | ThoughtPiece | Reply]:
        import openai

        where = await self._open()
        name = model or await self._model_name()
        request = self._request(messages, tools, name)
        client = await self._connected()
        try:
            async with client.chat.completions.with_streaming_response.create(**request) as response:
                names = [t["function"]["name"] for t in tools]
                reading = read_reply(response, names, self._settings.idle_timeout, where.where, name)
                async for piece in reading:
                    yield piece
        except openai.APIStatusError as error:
            await error.response.aread()
            text = message_of(_json(error), error.message)
            raise from_status(error.status_code, text, error.response.headers, where.where, name) from error
        except openai.APITimeoutError as error:
            raise Failure("stalled", f"{where.where} did not answer in time.") from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise Failure(
                "connection",
                f"{where.where} cannot be reached ({type(cause).__name__}: {cause}). "
                "Is it running? `turnstone-lsp doctor` checks it.",
            ) from error

    def _request(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], name: str
    ) -> dict[str, Any]:
        settings = self._settings
        request: dict[str, Any] = {"model": name, "messages": list(messages), "stream": True}
        optional: dict[str, Any] = {
            "stream_options": {"include_usage": True},
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "reasoning_effort": settings.reasoning_effort or None,
            "tools": list(tools) or None,
        }
        request |= {k: v for k, v in optional.items() if v is not None and k not in self._refused}
        if settings.max_tokens and "max_tokens" in self._refused and "max_completion_tokens" not in self._refused:
            request["max_completion_tokens"] = settings.max_tokens
        return request

    def _drop(self, parameter: str | None) -> bool:
        """Leave a refused parameter out from now on; False when it was left out already, or cannot be."""
        if parameter is None or parameter in self._refused or parameter == "tools":
            return False
        self._refused.add(parameter)
        return True

    # -- the endpoint

    async def _open(self) -> Endpoint:
        if self._endpoint is None:
            self._endpoint = await endpoints.find(self._settings)
        return self._endpoint

    async def _connected(self) -> AsyncOpenAI:
        async with self._opening:
            if self._client is None:
                where = await self._open()
                self._client = await asyncio.to_thread(_make_client, where, self._settings)
            return self._client

    async def _model_name(self) -> str:
        if not self._name:
            await self._list()
        return self._name

    async def _list(self) -> None:
        import openai

        where = await self._open()
        client = await self._connected()
        try:
            listing = await client.models.with_raw_response.list()
            found = listing.http_response.json().get("data") or []
        except openai.APIStatusError as error:
            text = message_of(_json(error), error.message)
            raise from_status(error.status_code, text, error.response.headers, where.where, self._name) from error
        except openai.APIConnectionError as error:
            raise Failure(
                "connection", f"{where.where} cannot be reached ({error.__cause__ or error}). Is it running?"
            ) from error
        self._listed = [m for m in found if isinstance(m, dict)]
        if not self._name:
            if not self._listed:
                raise Failure("not_found", f"{where.where} lists no models. Load one there, or set model.name.")
            self._name = str(self._listed[0]["id"])


def _import_sdk() -> None:
    import openai

    openai.AsyncOpenAI  # noqa: B018 - the attribute's first use imports what the client needs


def _make_client(where: Endpoint, settings: ModelSettings) -> AsyncOpenAI:
    import openai

    timeout = openai.Timeout(settings.idle_timeout, connect=settings.connect_timeout)
    http_client = None
    if settings.proxy or settings.ca_file:
        import ssl

        verify: ssl.SSLContext | bool = (
            ssl.create_default_context(cafile=settings.ca_file) if settings.ca_file else True
        )
        http_client = openai.DefaultAsyncHttpxClient(proxy=settings.proxy or None, verify=verify, timeout=timeout)
    return openai.AsyncOpenAI(
        api_key=where.api_key,
        base_url=where.base_url,
        max_retries=0,
        timeout=timeout,
        default_headers=settings.headers or None,
        http_client=http_client,
    )


def _json(error: Any) -> Any:
    try:
        return error.response.json()
    except ValueError:
        return error.response.text


def _wait(failure: Failure, attempt: int) -> float:
    """Seconds to the next try: what the endpoint asked for, else a growing pause; both with jitter upwards."""
    pause = failure.retry_after
    if pause is None:
        pause = BACKOFF_SECONDS[min(attempt, len(BACKOFF_SECONDS) - 1)]
    return min(pause, LONGEST_WAIT) + random.uniform(0, 0.25) * min(pause, 4.0)  # noqa: S311 - jitter
