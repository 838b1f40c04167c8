"""Tools by prompt, for models and servers that take no `tools`: they are described in the system message, and the
calls are read out of the answer (`rescue.py`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Message = dict[str, Any]

_HOW = """\
# Tools

You can call tools. To call one, write a JSON object with its name and arguments between <tool_call> tags, alone on its
lines, and nothing after it:

<tool_call>
{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}
</tool_call>

Escape quotes and line breaks inside JSON strings. For several calls write several such blocks. Then stop: the results
come in the next message, between <tool_response> tags. Never write a <tool_response> yourself. When you need no tool,
just answer.

These are the tools, one a line, with the JSON schema of their parameters:
"""


def prompted_tools(tools: Sequence[dict[str, Any]]) -> str:
    """What the system message says of the tools, and how they are called."""
    lines = (json.dumps(tool["function"], ensure_ascii=False, separators=(",", ":")) for tool in tools)
    return _HOW + "\n".join(lines)


def as_prompt(messages: list[Message], tools: Sequence[dict[str, Any]]) -> list[Message]:
    """A legal conversation without `tool_calls` and tool messages: calls as the assistant's text, results as the
    user's.
    """
    described = prompted_tools(tools)
    out: list[Message] = []
    for message in messages:
        role = message["role"]
        if role == "tool":
            _add_response(out, str(message["content"]))
        elif message.get("tool_calls"):
            kept = {k: v for k, v in message.items() if k != "tool_calls"}
            text = "\n".join(filter(None, [message.get("content"), *map(_call, message["tool_calls"])]))
            out.append({**kept, "content": text})
        else:
            out.append(message)
    if out and out[0]["role"] == "system":
        out[0] = {**out[0], "content": f"{out[0]['content']}\n\n{described}"}
        return out
    return [{"role": "system", "content": described}, *out]


def _call(call: Message) -> str:
    function = call["function"]
    record = {"name": function["name"], "arguments": json.loads(function["arguments"])}
    return f"<tool_call>\n{json.dumps(record, ensure_ascii=False)}\n</tool_call>"


def _add_response(out: list[Message], text: str) -> None:
    """Results of one step stand in one message of the user."""
    response = f"<tool_response>\n{text}\n</tool_response>"
    if out and out[-1]["role"] == "user" and str(out[-1]["content"]).startswith("<tool_response>"):
        out[-1] = {"role": "user", "content": f"{out[-1]['content']}\n{response}"}
    else:
        out.append({"role": "user", "content": response})
