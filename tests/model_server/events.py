"""One reply as the events of a stream, or as one whole completion."""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

_serial = itertools.count(1)


def stream_events(reply: Json, request: Json) -> Iterator[Json]:
    """The chat.completion.chunk objects of one reply, in order."""
    if "raw_events" in reply:
        yield from reply["raw_events"]
        return
    base = _base("chat.completion.chunk", request)

    def event(delta: Json, finish: str | None = None) -> Json:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    sent = 0
    yield event({"role": "assistant", "content": ""})
    for field, part in _text_parts(reply):
        sent += len(part)
        yield event({field: part})
    calls = _calls(reply)
    for fragments in _fragments(calls, reply):
        sent += sum(len(str(f["function"].get("arguments", ""))) for f in fragments)
        yield event({"tool_calls": fragments})
    finish = reply.get("finish_reason", "tool_calls" if calls else "stop")
    usage = _usage(reply, request, sent)
    if finish is not None:
        last = event({}, finish)
        if usage and reply.get("usage_with_finish"):
            last["usage"] = usage
        yield last
    if usage and not reply.get("usage_with_finish"):
        yield {**base, "choices": [], "usage": usage}


def whole_completion(reply: Json, request: Json) -> Json:
    """The same reply for a request without streaming."""
    calls = _calls(reply)
    message: Json = {"role": "assistant", "content": None}
    for field, part in _text_parts(reply):
        message[field] = (message.get(field) or "") + part
    if calls:
        message["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in calls
        ]
    finish = reply.get("finish_reason", "tool_calls" if calls else "stop")
    body = {
        **_base("chat.completion", request),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    sent = len(reply.get("text", "")) + sum(len(str(c["arguments"])) for c in calls)
    if usage := _usage(reply, request, sent):
        body["usage"] = usage
    return body


def _base(kind: str, request: Json) -> Json:
    return {
        "id": f"chatcmpl-{next(_serial):06d}",
        "object": kind,
        "created": int(time.time()),
        "model": request.get("model", "stub-model"),
    }


def _text_parts(reply: Json) -> Iterator[tuple[str, str]]:
    """(field of the delta, piece): reasoning first."""
    size = reply.get("chunk_chars", 24)
    reasoning, text = reply.get("reasoning", ""), reply.get("text", "")
    style = reply.get("reasoning_style", "reasoning_content")
    if reasoning and style == "think":
        text = f"<think>{reasoning}</think>{text}"
    elif reasoning:
        yield from ((style, part) for part in _slices(reasoning, size))
    yield from (("content", part) for part in _slices(text, size))


def _calls(reply: Json) -> list[Json]:
    return [
        {
            "id": call.get("id", f"call_{next(_serial):06d}"),
            "name": call["name"],
            "arguments": _arguments(call.get("arguments", {}), whole=bool(reply.get("object_arguments"))),
        }
        for call in reply.get("tool_calls") or []
    ]


def _arguments(value: Any, *, whole: bool) -> Any:
    return value if whole or isinstance(value, str) else json.dumps(value)


def _fragments(calls: list[Json], reply: Json) -> Iterator[list[Json]]:
    """The `tool_calls` lists of the events, as the quirks of the reply have them."""
    queues = [_fragments_of(call, index, reply) for index, call in enumerate(calls)]
    if reply.get("calls_whole"):
        if queues:
            yield [fragment for queue in queues for fragment in queue]
    elif reply.get("interleave"):
        for group in itertools.zip_longest(*queues):
            yield from ([fragment] for fragment in group if fragment is not None)
    else:
        yield from ([fragment] for queue in queues for fragment in queue)


def _fragments_of(call: Json, index: int, reply: Json) -> list[Json]:
    arguments = call["arguments"]
    if reply.get("calls_whole") or reply.get("object_arguments"):
        head: Json = {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": arguments}}
        parts: list[str] = []
    else:
        head = {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": ""}}
        parts = list(_slices(arguments, reply.get("arg_chunk_chars", 16)))
    fragments = [head]
    for part in parts:
        fragment: Json = {"function": {"arguments": part}}
        if reply.get("repeat_id"):
            fragment["id"] = call["id"]
            fragment["function"]["name"] = call["name"]
        fragments.append(fragment)
    if reply.get("late_name"):
        del head["function"]["name"]
        fragments.append({"function": {"name": call["name"]}})
    for fragment in fragments:
        if not reply.get("omit_index"):
            fragment["index"] = 0 if reply.get("same_index") else index
    return fragments


def _slices(text: str, size: int) -> Iterator[str]:
    size = max(1, int(size))
    return (text[at : at + size] for at in range(0, len(text), size))


def _usage(reply: Json, request: Json, sent: int) -> dict[str, int] | None:
    wanted = reply.get("usage", "auto")
    if wanted in (False, None):
        return None
    if isinstance(wanted, dict):
        prompt, completion = int(wanted.get("prompt_tokens", 0)), int(wanted.get("completion_tokens", 0))
        return {**wanted, "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    asked = len(json.dumps(request.get("messages") or [])) + len(json.dumps(request.get("tools") or []))
    prompt, completion = max(1, asked // 4), max(1, sent // 4)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
