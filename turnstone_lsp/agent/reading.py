"""Reads one streamed reply: events to pieces, and the whole reply at the end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.assembly import CallAssembler, ToolCall, new_call_id
from turnstone_lsp.agent.failures import Failure, from_event
from turnstone_lsp.agent.reply import (
    REASONING_DETAILS,
    REASONING_FIELDS,
    CallPiece,
    Discarded,
    Reply,
    TextPiece,
    ThoughtPiece,
    TokenUsage,
)
from turnstone_lsp.agent.rescue import Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnstone_lsp.agent.rescuing.output import Piece

Pieces = list[TextPiece | ThoughtPiece | CallPiece | Discarded]

BYTES_PER_TOKEN = 4
"""For endpoints that report no usage: an estimate, shown as one."""
_FINISHES = {
    "max_tokens": "length",
    "max_output_tokens": "length",
    "MAX_TOKENS": "length",
    "function_call": "tool_calls",
}


class Reader:
    """What one stream has given so far. where, model: as named in errors."""

    def __init__(self, tool_names: Sequence[str], where: str, model: str) -> None:
        self._where = where
        self._model = model
        self._names = tool_names
        self._rescue = Stream(tool_names)
        self._unread = False
        self._contents: list[str] = []
        self._found: list[dict[str, Any]] = []
        self._calls = CallAssembler()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_field = ""
        self._details: list[dict[str, Any]] = []
        self._finish = ""
        self._usage: dict[str, Any] = {}
        self._size = 0

    def feed(self, event: dict[str, Any]) -> Pieces:
        """The pieces of one event. Raises Failure for an error that arrives inside the stream."""
        if event.get("error"):
            raise from_event(event["error"], self._where, self._model)
        if isinstance(event.get("usage"), dict):
            self._usage = event["usage"]
        pieces: Pieces = []
        choices = event.get("choices")
        for choice in choices[:1] if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                continue
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                pieces += self._delta(delta)
            finish = choice.get("finish_reason")
            if isinstance(finish, str) and finish:
                self._finish = _FINISHES.get(finish, finish)
            if isinstance(choice.get("error"), dict):
                raise from_event(choice["error"], self._where, self._model)
        return pieces

    def whole(self, body: bytes) -> Pieces:
        """The same for an endpoint that answers in one piece though it was asked to stream."""
        try:
            event = json.loads(body)
        except ValueError:
            event = None
        if not isinstance(event, dict) or not (event.get("choices") or event.get("error")):
            raise Failure(
                "request",
                f"{self._where} answered something that is no chat completion. "
                "Check model.base_url: it usually ends in /v1.",
            )
        return self.feed(event)

    # -- one delta

    def _delta(self, delta: dict[str, Any]) -> Pieces:
        pieces: Pieces = []
        for name in REASONING_FIELDS:
            thought = delta.get(name)
            if isinstance(thought, str) and thought:
                self._reasoning_field = self._reasoning_field or name
                if name == self._reasoning_field:
                    pieces.append(self._think(thought))
        self._keep_details(delta.get(REASONING_DETAILS))
        for kind, text in _parts(delta.get("content")):
            self._size += len(text)
            pieces += self._content(text) if kind == "text" else [self._think(text)]
        calls = delta.get("tool_calls")
        if isinstance(delta.get("function_call"), dict):
            calls = [{"function": delta["function_call"]}]
        if isinstance(calls, list) and calls:
            pieces += self._end_text()
            fragments = [c for c in calls if isinstance(c, dict)]
            self._calls.feed(fragments)
            self._size += sum(len(str((f.get("function") or {}).get("arguments") or "")) for f in fragments)
            pieces.append(CallPiece(*self._calls.last()))
        return pieces

    def _content(self, text: str) -> Pieces:
        pieces: Pieces = []
        if not self._unread and self._text and text.strip():  # text again, after calls
            pieces = self._shown([("content", "\n\n")])
        self._unread = True
        return pieces + self._shown(self._rescue.feed(text))

    def _end_text(self) -> Pieces:
        """The text ends here, at a call or at the end: what was held back of it is certain now."""
        if not self._unread:
            return []
        result = self._rescue.finish(length_cut=self._finish == "length")
        self._contents.append(result["content"])
        self._found += result["tool_calls"]
        pieces = self._shown(self._rescue.rest)
        self._rescue, self._unread = Stream(self._names), False
        return pieces

    def _think(self, text: str) -> ThoughtPiece:
        self._size += len(text)
        self._reasoning.append(text)
        return ThoughtPiece(text)

    def _shown(self, parts: Sequence[Piece]) -> Pieces:
        out: Pieces = []
        for kind, text in parts:
            if kind == "discard":
                self._text.clear()
                out.append(Discarded())
            elif kind == "reasoning":
                out.append(self._think(text))
            else:
                self._text.append(text)
                out.append(TextPiece(text))
        return out

    def _keep_details(self, records: Any) -> None:
        """Records of reasoning come in fragments: those of one type and index are one."""
        for record in records if isinstance(records, list) else ():
            if not isinstance(record, dict):
                continue
            known = self._details[-1] if self._details else None
            if known and all(known.get(k) == record.get(k) for k in ("type", "index")):
                for key, value in record.items():
                    grows = key in ("text", "summary", "data") and isinstance(value, str)
                    known[key] = (known.get(key) or "") + value if grows else value
            else:
                self._details.append(dict(record))

    # -- the end

    def finish(self) -> tuple[Pieces, Reply]:
        """What was held back, and the whole reply. Raises Failure: cut, when it has not ended whole."""
        pieces = self._end_text()
        calls = self._native() or self._rescued(self._found)
        if not self._finish and not (calls or self._text or self._reasoning):
            raise Failure("cut", f"{self._where} ended its answer before it said anything.")
        reasoning = "".join(self._reasoning)
        finish = self._finish or "stop"
        if finish != "length":
            finish = "tool_calls" if calls else ("stop" if finish == "tool_calls" else finish)
        return pieces, Reply(
            "\n\n".join(c for c in self._contents if c),
            reasoning if self._reasoning_field else reasoning.strip(),
            tuple(calls),
            self._tokens(),
            finish,
            self._reasoning_field,
            tuple(self._details),
        )

    def _native(self) -> list[ToolCall]:
        """Calls in their own field. An end without a word may be a cut connection: then all must be whole."""
        if not self._finish and not self._calls.whole():
            raise Failure("cut", f"{self._where} ended its answer in the middle of a tool call.")
        return self._calls.calls(cut=self._finish == "length")

    def _rescued(self, found: list[dict[str, Any]]) -> list[ToolCall]:
        cut = self._finish == "length"
        return [
            ToolCall(
                new_call_id(),
                c["name"],
                c["arguments"] if isinstance(c["arguments"], str) else json.dumps(c["arguments"], ensure_ascii=False),
                cut,
            )
            for c in found
        ]

    def _tokens(self) -> TokenUsage:
        prompt, completion = self._usage.get("prompt_tokens"), self._usage.get("completion_tokens")
        if not isinstance(prompt, int) or prompt <= 0:
            return TokenUsage(0, max(1, self._size // BYTES_PER_TOKEN), estimated=True)
        details = self._usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        return TokenUsage(prompt, int(completion or 0), cached=int(cached or 0))


def _parts(content: Any) -> list[tuple[str, str]]:
    """("text" | "thought", text) of a delta's content: a string, or Mistral's list of typed parts."""
    if isinstance(content, str):
        return [("text", content)] if content else []
    found: list[tuple[str, str]] = []
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if part.get("type") == "thinking":
            found += [("thought", text) for _, text in _parts(part.get("thinking"))]
        elif isinstance(part.get("text"), str):
            found.append(("text", part["text"]))
    return found
