"""A conversation as every endpoint takes it: one system message first, every call answered, every argument JSON."""

from __future__ import annotations

import json
from typing import Any

from turnstone_lsp.agent.assembly import new_call_id
from turnstone_lsp.agent.reply import REASONING_DETAILS, REASONING_FIELDS, legal_arguments

Message = dict[str, Any]

INTERRUPTED = "interrupted: this call has no result; whether it had an effect is not known."
"""The result of a call that was never answered."""
_OURS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", *REASONING_FIELDS, REASONING_DETAILS})


def legalise(
    messages: list[Message], *, reasoning: frozenset[str] = frozenset({*REASONING_FIELDS, REASONING_DETAILS})
) -> list[Message]:
    """The messages to send. Nothing given is changed.

    System messages are joined into the first; calls get unique ids, a name and arguments that are an object; results
    follow their calls in order, "interrupted" where there is none; results of no call and empty messages go.
    reasoning: the fields in which reasoning may be sent back. It is, for the steps of the turn that runs: that is
    where endpoints want it, and earlier turns do not need it.
    """
    system = [m["content"] for m in messages if m.get("role") == "system" and m.get("content")]
    out: list[Message] = [{"role": "system", "content": "\n\n".join(map(_text, system))}] if system else []
    rest = [m for m in messages if m.get("role") != "system"]
    turn = max((i for i, m in enumerate(rest) if m.get("role") == "user"), default=-1)
    taken: set[str] = set()
    at = 0
    while at < len(rest):
        message = rest[at]
        at += 1
        role = message.get("role")
        if role == "assistant":
            fields = reasoning if at > turn else frozenset[str]()
            answered, at = _results(rest, at)
            out += _step(message, answered, fields, taken)
        elif role != "tool":
            out.append({k: v for k, v in message.items() if k in _OURS})
    return out


def _results(rest: list[Message], at: int) -> tuple[list[Message], int]:
    """The results that follow an assistant's message, and where they end."""
    end = at
    while end < len(rest) and rest[end].get("role") == "tool":
        end += 1
    return rest[at:end], end


def _step(message: Message, results: list[Message], fields: frozenset[str], taken: set[str]) -> list[Message]:
    """An assistant's message with the results of its calls."""
    kept = {k: v for k, v in message.items() if k in _OURS and (k not in _REASONING or k in fields)}
    calls = [c for c in kept.pop("tool_calls", None) or () if isinstance(c, dict)]
    if not calls:
        return [kept] if kept.get("content") else []
    by_id: dict[str, list[Message]] = {}
    for result in results:
        by_id.setdefault(str(result.get("tool_call_id")), []).append(result)
    out = [kept]
    kept["tool_calls"] = []
    for call in calls:
        legal = _legal_call(call, taken)
        kept["tool_calls"].append(legal)
        found = by_id.get(str(call.get("id")))
        content = _text(found.pop(0).get("content")) if found else INTERRUPTED
        out.append({"role": "tool", "tool_call_id": legal["id"], "content": content})
    kept["content"] = kept.get("content") or None
    return out


_REASONING = frozenset({*REASONING_FIELDS, REASONING_DETAILS})


def _legal_call(call: Message, taken: set[str]) -> Message:
    given = call.get("function")
    function = given if isinstance(given, dict) else {}
    call_id = call.get("id")
    if not isinstance(call_id, str) or not call_id or call_id in taken:
        call_id = new_call_id()
    taken.add(call_id)
    name = str(function.get("name") or "unknown").strip() or "unknown"
    arguments = function.get("arguments")
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    extra = {k: v for k, v in call.items() if k not in ("id", "type", "function", "index")}
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": legal_arguments(name, raw)},
        **extra,
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    return "" if content is None else str(content)


def fold_system(messages: list[Message]) -> list[Message]:
    """For models without a system role: its text stands at the beginning of the first user message."""
    if not messages or messages[0].get("role") != "system":
        return messages
    system, *rest = messages
    for at, message in enumerate(rest):
        if message.get("role") == "user":
            folded = {**message, "content": f"{system['content']}\n\n{_text(message.get('content'))}"}
            return [*rest[:at], folded, *rest[at + 1 :]]
    return [{"role": "user", "content": system["content"]}, *rest]


def alternate(messages: list[Message]) -> list[Message]:
    """For templates in which user and assistant must take turns: neighbours of one role are joined."""
    out: list[Message] = []
    for message in messages:
        last = out[-1] if out else None
        if (
            last
            and last["role"] == message["role"]
            and message["role"] in ("user", "assistant")
            and "tool_calls" not in last
        ):
            joined = "\n\n".join(t for t in (_text(last.get("content")), _text(message.get("content"))) if t)
            out[-1] = {**last, **message, "content": joined}
        else:
            out.append(message)
    return out
