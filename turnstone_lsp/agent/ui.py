"""SessionUI: what a front end implements. The engine asks; the front end shows and answers.

Every question can be cancelled: the engine cancels the awaiting task, and the front end then closes its prompt.
A front end never invents consent: no answer, a closed window or an error is a denial.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turnstone_lsp.agent.events import Event
    from turnstone_lsp.tools.base import Kind, Location, Subject
    from turnstone_lsp.tools.context import PlanReview
    from turnstone_lsp.workspace.proposals import Proposal

Scope = Literal["once", "session", "workspace", "user"]


@dataclass(frozen=True, slots=True)
class Item:
    """One prepared call of a batch, as the user sees it (the spec's preview dict)."""

    call_id: str
    func_name: str
    header: str
    preview: str
    needs_approval: bool
    """This call waits for the user. False: it is shown and does not block."""
    error: str | None = None
    kind: Kind = "other"
    subject: Subject | None = None
    locations: tuple[Location, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it asks, beyond the tool's own default; shown with the question."""
    notes: tuple[str, ...] = ()
    approved_because: str | None = None
    edits: bool = False
    """Part of a file proposal of this batch: decided by its review, not by a question of its own."""
    parent_call_id: str | None = None
    always: str | None = None
    """What "always" would store ("bash: git status *"); None where it is not offered."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's answer to one item. Feedback reaches the model with either answer."""

    approved: bool
    feedback: str = ""
    scope: Scope = "once"
    """For an approval: how long it holds for the item's subject pattern."""
    grant: frozenset[str] = frozenset()
    """For a task: tools that its sub-agent may use without a further question."""


@dataclass(frozen=True, slots=True)
class FileReview:
    """The user's answer to one file's proposal.

    accepted: indexes of the accepted hunks, or None for an edited result; text: the text that the user wants in the
    file (the base for a full rejection); applied_by: who put it there - the client into its own buffer, nobody yet
    (the server applies it), or nobody ever (rejected).
    """

    accepted: frozenset[int] | None
    text: str
    applied_by: Literal["client", "server", "none"] = "server"
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """The user's answers to one batch: by call id, and by proposal id. What is missing is denied."""

    decisions: dict[str, Decision] = field(default_factory=dict)
    reviews: dict[str, FileReview] = field(default_factory=dict)


class SessionUI(Protocol):
    """A front end, as the engine sees it."""

    def emit(self, event: Event) -> None:
        """Take one event of the turn. Cheap; never blocks."""
        ...

    async def approve_tools(self, items: Sequence[Item], proposals: Sequence[Proposal]) -> Answers:
        """Ask the user about one batch. `items` holds every call, `proposals` the file changes to review."""
        ...

    async def review_plan(self, path: Path, text: str, call_id: str) -> PlanReview:
        """Show a finished plan; wait for accept, reject or annotate."""
        ...

    async def ask_continue(self, question: str) -> bool:
        """A limit was reached: go on? False when nobody can answer."""
        ...
