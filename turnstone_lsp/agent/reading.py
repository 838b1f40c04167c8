"""Reads one streamed reply: server-sent events to pieces, with a timer on events rather than on bytes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.assembly import CallAssembler, ToolCall, new_call_id
from turnstone_lsp.agent.failures import Failure, from_event
from turnstone_lsp.agent.rescue import Stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

_BYTES_PER_TOKEN = 4
"""For endpoints that report no usage: an estimate, shown as one."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one request. `estimated`: the endpoint gave no numbers."""

    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole reply. `message` is what goes into the history; `cut`: the length limit ended it."""

    text: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    usage: TokenUsage
    finish_reason: str
    reasoning_field: str = ""

    @property
    def cut(self) -> bool:
        """The reply was ended by the length limit."""
        return self.finish_reason == "length"

    @property
    def message(self) -> dict[str, Any]:
        """The reply in the OpenAI shape. Arguments that are no JSON object are stored legal, so that every endpoint
        accepts the history; reasoning is sent back in the field in which it came.
        """
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.reasoning and self.reasoning_field:
            message[self.reasoning_field] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name or "unknown", "arguments": _legal(c)}}
                for c in self.tool_calls
            ]
        elif not self.text:
            message["content"] = ""
        return message


def _legal(call: ToolCall) -> str:
    try:
        if isinstance(json.loads(call.arguments), dict):
            return call.arguments
    except ValueError:
        pass
    return json.dumps({"_raw": call.arguments}) if call.arguments.strip() else "{}"


async def read_reply(
    response: Any, tool_names: Sequence[str], idle_timeout: float, where: str, model: str
) -> AsyncIterator[TextPiece | ThoughtPiece | Reply]:
    """The pieces of one reply, a Reply last. Raises Failure: cut, stalled, or an error inside the stream."""
    reader = _Reader(tool_names, where, model)
    if "text/event-stream" not in response.headers.get("content-type", "text/event-stream"):
        body = await response.read()
        for piece in reader.whole(body):
            yield piece
        yield reader.reply()
        return
    async for event in _events(response, idle_timeout, where):
        for piece in reader.feed(event):
            yield piece
    for piece in reader.finish():
        yield piece
    yield reader.reply()


async def _events(response: Any, idle_timeout: float, where: str) -> AsyncIterator[dict[str, Any]]:
    """The JSON events of a stream, up to [DONE]. Comments are no events: they do not reset the timer."""
    buffer = b""
    loop = asyncio.get_running_loop()
    last = loop.time()
    parts = response.iter_bytes().__aiter__()
    while True:
        try:
            async with asyncio.timeout_at(last + idle_timeout):
                part = await anext(parts)
        except StopAsyncIteration:
            break
        except TimeoutError:
            raise Failure("stalled", f"{where} sent nothing for {idle_timeout:.0f} s.") from None
        except OSError as error:
            raise Failure("cut", f"The connection to {where} broke ({error}).") from error
        except Exception as error:
            if type(error).__module__.split(".")[0] not in ("httpx2", "httpcore2", "httpx", "httpcore", "anyio"):
                raise
            raise Failure("cut", f"The connection to {where} broke ({type(error).__name__}).") from error
        buffer += part
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            event = _event(line, where)
            if event == "done":
                return
            if isinstance(event, dict):
                last = loop.time()
                yield event
    event = _event(buffer, where)
    if isinstance(event, dict):
        yield event


def _event(line: bytes, where: str) -> dict[str, Any] | str | None:
    if not line.startswith(b"data:"):
        return None
    data = line[5:].strip()
    if data == b"[DONE]":
        return "done"
    if not data:
        return None
    try:
        event = json.loads(data)
    except ValueError:
        raise Failure("cut", f"{where} sent an event that is not JSON.") from None
    return event if isinstance(event, dict) else None


class _Reader:
    """What one stream has given so far."""

    def __init__(self, tool_names: Sequence[str], where: str, model: str) -> None:
        self._where = where
        self._model = model
        self._rescue = Stream(tool_names)
        self._calls = CallAssembler()
        self._native = False
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_field = ""
        self._finish = ""
        self._usage: dict[str, Any] | None = None
        self._bytes = 0
        self._rescued: list[ToolCall] = []

    def feed(self, event: dict[str, Any]) -> list[TextPiece | ThoughtPiece]:
        """The pieces of one event."""
        if event.get("error"):
            raise from_event(event["error"], self._where, self._model)
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]
        pieces: list[TextPiece | ThoughtPiece] = []
        for choice in (event.get("choices") or ())[:1]:
            pieces += self._delta(choice.get("delta") or choice.get("message") or {})
            self._finish = choice.get("finish_reason") or self._finish
        return pieces

    def whole(self, body: bytes) -> list[TextPiece | ThoughtPiece]:
        """The same for an endpoint that answers in one piece though it was asked to stream."""
        try:
            event = json.loads(body)
        except ValueError:
            raise Failure("server", f"{self._where} answered something that is not JSON.") from None
        if not isinstance(event, dict):
            raise Failure("server", f"{self._where} answered something that is no chat completion.")
        return self.feed(event) + self.finish()

    def _delta(self, delta: dict[str, Any]) -> list[TextPiece | ThoughtPiece]:
        pieces: list[TextPiece | ThoughtPiece] = []
        for name in ("reasoning_content", "reasoning"):
            thought = delta.get(name)
            if isinstance(thought, str) and thought:
                self._reasoning_field = self._reasoning_field or name
                if name == self._reasoning_field:
                    self._bytes += len(thought)
                    pieces.append(self._think(thought))
        content = delta.get("content")
        if isinstance(content, str) and content:
            self._bytes += len(content)
            pieces += self._pieces(self._rescue.feed(content))
        calls = delta.get("tool_calls")
        if isinstance(calls, list) and calls:
            self._native = True
            self._calls.feed([c for c in calls if isinstance(c, dict)])
        return pieces

    def _think(self, text: str) -> ThoughtPiece:
        self._reasoning.append(text)
        return ThoughtPiece(text)

    def _pieces(self, parts: Sequence[tuple[str, str]]) -> list[TextPiece | ThoughtPiece]:
        out: list[TextPiece | ThoughtPiece] = []
        for kind, text in parts:
            if kind == "reasoning":
                out.append(self._think(text))
            else:
                self._text.append(text)
                out.append(TextPiece(text))
        return out

    def finish(self) -> list[TextPiece | ThoughtPiece]:
        """The stream has ended: what was held back, and whether it ended whole."""
        rescued = self._rescue.finish(length_cut=self._finish == "length")
        shown = "".join(self._text)
        rest = rescued["content"][len(shown) :] if rescued["content"].startswith(shown) else ""
        pieces = self._pieces([("content", rest)] if rest else [])
        thought = rescued["reasoning"]
        if thought and not self._reasoning_field and not self._reasoning:
            pieces.append(self._think(thought))
        self._rescued = [
            ToolCall(
                new_call_id(),
                c["name"],
                c["arguments"] if isinstance(c["arguments"], str) else json.dumps(c["arguments"]),
            )
            for c in rescued["tool_calls"]
        ]
        if not self._finish and not shown and not rest and not self._native and not self._rescued:
            raise Failure("cut", f"{self._where} ended its answer before it said anything.")
        return pieces

    def reply(self) -> Reply:
        """The whole reply."""
        calls = self._calls.calls(cut=self._finish == "length") if self._native else self._rescued
        if self._native and not self._finish and any(not _complete(c) for c in calls):
            raise Failure("cut", f"{self._where} ended its answer in the middle of a tool call.")
        usage = self._usage or {}
        counted = isinstance(usage.get("prompt_tokens"), int)
        completion = usage.get("completion_tokens") if counted else max(1, self._bytes // _BYTES_PER_TOKEN)
        return Reply(
            "".join(self._text),
            "".join(self._reasoning),
            tuple(calls),
            TokenUsage(usage["prompt_tokens"] if counted else 0, int(completion or 0), estimated=not counted),
            self._finish or ("tool_calls" if calls else "stop"),
            self._reasoning_field,
        )


def _complete(call: ToolCall) -> bool:
    text = call.arguments.strip()
    if not text or text[0] not in "{[":
        return bool(call.name)
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
