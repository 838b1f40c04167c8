"""What the user's answer to a file's change means: from a decision, or read back from the text that is there now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from turnstone_lsp.agent.ui import FileReview
from turnstone_lsp.lsp.edge import RefusedError
from turnstone_lsp.workspace import hunks

if TYPE_CHECKING:
    from turnstone_lsp.workspace.proposals import Proposal

AppliedBy = Literal["client", "server"]


def accepted(proposal: Proposal) -> FileReview:
    """All of it, to be applied by the server."""
    return FileReview(frozenset(range(len(proposal.hunks))), proposal.result)


def rejected(proposal: Proposal, feedback: str = "") -> FileReview:
    """Nothing of it."""
    return FileReview(frozenset(), proposal.base.text, "none", feedback)


def review_of(proposal: Proposal, decision: str, given: dict[str, Any], feedback: str) -> FileReview:
    """A review from a decision (accept, partial, reject), `hunks`, `text` and `appliedBy`.

    Raises RefusedError for a partial answer that says neither which hunks nor what text, and for hunks that are not.
    """
    applied_by: AppliedBy = "client" if given.get("appliedBy") == "client" else "server"
    if decision == "reject" or given.get("appliedBy") == "none":
        return rejected(proposal, feedback)
    text, indexes = given.get("text"), given.get("hunks")
    chosen = None if indexes is None else _hunks(proposal, indexes)
    if decision == "accept":
        if chosen is None and (text is None or text == proposal.result):
            chosen = frozenset(range(len(proposal.hunks)))
    elif chosen is None and not isinstance(text, str):
        raise RefusedError("'hunks': a partial answer names the accepted hunks, or gives the whole 'text'.")
    if isinstance(text, str):
        if chosen is not None and proposal.with_hunks(chosen) != text:
            chosen = None  # the text is the truth: the user has edited it
        result = FileReview(chosen, text, applied_by, feedback)
    else:
        result = FileReview(chosen, proposal.with_hunks(chosen or ()), applied_by, feedback)
    nothing = result.text == proposal.base.text and proposal.base.exists
    none_chosen = bool(proposal.hunks) and chosen == frozenset()
    return rejected(proposal, feedback) if nothing or none_chosen else result


def _hunks(proposal: Proposal, indexes: Any) -> frozenset[int]:
    count = len(proposal.hunks)
    if not isinstance(indexes, list) or any(not isinstance(i, int) or not 0 <= i < count for i in indexes):
        raise RefusedError(f"'hunks': it lists indexes of the {count} hunks, counted from 0.")
    return frozenset(indexes)


def read_back(proposal: Proposal, text: str, *, applied: bool) -> FileReview:
    """What an editor's own preview came to, from the text that the document has afterwards.

    applied: the editor says that it applied something; that alone counts for nothing, but a text in which none of our
    hunks is found as proposed is the user's own typing without it, and with it a change that was altered on its way.
    """
    if text == proposal.base.text:
        return rejected(proposal)
    if text == proposal.result:
        return FileReview(frozenset(range(len(proposal.hunks))), text, "client")
    now = {(h.start, h.end, h.new) for h in hunks.between(proposal.base.text, text)}
    chosen = frozenset(i for i, h in enumerate(proposal.hunks) if (h.start, h.end, h.new) in now)
    if not chosen and not applied:
        return rejected(proposal)
    return FileReview(chosen if proposal.with_hunks(chosen) == text else None, text, "client")
