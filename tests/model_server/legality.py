"""What a strict endpoint does not take in a conversation, as the templates of common models and servers have it."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def fault_in(messages: list[Json]) -> str | None:
    """The first thing wrong with a conversation; None for a legal one."""
    open_calls: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        role = message.get("role")
        if role == "system" and number:
            return f"messages[{number}]: a system message must stand first"
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"messages[{number}]: a tool message without a preceding call {message.get('tool_call_id')!r}"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"messages[{number}]: calls without results: {open_calls}"
        if role == "assistant":
            calls = message.get("tool_calls")
            if calls == []:
                return f"messages[{number}]: tool_calls is an empty list"
            if not calls and not message.get("content"):
                return f"messages[{number}]: an assistant message needs content or tool_calls"
            for call in calls or []:
                if wrong := _fault_in_call(call, seen):
                    return f"messages[{number}]: {wrong}"
                seen.add(call["id"])
                open_calls.append(call["id"])
    return f"calls without results: {open_calls}" if open_calls else None


def _fault_in_call(call: Json, seen: set[str]) -> str | None:
    if not call.get("id"):
        return "a call without an id"
    if call["id"] in seen:
        return f"the id {call['id']!r} is taken"
    if call.get("type") != "function" or not call.get("function", {}).get("name"):
        return "a call without a function name"
    try:
        arguments = json.loads(call["function"]["arguments"])
    except (KeyError, TypeError, ValueError):
        return f"arguments of {call['id']!r} are not JSON"
    return None if isinstance(arguments, dict) else f"arguments of {call['id']!r} are not an object"
