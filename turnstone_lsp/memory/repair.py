"""A history that an endpoint accepts, whatever moment the server died at (faults 98: a call without its result)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Message = dict[str, Any]
"""A chat message in the OpenAI shape."""

INTERRUPTED = (
    "interrupted: the session ended before this call finished. Whether it had an effect is unknown; "
    "check before you repeat it."
)
CUT = "[interrupted]"
"""Ends an answer whose stream was cut."""


def repair(messages: Iterable[Message]) -> list[Message]:
    """The messages with every call answered exactly once, right after the message that made it, in call order.

    A call without a result gets INTERRUPTED, a result without a call is left out. Call ids need not be unique in a
    session: a result belongs to the latest open call with its id.
    """
    history: list[Message | None] = []
    open_calls: dict[str, int] = {}
    for message in messages:
        if message.get("role") == "tool":
            place = open_calls.pop(str(message.get("tool_call_id")), None)
            if place is not None:
                history[place] = message
            continue
        history.append(message)
        for call in message.get("tool_calls") or ():
            open_calls[call["id"]] = len(history)
            history.append(None)
    if None not in history:
        return history  # type: ignore[return-value]  # no None is left in it
    return list(_filled(history))


def _filled(history: list[Message | None]) -> Iterable[Message]:
    """The history with an INTERRUPTED result in each open place."""
    waiting: list[str] = []
    for message in history:
        if message is None:
            yield {"role": "tool", "tool_call_id": waiting.pop(0), "content": INTERRUPTED}
        elif message.get("role") == "tool":
            waiting.pop(0)
            yield message
        else:
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
            yield message


def cut(message: Message) -> Message | None:
    """A half-streamed assistant message as history: its text, marked; None when there is none. Its calls never ran."""
    text = message.get("content")
    if not isinstance(text, str) or not text.strip():
        return None
    return {"role": "assistant", "content": f"{text}\n\n{CUT}"}
