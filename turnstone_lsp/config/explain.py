"""Settings as they are shown: every one with its value, where it was set, and its help. Never a key."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from turnstone_lsp.config.help import HELP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnstone_lsp.config.load import Loaded
    from turnstone_lsp.config.settings import Settings

_SHORTEST_SECRET = 8


@dataclass(frozen=True, slots=True)
class Explained:
    """One setting, fit to be shown: secret values are replaced by how long they are."""

    name: str
    value: str
    source: str
    help: str


def explain(loaded: Loaded) -> list[Explained]:
    """Every setting, in the order of the documentation."""
    return [
        Explained(name, _shown(value, secret=secret), loaded.sources.get(name, "default"), HELP.get(name, ""))
        for name, value, secret in _walk(loaded.settings)
    ]


def secrets(settings: Settings) -> tuple[str, ...]:
    """The key values in force, for redacting output (C-23). Those too short to be told from other text are left out."""
    found: list[str] = []
    for _, value, secret in _walk(settings):
        if secret:
            found += value.values() if isinstance(value, dict) else [value]
    return tuple(text for text in found if len(text) >= _SHORTEST_SECRET)


def _walk(settings: Settings) -> Iterator[tuple[str, Any, bool]]:
    """(dotted name, value, secret) of each setting; a field that repr leaves out is secret."""
    for outer in dataclasses.fields(settings):
        value = getattr(settings, outer.name)
        if dataclasses.is_dataclass(value):
            for inner in dataclasses.fields(value):
                yield f"{outer.name}.{inner.name}", getattr(value, inner.name), not inner.repr
        else:
            yield outer.name, value, not outer.repr


def _shown(value: Any, *, secret: bool) -> str:
    if value in (None, "", (), {}):
        return "not set"
    if secret:
        return f"set ({len(value)} {'entries' if isinstance(value, dict) else 'characters'})"
    if isinstance(value, tuple):
        return f"{len(value)} rules"
    text = str(value)
    return _without_password(text) if "@" in text and "://" in text else text


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc="***@" + parts.netloc.rpartition("@")[2]))
