"""From the raw arguments of a call to a JSON object: lossless repairs only; never invented, never cut short.

The rules are design.md's, "How to read the texts": text that begins with { or [ is never a bare string; a valid JSON
string is one; a reply that was cut by the length limit never executes.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools import registry

_FENCE = re.compile(r"\A```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```\Z", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_OBJECT_BEGINS = re.compile(r'\{\s*"')
_JSON_NAMES = {"true": True, "false": False, "null": None}
_NEAR = 24
"""Characters shown on either side of the place where JSON is broken."""


class _TwiceError(ValueError):
    """An object names one key twice, with different values."""


def parse_arguments(raw: str, tool: str, primary_key: str, *, length_cut: bool = False) -> dict[str, Any]:
    """The arguments as an object. Raises ToolError, with the JSON error and what the tool takes.

    primary_key: the parameter that a bare string stands for; length_cut: the reply ended inside this call.
    """
    if length_cut:
        raise ToolError(
            f"{tool}: the reply was cut off at the length limit in the middle of this call, so it was not run. "
            "Send it again in smaller pieces."
        )
    text = raw.strip().removeprefix("\ufeff")
    if not text:
        return {}
    try:
        value = loads_lossless(text)
    except _TwiceError as error:
        raise ToolError(f"{tool}: {error}. {_takes(tool, primary_key)}") from None
    except ValueError as error:
        if text[0] in "{[" or text.startswith("```"):
            raise ToolError(
                f"{tool}: the arguments are not valid JSON: {_explain(error, text)}. {_takes(tool, primary_key)}"
            ) from None
        return {primary_key: raw}
    if isinstance(value, str):
        return _inside(value, tool, primary_key)
    if not isinstance(value, dict):
        raise ToolError(
            f"{tool}: the arguments must be one JSON object, not {_kind(value)}. {_takes(tool, primary_key)}"
        )
    return value


def loads_lossless(text: str) -> Any:
    """JSON, or what is JSON after a repair that loses nothing: raw line breaks and tabs in strings, commas before a
    closing bracket, a fence around an object, an object written as a Python literal. Raises the strict ValueError.
    """
    text = text.strip()
    try:
        return _loads(text)
    except _TwiceError:
        raise
    except ValueError as error:
        strict = error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    if text[:1] not in ("{", "["):
        raise strict
    for attempt in (_loads, _without_commas, python_literal):
        try:
            return attempt(text)
        except _TwiceError:
            raise
        except ValueError:
            continue
    raise strict


def python_literal(source: str) -> Any:
    """A Python literal as the JSON value that it stands for. Raises ValueError for anything else."""
    try:
        with warnings.catch_warnings():  # an unknown escape such as '\d' stays as it is written
            warnings.simplefilter("ignore")
            tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("no Python literal") from error
    return literal_value(tree)


def literal_value(node: ast.expr) -> Any:
    """The JSON value of a Python literal; true, false and null count as literals. Raises ValueError for others."""
    if isinstance(node, ast.Name) and node.id in _JSON_NAMES:
        return _JSON_NAMES[node.id]
    if isinstance(node, ast.Dict):
        pairs = [(_key(k), literal_value(v)) for k, v in zip(node.keys, node.values, strict=True)]
        return _once(pairs)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [literal_value(element) for element in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal_value(node.operand)
        if isinstance(value, (int, float)):
            return -value
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return node.value
    raise ValueError("not a literal")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("a key that is no text")


def _loads(text: str) -> Any:
    return json.loads(text, strict=False, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that comes twice with different values would lose one of them."""
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made and made[key] != value:
            raise _TwiceError(f"the arguments give '{key}' twice, with different values")
        made[key] = value
    return made


def _without_commas(text: str) -> Any:
    """Parse without the commas that stand before a closing bracket, outside strings."""
    out, at = [], 0
    for string in _STRING.finditer(text):
        out += [_TRAILING_COMMA.sub("", text[at : string.start()]), string.group()]
        at = string.end()
    return _loads("".join([*out, _TRAILING_COMMA.sub("", text[at:])]))


def _inside(value: str, tool: str, primary_key: str) -> dict[str, Any]:
    """A JSON string: an object that was encoded twice, or the bare value of the primary argument."""
    if not value.lstrip().startswith("{"):
        return {primary_key: value}
    try:
        inner = loads_lossless(value)
    except ValueError as error:
        if _OBJECT_BEGINS.match(value.lstrip()):
            raise ToolError(
                f"{tool}: the arguments are a string that holds broken JSON: {_explain(error, value)}. "
                f"{_takes(tool, primary_key)}"
            ) from None
        return {primary_key: value}
    return inner if isinstance(inner, dict) else {primary_key: value}


def _explain(error: ValueError, text: str) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    near = text[max(0, error.pos - _NEAR) : error.pos + _NEAR]
    return f"{error.msg} at character {error.pos}, near {near!r}"


def _takes(tool: str, primary_key: str) -> str:
    """What to send instead: the schema in one sentence."""
    schema = registry.DEFINITIONS.get(tool, {}).get("parameters")
    if schema is None:
        return f'Send one JSON object such as {{"{primary_key}": "..."}}, with quotes and line breaks escaped.'
    required = schema.get("required", ())
    fields = (
        f'"{name}": {field.get("type", "value")}{"" if name in required else " (optional)"}'
        for name, field in schema["properties"].items()
    )
    return f"Send one JSON object {{{', '.join(fields)}}}, with quotes and line breaks inside strings escaped."


def _kind(value: object) -> str:
    return {list: "an array", bool: "true or false", type(None): "null"}.get(type(value), "a number")
