"""What the model is told after a review: exactly what went in, what did not, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import hunks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from turnstone_lsp.workspace.hunks import Hunk
    from turnstone_lsp.workspace.proposals import Proposal, Step
    from turnstone_lsp.workspace.snapshot import Snapshot

_SHORT_DIFF = 1_500
_LONG_DIFF = 8_000


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of one proposal. ok: something of it is in the file; text: all of it, for the user."""

    ok: bool
    text: str
    by_call: dict[str, str] = field(default_factory=dict)

    def text_for(self, call_id: str) -> str:
        """What the model reads as the result of one of the proposal's calls."""
        return self.by_call.get(call_id, self.text)


def rejected(proposal: Proposal, feedback: str) -> Applied:
    """Nothing went in."""
    hint = f"The user said: {feedback}" if feedback else "Do not repeat it; ask or find another way."
    return Applied(ok=False, text=f"The user rejected the change of {proposal.display}; the file is as it was. {hint}")


def applied(
    proposal: Proposal,
    text: str,
    accepted: frozenset[int] | None,
    *,
    now: str,
    unsaved: bool = False,
    after: str = "",
    feedback: str = "",
) -> Applied:
    """What went in, for all calls together and for each.

    Args:
        proposal: What was shown.
        text: What the user wanted in the file.
        accepted: The accepted hunks; None when the user edited the text.
        now: What is in the file.
        unsaved: The editor has it, and has not saved it.
        after: What the editor had to say about it.
        feedback: The user's words.
    """
    tail: list[str] = []
    if now != text:
        tail.append("The editor changed more on top (a formatter?):\n" + _difference(text, now, "accepted", "now"))
    if unsaved:
        tail.append("It is in the editor, not saved yet; commands see the old file.")
    if after:
        tail.append(after)
    if feedback:
        tail.append(f"The user said: {feedback}")
    by_call = {step.call_id: _told(_of_step(proposal, step, text, accepted), tail) for step in proposal.steps}
    if len(by_call) == 1:
        return Applied(ok=True, text=next(iter(by_call.values())))
    whole = _told(_body(proposal, proposal.call_ids, text, accepted), tail)
    return Applied(ok=True, text=whole, by_call=by_call)


def _told(body: str, tail: Sequence[str]) -> str:
    return "\n".join([body, *tail])


def _of_step(proposal: Proposal, step: Step, text: str, accepted: frozenset[int] | None) -> str:
    body = _body(proposal, (step.call_id,), text, accepted)
    return f"{body} Note: {step.about}." if step.about and body.startswith(_verb(proposal)) else body


def _verb(proposal: Proposal) -> str:
    return "Changed" if proposal.base.exists else "Created"


def _body(proposal: Proposal, calls: Collection[str], text: str, accepted: frozenset[int] | None) -> str:
    name, verb = proposal.display, _verb(proposal)
    if accepted is None and text != proposal.result:
        difference = _difference(proposal.result, text, "proposed", "in the file")
        return f"{verb} {name}, but the user edited the change first. In the file, against what you sent:\n{difference}"
    mine = [index for index, hunk in enumerate(proposal.hunks) if hunk.calls.intersection(calls)]
    went_in = mine if accepted is None else [index for index in mine if index in accepted]
    everything = range(len(proposal.hunks)) if accepted is None else accepted
    where = _where(proposal.hunks, went_in, everything) if proposal.base.exists else ""
    counts = _counts(proposal.hunks[index] for index in went_in)
    if len(went_in) == len(mine):
        return f"{verb} {name}{where} ({counts})."
    left_out = "\n".join(proposal.hunk_diff(index) for index in mine if index not in went_in)
    if not went_in:
        return f"The user rejected this change of {name}; none of it is in the file:\n{left_out}"
    return (
        f"{verb} {name} in part{where} ({counts}): the user accepted {len(went_in)} of {len(mine)} hunks. "
        f"Rejected, and not in the file:\n{left_out}"
    )


def _counts(chosen: Iterable[Hunk]) -> str:
    hunks_ = list(chosen)
    return f"+{sum(len(h.new) for h in hunks_)} -{sum(len(h.old) for h in hunks_)} lines"


def _where(all_hunks: Sequence[Hunk], shown: Sequence[int], present: Collection[int]) -> str:
    """The lines, in the file as it is now, of some of the hunks that are in it."""
    places: list[str] = []
    delta = 0
    for index, hunk in enumerate(all_hunks):
        if index not in present:
            continue
        if index in shown:
            first, count = hunk.start + delta + 1, len(hunk.new)
            places.append(f"{first}-{first + count - 1}" if count > 1 else str(first))
        delta += len(hunk.new) - len(hunk.old)
    more = f" and {len(places) - 10} more places" if len(places) > 10 else ""
    word = "line" if len(places) == 1 and "-" not in places[0] else "lines"
    return f" at {word} {', '.join(places[:10])}{more}" if places else ""


def _difference(old: str, new: str, old_name: str, new_name: str) -> str:
    diff = hunks.difference(old, new, old_name, new_name)
    return diff if len(diff) <= _LONG_DIFF else diff[:_LONG_DIFF] + "\n[... read the file for the rest]"


def moved(base: Snapshot, now: Snapshot, display: str) -> ToolError:
    """The text is not the one that the change was shown for."""
    if not now.exists:
        return ToolError(f"{display} was deleted after the change was shown. Nothing was written.")
    if not base.exists:
        return ToolError(f"{display} has appeared after the change was shown. Nothing was written; read it first.")
    diff = hunks.difference(base.text, now.text, "as shown", "now")
    diff = diff if len(diff) <= _SHORT_DIFF else diff[:_SHORT_DIFF] + " ..."
    return ToolError(
        f"{display} has changed since the change was shown, so nothing was written. Read it again.\n{diff}"
    )
