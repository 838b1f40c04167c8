"""Applies what the user accepted: bound to the base and the result that were shown, and checked before and after.

An open document is changed through the editor alone, a closed file on the disk. If the text is not the base any more,
nothing is written.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import codec, hunks, writing

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.workspace.documents import OpenDocument
    from turnstone_lsp.workspace.journal import Journal
    from turnstone_lsp.workspace.proposals import Proposal
    from turnstone_lsp.workspace.snapshot import Snapshot
    from turnstone_lsp.workspace.view import Workspace

AppliedBy = Literal["client", "server", "none"]

SYNC_SECONDS = 2.0
"""How long an editor's change may take to come back as the synced text."""
_STEP = 0.01
_DIFF_LIMIT = 1_500


@dataclass(slots=True)
class Applied:
    """What came of one proposal. `text_for` is what each call's model reads."""

    ok: bool
    text: str
    abouts: dict[str, str] = field(default_factory=dict)

    def text_for(self, call_id: str) -> str:
        """The result text of one of the proposal's calls."""
        about = self.abouts.get(call_id)
        return f"{self.text}\n{about}" if about and self.ok else self.text


async def apply_review(
    workspace: Workspace,
    proposal: Proposal,
    text: str,
    *,
    accepted: frozenset[int] | None,
    applied_by: AppliedBy = "server",
    feedback: str = "",
    journal: Journal | None = None,
    turn: str = "",
) -> Applied:
    """Put the reviewed text in place and say what went in.

    Args:
        workspace: Where the file is.
        proposal: What was shown.
        text: What the user wants in the file.
        accepted: The accepted hunks; None for a text that the user edited.
        applied_by: "client": the editor has put it into its buffer; "none": nothing was accepted.
        feedback: The user's words, for the model.
        journal: Keeps the images for undo.
        turn: The turn's id in the journal.

    Raises:
        ToolError: It cannot be applied, or the file has moved on; nothing was written.
    """
    said = f" The user said: {feedback}" if feedback else ""
    if applied_by == "none" or (text == proposal.base.text and proposal.base.exists):
        hint = said or " Do not repeat it; ask or find another way."
        return Applied(
            ok=False, text=f"The user rejected the change of {proposal.display}; the file is as it was.{hint}"
        )
    _refuse_broken(proposal, text)
    async with workspace.lock(proposal.path):
        if applied_by == "client":
            await _confirm_client(workspace, proposal, text, journal, turn)
        else:
            await _put(workspace, proposal.base, text, proposal.display, journal, turn)
        after = await workspace.snapshot(proposal.path)
        workspace.reads.note(after)
    outcome = _describe(proposal, text, accepted, after) + said
    return Applied(ok=True, text=outcome, abouts={s.call_id: s.about for s in proposal.steps if s.about})


async def put_text(
    workspace: Workspace, path: Path, text: str, *, journal: Journal | None = None, turn: str = ""
) -> None:
    """Make a file hold a text that nobody needs to review (a plan, an undone image). Raises ToolError."""
    async with workspace.lock(path):
        base = await workspace.snapshot(path)
        if base.text != text or not base.exists:
            await _put(workspace, base, text, workspace.roots.display(path), journal, turn)


async def _put(
    workspace: Workspace, base: Snapshot, text: str, display: str, journal: Journal | None, turn: str
) -> None:
    """Replace the base by the text, if the base is what is there."""
    now = await workspace.snapshot(base.path)
    if now.text != base.text or now.exists != base.exists:
        raise _moved(base, now, display)
    document = workspace.documents.get(base.path)
    before, after = await asyncio.to_thread(_images, now, text, display)
    if journal is not None:
        await asyncio.to_thread(journal.record, turn, base.path, before, after)
    if document is not None:
        await replace_in_editor(workspace, base, text, display)
    else:
        expected = now.fingerprint if now.exists else None
        await asyncio.to_thread(writing.write, base.path, after, expected)


def _images(now: Snapshot, text: str, display: str) -> tuple[bytes | None, bytes]:
    """The file's bytes before and after. Encodes first: what cannot be encoded changes nothing."""
    after = codec.encode(text, now.format, display)
    before = codec.encode(now.text, now.format, display) if now.exists else None
    return before, after


async def replace_in_editor(workspace: Workspace, base: Snapshot, text: str, display: str) -> None:
    """Change an open document through its editor, then save it if it was clean. Raises ToolError if it did not."""
    document = workspace.documents.get(base.path)
    if document is None:
        raise ToolError(f"{display} was closed in the editor in the meantime. Nothing was changed.")
    refusal = workspace.editor.can_apply()
    if refusal is not None:
        raise ToolError(f"{display} is open in the editor, and {refusal}. Nothing was changed.")
    was_dirty = document.dirty
    reason = await workspace.editor.apply(document, base.text, text, f"turnstone: {display}")
    synced = await _wait_for(workspace, document, text)
    if synced == base.text:
        raise ToolError(f"The editor did not change {display}{f' ({reason})' if reason else ''}. Nothing was changed.")
    # Another text still: the editor changed more on top, or a part. The caller reports what is there now.
    await _save(workspace, base.path, was_dirty=was_dirty)


async def _wait_for(workspace: Workspace, document: OpenDocument, text: str) -> str | None:
    """None as soon as the document has the text; else what it has at the end of the wait."""
    loop = asyncio.get_running_loop()
    end = loop.time() + SYNC_SECONDS
    while True:
        now = workspace.documents.by_uri(document.uri)
        if now is None:
            return document.text
        if now.text == text:
            return None
        if loop.time() >= end:
            return now.text
        await asyncio.sleep(_STEP)


async def _save(workspace: Workspace, path: Path, *, was_dirty: bool) -> None:
    """A document that was clean before the edit is saved at once, if the setting says so."""
    if workspace.edits.save_after_accept and not was_dirty:
        await workspace.editor.save(path)


async def _confirm_client(
    workspace: Workspace, proposal: Proposal, text: str, journal: Journal | None, turn: str
) -> None:
    """The client says that its buffer has the text: believe the synced text only."""
    document = workspace.documents.get(proposal.path)
    if document is None:
        raise ToolError(f"The editor says that it changed {proposal.display}, but it is not open. Read it again.")
    left = await _wait_for(workspace, document, text)
    if left == proposal.base.text:
        raise ToolError(
            f"The editor said that it changed {proposal.display}, but its text is as before. Read it again."
        )
    if journal is not None:
        before, after = await asyncio.to_thread(
            _images, proposal.base, text if left is None else left, proposal.display
        )
        await asyncio.to_thread(journal.record, turn, proposal.path, before, after)


def _moved(base: Snapshot, now: Snapshot, display: str) -> ToolError:
    if not now.exists:
        return ToolError(f"{display} was deleted after the change was shown. Nothing was written.")
    if not base.exists:
        return ToolError(f"{display} has appeared after the change was shown. Nothing was written; read it first.")
    old = hunks.lines_of(base.text)
    diff = hunks.unified(old, hunks.between(old, hunks.lines_of(now.text)), "as shown", "now")
    return ToolError(
        f"{display} has changed since the change was shown, so nothing was written. Read it again.\n{diff[:_DIFF_LIMIT]}"
    )


def _refuse_broken(proposal: Proposal, text: str) -> None:
    """A valid notebook or JSON file stays valid. Raises ToolError."""
    if proposal.path.suffix.lower() not in (".json", ".ipynb"):
        return
    if _is_json(proposal.base.text) and not _is_json(text):
        raise ToolError(
            f"{proposal.display} is valid JSON and would not be after this change, so nothing was written. "
            f"{_json_error(text)} Send an edit that keeps it valid."
        )


def _is_json(text: str) -> bool:
    return _json_error(text) == ""


def _json_error(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        return f"The JSON error: {error}."
    return ""


def _describe(proposal: Proposal, text: str, accepted: frozenset[int] | None, after: Snapshot) -> str:
    verb = "Changed" if proposal.base.exists else "Created"
    added, removed = proposal.counts
    parts: list[str] = []
    if text == proposal.result:
        parts.append(f"{verb} {proposal.display} (+{added} -{removed} lines){_where(proposal)}.")
    elif accepted is not None:
        total = len(proposal.hunks)
        rejected = [i for i in range(total) if i not in accepted]
        parts.append(f"{verb} {proposal.display} in part: the user accepted {len(accepted)} of {total} hunks.")
        parts.append("Rejected, and not in the file:\n" + "\n".join(proposal.hunk_diff(i) for i in rejected))
    else:
        parts.append(
            f"{verb} {proposal.display}, but the user edited the change first. In the file now, against yours:"
        )
        parts.append(_difference(proposal.result, text))
    if after.text != text:
        parts.append("The editor changed more on top (a formatter?):\n" + _difference(text, after.text))
    return "\n".join(parts)


def _where(proposal: Proposal) -> str:
    lines = [f"{h.new_start + 1}-{h.new_start + max(1, len(h.new))}" for h in proposal.hunks[:10]]
    return f" at lines {', '.join(lines)}" if lines and proposal.base.exists else ""


def _difference(old: str, new: str) -> str:
    lines = hunks.lines_of(old)
    diff = hunks.unified(lines, hunks.between(lines, hunks.lines_of(new)), "proposed", "in the file")
    return diff if len(diff) <= 4 * _DIFF_LIMIT else diff[: 4 * _DIFF_LIMIT] + "\n[... read the file for the rest]"
