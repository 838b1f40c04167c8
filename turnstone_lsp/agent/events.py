"""What a turn emits: one typed stream, modelled on the Agent Client Protocol's second draft.

Messages and tool calls carry ids and are upserted; text arrives as deltas. A front end that knows only these types
can show everything; `to_json` in `agent/wire.py` is the one encoding of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from turnstone_lsp.tools.base import Kind, Location

TurnState = Literal["running", "requires_action", "idle"]
StopReason = Literal["completed", "cancelled", "failed", "limit"]
CallStatus = Literal["pending", "in_progress", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The turn runs, waits for the user, or has ended; `stop_reason` is set exactly once, with idle."""

    state: TurnState
    stop_reason: StopReason | None = None
    message: str = ""
    """For failed and limit: what happened and what to do next."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """The user's words as they enter the conversation."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the assistant's answer."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning, shown apart from the answer."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class MessageDone:
    """An assistant message is whole; `text` is all of it. `discarded`: what was shown is void (a retried stream)."""

    message_id: str
    text: str
    reasoning: str = ""
    discarded: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallUpdate:
    """A tool call's state: the first one creates it, later ones replace the given fields."""

    call_id: str
    name: str
    status: CallStatus
    kind: Kind = "other"
    header: str = ""
    preview: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    locations: tuple[Location, ...] = ()
    parent_call_id: str | None = None
    result: str | None = None
    approved_because: str | None = None
    """Why no question was asked: "auto-approved tool", a rule, a mode, a grant."""
    level: str | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A piece of a running call's output."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of the last request and of the session; `estimated` when the endpoint gave no numbers."""

    prompt_tokens: int
    completion_tokens: int
    session_tokens: int
    context_window: int | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know that is not part of the answer (a retry, a compaction, an untrusted folder)."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class PlanReady:
    """A plan was written and waits for, or has got, its review."""

    path: str
    text: str
    decision: Literal["accept", "reject", "annotate"] | None = None


Event = (
    StateChanged
    | UserMessage
    | TextDelta
    | ReasoningDelta
    | MessageDone
    | ToolCallUpdate
    | ToolOutput
    | Usage
    | Notice
    | PlanReady
)
