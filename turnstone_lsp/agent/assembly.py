"""Puts a streamed reply together: text, reasoning, and tool calls that arrive in fragments of every kind."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of the model. arguments: as sent; cut: the reply ended inside it, so it must not run."""

    id: str
    name: str
    arguments: str
    cut: bool = False


def new_call_id() -> str:
    """An id of ours, for a call that came without one or with one that is taken."""
    return f"call_{secrets.token_hex(8)}"


@dataclass(slots=True)
class _Slot:
    index: object
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class CallAssembler:
    """Fragments to calls: joined by id, then by index, else to the last call; a new id always opens a new call."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []

    def feed(self, fragments: list[dict[str, Any]]) -> None:
        """Take the `delta.tool_calls` of one event."""
        for fragment in fragments:
            function = fragment.get("function") or {}
            slot = self._slot(fragment.get("id") or "", fragment.get("index"), function)
            name = function.get("name") or ""
            if name and name != slot.name:
                slot.name = name if not slot.name or name.startswith(slot.name) else slot.name + name
            arguments = function.get("arguments")
            if isinstance(arguments, dict):  # some servers send the object itself
                import json

                arguments = json.dumps(arguments)
            if arguments:
                slot.arguments.append(arguments)

    def _slot(self, call_id: str, index: object, function: dict[str, Any]) -> _Slot:
        if call_id:
            for slot in self._slots:
                if slot.id == call_id:
                    return slot
            for slot in self._slots:  # an id that comes late, for a call that has none yet
                if not slot.id and index is not None and slot.index == index and not function.get("name"):
                    slot.id = call_id
                    return slot
            return self._open(call_id, index)
        if index is not None:
            for slot in reversed(self._slots):
                if slot.index == index and not self._starts_anew(slot, function):
                    return slot
            return self._open("", index)
        if self._slots and not self._starts_anew(self._slots[-1], function):
            return self._slots[-1]
        return self._open("", None)

    @staticmethod
    def _starts_anew(slot: _Slot, function: dict[str, Any]) -> bool:
        """A fragment with a name, for a call that has its name and arguments: another call without id."""
        name = function.get("name")
        return bool(name and slot.name and slot.arguments and not slot.id and name != slot.name)

    def _open(self, call_id: str, index: object) -> _Slot:
        self._slots.append(_Slot(index, call_id))
        return self._slots[-1]

    def calls(self, *, cut: bool) -> list[ToolCall]:
        """The calls in the order in which they began. `cut`: the reply was cut, so its last call may be a part."""
        out = []
        for number, slot in enumerate(self._slots):
            last = number == len(self._slots) - 1
            call_id = slot.id or new_call_id()
            out.append(ToolCall(call_id, slot.name.strip(), "".join(slot.arguments), cut=cut and last))
        return out
