"""Calls as JSON records, under all the names that models give to their parts."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.arguments_repair import loads_lossless
from turnstone_lsp.agent.rescuing.blocks import MORE, Broken, Call, json_at, skip
from turnstone_lsp.tools import registry

if TYPE_CHECKING:
    from turnstone_lsp.agent.rescuing.blocks import Names

_NAMES = ("name", "tool_name", "function_name", "tool", "function", "action", "recipient_name")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "params", "action_input", "tool_input", "kwargs")
_BESIDE = frozenset({"id", "type", "index", "tool_call_id", "call_id"})
_NESTED = ("function", "function_call", "tool_call")
_LISTS = ("tool_calls", "tool_uses", "function_calls")
FIRST_KEYS = (*_NAMES, *_ARGUMENTS, *_BESIDE, *_NESTED, *_LISTS)
"""A record whose first key is none of these is no call."""
_PREFIX = re.compile(r"\A(?:functions?|tools?|default_api)[.:]")
_NEAR = 0.84
"""How alike two names must be, from 0 to 1, for the one to be meant for the other."""
_BROKEN = re.compile(
    r'\{\s*"(?:name|tool|function)"\s*:\s*"([^"\\]+)"\s*,\s*"(?:arguments|parameters|args)"\s*:\s*(\{.*?)\}?\s*\Z',
    re.DOTALL,
)


def make(name: str, arguments: Any) -> Call:
    """A call; arguments that are a JSON object inside a string become that object, other non-objects raw text."""
    if isinstance(arguments, str):
        inner = _object(arguments)
        arguments = arguments if inner is None else inner
    elif arguments is None:
        arguments = {}
    elif not isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {"name": _PREFIX.sub("", name.strip().strip("\"'`")), "arguments": arguments}


def raw_call(name: str, text: str) -> Call:
    """A call whose arguments stand as text: an object where they parse without loss, else as they are."""
    value = _object(text)
    if value is not None:
        return make(name, value)
    return make(name, {} if not text.strip() else text.strip())


def _object(text: str) -> dict[str, Any] | None:
    if text.lstrip()[:1] not in ("{", "`"):
        return None
    try:
        value = loads_lossless(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def call_of(value: Any, *, strict: bool) -> Call | None:
    """The call that a record says. strict: nothing but a name, arguments and ids may stand in it."""
    if not isinstance(value, dict):
        return None
    for key in _NESTED:
        if isinstance(value.get(key), dict):
            return call_of(value[key], strict=strict)
    name_key = next((k for k in _NAMES if isinstance(value.get(k), str) and value[k].strip()), None)
    if name_key is None:
        return None
    name = value[name_key]
    rest = {k: v for k, v in value.items() if k != name_key}
    arguments_key = next((k for k in _ARGUMENTS if k in rest), None)
    if arguments_key is not None:
        extra = rest.keys() - {arguments_key} - _BESIDE
        return None if strict and extra else make(name, rest[arguments_key])
    if strict:
        return None
    return make(name, {k: v for k, v in rest.items() if k not in _BESIDE})


def calls_of(value: Any, *, strict: bool = False) -> tuple[Call, ...] | None:
    """The calls of a record, of a list of them, or of {"tool_calls": [...]}; None when anything in it is no call."""
    if isinstance(value, dict):
        for key in _LISTS:
            if isinstance(value.get(key), list):
                return calls_of(value[key], strict=strict)
    found = [call_of(v, strict=strict) for v in (value if isinstance(value, list) else [value])]
    calls = tuple(c for c in found if c is not None)
    return calls if calls and len(calls) == len(found) else None


def records(text: str) -> tuple[Call, ...] | None:
    """The calls of a text that is nothing but records, with blanks, commas, semicolons or fences between them."""
    calls: list[Call] = []
    at = _between(text, 0)
    while at < len(text):
        found = json_at(text, at)
        if found is MORE or isinstance(found, Broken):
            return None
        more = calls_of(found[0])
        if more is None:
            return None
        calls += more
        at = _between(text, found[1])
    return tuple(calls) or None


def lenient_records(text: str, *, mend: bool = True) -> tuple[Call, ...] | None:
    """`records`, or what a record becomes by a repair that loses nothing; a record that stays broken keeps its
    arguments as raw text, for which the model is given the JSON error. mend: the text was ended by its closing
    marker, so the last brace of the record itself may be added: it is often forgotten.
    """
    body = text.strip()
    if (calls := records(body)) is not None:
        return calls
    for candidate, strict in ((body, False), *(((body + "}", True),) if mend else ())):
        try:
            value = loads_lossless(candidate)
        except ValueError:
            continue
        if (calls := calls_of(value, strict=strict)) is not None:
            return calls
    broken = _BROKEN.match(body)
    return (raw_call(broken[1], broken[2]),) if broken else None


_SEPARATORS = re.compile(r"(?:[\s,;]|```(?:json)?|\}(?=[\s}]*\Z))*")


def _between(text: str, at: int) -> int:
    found = _SEPARATORS.match(text, at)
    return found.end() if found else at


def real(name: str, names: Names) -> bool:
    """Whether a name is that of a real tool, or so near to one that it must be meant."""
    if name in names:
        return True
    plain = _plain(name)
    return any(_alike(plain, _plain(known)) for known in names)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _alike(one: str, other: str) -> bool:
    return one == other or difflib.SequenceMatcher(None, one, other).ratio() >= _NEAR


def all_real(calls: tuple[Call, ...] | None, names: Names) -> tuple[Call, ...] | None:
    """The calls, if each of them names a real tool."""
    return calls if calls and all(real(c["name"], names) for c in calls) else None


def value_of(tool: str, key: str, text: str) -> Any:
    """A parameter that was written as bare text, as the tool's schema has it: a text stays as it is written.

    Without a schema: numbers, literals, objects and lists are read as JSON, everything else is text.
    """
    definition = registry.DEFINITIONS.get(tool, {})
    known = definition.get("parameters", {}).get("properties", {}).get(key, {}).get("type")
    bare = text.strip()
    if known == "string" or not bare or not (bare[0] in "{[-0123456789" or bare in ("true", "false", "null")):
        return text
    try:
        return json.loads(bare)
    except ValueError:
        return text


def first_key_fits(text: str, at: int, *, quotes: str = "\"'") -> bool:
    """Whether the object that begins here may be a record, as far as its first key can be seen."""
    here = skip(text, at + 1)
    if here >= len(text):
        return True
    quote = text[here]
    if quote not in quotes:
        return False
    end = text.find(quote, here + 1)
    if end < 0:
        return any(k.startswith(text[here + 1 :]) for k in FIRST_KEYS)
    return text[here + 1 : end] in FIRST_KEYS


def tool_records(text: str, names: Names) -> tuple[Call, ...] | None:
    """Records of the form {"bash": {"command": "ls"}}, the tool's name as the key; each must be a real tool."""
    found = json_at(text, skip(text, 0))
    if found is MORE or isinstance(found, Broken):
        return None
    calls: list[Call] = []
    for record in found[0] if isinstance(found[0], list) else [found[0]]:
        if not isinstance(record, dict) or not record:
            return None
        for name, arguments in record.items():
            if name not in names or not isinstance(arguments, dict):
                return None
            calls.append(make(name, arguments))
    return tuple(calls) or None
