"""What goes wrong at a model endpoint, as errors that say what to do, whether a retry can help, and when."""

from __future__ import annotations

import email.utils
import json
import re
import time
from typing import TYPE_CHECKING, Any, Literal

from turnstone_lsp.errors import ModelError
from turnstone_lsp.process.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

FailureKind = Literal[
    "auth",  # the key is missing or refused
    "quota",  # paid-for use is spent: waiting does not help
    "not_found",  # no such model, or no such endpoint
    "rate_limit",
    "overflow",  # the conversation is longer than the model's context window
    "parameter",  # a parameter of the request is not taken; `parameter` names it
    "request",  # refused for another reason
    "connection",  # cannot be reached
    "server",  # failed
    "cut",  # the answer ended in the middle
    "stalled",  # the answer stopped coming
]
_RETRYABLE = frozenset({"rate_limit", "server", "cut", "stalled"})
_TEXT_LENGTH = 400
_OVERFLOW = re.compile(
    r"context.{0,20}(length|window|size)|maximum context|too many (input )?tokens|prompt is too long|n_ctx"
    r"|input (is too long|token count)|exceeds? the (available )?context|exceeds the maximum number of tokens"
    r"|too large for model with \d+ maximum",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate.?limit|per (minute|min|day|hour|second)|\b[TR]P[MD]\b|too many requests", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|insufficient (balance|credit)", re.IGNORECASE
)
_WINDOW = re.compile(
    r"(?:maximum context length (?:is|of)|context (?:window|length|size) (?:is|of)|> |context size \(|n_ctx[\"=: ]+)"
    r"\s*(\d{3,8})",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"does not support (tools|function|tool)|tools? .{0,20}not supported|tool choice requires|tools param requires"
    r"|support tool use|--enable-auto-tool-choice|--jinja",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"system role.{0,20}not supported|does not support ['\"]?system|system.{0,20}unsupported", re.IGNORECASE
)
_ALTERNATE = re.compile(r"roles must alternate|alternate user/assistant", re.IGNORECASE)
_HALF_CALL = re.compile(r"pars\w* tool call|tool call .{0,40}invalid|invalid character .{0,40}string", re.IGNORECASE)
PARAMETERS = (
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "stream_options",
    "reasoning_effort",
    "reasoning_content",
    "reasoning_details",
    "reasoning",
    "tools",
)
"""What may be left out of a request, or done in another way, when an endpoint refuses it. Beside them `parameter` may
be "system" (no system message is taken) or "roles" (user and assistant must alternate).
"""


class Failure(ModelError):  # noqa: N818 - the word for it in the whole engine
    """One failed request.

    retry_after: seconds that the endpoint asked for; parameter: what it refused; window: tokens of the context, where
    it said so; model_fault: the model wrote something that its server could not read, so trying at once may help.
    """

    def __init__(
        self,
        kind: FailureKind,
        text: str,
        *,
        retry_after: float | None = None,
        parameter: str | None = None,
        window: int | None = None,
        model_fault: bool = False,
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.retry_after = retry_after
        self.parameter = parameter
        self.window = window
        self.model_fault = model_fault

    @property
    def retryable(self) -> bool:
        """Whether the same request may work a little later."""
        return self.kind in _RETRYABLE


def from_status(status: int, body: Any, headers: Mapping[str, str], where: str, model: str) -> Failure:
    """An HTTP error of the endpoint; body: its JSON, or its text. Rate limits and overflow are told apart by their
    words and codes, because endpoints use 400, 413, 429 and 500 for both.
    """
    message, code, parameter = _read(body)
    said = f" ({message})" if message else ""
    if status == 401:
        return Failure("auth", f"{where} refused the key{said}. Set OPENAI_API_KEY or model.api_key to a key for it.")
    if status == 402 or _QUOTA.search(f"{code} {message}"):
        return Failure("quota", f"{where} says that the paid-for use is spent{said}. Look at your account there.")
    if status == 403:
        return Failure("auth", f"{where} does not permit this{said}. Check what the key may use.")
    if status == 404 and not _NO_TOOLS.search(message):
        return Failure("not_found", _not_found(where, model, said))
    if status == 429 or code == "rate_limit_exceeded" or (status == 413 and _RATE.search(message)):
        return Failure("rate_limit", f"{where} limits the rate{said}.", retry_after=_retry_after(headers))
    if code in ("context_length_exceeded", "exceed_context_size_error") or _OVERFLOW.search(message) or status == 413:
        return _overflow(model, message, said)
    if 300 <= status < 400:
        to = visible(headers.get("location", ""))[:_TEXT_LENGTH]
        return Failure("request", f"{where} sends requests on to {to}. If that is right, set model.base_url to it.")
    if status in (400, 404, 422, 500, 501) and (refused := _refused(message, parameter, status)):
        return Failure("parameter", f"{where} refused the request{said}.", parameter=refused)
    if status >= 500 or status in (408, 409, 425):
        return Failure(
            "server",
            f"{where} failed with status {status}{said}.",
            retry_after=_retry_after(headers),
            model_fault=bool(_HALF_CALL.search(message)),
        )
    return Failure("request", f"{where} refused the request with status {status}{said}.")


def from_event(error: Any, where: str, model: str) -> Failure:
    """An error that arrived inside the stream."""
    message, code, _ = _read({"error": error})
    said = f" ({message})" if message else ""
    if code in ("429", "rate_limit_exceeded") or (not code and _RATE.search(message)):
        return Failure("rate_limit", f"{where} limits the rate{said}.")
    if _QUOTA.search(f"{code} {message}"):
        return Failure("quota", f"{where} says that the paid-for use is spent{said}. Look at your account there.")
    if code == "context_length_exceeded" or _OVERFLOW.search(message):
        return _overflow(model, message, said)
    if code in ("400", "401", "403", "invalid_request_error", "content_filter"):
        return Failure("request", f"{where} refused the request{said}.")
    text = f"{where} reported an error in the middle of its answer{said}."
    return Failure("server", text, model_fault=bool(_HALF_CALL.search(message)))


def _not_found(where: str, model: str, said: str) -> str:
    if "model" in said.casefold() or not said:
        return f"{where} does not know the model '{model}'{said}. Set model.name to one that it lists."
    return f"{where} has no chat completions{said}. Check model.base_url: it usually ends in /v1."


def _overflow(model: str, message: str, said: str) -> Failure:
    window = _WINDOW.search(message)
    text = f"The conversation is too long for the model '{model}'{said}. Start a new session, or choose another model."
    return Failure("overflow", text, window=int(window[1]) if window else None)


def _refused(message: str, parameter: str, status: int) -> str | None:
    if _NO_TOOLS.search(message):
        return "tools"
    if status >= 500 or status == 404:
        return None
    if _NO_SYSTEM.search(message):
        return "system"
    if _ALTERNATE.search(message):
        return "roles"
    if parameter in PARAMETERS:
        return parameter
    named = [(found.start(), p) for p in PARAMETERS if (found := re.search(rf"(?<!\w){p}(?!\w)", message))]
    return min(named)[1] if named else None  # "use 'max_completion_tokens' instead" comes later


def _read(body: Any) -> tuple[str, str, str]:
    """(words, code, parameter) of an error body: {"error": {"message"}}, {"error": "..."}, {"message"}, {"detail"}."""
    record = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(body, list) and body:  # Google wraps its error in a list
        return _read(body[0])
    if not isinstance(record, dict):
        return _clean(record), "", ""
    words = record.get("message") or record.get("detail") or record.get("error") or record
    code = record.get("code") or record.get("type") or ""
    nested = record.get("metadata")
    if isinstance(nested, dict) and nested.get("raw"):  # OpenRouter: what the provider behind it said
        words = f"{words}: {nested['raw']}"
    return _clean(words), str(code), str(record.get("param") or "")


def _clean(words: Any) -> str:
    text = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False) if words else ""
    if text.lstrip().startswith("<"):  # a proxy's page
        text = re.sub(r"<[^>]*>", " ", text)
    return visible(" ".join(text.split()))[:_TEXT_LENGTH].rstrip(" .")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds until the next try, from Retry-After (seconds or a date) or retry-after-ms."""
    milliseconds = headers.get("retry-after-ms")
    text = headers.get("retry-after")
    try:
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        return max(0.0, float(text)) if text else None
    except ValueError:
        date = email.utils.parsedate_tz(text or "")
        return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else None
