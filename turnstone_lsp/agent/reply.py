"""What a model request gives: pieces as they come, and the whole reply at the end."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.arguments_repair import parse_arguments
from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools import registry

if TYPE_CHECKING:
    from turnstone_lsp.agent.assembly import ToolCall

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
"""Where endpoints put reasoning as text, beside the content."""
REASONING_DETAILS = "reasoning_details"
"""Where some put it as records, which they want back unchanged."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A tool call is being written: its name, and how many characters of arguments have come."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Discarded:
    """The text that was streamed so far is void: it was reasoning, or the request is made again."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request failed and is made again in `seconds`."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one request, its reasoning included. cached: of the prompt, those that came from the endpoint's cache;
    estimated: the endpoint gave no numbers.
    """

    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One whole reply. finish_reason: the endpoint's, corrected where it cannot be (calls, but "stop")."""

    text: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    usage: TokenUsage
    finish_reason: str
    reasoning_field: str = ""
    """The field in which the reasoning came; empty where it stood in the text."""
    details: tuple[dict[str, Any], ...] = field(default=())
    """Reasoning as records."""

    @property
    def cut(self) -> bool:
        """The reply was ended by the length limit."""
        return self.finish_reason == "length"

    @property
    def message(self) -> dict[str, Any]:
        """The reply in the OpenAI shape, as it goes into the history: arguments as what runs, reasoning in the field
        in which it came. `legal.legalise` decides what of it is sent back.
        """
        message: dict[str, Any] = {"role": "assistant", "content": self.text or (None if self.tool_calls else "")}
        if self.reasoning and self.reasoning_field:
            message[self.reasoning_field] = self.reasoning
        if self.details:
            message[REASONING_DETAILS] = list(self.details)
        if self.tool_calls:
            message["tool_calls"] = [_as_message(call) for call in self.tool_calls]
        return message


def _as_message(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name or "unknown", "arguments": legal_arguments(call.name, call.arguments)}
    return {"id": call.id, "type": "function", "function": function, **call.extra}


def legal_arguments(name: str, raw: str) -> str:
    """Arguments as every endpoint takes them back: the JSON object that runs, else {"invalid_json": raw}."""
    try:
        made = parse_arguments(raw, name, registry.PRIMARY_KEY_MAP.get(name, "value"))
    except ToolError:
        return json.dumps({"invalid_json": raw}, ensure_ascii=False)
    try:
        if json.loads(raw) == made:
            return raw
    except ValueError:
        pass
    return json.dumps(made, ensure_ascii=False)
