"""Undo and redo of a turn: what write_file and edit_file changed or created, and no more.

They go the way of every change: open documents through the editor, closed files durably, and never over a text that
the user has changed since.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import applying, hunks, writing
from turnstone_lsp.workspace.hunks import Change
from turnstone_lsp.workspace.reads import text_digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turnstone_lsp.workspace.journal import Entry, Journal, Turn
    from turnstone_lsp.workspace.snapshot import Snapshot
    from turnstone_lsp.workspace.view import Workspace

_CHANGED = "it was changed since"


@dataclass(frozen=True, slots=True)
class _Way:
    """Where a file's way back or forth ends: the text (None: no file), and the entries that it passed."""

    text: str | None
    passed: tuple[Entry, ...]
    note: str = ""


async def undo(workspace: Workspace, journal: Journal, turn_id: str | None = None) -> str:
    """Take a turn back (default: the newest that changed files); what was done, and what was left and why."""
    turn = await asyncio.to_thread(journal.choose, turn_id, undone=False)
    return await _go(workspace, journal, turn, undone=False)


async def redo(workspace: Workspace, journal: Journal, turn_id: str | None = None) -> str:
    """Put a turn back that was undone (default: the oldest undone); what was done, and what was left and why."""
    turn = await asyncio.to_thread(journal.choose, turn_id, undone=True)
    return await _go(workspace, journal, turn, undone=True)


async def diff(workspace: Workspace, journal: Journal, turn_id: str | None = None) -> str:
    """The whole change of a turn as one unified diff: the text before it against the text now."""
    turn = await asyncio.to_thread(journal.choose, turn_id, undone=False)
    parts: list[str] = []
    for path, entries in turn.of_files().items():
        display = workspace.roots.display(path)
        now = await workspace.snapshot(path)
        try:
            way = await asyncio.to_thread(_back, journal, now, entries)
        except ToolError as error:
            parts.append(f"{display}: {error}.")
            continue
        old_name = display if way.text is not None else "/dev/null"
        parts.append(await asyncio.to_thread(hunks.difference, way.text or "", now.text, old_name, display))
    return "\n".join(filter(None, parts))


async def _go(workspace: Workspace, journal: Journal, turn: Turn, *, undone: bool) -> str:
    done: list[str] = []
    left: list[str] = []
    for path, entries in turn.of_files().items():
        display = workspace.roots.display(path)
        try:
            async with workspace.lock(path):
                done.append(await _restore(workspace, journal, path, [e for e in entries if e.undone == undone]))
        except ToolError as error:
            left.append(f"{display}: {error}")
    return _report(turn, list(filter(None, done)), left, "Redone" if undone else "Undone")


def _report(turn: Turn, done: Sequence[str], left: Sequence[str], word: str) -> str:
    lines = [f"{word}: {', '.join(done)}." if done else f"Nothing was {word.lower()}."]
    if left:
        lines.append(f"Left as they are: {'; '.join(left)}.")
    if turn.bash:
        lines.append(f"Changed by commands, which cannot be undone: {', '.join(turn.bash)}.")
    return "\n".join(lines)


async def _restore(workspace: Workspace, journal: Journal, path: Path, entries: Sequence[Entry]) -> str:
    """Lead one file back (or forth, where the entries were undone). Raises ToolError when it cannot be."""
    if not entries:
        return ""
    display = workspace.roots.display(path)
    forth = entries[0].undone
    now = await workspace.snapshot(path)
    way = await asyncio.to_thread(_forth if forth else _back, journal, now, entries)
    if way.text is None:
        if now.exists:
            await _delete(workspace, now)
    elif way.text != now.text or not now.exists:
        await applying.put(workspace, now, way.text, display)
    await asyncio.to_thread(_mark, journal, way.passed)
    what = " (deleted: the turn had created it)" if way.text is None else ""
    return f"{display}{what}{way.note}"


def _mark(journal: Journal, entries: Sequence[Entry]) -> None:
    for entry in entries:
        journal.save(replace(entry, undone=not entry.undone))


def _back(journal: Journal, now: Snapshot, entries: Sequence[Entry]) -> _Way:
    """From the newest entry to the oldest, as far as no text of someone else lies between."""
    sha: str | None = text_digest(now) if now.exists else None
    text = now.text
    passed: list[Entry] = []
    for entry in reversed(entries):
        if sha == entry.before and sha != entry.after:  # its write was interrupted before it began, or it is undone
            passed.append(entry)
            continue
        if sha is None:
            raise ToolError("it is not there any more")
        if sha != entry.after:
            if not passed:
                raise ToolError(_CHANGED)
            return _Way(text, tuple(passed), " (back to the change made to it during the turn)")
        before, changes = journal.images.go(entry.back, text) if entry.back else ("", [Change(0, len(text), "")])
        passed.append(replace(entry, forth=journal.images.way_back(text, changes)))
        text, sha = before, entry.before
    return _Way(None if sha is None else text, tuple(passed))


def _forth(journal: Journal, now: Snapshot, entries: Sequence[Entry]) -> _Way:
    sha = text_digest(now) if now.exists else None
    text = now.text
    for entry in entries:
        if sha != entry.before:
            raise ToolError(_CHANGED)
        if entry.forth is None:
            raise ToolError("its text is no longer kept")
        text, _ = journal.images.go(entry.forth, text)
        sha = entry.after
    return _Way(text, tuple(entries))


async def _delete(workspace: Workspace, now: Snapshot) -> None:
    """Delete a file that the turn created. An editor that shows it without unsaved changes loses nothing."""
    document = workspace.documents.get(now.path)
    if document is not None and document.dirty:
        raise ToolError("the turn created it, and it has unsaved changes in the editor; save or close it, then undo")
    if document is not None:
        on_disk = await asyncio.to_thread(workspace.disk_snapshot, now.path)
        if on_disk.text != now.text:
            raise ToolError(_CHANGED)
        now = on_disk
    await asyncio.to_thread(writing.remove, now.path, now.fingerprint)
