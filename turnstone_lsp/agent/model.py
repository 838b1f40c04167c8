"""The model client: streaming chat completions from any OpenAI-compatible endpoint, through the openai SDK.

A request gives a stream of pieces that ends with a `Reply`, or raises `Failure`. Retries are made here; text shown
before one is declared void by `Discarded`. What an endpoint refuses is left out, or done in another way, from then on.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent import connecting, windows
from turnstone_lsp.agent import endpoint as endpoints
from turnstone_lsp.agent.assembly import ToolCall
from turnstone_lsp.agent.failures import Failure
from turnstone_lsp.agent.reading import Reader
from turnstone_lsp.agent.reply import CallPiece, Discarded, Reply, Retrying, TextPiece, ThoughtPiece, TokenUsage
from turnstone_lsp.agent.request import Quirks, build
from turnstone_lsp.agent.sse import events
from turnstone_lsp.errors import TurnstoneError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from openai import AsyncOpenAI

    from turnstone_lsp.agent.endpoint import Endpoint
    from turnstone_lsp.config.settings import ModelSettings

__all__ = [
    "CallPiece", "Discarded", "Failure", "Model", "Piece", "Reply", "Retrying", "TextPiece", "ThoughtPiece",
    "TokenUsage", "ToolCall",
]  # fmt: skip

Piece = TextPiece | ThoughtPiece | CallPiece | Discarded | Retrying | Reply

BACKOFF_SECONDS = (1.0, 2.0, 5.0, 10.0, 20.0)
HALF_CALL_SECONDS = 0.5
"""After a call that the model wrote wrongly: nothing has to recover, only the dice to fall otherwise."""
LONGEST_WAIT = 120.0
"""An endpoint that asks for a longer pause is not waited for."""
_NO_CHAT = re.compile(r"embed|rerank|whisper|\btts|dall-e|moderation|\bbge-", re.IGNORECASE)
_LISTED = 12
"""Models that are named in an error."""


class Model:
    """The client of one endpoint, found and connected on first use. Safe for several requests at a time."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._client: AsyncOpenAI | None = None
        self._endpoint: Endpoint | None = None
        self._listed: list[dict[str, Any]] | None = None
        self._name = settings.name
        self._quirks: dict[str, Quirks] = {}
        self._windows: dict[str, int] = {}
        self._opening = asyncio.Lock()

    @property
    def name(self) -> str:
        """The model's name; empty until the endpoint was asked, when no setting names one."""
        return self._name

    @property
    def context_window(self) -> int | None:
        """Tokens that the model can see, once that is known. See `window`."""
        return self._settings.context_window or self._windows.get(self._name)

    async def window(self, model: str | None = None) -> int:
        """Tokens that a model can see: by the setting, its endpoint, or its name. Never raises."""
        if self._settings.context_window:
            return self._settings.context_window
        name = model or self._name
        if name in self._windows:
            return self._windows[name]
        try:
            where = await self._open()
            await self._list()
        except TurnstoneError:
            return windows.by_name(name)
        name = name or self._name
        entry = self._entry(name)
        tokens, sure = await windows.ask(where, name, entry)
        if sure:
            self._windows[name] = tokens
        return tokens

    def use(self, name: str) -> None:
        """Answer with another model of this endpoint from now on."""
        self._name = name

    async def preload(self) -> None:
        """Import the SDK off the loop, so that the first request need not wait for it."""
        await asyncio.to_thread(connecting.import_sdk)

    async def describe(self) -> tuple[str, str]:
        """(endpoint, model name), after asking the endpoint for its models. Raises ConfigError, Failure."""
        where = await self._open()
        await self.models()
        return where.where, self._name

    async def models(self) -> list[str]:
        """Names of the endpoint's models, as it lists them now. Raises ConfigError, Failure."""
        self._listed = None
        await self._list()
        return self._names()

    async def stream(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, model: str | None = None
    ) -> AsyncGenerator[Piece, None]:
        """One reply to the conversation. The last piece is a Reply. Raises Failure, ConfigError.

        Stopping is cancellation: it aborts the request or the wait, and no other request is made.
        """
        where = await self._open()
        name = model or await self._model_name()
        quirks = self._quirks.setdefault(name, Quirks())
        attempt = 0
        while True:
            request = build(self._settings, name, messages, tools, quirks)
            shown = False
            try:
                async with contextlib.aclosing(self._once(where, request, tools)) as pieces:
                    async for piece in pieces:
                        shown = True
                        yield piece
                return
            except Failure as failure:
                if failure.window:
                    self._windows[name] = failure.window
                if failure.kind == "parameter" and quirks.learn(failure.parameter, request):
                    continue
                seconds = self._pause(failure, attempt, fresh=not shown)
                if seconds is None:
                    raise await self._explained(failure) from failure.__cause__
                reason = str(failure)
            if shown:
                yield Discarded()
            if seconds:
                yield Retrying(reason, seconds)
                await asyncio.sleep(seconds)
            attempt += 1

    async def complete(self, *, system: str, prompt: str, model: str | None = None) -> str:
        """One answer without tools, with the settings of the session. Raises Failure, ConfigError."""
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        text = ""
        async with contextlib.aclosing(self.stream(messages, (), model=model)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Reply):
                    text = piece.text
        return text

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    # -- one request

    async def _once(
        self, where: Endpoint, request: dict[str, Any], tools: Sequence[dict[str, Any]]
    ) -> AsyncGenerator[TextPiece | ThoughtPiece | CallPiece | Discarded | Reply, None]:
        client = await self._connected()
        reader = Reader([t["function"]["name"] for t in tools], where.where, request["model"])
        create = client.chat.completions.with_streaming_response.create
        async with connecting.translated(where, request["model"]), create(**request) as response:
            if _is_whole(response.headers.get("content-type", "")):
                for piece in reader.whole(await response.read()):
                    yield piece
            else:
                async for event in events(response.iter_bytes(), self._settings.idle_timeout, where.where):
                    for piece in reader.feed(event):
                        yield piece
        rest, reply = reader.finish()
        for piece in rest:
            yield piece
        yield reply

    def _pause(self, failure: Failure, attempt: int, *, fresh: bool) -> float | None:
        """Seconds to the next try, with jitter upwards; None: give up."""
        if not failure.retryable or attempt >= self._settings.max_retries:
            return None
        if failure.retry_after is not None:
            wait = failure.retry_after
        elif failure.kind == "cut" and fresh and attempt == 0:
            return 0.0  # most likely a kept connection that the endpoint had closed meanwhile
        elif failure.model_fault:
            wait = HALF_CALL_SECONDS
        else:
            wait = BACKOFF_SECONDS[min(attempt, len(BACKOFF_SECONDS) - 1)]
        if wait > LONGEST_WAIT:
            return None
        return wait + random.uniform(0, 0.25) * min(max(wait, 0.2), 4.0)  # noqa: S311 - jitter

    async def _explained(self, failure: Failure) -> Failure:
        """The failure with what helps to choose another model, or with how long to wait."""
        extra = ""
        if failure.kind == "not_found":
            with contextlib.suppress(Failure):
                names = await self.models()
                extra = f" It lists: {', '.join(names[:_LISTED])}{' ...' if len(names) > _LISTED else ''}."
        elif failure.retry_after is not None and failure.retry_after > LONGEST_WAIT:
            extra = f" It asks to wait {failure.retry_after / 60:.0f} minutes; ask again then."
        if not extra:
            return failure
        return Failure(failure.kind, f"{failure}{extra}", retry_after=failure.retry_after)

    # -- the endpoint

    async def _open(self) -> Endpoint:
        async with self._opening:
            if self._endpoint is None:
                self._endpoint = await endpoints.find(self._settings)
            return self._endpoint

    async def _connected(self) -> AsyncOpenAI:
        where = await self._open()
        async with self._opening:
            if self._client is None:
                self._client = await connecting.connect(where, self._settings)
            return self._client

    async def _model_name(self) -> str:
        if not self._name:
            await self._list()
        return self._name

    async def _list(self) -> None:
        """Ask for the endpoint's models, once; the first one is used where no setting names one."""
        if self._listed is None:
            where = await self._open()
            client = await self._connected()
            async with connecting.translated(where, self._name):
                listing = await client.models.with_raw_response.list()
            self._listed = _entries(listing.http_response)
        if not self._name:
            self._name = self._choice(await self._open())

    def _names(self) -> list[str]:
        return [str(m["id"]) for m in self._listed or ()]

    def _entry(self, name: str) -> dict[str, Any] | None:
        return next((m for m in self._listed or () if m.get("id") == name), None)

    def _choice(self, where: Endpoint) -> str:
        """The model to use when no setting names one: a local server's first, or the only one there is."""
        names = [name for name in self._names() if not _NO_CHAT.search(name)]
        if not names:
            raise Failure("not_found", f"{where.where} lists no models. Load one there, or set model.name.")
        if len(names) > 1 and not where.local:
            listed = f"{', '.join(names[:_LISTED])}{' ...' if len(names) > _LISTED else ''}"
            raise Failure("not_found", f"{where.where} has several models. Set model.name to one of them: {listed}.")
        return names[0]


def _is_whole(content_type: str) -> bool:
    """Whether an answer came in one piece though a stream was asked for."""
    return content_type.partition(";")[0].strip().casefold() in ("application/json", "text/html")


def _entries(response: Any) -> list[dict[str, Any]]:
    try:
        found = response.json()
    except ValueError:
        found = None
    listed = found.get("data") if isinstance(found, dict) else found
    return [m for m in listed if isinstance(m, dict) and m.get("id")] if isinstance(listed, list) else []
