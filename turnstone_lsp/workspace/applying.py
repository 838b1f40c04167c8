"""Applies what the user accepted: bound to the base and the result that were shown, and checked before and after.

An open document is changed through the editor alone, a closed file on the disk. If the text is not the base any more,
nothing is written.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import checks, encoded, hunks, opening, reporting, writing
from turnstone_lsp.workspace.encoded import Encoded
from turnstone_lsp.workspace.hunks import Change
from turnstone_lsp.workspace.snapshot import Fingerprint, Snapshot, TextFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path
    from typing import Any

    from turnstone_lsp.workspace.documents import OpenDocument
    from turnstone_lsp.workspace.journal import Entry, Journal
    from turnstone_lsp.workspace.proposals import Proposal
    from turnstone_lsp.workspace.reporting import Applied
    from turnstone_lsp.workspace.view import Workspace

AppliedBy = Literal["client", "server", "none"]

SYNC_SECONDS = 2.0
"""How long an editor's change may take to come back as the synced text."""
AFTER_SECONDS = 2.0
"""How long the result may wait for the editor's diagnostics."""
_STEP = 0.01
_INLINE = 512 * 1024
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Change:
    """One file's change on its way: from `base` to `text`, which `changes` make of it."""

    base: Snapshot
    text: str
    display: str
    changes: Sequence[Change]
    journal: Journal | None = None
    turn: str = ""

    def record(self) -> Entry | None:
        """Keep the way back, before anything is changed. Blocks."""
        if self.journal is None or not self.turn:
            return None
        return self.journal.record(self.turn, self.base, self.text, self.changes)

    def settle(self, entry: Entry | None, now: Snapshot) -> None:
        """The file has the text that was meant, or another (a formatter's), or none of the change. Blocks."""
        if self.journal is None or entry is None:
            return
        if now.text == self.text and now.exists:
            self.journal.finish(entry, now)
        elif now.text == self.base.text and now.exists == self.base.exists:
            self.journal.discard(entry)
        else:
            self.journal.settle(entry, self.base, now.text, hunks.whole(self.base.text, now.text))


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
        applied_by: "client": the editor says that its buffer has the text; "none": nothing was accepted.
        feedback: The user's words, for the model.
        journal: Keeps what it takes to undo.
        turn: The turn's id in the journal.

    Raises:
        ToolError: It cannot be applied, or the file has moved on; nothing was written.
    """
    if applied_by == "none" or (text == proposal.base.text and proposal.base.exists):
        return reporting.rejected(proposal, feedback)
    if accepted is not None and text != proposal.with_hunks(accepted):
        accepted = None
    if applied_by == "server" and accepted is not None:
        checks.still_json(proposal.path, proposal.display, proposal.base.text, text)
    change = _Change(proposal.base, text, proposal.display, _changes(proposal, text, accepted), journal, turn)
    async with workspace.lock(proposal.path):
        if applied_by == "client":
            after = await _confirm_client(workspace, change)
        else:
            after = await _put(workspace, change)
        await _note(workspace, after)
    workspace.staging.done(proposal)
    document = workspace.documents.get(proposal.path)
    return reporting.applied(
        proposal,
        text,
        accepted,
        now=after.text,
        unsaved=document is not None and document.dirty,
        after=await _after_edit(workspace, proposal.path),
        feedback=feedback,
    )


async def _note(workspace: Workspace, after: Snapshot) -> None:
    """The agent knows this text now. In a thread where it must be hashed and is long."""
    if len(after.text) <= _INLINE or (after.format.encoding == "utf-8" and not after.format.bom):
        workspace.reads.note(after)
    else:
        await asyncio.to_thread(workspace.reads.note, after)


def _changes(proposal: Proposal, text: str, accepted: frozenset[int] | None) -> Sequence[Change]:
    if accepted is None:
        return hunks.whole(proposal.base.text, text)
    if len(accepted) == len(proposal.hunks):
        return proposal.changes
    chosen = [proposal.hunks[index] for index in sorted(accepted)]
    return [Change(h.offset, h.offset_end, "".join(h.new)) for h in chosen]


async def put_text(
    workspace: Workspace, path: Path, text: str, *, journal: Journal | None = None, turn: str = ""
) -> None:
    """Make a file hold a text that nobody needs to review (a plan). Raises ToolError."""
    async with workspace.lock(path):
        base = await workspace.snapshot(path)
        if base.text != text or not base.exists:
            display = workspace.roots.display(path)
            await _put(workspace, _Change(base, text, display, hunks.whole(base.text, text), journal, turn))


async def put(workspace: Workspace, base: Snapshot, text: str, display: str) -> Snapshot:
    """Replace a text that was just read; what is there afterwards. The path's lock must be held. Raises ToolError."""
    return await _put(workspace, _Change(base, text, display, ()))


async def _put(workspace: Workspace, change: _Change) -> Snapshot:
    if workspace.documents.get(change.base.path) is None:
        return await _to_its_end(_put_on_disk(workspace, change))
    return await _put_in_editor(workspace, change)


async def _to_its_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Await work that is not left half done when the turn is stopped: a lock must not be let go under a write."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:  # asked again to stop: the write still comes to its end
                continue
        raise


# -- closed files


async def _put_on_disk(workspace: Workspace, change: _Change) -> Snapshot:
    base, text = change.base, change.text

    def work() -> Snapshot:
        state, form = _disk_state(workspace, base, change.display)
        pieces = Encoded(text, form, change.display)
        pieces.check()
        entry = change.record()
        try:
            fingerprint = writing.write(base.path, pieces, state)
        except ToolError:
            change.settle(entry, base)
            raise
        after = Snapshot(base.path, text, form, fingerprint)
        change.settle(entry, after)
        return after

    return await asyncio.to_thread(work)


def _disk_state(workspace: Workspace, base: Snapshot, display: str) -> tuple[Fingerprint | None, TextFormat]:
    """The file's state, once its content was found to be the base, and its format. Raises ToolError when it is not."""
    if not base.is_buffer and base.exists:
        try:
            with opening.open_verified(base.path) as descriptor:
                state = os.fstat(descriptor)  # before comparing: what changes meanwhile then has another
                if encoded.holds(descriptor, Encoded(base.text, base.format, display)):
                    return _fingerprint(state, base.fingerprint.sha256), base.format
        except FileNotFoundError:
            pass
    now = workspace.disk_snapshot(base.path)
    if now.text != base.text or now.exists != base.exists:
        raise reporting.moved(base, now, display)
    return (now.fingerprint if now.exists else None), now.format


def _fingerprint(state: os.stat_result, sha256: str) -> Fingerprint:
    return Fingerprint(sha256, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


# -- open documents


async def _put_in_editor(workspace: Workspace, change: _Change) -> Snapshot:
    base = change.base
    refusal = workspace.editor.can_apply()
    if refusal is not None:
        raise ToolError(f"{change.display} is open in the editor, and {refusal}. Nothing was changed.")
    entry = await asyncio.to_thread(change.record)
    try:
        document = await _present(workspace, change)
        was_dirty = document.dirty
        reason = await workspace.editor.apply(document, base.text, change.text, f"turnstone: {change.display}")
        await _wait_for(workspace, document, change.text)
        await _check_changed(workspace, change, reason)
    except ToolError:
        await asyncio.to_thread(change.settle, entry, base)
        raise
    await _save(workspace, base.path, was_dirty=was_dirty)
    return await _settled(workspace, change, entry)


async def _check_changed(workspace: Workspace, change: _Change, reason: str | None) -> None:
    """Raise ToolError when the text is still the base; after a no, or closed, when it is not the new one either."""
    now = await workspace.snapshot(change.base.path)
    if now.text == change.base.text and now.exists == change.base.exists:
        why = f" ({reason})" if reason else ""
        raise ToolError(f"The editor did not change {change.display}{why}: its text is as before. Read it again.")
    unsure = reason is not None or workspace.documents.get(change.base.path) is None
    if unsure and now.text != change.text:
        raise reporting.moved(change.base, now, change.display)


async def _present(workspace: Workspace, change: _Change) -> OpenDocument:
    """The open document, with the base as its text at this very moment. Raises ToolError when it has moved on."""
    document = workspace.documents.get(change.base.path)
    if document is None or document.text != change.base.text or not change.base.exists:
        now = await workspace.snapshot(change.base.path)
        raise reporting.moved(change.base, now, change.display)
    return document


async def _wait_for(workspace: Workspace, document: OpenDocument, text: str) -> None:
    """Until the document has the text, is closed, or time is up: then whoever asks compares what is there."""
    loop = asyncio.get_running_loop()
    end = loop.time() + SYNC_SECONDS
    while loop.time() < end:
        now = workspace.documents.by_uri(document.uri)
        if now is None or now.text == text:
            return
        await asyncio.sleep(_STEP)


async def _save(workspace: Workspace, path: Path, *, was_dirty: bool) -> None:
    """A document that was clean before the edit is saved at once, if the setting says so."""
    document = workspace.documents.get(path)
    if workspace.edits.save_after_accept and not was_dirty and document is not None and document.dirty:
        await workspace.editor.save(path)


async def _settled(workspace: Workspace, change: _Change, entry: Entry | None) -> Snapshot:
    """What is there in the end, a formatter's changes included; the journal then knows it too."""
    after = await workspace.snapshot(change.base.path)
    await asyncio.to_thread(change.settle, entry, after)
    return after


async def _confirm_client(workspace: Workspace, change: _Change) -> Snapshot:
    """The client says that its buffer has the text: believe the synced text only."""
    base = change.base
    document = workspace.documents.get(base.path)
    if document is not None:
        await _wait_for(workspace, document, change.text)
    await _check_changed(workspace, change, None)
    entry = await asyncio.to_thread(change.record)
    was_clean = await asyncio.to_thread(_disk_holds, workspace, base)
    await _save(workspace, base.path, was_dirty=not was_clean)
    return await _settled(workspace, change, entry)


def _disk_holds(workspace: Workspace, base: Snapshot) -> bool:
    try:
        return workspace.disk_snapshot(base.path).text == base.text
    except ToolError:
        return False


# -- afterwards


async def _after_edit(workspace: Workspace, path: Path) -> str:
    """What the editor has to say about the changed file (new diagnostics), within a bounded wait."""
    ask: Callable[[Path], Coroutine[Any, Any, str]] | None = workspace.after_edit
    if ask is None:
        return ""
    try:
        async with asyncio.timeout(AFTER_SECONDS):
            return await ask(path)
    except TimeoutError:
        return ""
