"""Calls as XML: <function=...> (Qwen Coder, Llama), <invoke name="..."> (MiniMax, DeepSeek), <arg_key> (GLM)."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.rescuing.blocks import Broken, NoCallError
from turnstone_lsp.agent.rescuing.records import make, raw_call, value_of

if TYPE_CHECKING:
    from turnstone_lsp.agent.rescuing.blocks import Call, Cursor

_FUNCTION = re.compile(r"<function\s*=\s*[\"']?([\w.:-]+)[\"']?\s*>")
_PARAMETER = re.compile(r"<parameter\s*=\s*[\"']?([^>\"'\n]+?)[\"']?\s*>")
_VALUE_END = re.compile(
    r"\n?</parameter>(?=\s*(?:<parameter\s*=|</function>|</tool_call>|</seed:tool_call>))"
    r"|\n?(?=<parameter\s*=|</function>)"  # the closing tag is sometimes forgotten
)
_INVOKE = re.compile(r"<(?P<ns>\w+:|｜DSML｜)?invoke\s+name=\"(?P<name>[^\"]+)\"\s*>")
_TAG_LENGTH = 200
"""An opening tag that has not ended after so many characters is none."""


def functions(cursor: Cursor) -> None:
    """One or several <function=name> with parameters or a JSON object; the cursor stands on the first."""
    while cursor.looking("<function"):
        opened = _tag(cursor, _FUNCTION)
        cursor.at = opened.end()
        name = opened[1]
        if cursor.looking("<parameter", "</function>", "</tool_call>"):
            cursor.calls.append(make(name, _parameters(cursor, name)))
        elif cursor.peek() == "{":
            value = cursor.json()
            if isinstance(value, Broken):
                value = cursor.until("</function>")
                cursor.calls.append(raw_call(name, value))
            else:
                cursor.calls.append(make(name, value))
                cursor.close("</function>")
        elif not cursor.peek():
            cursor.more()
        else:
            raise NoCallError


def _tag(cursor: Cursor, pattern: re.Pattern[str]) -> re.Match[str]:
    """The opening tag that stands here."""
    found = pattern.match(cursor.text, cursor.at)
    if found is not None:
        return found
    if ">" not in cursor.text[cursor.at : cursor.at + _TAG_LENGTH] and len(cursor.text) - cursor.at < _TAG_LENGTH:
        cursor.more()
    raise NoCallError


def _parameters(cursor: Cursor, name: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    while True:
        if cursor.take("</function>"):
            return arguments
        if cursor.looking("</tool_call>", "</seed:tool_call>"):  # </function> is sometimes forgotten
            return arguments
        if not cursor.looking("<parameter"):
            if not cursor.peek():
                cursor.more()
            return arguments
        opened = _tag(cursor, _PARAMETER)
        closing = _VALUE_END.search(cursor.text, opened.end())
        if closing is None:
            cursor.more()
        key = opened[1].strip()
        arguments[key] = value_of(name, key, cursor.text[opened.end() : closing.start()].removeprefix("\n"))
        cursor.at = closing.end()


def invokes(cursor: Cursor, *closers: str) -> None:
    """One or several <invoke name="..."> with <parameter name="...">, up to the outer closing tag."""
    while not cursor.close(*closers):
        if not cursor.closed and cursor.calls:
            return
        if not cursor.peek():
            cursor.more()
        try:
            opened = _tag(cursor, _INVOKE)
        except NoCallError:
            if not cursor.calls:
                raise
            return
        cursor.at = opened.end()
        prefix = opened["ns"] or ""
        cursor.calls.append(_invoked(opened["name"], prefix, cursor.until(f"</{prefix}invoke>")))


def _invoked(name: str, prefix: str, body: str) -> Call:
    tag = re.escape(prefix)
    pattern = re.compile(
        rf"<{tag}parameter\s+name=\"([^\"]+)\"([^>]*)>(.*?)</{tag}parameter>(?=\s*(?:<{tag}parameter|\Z))", re.DOTALL
    )
    found = pattern.findall(body)
    if not found:
        return raw_call(name, body)
    arguments: dict[str, Any] = {}
    for key, flags, text in found:
        value = text.removeprefix("\n").removesuffix("\n")
        arguments[key] = value if 'string="true"' in flags else value_of(name, key, _unescaped(value))
    return make(name, arguments)


def _unescaped(text: str) -> str:
    """Entities are undone only where the text is escaped throughout: no bare < or & stands in it."""
    return text if "<" in text or re.search(r"&(?!\w+;|#)", text) else html.unescape(text)


def pairs(cursor: Cursor, name: str) -> dict[str, Any]:
    """<arg_key>...</arg_key><arg_value>...</arg_value>, as GLM writes arguments."""
    arguments: dict[str, Any] = {}
    while cursor.take("<arg_key>"):
        key = cursor.until("</arg_key>").strip()
        cursor.take("<arg_value>")
        arguments[key] = value_of(name, key, cursor.until("</arg_value>"))
    return arguments
