"""What goes wrong at a model endpoint, as errors that say what to do, whether a retry can help, and when."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from turnstone_lsp.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

FailureKind = Literal[
    "auth", "not_found", "rate_limit", "overflow", "parameter", "request", "connection", "server", "cut", "stalled"
]
_RETRYABLE = frozenset({"rate_limit", "server", "cut", "stalled"})
_OVERFLOW = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|too many tokens|prompt is too long"
    r"|exceeds? the (available )?context|n_ctx|input is too long",
    re.IGNORECASE,
)
_PARAMETERS = (
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "stream_options",
    "reasoning_effort",
    "parallel_tool_calls",
    "tools",
)


class Failure(ModelError):  # noqa: N818 - what is raised is named for what it tells
    """One failed request. `retry_after`: seconds that the endpoint asked for; `parameter`: what a 400 refused."""

    def __init__(
        self, kind: FailureKind, text: str, *, retry_after: float | None = None, parameter: str | None = None
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.retry_after = retry_after
        self.parameter = parameter

    @property
    def retryable(self) -> bool:
        """Whether the same request may work a little later."""
        return self.kind in _RETRYABLE


def from_status(status: int, message: str, headers: Mapping[str, str], where: str, model: str) -> Failure:
    """An HTTP error of the endpoint. Overflow is told from a rate limit by its words, not by its status."""
    if status in (401, 403):
        return Failure("auth", f"{where} refused the key ({message}). Set OPENAI_API_KEY or model.api_key.")
    if status == 404:
        return Failure(
            "not_found", f"{where} does not know the model '{model}' ({message}). Choose one: turnstone-lsp doctor."
        )
    if status == 429:
        after = _seconds(headers.get("retry-after"))
        return Failure("rate_limit", f"{where} limits the rate ({message}).", retry_after=after)
    if status in (400, 413, 422) and _OVERFLOW.search(message):
        return Failure("overflow", f"The conversation is too long for the model '{model}' ({message}).")
    if status in (400, 422):
        named = next((p for p in _PARAMETERS if p in message), None)
        if named is None and re.search(r"does not support tools|tool.{0,20}not supported", message, re.IGNORECASE):
            named = "tools"
        kind: FailureKind = "parameter" if named else "request"
        return Failure(kind, f"{where} refused the request ({message}).", parameter=named)
    if status >= 500 or status in (408, 409, 425):
        after = _seconds(headers.get("retry-after"))
        return Failure("server", f"{where} failed with status {status} ({message}).", retry_after=after)
    return Failure("request", f"{where} answered with status {status} ({message}).")


def from_event(error: Any, where: str, model: str) -> Failure:
    """An error that arrived inside the stream."""
    record = error if isinstance(error, dict) else {"message": str(error)}
    message = str(record.get("message") or record)[:500]
    if _OVERFLOW.search(message):
        return Failure("overflow", f"The conversation is too long for the model '{model}' ({message}).")
    code = record.get("code")
    if code in (429, "429", "rate_limit_exceeded"):
        return Failure("rate_limit", f"{where} limits the rate ({message}).")
    return Failure("server", f"{where} reported an error in its answer ({message}).")


def message_of(body: Any, fallback: str) -> str:
    """The words of an error body: {"error": {"message": ...}}, {"error": "..."}, {"message": ...}, or text."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        found = inner.get("message") if isinstance(inner, dict) else inner
        if found:
            return str(found)[:500]
    return str(body or fallback)[:500]


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
