"""Calls without any marker: a record, a list of Python calls, a call, or ReAct's lines, at the beginning of a line.

Nothing tells them from ordinary text but what they say, so they must name real tools and stand apart: at the
beginning of the answer, or as its last part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnstone_lsp.agent.rescuing import pythonic
from turnstone_lsp.agent.rescuing.blocks import Broken, CutError, MoreError, NoCallError, balanced
from turnstone_lsp.agent.rescuing.records import (
    all_real,
    calls_of,
    first_key_fits,
    lenient_records,
    make,
    raw_call,
    real,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.agent.rescuing.blocks import Cursor

_CLOSERS = ("</tool_call>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|observation|>", "</s>", "[/TOOL_CALLS]")
_NAMED = re.compile(r'\s*\[?\s*\{\s*"(?:type"\s*:\s*"function"\s*,\s*")?(?:name|function|tool)"\s*:\s*"([^"]+)"\s*,')
_LIST = re.compile(r"\[\s*([A-Za-z_]\w*)\(")
_LIST_BEGINS = re.compile(r"\[\s*([A-Za-z_]\w*)?\Z")


def bare(*, fresh: bool) -> Callable[[Cursor], None]:
    """The reader for the beginning of a line. fresh: nothing has been said before it."""

    def reader(cursor: Cursor) -> None:
        try:
            _read(cursor, fresh=fresh)
        except NoCallError:
            cursor.half = False  # without a marker there is nothing to hide
            raise

    return reader


def _read(cursor: Cursor, *, fresh: bool) -> None:
    first = cursor.peek()
    if first == "{" or (first == "[" and not _python_list(cursor)):
        _records(cursor)
    elif cursor.take("Action:"):
        _react(cursor)
    elif first != "[":
        _named(cursor, fresh=fresh)
    cursor.close(*_CLOSERS)
    cursor.back()
    _stands_apart(cursor, fresh=fresh)


def _stands_apart(cursor: Cursor, *, fresh: bool) -> None:
    """Nothing but blanks may follow; at the beginning of an answer also another line."""
    line_end = re.compile(r"[ \t]*(\n|\Z)").match(cursor.text, cursor.at)
    if line_end is None:
        raise NoCallError
    if fresh and line_end[1]:
        return
    if cursor.peek():
        raise NoCallError


def _records(cursor: Cursor) -> None:
    start = cursor.at
    while cursor.peek() in ("{", "["):
        here = cursor.at
        if not _may_be_record(cursor):
            if cursor.calls:
                return
            raise NoCallError
        try:
            value = cursor.json()
        except CutError:
            if _names_real(cursor, start):
                raise
            raise NoCallError from None
        if isinstance(value, Broken):
            _broken(cursor, here)
            return
        calls = all_real(calls_of(value, strict=True), cursor.names)
        if calls is None:
            if cursor.calls:
                cursor.at = here
                return
            raise NoCallError
        cursor.calls += calls
        _past_separator(cursor)


def _past_separator(cursor: Cursor) -> None:
    """Go past ; or , or blanks, if another record follows."""
    end = cursor.at
    cursor.take(";", ",")
    if cursor.peek() not in ("{", "["):
        cursor.at = end if cursor.text[end : end + 1] not in (";", ",") else end + 1


def _may_be_record(cursor: Cursor) -> bool:
    if cursor.text[cursor.at] == "{":
        return first_key_fits(cursor.text, cursor.at, quotes='"')
    inner = re.compile(r"\[\s*").match(cursor.text, cursor.at)
    at = inner.end() if inner else cursor.at
    if at >= len(cursor.text):
        return True
    return cursor.text[at] == "{" and first_key_fits(cursor.text, at, quotes='"')


def _names_real(cursor: Cursor, at: int) -> bool:
    named = _NAMED.match(cursor.text, at)
    return named is not None and real(named[1], cursor.names)


def _broken(cursor: Cursor, at: int) -> None:
    """A record of a real tool whose JSON is broken: its arguments are kept as they are, up to the end."""
    if not _names_real(cursor, at):
        raise NoCallError
    if not cursor.final:
        raise MoreError
    calls = all_real(lenient_records(cursor.text[at:], mend=False), cursor.names)
    if calls is None:
        raise NoCallError
    cursor.calls += calls
    cursor.closed = False
    cursor.at = len(cursor.text)


def _python_list(cursor: Cursor) -> bool:
    """[name(key=value), ...] of real tools; False where something else stands here."""
    opened = _LIST.match(cursor.text, cursor.at)
    if opened is None:
        begins = _LIST_BEGINS.match(cursor.text, cursor.at)
        if begins and not cursor.final and any(n.startswith(begins[1] or "") for n in cursor.names):
            raise MoreError
        return False
    if opened[1] not in cursor.names:
        return False
    _python(cursor, keywords_only=False)
    return True


def _python(cursor: Cursor, *, keywords_only: bool) -> None:
    """A list of calls, or one call, of real tools."""
    bracket = cursor.text.find("(", cursor.at) if keywords_only else cursor.at
    end = balanced(cursor.text, bracket)
    if end is None:
        cursor.more()
    calls = pythonic.calls_in(cursor.text[cursor.at : end], keywords_only=keywords_only)
    if calls is None or any(c["name"] not in cursor.names for c in calls):
        raise NoCallError
    cursor.calls += calls
    cursor.at = end


_ARGUMENT_BEGINS = re.compile(r"\(\s*(?:\w+\s*(?:=|\Z)|\)|\Z)")


def _named(cursor: Cursor, *, fresh: bool) -> None:
    """name(key=value) once or several times, name and an object on the next line, or name[ARGS] and an object."""
    while cursor.peek() and fresh:
        start = cursor.at
        name = next((n for n in sorted(cursor.names, key=len, reverse=True) if cursor.text.startswith(n, start)), None)
        if name is None:
            if not cursor.final and any(n.startswith(cursor.text[start:]) for n in cursor.names):
                raise MoreError
            break
        cursor.at = start + len(name)
        following = cursor.peek()
        if following == "(" and cursor.text[start + len(name)] == "(":
            if not _ARGUMENT_BEGINS.match(cursor.text, cursor.at):
                raise NoCallError
            cursor.at = start
            _python(cursor, keywords_only=True)
        elif (following == "{" and "\n" in cursor.text[start : cursor.at]) or cursor.take("[ARGS]"):
            value = cursor.json()
            if not isinstance(value, dict):
                raise NoCallError
            cursor.calls.append(make(name, value))
        else:
            break
    cursor.close(*_CLOSERS)
    if not cursor.calls or cursor.peek():
        raise NoCallError


def _react(cursor: Cursor) -> None:
    """Action: name, then Action Input: an object or a line."""
    name = cursor.name()
    if name not in cursor.names:
        raise NoCallError
    if not cursor.take("Action Input:"):
        if not cursor.peek():
            cursor.more()
        raise NoCallError
    if not cursor.peek():
        cursor.more()
    if cursor.peek() == "{":
        value = cursor.json()
        if isinstance(value, Broken):
            raise NoCallError
        cursor.calls += calls_of({"name": name, "arguments": value}) or ()
        return
    end = cursor.text.find("\n", cursor.at)
    if end < 0:
        if not cursor.final:
            raise MoreError
        cursor.closed = False
        end = len(cursor.text)
    cursor.calls.append(raw_call(name, cursor.text[cursor.at : end]))
    cursor.at = end
