"""Which reply a request gets."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]

MODES = ("turn", "sequence", "cycle")
DEFAULT_MODELS: list[Json] = [{"id": "stub-model", "context": 131072}]


class ScenarioError(ValueError):
    """The scenario document is not usable."""


class Scenario:
    """A parsed scenario with its counters; safe to use from several threads."""

    def __init__(self, document: Json) -> None:
        if not isinstance(document, dict):
            raise ScenarioError("a scenario is a JSON object")
        self.document = document
        self.models: list[Json] = document.get("models", DEFAULT_MODELS)
        self.defaults: Json = document.get("defaults") or {}
        self.refuses: dict[str, str | None] = document.get("refuses") or {}
        self.key: str | None = document.get("key")
        self.strict: bool = bool(document.get("strict"))
        self.paths: Json = document.get("paths") or {}
        self.prefix: str = document.get("prefix", "/v1")
        self.mode: str = document.get("mode", "turn")
        self.replies: list[Json] = document.get("replies") or []
        self._rules: list[Json] = document.get("rules") or []
        if self.mode not in MODES:
            raise ScenarioError(f"mode must be one of {MODES}")
        if not self.replies and not self._rules:
            raise ScenarioError("a scenario needs replies or rules")
        self._lock = threading.Lock()
        self._served = 0
        self._seen = [0] * len(self._rules)
        self._hits = [0] * len(self._rules)

    def choose(self, request: Json) -> tuple[str, Json]:
        """(what was chosen, the reply with the defaults under it)."""
        messages = request.get("messages") or []
        with self._lock:
            for number, rule in enumerate(self._rules):
                if self._holds(rule.get("when") or {}, request, messages, number):
                    self._hits[number] += 1
                    return f"rule:{number}", {**self.defaults, **rule["reply"]}
            served = self._served
            self._served += 1
        if not self.replies:
            return "default", {**self.defaults, "text": "(no reply scripted)"}
        number = self._number(messages, served)
        return f"reply:{number}", {**self.defaults, **self.replies[number]}

    def listing(self) -> Json:
        """The answer to GET /models."""
        data = []
        for model in self.models:
            entry = {"object": "model", "created": 0, "owned_by": "stub", **model}
            if "context" in entry:
                entry["max_model_len"] = entry.pop("context")
            data.append(entry)
        return {"object": "list", "data": data}

    def refusal(self, request: Json) -> Json | None:
        """The error of a request that holds a parameter which this endpoint does not take."""
        for name, words in self.refuses.items():
            if request.get(name) is not None:
                message = words or f"Unsupported parameter: '{name}' is not supported with this model."
                return {
                    "message": message,
                    "type": "invalid_request_error",
                    "param": name if words is None else None,
                    "code": "unsupported_parameter" if words is None else None,
                }
        return None

    def _number(self, messages: list[Json], served: int) -> int:
        last = len(self.replies) - 1
        if self.mode == "cycle":
            return served % len(self.replies)
        if self.mode == "sequence":
            return min(served, last)
        answered = 0
        for message in reversed(messages):
            if message.get("role") == "user":
                break
            answered += message.get("role") == "assistant"
        return min(answered, last)

    def _holds(self, when: Json, request: Json, messages: list[Json], number: int) -> bool:
        last = messages[-1] if messages else {}
        system = " ".join(text_of(m) for m in messages if m.get("role") in ("system", "developer"))
        checks: dict[str, Callable[[Any], bool]] = {
            "max_hits": lambda most: self._hits[number] < most,
            "last_role": lambda role: last.get("role") == role,
            "last_contains": lambda part: part in text_of(last),
            "system_contains": lambda part: part in system,
            "has_tools": lambda wanted: bool(request.get("tools")) == wanted,
            "has": lambda name: request.get(name) is not None,
            "model": lambda name: request.get("model") == name,
            "stream": lambda wanted: bool(request.get("stream")) == wanted,
        }
        if not all(check(when[name]) for name, check in checks.items() if name in when):
            return False
        if "nth" in when:
            self._seen[number] += 1
            return bool(self._seen[number] - 1 == when["nth"])
        return True


def text_of(message: Json) -> str:
    """A message's text, be its content a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(p.get("text", "") for p in content if isinstance(p, dict))
    return ""
