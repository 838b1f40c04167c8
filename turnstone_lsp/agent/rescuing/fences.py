"""Fenced blocks that hold nothing but calls of real tools. Every other fenced block is text, whatever stands in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnstone_lsp.agent.rescuing import pythonic, tags
from turnstone_lsp.agent.rescuing.blocks import Broken, CutError, NoCallError
from turnstone_lsp.agent.rescuing.records import all_real, calls_of, first_key_fits, lenient_records, real

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.agent.rescuing.blocks import Call, Cursor

_RECORDS = frozenset({"", "json", "json5", "tool_call", "tool_calls", "tool", "tool_use", "function_call", "tool_json"})
_PYTHON = frozenset({"tool_code", "python", "py"})
_XML = frozenset({"", "xml", "tool_call", "json"})
INFOS = _RECORDS | _PYTHON | _XML
"""What stands after the opening fence of a block that may hold calls."""
_LIST = re.compile(r"\[\s*\w+\(")
_NAMED = re.compile(r'"(?:name|function|tool|action|tool_name)"\s*:\s*"([^"]+)"')


def fenced(info: str, fence: str, *, fresh: bool) -> Callable[[Cursor], None]:
    """The reader of what stands after an opening fence. fresh: nothing has been said before it."""

    def reader(cursor: Cursor) -> None:
        start = cursor.at
        first = cursor.peek()
        if not first:
            raise NoCallError
        try:
            if info in _PYTHON:
                _python(cursor, info, fence)
            elif first in "{[" and info in _RECORDS:
                _records(cursor, fence)
            elif first == "<" and info in _XML and fresh:
                _tagged(cursor, fence)
            else:
                _python(cursor, info, fence)
        except NoCallError:
            cursor.half = False  # the fence is text then
            raise
        except CutError:
            if first == "<":
                raise
            named = _NAMED.search(cursor.text, start)
            if info == "tool_code" or (named and real(named[1], cursor.names)):
                raise
            raise NoCallError from None

    return reader


def _close(cursor: Cursor, fence: str) -> None:
    """The closing fence must stand here, or the output end."""
    if not cursor.close(fence) and cursor.closed:
        raise NoCallError
    if not cursor.closed:
        cursor.at = len(cursor.text)


def _records(cursor: Cursor, fence: str) -> None:
    start = cursor.at
    while cursor.peek() in ("{", "["):
        if cursor.peek() == "{" and not first_key_fits(cursor.text, cursor.at, quotes='"'):
            raise NoCallError
        value = cursor.json()
        if isinstance(value, Broken):
            listed = _LIST.match(cursor.text, start)
            cursor.at = start
            body = cursor.until("\n" + fence, fence)
            cursor.calls = list(_real(pythonic.calls_in(body) if listed else lenient_records(body), cursor))
            return
        cursor.calls += _real(calls_of(value, strict=True), cursor)
        cursor.take(",", ";")
    _close(cursor, fence)


def _real(calls: tuple[Call, ...] | None, cursor: Cursor) -> tuple[Call, ...]:
    found = all_real(calls, cursor.names)
    if found is None:
        raise NoCallError
    return found


def _python(cursor: Cursor, info: str, fence: str) -> None:
    """Python that is nothing but calls of real tools. As code samples are Python too, only a list of calls counts
    where the fence says python, and only keyword arguments where it says nothing.
    """
    start = cursor.at
    if info in ("python", "py") and not re.match(r"\[\s*(?:\w+(?:\(|\Z)|\Z)", cursor.text[start:]):
        raise NoCallError
    if info not in _PYTHON:
        word = re.match(r"\w*", cursor.text[start:])
        name = word[0] if word else ""
        following = cursor.text[start + len(name) : start + len(name) + 1]
        if name not in cursor.names and (following or not any(n.startswith(name) for n in cursor.names)):
            raise NoCallError
        if following not in ("(", ""):
            raise NoCallError
    try:
        body = cursor.until("\n" + fence)
    except CutError:
        body, cursor.at, cursor.closed = cursor.text[start:], len(cursor.text), False
    calls = pythonic.calls_in(body, keywords_only=info not in _PYTHON)
    if calls is None and not cursor.closed:
        raise CutError
    if calls is None or any(c["name"] not in cursor.names for c in calls):
        raise NoCallError
    cursor.calls += calls


def _tagged(cursor: Cursor, fence: str) -> None:
    """An answer that is nothing but one fenced <tool_call>; with words around it, it is a sample."""
    if not cursor.take("<tool_call>"):
        raise NoCallError
    tags.tagged("</tool_call>", opener="<tool_call>")(cursor)
    _real(tuple(cursor.calls), cursor)
    if not cursor.closed:
        cursor.more()
    _close(cursor, fence)
    if cursor.peek():
        raise NoCallError
