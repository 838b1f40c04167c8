"""From the raw arguments of a call to a JSON object: lossless repairs only; never invented, never cut short.

The rules are design.md's, "How to read the texts": text that begins with { or [ is never a bare string; a valid JSON
string is one; a reply that was cut by the length limit never executes.
"""

from __future__ import annotations

import json
import re
from typing import Any

from turnstone_lsp.errors import ToolError

_FENCE = re.compile(r"\A```[A-Za-z]*[ \t]*\n(.*)\n?[ \t]*```\Z", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def parse_arguments(raw: str, tool: str, primary_key: str, *, length_cut: bool = False) -> dict[str, Any]:
    """The arguments as an object. Raises ToolError, with the JSON error and what to send instead."""
    if length_cut:
        raise ToolError(
            f"{tool}: the reply was cut off at the length limit in the middle of this call, so it was not run. "
            "Send it again in smaller pieces."
        )
    text = raw.strip()
    if not text:
        return {}
    try:
        value = _load(text)
    except ValueError as error:
        if text[0] in "{[":
            raise ToolError(
                f"{tool}: the arguments are not valid JSON ({error}). Send one JSON object such as "
                f'{{"{primary_key}": ...}}; escape quotes and newlines inside strings.'
            ) from None
        return {primary_key: raw}
    if isinstance(value, str):
        return _inside(value, primary_key)
    if not isinstance(value, dict):
        raise ToolError(
            f'{tool}: the arguments must be one JSON object such as {{"{primary_key}": ...}}, not {_name(value)}.'
        )
    return value


def _inside(value: str, primary_key: str) -> dict[str, Any]:
    """A JSON string: an object that was encoded twice, or the bare value of the primary argument."""
    if value.lstrip()[:1] == "{":
        try:
            inner = json.loads(value)
        except ValueError:
            inner = None
        if isinstance(inner, dict):
            return inner
    return {primary_key: value}


def _load(text: str) -> Any:
    """Parse strictly; then with each repair that loses nothing. Raises the strict parse's ValueError."""
    try:
        return json.loads(text)
    except ValueError as error:
        strict = error
    if fenced := _FENCE.match(text):
        text = fenced.group(1).strip()
    for candidate in (text, _escape_in_strings(text), _drop_commas(_escape_in_strings(text))):
        if candidate[:1] not in ("{", "["):
            continue
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    raise strict


def _escape_in_strings(text: str) -> str:
    """Raw newlines, returns and tabs inside string literals, escaped."""
    return _STRING.sub(lambda m: re.sub(r"[\n\r\t]", lambda c: _ESCAPED[c.group()], m.group()), text)


def _drop_commas(text: str) -> str:
    """Without commas before a closing bracket, outside strings."""
    out, at = [], 0
    for string in _STRING.finditer(text):
        out += [_TRAILING_COMMA.sub("", text[at : string.start()] + "\0"), string.group()]
        at = string.end()
    return "".join([*out, _TRAILING_COMMA.sub("", text[at:])]).replace("\0", "")


def _name(value: object) -> str:
    return {list: "an array", bool: "true or false", type(None): "null"}.get(type(value), "a number")
