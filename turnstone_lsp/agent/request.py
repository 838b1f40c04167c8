"""The body of one chat completion request, as this endpoint and model take it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.legal import alternate, fold_system, legalise
from turnstone_lsp.agent.prompted import as_prompt
from turnstone_lsp.agent.reply import REASONING_DETAILS, REASONING_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnstone_lsp.config.settings import ModelSettings

_REASONING = frozenset({*REASONING_FIELDS, REASONING_DETAILS})


@dataclass(slots=True)
class Quirks:
    """What was learnt of a model from the requests that its endpoint refused."""

    refused: set[str] = field(default_factory=set)
    """Parameters, and fields of messages, that are left out."""
    prompted: bool = False
    """Tools go in by prompt."""
    no_system: bool = False
    alternate: bool = False

    def learn(self, parameter: str | None, request: dict[str, Any]) -> bool:
        """Do without what was refused from now on; False where that was tried already, or cannot help."""
        if parameter is None or parameter in self.refused:
            return False
        known = parameter in request or parameter in ("system", "roles")
        if not known and not (parameter in _REASONING and any(parameter in m for m in request["messages"])):
            return False
        self.refused.add(parameter)
        self.prompted |= parameter == "tools"
        self.no_system |= parameter == "system"
        self.alternate |= parameter in ("system", "roles")
        return True


def build(
    settings: ModelSettings,
    model: str,
    messages: Sequence[dict[str, Any]],
    tools: Sequence[dict[str, Any]],
    quirks: Quirks,
) -> dict[str, Any]:
    """The keyword arguments of the SDK's `create`. What the user did not set is left to the endpoint."""
    legal = _encodable(legalise(list(messages), reasoning=_REASONING - quirks.refused))
    if tools and quirks.prompted:
        legal = as_prompt(legal, tools)
    if quirks.no_system:
        legal = fold_system(legal)
    if quirks.alternate:
        legal = alternate(legal)
    optional: dict[str, Any] = {
        "stream_options": {"include_usage": True},
        "temperature": settings.temperature,
        "reasoning_effort": settings.reasoning_effort or None,
        "tools": list(tools) or None,
        _length_parameter(quirks): settings.max_tokens,
    }
    request: dict[str, Any] = {"model": model, "messages": legal, "stream": True}
    return request | {k: v for k, v in optional.items() if v is not None and k not in quirks.refused}


def _length_parameter(quirks: Quirks) -> str:
    return "max_completion_tokens" if "max_tokens" in quirks.refused else "max_tokens"


def _encodable(value: Any) -> Any:
    """Text that UTF-8 can hold: half a surrogate pair, as a command may print it, would break every later request."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_encodable(v) for v in value]
    if isinstance(value, dict):
        return {k: _encodable(v) for k, v in value.items()}
    return value
