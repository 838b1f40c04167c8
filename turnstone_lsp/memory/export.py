"""A session as a document: Markdown to read, JSON to keep."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turnstone_lsp.memory.repair import Message
    from turnstone_lsp.memory.sessions import SessionInfo, Stored

ExportFormat = Literal["markdown", "json"]

_HEADINGS = {"user": "You", "assistant": "Assistant", "tool": "Result", "system": "System"}


def export(info: SessionInfo, rows: Sequence[Stored], form: ExportFormat) -> str:
    """The whole session as text in one of the two forms. Sub-agents' messages carry their call's id as thread."""
    if form == "json":
        document = {
            "format": "turnstone-session",
            "version": 1,
            "session": asdict(info),
            "messages": [asdict(row) for row in rows],
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return "\n\n".join(_markdown(info, rows)) + "\n"


def date(seconds: float) -> str:
    """A time as it is shown: local, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _markdown(info: SessionInfo, rows: Sequence[Stored]) -> Iterator[str]:
    yield f"# {info.title or 'Session ' + info.id}"
    yield f"Session {info.id} in {info.workspace}, {date(info.created)} to {date(info.updated)}, model {info.model}."
    for row in rows:
        role = _HEADINGS.get(row.message["role"], row.message["role"])
        thread = f" (sub-agent {row.thread})" if row.thread else ""
        yield f"## {role}{thread}, {date(row.created)}"
        yield from _body(row.message)


def _body(message: Message) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, list):
        content = "\n\n".join(str(p.get("text", f"[{p.get('type')}]")) for p in content if isinstance(p, dict))
    if content:
        yield _fenced(content) if message["role"] == "tool" else content
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        yield f"Call of `{function.get('name')}`:"
        yield _fenced(str(function.get("arguments", "")), "json")


def _fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
