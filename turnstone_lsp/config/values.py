"""Settings as dotted names ("model.base_url"): their types, and checking a value from outside against its type."""

from __future__ import annotations

import dataclasses
import difflib
import re
import types
import typing
from functools import cache
from typing import TYPE_CHECKING, Any

from turnstone_lsp.config.settings import Rule, Settings
from turnstone_lsp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}

_RANGES: dict[str, tuple[float, float]] = {
    "model.temperature": (0, 2),
    "model.max_tokens": (1, 10_000_000),
    "model.context_window": (1_024, 100_000_000),
    "model.connect_timeout": (0.1, 600),
    "model.idle_timeout": (1, 86_400),
    "model.max_retries": (0, 20),
    "tools.bash_timeout": (1, 86_400),
    "tools.math_timeout": (1, 3_600),
    "tools.output_limit": (2_000, 1_000_000),
    "edits.undo_bytes": (0, 1 << 40),
    "edits.undo_days": (0, 3_650),
    "limits.rounds": (1, 100_000),
    "limits.minutes": (1, 10_080),
    "limits.tokens": (1_000, 10_000_000_000),
}


@cache
def types_of_settings() -> dict[str, Any]:
    """Dotted name -> type, for every setting but the rules."""
    found: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(Settings).items():
        if name == "rules":
            continue
        if dataclasses.is_dataclass(hint):
            found |= {f"{name}.{inner}": kind for inner, kind in typing.get_type_hints(hint).items()}
        else:
            found[name] = hint
    return found


def flatten(table: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    """A nested table as (dotted name, value). camelCase and already dotted names are understood.

    Names are not checked. Raises ConfigError for a section that is no table.
    """
    sections = {name.partition(".")[0] for name in types_of_settings() if "." in name}
    for given, value in table.items():
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", given).lower()
        if name not in sections:
            yield name, value
        elif isinstance(value, dict):
            for inner, deep in value.items():
                yield f"{name}.{re.sub(r'(?<=[a-z])(?=[A-Z])', '_', inner).lower()}", deep
        else:
            raise ConfigError(f"{where}: '{given}' must be a table of settings, not {_shown(value)}.")


def unknown(name: str, where: str, known: Iterable[str] | None = None) -> str:
    """The sentence for a name that is no setting, with the nearest one."""
    names = list(known) if known is not None else [*types_of_settings(), "rules"]
    near = difflib.get_close_matches(name, names, 1, 0.5)
    if not near:  # the right name in the wrong section
        last = name.rpartition(".")[2]
        near = [n for n in names if n.rpartition(".")[2] == last][:1]
    hint = f"did you mean '{near[0]}'?" if near else "see docs/configuration.md for all settings."
    return f"{where}: there is no setting '{name}'; {hint}"


def check(name: str, value: Any, where: str) -> Any:
    """The value as the setting's type. Raises ConfigError naming setting, place, and what is expected."""
    hint = types_of_settings()[name]
    try:
        converted = _as(value, hint)
    except ValueError as error:
        raise ConfigError(f"{where}: '{name}' must be {error}, not {_shown(value)}.") from None
    if name in _RANGES and converted is not None:
        low, high = _RANGES[name]
        if not low <= converted <= high:
            raise ConfigError(f"{where}: '{name}' must be from {low:g} to {high:,g}, not {converted:g}.")
    return converted


def check_rule(table: Any, where: str) -> Rule:
    """One rule. Raises ConfigError: a rule that is not understood must not be taken for none."""
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: a rule must be a table with a decision, not {_shown(table)}.")
    names = [f.name for f in dataclasses.fields(Rule)]
    for key, value in table.items():
        if key not in names:
            raise ConfigError(unknown(key, f"{where}, rule", names))
        if not isinstance(value, str):
            raise ConfigError(f"{where}: a rule's '{key}' must be text, not {_shown(value)}.")
    if table.get("decision") not in {"deny", "ask", "allow"}:
        raise ConfigError(f"{where}: a rule's 'decision' must be deny, ask or allow.")
    return Rule(**table)


def parse_text(name: str, text: str, where: str) -> Any:
    """A setting given as text (an environment variable). Raises ConfigError as `check` does."""
    kinds = {k for k in (typing.get_args(types_of_settings()[name]) or (types_of_settings()[name],)) if k in _WORDS}
    value: Any = text
    if bool in kinds:
        value = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}.get(text.lower(), text)
    elif kinds & {int, float}:
        try:
            value = int(text) if re.fullmatch(r"[+-]?\d+", text.strip()) else float(text)
        except ValueError:
            value = text
    return check(name, value, where)


def _as(value: Any, hint: Any) -> Any:
    """The value as `hint`; raises ValueError with what is expected."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            raise ValueError("one of " + ", ".join(choices))
        return value
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        return _as(value, next(h for h in typing.get_args(hint) if h is not type(None)))
    if origin is dict:
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise ValueError("a table of texts")
        return dict(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ValueError(_WORDS[hint])
    return value


def _shown(value: Any) -> str:
    """The kind of a wrong value; never the value, which may be a key in the wrong place."""
    return {dict: "a table", list: "a list", type(None): "null"}.get(type(value), _WORDS.get(type(value), "that"))
