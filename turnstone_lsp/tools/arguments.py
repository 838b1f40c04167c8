"""Arguments of a call: from the model's JSON object to a tool's Args dataclass, with errors that say what to do."""

from __future__ import annotations

import dataclasses
import difflib
import types
import typing
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from turnstone_lsp.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Dataclass(Protocol):
    """Any dataclass type."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


A = TypeVar("A", bound=Dataclass)

_WORDS = {str: "a string", int: "an integer", bool: "true or false", float: "a number"}


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def base_type(hint: Any) -> type:
    """The plain type of a field's annotation: `int | None` -> int."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = next(h for h in typing.get_args(hint) if h is not type(None))
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return type(typing.get_args(hint)[0])
    return hint if isinstance(hint, type) else str


def _coerce(value: Any, want: type) -> Any:
    """The value as `want` when that loses nothing ("5" and 5.0 for 5), else raises ValueError."""
    if isinstance(value, want) and not (want is int and isinstance(value, bool)):
        return value
    if want is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if (
        want is int
        and isinstance(value, str)
        and value.strip().lstrip("+-").isascii()
        and value.strip().lstrip("+-").isdigit()
    ):
        return int(value)
    if want is str and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise ValueError


def _unknown(tool: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"{tool} takes: {', '.join(known)}."
    return f"{tool}: unknown argument '{name}'; {hint}"


def parse(tool: str, cls: type[A], data: Mapping[str, Any]) -> A:
    """Build a tool's Args from a JSON object.

    Raises ToolError naming the argument: missing, unknown, of the wrong type, empty where text is required, or not
    one of the allowed values. A field with metadata {"empty": True} may be the empty string; null for an optional
    argument counts as left out.
    """
    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = _hints(cls)
    for name in data:
        if name not in fields:
            raise ToolError(_unknown(tool, name, list(fields)))
    values: dict[str, Any] = {}
    for name, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        value = data.get(name)
        if value is None:
            if required:
                raise ToolError(f"{tool}: the required argument '{name}' is missing; call {tool} again with it.")
            continue
        want = base_type(hints[name])
        try:
            value = _coerce(value, want)
        except ValueError:
            raise ToolError(
                f"{tool}: argument '{name}' must be {_WORDS.get(want, want.__name__)}, "
                f"not {type(value).__name__} {str(value)[:60]!r}."
            ) from None
        if want is str and required and not value.strip() and not field.metadata.get("empty"):
            raise ToolError(f"{tool}: argument '{name}' is empty; give it a value.")
        choices = typing.get_args(hints[name]) if typing.get_origin(hints[name]) is typing.Literal else ()
        if choices and value not in choices:
            raise ToolError(f"{tool}: argument '{name}' must be one of {', '.join(map(str, choices))}, not {value!r}.")
        values[name] = value
    return cls(**values)
