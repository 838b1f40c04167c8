"""The one encoding of events as JSON: camelCase keys, "type" first, empty fields left out."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnstone_lsp.agent.events import Event

_ALWAYS = frozenset({"text", "state", "status", "result"})
"""Fields that are sent even when they are empty."""


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _fields(record: Any) -> dict[str, Any]:
    out = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if value is None or (value in ("", (), {}, False) and field.name not in _ALWAYS):
            continue
        out[_camel(field.name)] = _plain(value)
    return out


def to_json(event: Event) -> dict[str, Any]:
    """One event as a plain JSON object: `{"type": "textDelta", "messageId": ..., "text": ...}`."""
    name = type(event).__name__
    return {"type": name[0].lower() + name[1:], **_fields(event)}
