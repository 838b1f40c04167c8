"""OpenAI's Harmony format (gpt-oss): channels for reasoning, tool calls and the answer."""

from __future__ import annotations

import json
import re
from typing import Any

from turnstone_lsp.agent.rescue_formats import make

_STARTS = ("<|channel|>", "<|start|>")
_MESSAGE = re.compile(
    r"(?:<\|start\|>(?P<role>[^<]*))?<\|channel\|>(?P<channel>[^<]*)(?:<\|constrain\|>(?P<format>[^<]*))?<\|message\|>"
    r"(?P<body>.*?)(?P<end><\|end\|>|<\|call\|>|<\|return\|>|(?=<\|start\|>)|(?=<\|channel\|>)|\Z)",
    re.DOTALL,
)
_RECIPIENT = re.compile(r"to=(?:functions\.)?([\w.-]+)")


def begins(text: str, at: int) -> bool | None:
    """Whether Harmony starts here (after blanks); None while that cannot be known yet."""
    head = text[at:].lstrip()[:12]
    if any(head.startswith(s) for s in _STARTS):
        return True
    return None if head and any(s.startswith(head) for s in _STARTS) else False


def parse(text: str, *, length_cut: bool) -> dict[str, Any] | None:
    """The output as content, reasoning and calls; None when it is not Harmony."""
    if not begins(text, 0):
        return None
    content: list[str] = []
    reasoning: list[str] = []
    calls = []
    for found in _MESSAGE.finditer(text):
        channel = found["channel"].strip()
        to = _RECIPIENT.search(f"{found['role'] or ''} {channel}")
        body = found["body"]
        if to:
            closed = found["end"] == "<|call|>"
            call = _call(to.group(1), body)
            if call and (closed or not length_cut):
                calls.append(call)
        elif channel.startswith("final"):
            content.append(body)
        else:
            reasoning.append(body)
    return {"content": "".join(content).strip(), "reasoning": "\n".join(reasoning).strip(), "tool_calls": calls}


def _call(name: str, body: str) -> dict[str, Any] | None:
    try:
        return make(name, json.loads(body.strip() or "{}", strict=False))
    except ValueError:
        return None
