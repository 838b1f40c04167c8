"""Our own protocol on top of LSP: its version, its method names, and what a client says that it speaks of it.

A client says so in its capabilities::

    "experimental": {"turnstone": {"version": 1, "updates": true, "approvals": true, "reviews": true}}

`messages.py` and `command_table.py` describe every message and command field by field; they check arguments at run
time, and `scripts/protocol.py` makes `docs/protocol.md` from them.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERSION = 1

# server -> client
UPDATE = "turnstone/update"
REQUEST_APPROVAL = "turnstone/requestApproval"
REVIEW_EDITS = "turnstone/reviewEdits"
REVIEW_PLAN = "turnstone/reviewPlan"
RESOLVED = "turnstone/resolved"
APPLY_EDIT = "turnstone/applyEdit"
SAVE_DOCUMENT = "turnstone/saveDocument"

# client -> server
CONTEXT = "turnstone/context"

CLIENT_ASK = "turnstone.client.ask"
"""The command that a client of this protocol runs itself when "Ask turnstone" is chosen: it opens its prompt."""


@dataclass(frozen=True, slots=True)
class Speaks:
    """What a client says that it understands."""

    updates: bool = False
    """It shows the event stream."""
    approvals: bool = False
    """It answers requestApproval and reviewPlan."""
    reviews: bool = False
    """It answers reviewEdits, applyEdit and saveDocument."""

    @classmethod
    def of(cls, experimental: object) -> Speaks:
        """From the client's `experimental` capabilities. Another version counts as not spoken."""
        said = experimental.get("turnstone") if isinstance(experimental, dict) else None
        if not isinstance(said, dict) or said.get("version") != VERSION:
            return cls()
        return cls(*(said.get(name) is True for name in ("updates", "approvals", "reviews")))


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    type: "string", "integer", "boolean", "any", the name of a record, or one of them with "[]" for a list; several
    joined by "|". A quoted word stands for itself.
    """

    type: str
    about: str
    optional: bool = False


Record = dict[str, Field]


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at what was meant: "did you mean 'wait'?", or the list of all that there is."""
    known = list(known)
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean '{near[0]}'?" if near else f"it takes {', '.join(known) or 'nothing'}."


def misfit(value: Any, kind: str, records: Mapping[str, Record], *, strict: bool = False) -> str | None:
    """Why a JSON value is not of a type: "must be ..."; None when it is. strict: no fields that nobody knows."""
    kinds = kind.split("|")
    if any(_fits(value, k, records, strict) for k in kinds):
        return None
    if len(kinds) == 1 and kind in records and isinstance(value, dict):
        return misfit_of_record(value, records[kind], records, strict=strict)
    if all(k[0] == '"' for k in kinds):
        return "must be one of " + ", ".join(k.strip('"') for k in kinds)
    return "must be of type " + " or ".join(kinds)


def _fits(value: Any, kind: str, records: Mapping[str, Record], strict: bool) -> bool:
    if kind.endswith("[]"):
        return isinstance(value, list) and all(_fits(v, kind[:-2], records, strict) for v in value)
    if kind[0] == '"':
        return bool(value == kind[1:-1])
    match kind:
        case "any":
            return True
        case "null":
            return value is None
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
    return isinstance(value, dict) and misfit_of_record(value, records[kind], records, strict=strict) is None


def misfit_of_record(
    value: Mapping[str, Any], record: Record, records: Mapping[str, Record], *, strict: bool = False
) -> str | None:
    """Why an object does not have a record's fields, naming the field; None when it does. null counts as left out."""
    if strict and (unknown := [name for name in value if name not in record]):
        return f"has an unknown field '{unknown[0]}'; {nearest(unknown[0], record)}"
    for name, field in record.items():
        given = value.get(name)
        if given is None:
            if not field.optional and not {"null", "any"}.intersection(field.type.split("|")):
                return f"needs '{name}': {field.about}"
        elif (why := misfit(given, field.type, records, strict=strict)) is not None:
            return f"'{name}' {why}"
    return None
