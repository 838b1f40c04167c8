"""Tool calls from the fragments of a stream, however an endpoint numbers them."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of the model.

    arguments: as sent; cut: the reply was ended by the length limit, so it must not run; extra: fields beside the
    usual ones, which some endpoints want back (Google's thought signatures).
    """

    id: str
    name: str
    arguments: str
    cut: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


def new_call_id() -> str:
    """An id of ours, for a call that came without one or with one that is taken."""
    return f"call_{secrets.token_hex(8)}"


def is_object(text: str) -> bool:
    """Whether a text is one whole JSON object."""
    if text[:1] != "{" or text.rstrip()[-1:] != "}":
        return False
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False


@dataclass(slots=True)
class _Slot:
    index: object
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    size: int = 0

    @property
    def text(self) -> str:
        return "".join(self.arguments)


class CallAssembler:
    """Fragments to calls. Endpoints leave out or repeat ids, names and indexes, and give all calls one index.

    A fragment belongs to the call with its id; else to the last call with its index; else to the last call. It opens
    a new call when it names a tool and the call that it would belong to is another one or is whole already.
    """

    def __init__(self) -> None:
        self._slots: list[_Slot] = []

    def feed(self, fragments: list[dict[str, Any]]) -> None:
        """Take the `delta.tool_calls` of one event."""
        for fragment in fragments:
            function = fragment.get("function")
            function = function if isinstance(function, dict) else {}
            name = _text(function.get("name"))
            slot = self._slot(_text(fragment.get("id")), fragment.get("index"), name)
            slot.name = _joined(slot.name, name)
            self._add_arguments(slot, function.get("arguments"))
            slot.extra |= {k: v for k, v in fragment.items() if k == "extra_content"}

    def __bool__(self) -> bool:
        return bool(self._slots)

    def last(self) -> tuple[str, int]:
        """Name and characters of arguments of the call that began last."""
        return (self._slots[-1].name, self._slots[-1].size) if self._slots else ("", 0)

    def calls(self, *, cut: bool) -> list[ToolCall]:
        """The calls in the order in which they began, with unique ids. cut: the length limit ended the reply."""
        made: list[ToolCall] = []
        taken: set[str] = set()
        for slot in self._slots:
            call_id = slot.id if slot.id and slot.id not in taken else new_call_id()
            taken.add(call_id)
            made.append(ToolCall(call_id, slot.name.strip(), slot.text, cut, slot.extra))
        return made

    def whole(self) -> bool:
        """Whether no call can have lost its end: each has a name, and arguments that are an object, text or nothing."""
        return all(
            s.name and (not s.text.strip() or s.text.lstrip()[0] not in "{[" or is_object(s.text)) for s in self._slots
        )

    @staticmethod
    def _add_arguments(slot: _Slot, arguments: Any) -> None:
        if isinstance(arguments, (dict, list)):  # some endpoints send the object itself
            arguments = json.dumps(arguments, ensure_ascii=False)
        if not isinstance(arguments, str) or not arguments:
            return
        if len(arguments) == slot.size > 2 and arguments == slot.text and is_object(arguments):
            return  # sent once more at the end
        slot.arguments.append(arguments)
        slot.size += len(arguments)

    def _slot(self, call_id: str, index: object, name: str) -> _Slot:
        if call_id:
            for slot in self._slots:
                if slot.id == call_id:
                    return slot
        candidates = [s for s in self._slots if s.index == index] if index is not None else self._slots
        last = candidates[-1] if candidates else None
        if last is None or self._begins(last, call_id, name):
            last = _Slot(index)
            self._slots.append(last)
        last.id = last.id or call_id
        return last

    @staticmethod
    def _begins(slot: _Slot, call_id: str, name: str) -> bool:
        """Whether a fragment that would belong to this call begins another one."""
        if call_id and slot.id:
            return bool(name) or is_object(slot.text)
        if not name or not slot.name:
            return False
        return bool(slot.arguments) and (name != slot.name or is_object(slot.text))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _joined(known: str, name: str) -> str:
    """A name that is repeated, grows, or comes in parts."""
    if not name or name == known:
        return known
    return name if name.startswith(known) else known + name
