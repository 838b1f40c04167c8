"""Calls between special tokens: Mistral, DeepSeek, Kimi, Llama's python tag, Gemma."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.rescuing import pythonic, xml
from turnstone_lsp.agent.rescuing.blocks import Broken, CutError, NoCallError, json_at
from turnstone_lsp.agent.rescuing.records import calls_of, lenient_records, make, raw_call

if TYPE_CHECKING:
    from turnstone_lsp.agent.rescuing.blocks import Cursor


def _spellings(*words: str) -> tuple[str, ...]:
    """DeepSeek's tokens, with full-width bars and blocks, or flattened to ASCII as Kimi has them."""
    return tuple(
        f"<{bar}{joint.join(words)}{bar}>" for bar, joint in (("｜", "▁"), ("|", "▁"), ("｜", "_"), ("|", "_"))
    )


CALLS_BEGIN = (*_spellings("tool", "calls", "begin"), "<|tool_calls_section_begin|>")
CALL_BEGIN = _spellings("tool", "call", "begin")
_CALLS_END = (*_spellings("tool", "calls", "end"), "<|tool_calls_section_end|>")
_CALL_END = _spellings("tool", "call", "end")
_SEPARATOR = _spellings("tool", "sep")
_ARGUMENTS = ("<|tool_call_argument_begin|>", "<|tool_call_arguments_begin|>")
STRAY = (*_CALLS_END, *_CALL_END, *_SEPARATOR)
END_OF_MESSAGE = ("<|eom_id|>", "<|eot_id|>")
_PYTHON_END = (*END_OF_MESSAGE, "<|python_end|>")


def mistral(cursor: Cursor) -> None:
    """[TOOL_CALLS], then a JSON list, or a name and an object with or without [CALL_ID] and [ARGS]."""
    while True:
        if not cursor.peek():
            cursor.more()
        if cursor.peek() in "[{":
            _mistral_list(cursor)
        else:
            name = cursor.name()
            if cursor.take("[CALL_ID]"):
                cursor.name()
            named = cursor.take("[ARGS]") is not None
            if cursor.peek() == "{":
                _object(cursor, name, "[TOOL_CALLS]", "</s>")
            elif not cursor.peek():
                cursor.more()
            elif not named:
                raise NoCallError
            else:
                _text(cursor, name, "[TOOL_CALLS]", "</s>")
        if not cursor.take("[TOOL_CALLS]"):
            cursor.close("</s>", "[/TOOL_CALLS]")
            return


def _mistral_list(cursor: Cursor) -> None:
    value = cursor.json()
    broken = isinstance(value, Broken)
    calls = lenient_records(_rest(cursor, "</s>", "[/TOOL_CALLS]")) if broken else calls_of(value)
    if calls is None:
        raise NoCallError
    cursor.calls += calls


def functools(cursor: Cursor) -> None:
    """functools[...]: a JSON list; the cursor stands on its bracket."""
    if not re.match(r"\[\s*(?:\{|\Z)", cursor.text[cursor.at :]):
        raise NoCallError
    _mistral_list(cursor)
    cursor.close("</s>")


def _rest(cursor: Cursor, *markers: str) -> str:
    """The text up to one of these markers, or to the end of the output."""
    start = cursor.at
    try:
        part = cursor.until(*markers)
    except CutError:
        cursor.at = len(cursor.text)
        cursor.closed = False
        return cursor.text[start:]
    cursor.at = start + len(part)
    return part


def _text(cursor: Cursor, name: str, *markers: str) -> None:
    """Add the call whose arguments are bare text: only an end marker says that it is whole."""
    start = cursor.at
    part = cursor.until(*markers)
    cursor.at = start + len(part)
    cursor.calls.append(raw_call(name, part))


def _object(cursor: Cursor, name: str, *closers: str) -> None:
    """Add the call whose arguments stand here; broken ones stay text, up to a marker."""
    value = cursor.json()
    if isinstance(value, Broken):
        cursor.calls.append(raw_call(name, _rest(cursor, *closers)))
    else:
        cursor.calls.append(make(name, value))


def call_list(cursor: Cursor) -> None:
    """DeepSeek and Kimi: calls, each between its own markers, up to the end of the list."""
    while cursor.take(*CALL_BEGIN):
        _call(cursor)
    whole = cursor.closed
    cursor.close(*_CALLS_END, *CALL_BEGIN)
    cursor.closed &= whole


def lone_call(cursor: Cursor) -> None:
    """The same without the marker that opens the list; the cursor stands after the first call's marker."""
    _call(cursor)
    while cursor.take(*CALL_BEGIN):
        _call(cursor)
    cursor.take(*_CALLS_END)


def _call(cursor: Cursor) -> None:
    """function<sep>name and a fenced object (V3, R1), name<sep> and a bare one (V3.1), functions.name:0 (Kimi), or
    XML inside (Step).
    """
    name = cursor.name()
    if cursor.take(*_SEPARATOR) and name == "function":
        if cursor.looking("<steptml:invoke"):
            xml.invokes(cursor, *_CALL_END)
            return
        name = cursor.name()
    cursor.take(*_ARGUMENTS)
    name = re.sub(r":\d+\Z", "", name)
    fence = cursor.take("```json", "```")
    if cursor.peek() in ("{", ""):
        _object(cursor, name, "\n```", *_CALL_END, *_CALLS_END)
    else:
        _text(cursor, name, "\n```", *_CALL_END)
    if fence and cursor.take("```"):
        fence = None
    cursor.close(*_CALL_END, *(("```",) if fence else ()))


def python_tag(cursor: Cursor) -> None:
    """<|python_tag|>: records joined by ;, or name.call(key=value); any other code is shown as it stands."""
    if cursor.peek() in ("{", "["):
        while cursor.peek() in ("{", "["):
            value = cursor.json()
            calls = lenient_records(_rest(cursor, *_PYTHON_END)) if isinstance(value, Broken) else calls_of(value)
            if calls is None:
                raise NoCallError
            cursor.calls += calls
            cursor.take(";", ",")
        cursor.close(*_PYTHON_END)
        return
    start = cursor.at
    source = _rest(cursor, *_PYTHON_END)
    calls = pythonic.calls_in(source)
    if calls is not None:
        cursor.calls += calls
    elif cursor.closed or not re.match(r"[\[\s]*[\w.]+\(", source):
        cursor.shown = cursor.text[start : start + len(source)]
    cursor.close(*_PYTHON_END)


def gemma(quote: str, *closers: str) -> Any:
    """call:name{key:value}, strings between two `quote` tokens (FunctionGemma, Gemma 4)."""

    def reader(cursor: Cursor) -> None:
        if not cursor.take("call:"):
            raise NoCallError
        name = cursor.name()
        if cursor.peek() != "{":
            raise NoCallError
        cursor.calls.append(make(name, _gemma_value(cursor, quote)))
        cursor.close(*closers)

    return reader


def _gemma_value(cursor: Cursor, quote: str) -> Any:
    if cursor.take(quote):
        return cursor.until(quote)
    if cursor.take("{"):
        made: dict[str, Any] = {}
        while not cursor.take("}"):
            key = cursor.until(quote) if cursor.take(quote) else _word(cursor, ":")
            cursor.take(":")
            made[key] = _gemma_value(cursor, quote)
            _gemma_next(cursor, "}")
        return made
    if cursor.take("["):
        items = []
        while not cursor.take("]"):
            items.append(_gemma_value(cursor, quote))
            _gemma_next(cursor, "]")
        return items
    word = _word(cursor, ",", "}", "]")
    found = json_at(word, 0)
    return found[0] if isinstance(found, tuple) and found[1] == len(word) else word


def _gemma_next(cursor: Cursor, end: str) -> None:
    """After a value stands a comma, or the end."""
    if not cursor.take(",") and not cursor.looking(end):
        if not cursor.peek():
            cursor.more()
        raise NoCallError


def _word(cursor: Cursor, *ends: str) -> str:
    start = cursor.at
    word = cursor.until(*ends)
    cursor.at = start + len(word)
    return word.strip().strip('"')
