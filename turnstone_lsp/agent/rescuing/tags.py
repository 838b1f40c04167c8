"""Calls between an opening and a closing marker, whatever stands inside: records, XML, name and arguments, Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnstone_lsp.agent.rescuing import pythonic, xml
from turnstone_lsp.agent.rescuing.blocks import (
    MORE,
    Broken,
    CutError,
    NoCallError,
    balanced,
    first_of,
    json_at,
)
from turnstone_lsp.agent.rescuing.records import (
    first_key_fits,
    lenient_records,
    make,
    raw_call,
    real,
    tool_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.agent.rescuing.blocks import Cursor


def tagged(*closers: str, opener: str = "") -> Callable[[Cursor], None]:
    """The reader of what stands after an opening marker with these closing markers."""

    def reader(cursor: Cursor) -> None:
        while opener and cursor.take(opener):
            pass  # the opening marker is sometimes doubled
        cursor.take("```json", "```xml", "```")
        first = cursor.peek()
        if not first:
            cursor.more()
        if first in "{[":
            _records(cursor, closers)
        elif first == "<":
            _elements(cursor, closers)
        else:
            _named(cursor, closers)
        while opener and cursor.calls and cursor.closed and cursor.take(*closers):
            pass

    return reader


def _elements(cursor: Cursor, closers: tuple[str, ...]) -> None:
    if cursor.looking("<function"):
        xml.functions(cursor)
        cursor.close(*closers)
    elif cursor.take("<name>"):
        name = cursor.until("</name>").strip()
        cursor.take("<arguments>", "<parameters>")
        cursor.calls.append(raw_call(name, cursor.until("</arguments>", "</parameters>")))
        cursor.close(*closers)
    elif re.match(r"<(?:\w+:)?i?n?v?o?k?e?\b|<tool_call", cursor.text[cursor.at :]):
        if cursor.looking("<tool_call>"):
            while cursor.take("<tool_call>"):
                tagged("</tool_call>")(cursor)
            cursor.close(*closers)
        else:
            xml.invokes(cursor, *closers)
    else:
        raise NoCallError


def _records(cursor: Cursor, closers: tuple[str, ...]) -> None:
    """JSON records, or a list of Python calls, up to the closing marker."""
    start = cursor.at
    if _python_list(cursor, closers):
        return
    broken = _pass_records(cursor, start, closers)
    end = cursor.at
    if broken is None:
        closed = cursor.close(*closers)
        while not closed and cursor.peek() in ("}", "`"):  # a brace too many, a fence around the record
            cursor.at += 1
            closed = cursor.close(*closers)
        if not closed:
            cursor.at = end
    else:
        found = first_of(cursor.text, broken.at, closers)
        if found is None and not (cursor.final and not first_key_fits(cursor.text, start)):
            cursor.more()
        if found is None:
            raise NoCallError
        end, cursor.at = found
        cursor.closed = broken.at > start
    calls = lenient_records(cursor.text[start:end]) or tool_records(cursor.text[start:end], cursor.names)
    if calls is None:
        raise NoCallError
    cursor.calls += calls


def _pass_records(cursor: Cursor, start: int, closers: tuple[str, ...]) -> Broken | None:
    """Go past whole records; the place where one is broken."""
    while True:
        cursor.take(",", ";")
        if cursor.peek() not in ("{", "["):
            return None
        found = json_at(cursor.text, cursor.at)
        if found is MORE:
            if not cursor.final:
                cursor.more()
            if first_of(cursor.text, start, closers) is None:
                raise CutError
            return Broken(start)
        if isinstance(found, Broken):
            return found
        cursor.at = found[1]


def _python_list(cursor: Cursor, closers: tuple[str, ...]) -> bool:
    """[name(key=value), ...]; False where something else stands here."""
    opened = re.compile(r"\[\s*[A-Za-z_][\w.]*\(").match(cursor.text, cursor.at)
    if opened is None:
        begins = re.compile(r"\[\s*(?:[A-Za-z_][\w.]*)?\Z").match(cursor.text, cursor.at)
        if begins:
            cursor.more()
        return False
    end = balanced(cursor.text, cursor.at)
    if end is None:
        cursor.more()
    calls = pythonic.calls_in(cursor.text[cursor.at : end])
    if calls is None:
        raise NoCallError
    cursor.at = end
    cursor.calls += calls
    cursor.close(*closers)
    return True


def _named(cursor: Cursor, closers: tuple[str, ...]) -> None:
    """A bare name, then its arguments: <arg_key> pairs, an object, Python's parentheses, or nothing."""
    while True:
        start = cursor.at
        name = cursor.name()
        following = cursor.peek()
        if not following:
            cursor.more()
        if following == "(":
            _python(cursor, start)
        elif following == "{":
            _object(cursor, name, closers)
        elif cursor.looking("<arg_key>"):
            _pairs(cursor, name, closers)
        elif cursor.looking(*closers) and real(name, cursor.names):
            cursor.calls.append(make(name, {}))
        else:
            if cursor.final and any(c.startswith(cursor.text[cursor.at :]) for c in ("<arg_key>", *closers)):
                raise CutError
            raise NoCallError
        if cursor.close(*closers) or following != "(" or not re.match(r"[A-Za-z_]", cursor.peek()):
            return


def _python(cursor: Cursor, start: int) -> None:
    end = balanced(cursor.text, cursor.at)
    if end is None:
        cursor.more()
    calls = pythonic.calls_in(cursor.text[start:end])
    if calls is None:
        raise NoCallError
    cursor.calls += calls
    cursor.at = end


def _pairs(cursor: Cursor, name: str, closers: tuple[str, ...]) -> None:
    """Without the closing tag it cannot be known whether more pairs were to come."""
    arguments = xml.pairs(cursor, name)
    rest = cursor.text[cursor.at :].strip()
    if not any(rest.startswith(closer) for closer in closers) and any(
        m.startswith(rest) for m in ("<arg_key>", *closers)
    ):
        cursor.more()
    cursor.calls.append(make(name, arguments))


def _object(cursor: Cursor, name: str, closers: tuple[str, ...]) -> None:
    start = cursor.at
    value = cursor.json()
    if isinstance(value, Broken):
        body = cursor.until(*closers)
        cursor.at = start + len(body)
        cursor.calls.append(raw_call(name, body))
    else:
        cursor.calls.append(make(name, value))
