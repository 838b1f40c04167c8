"""Undo and redo of a turn: what write_file and edit_file changed or created, and no more."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import applying, codec, hunks, writing
from turnstone_lsp.workspace.images import sha256

if TYPE_CHECKING:
    from turnstone_lsp.workspace.journal import Journal, Side, Turn
    from turnstone_lsp.workspace.snapshot import Snapshot
    from turnstone_lsp.workspace.view import Workspace


async def undo(workspace: Workspace, journal: Journal, turn_id: str | None) -> str:
    """Take a turn back; what was done, and which files were left because the user has changed them since."""
    return await _go(workspace, journal, turn_id, undone=False)


async def redo(workspace: Workspace, journal: Journal, turn_id: str | None) -> str:
    """Put a turn back that was undone."""
    return await _go(workspace, journal, turn_id, undone=True)


async def _go(workspace: Workspace, journal: Journal, turn_id: str | None, *, undone: bool) -> str:
    turn = await asyncio.to_thread(journal.choose, turn_id, undone=undone)
    side: Side = "after" if undone else "before"
    done: list[str] = []
    left: list[str] = []
    for name, record in turn.files.items():
        path = Path(name)
        try:
            async with workspace.lock(path):
                done.append(await _restore(workspace, journal, path, record, side))
        except ToolError as error:
            left.append(f"{workspace.roots.display(path)}: {error}")
    if done:
        await asyncio.to_thread(journal.mark, turn, undone=not undone)
    return _report(turn, journal, done, left, "Redone" if undone else "Undone")


def _report(turn: Turn, journal: Journal, done: list[str], left: list[str], word: str) -> str:
    lines = [f"{word} ({turn.id}): {', '.join(done)}." if done else f"Nothing was {word.lower()}."]
    if left:
        lines.append("Left as they are, because they have changed since: " + "; ".join(left))
    if bash := journal.bash_changes(turn):
        lines.append("Changed by commands, which cannot be undone: " + ", ".join(bash))
    return "\n".join(lines)


async def _restore(workspace: Workspace, journal: Journal, path: Path, record: dict[str, Any], side: Side) -> str:
    """Give one file its other image. Raises ToolError when it is not what the journal last saw."""
    display = workspace.roots.display(path)
    now = await workspace.snapshot(path)
    present = codec.encode(now.text, now.format, display) if now.exists else b""
    expected = record["after_sha" if side == "before" else "before_sha"]
    if (sha256(present) if now.exists else "") != expected:
        raise ToolError("the user has changed it since" if now.exists else "it is not there any more")
    if side == "before" and record["created"]:
        return await _delete(workspace, now, display)
    data = await asyncio.to_thread(journal.images.side, record, side, present)
    if workspace.documents.get(path) is None:
        await asyncio.to_thread(writing.write, path, data, now.fingerprint if now.exists else None)
    else:
        text, _ = codec.decode(data, display, now.format.encoding)
        await applying.replace_in_editor(workspace, now, text, display)
    workspace.reads.note(await workspace.snapshot(path))
    return display


async def _delete(workspace: Workspace, now: Snapshot, display: str) -> str:
    if workspace.documents.get(now.path) is not None:
        raise ToolError("it was created by the turn and is open in the editor; close it, then undo again")
    await asyncio.to_thread(writing.remove, now.path, now.fingerprint)
    workspace.reads.forget(now.path)
    return f"{display} (deleted: it was created by the turn)"


async def diff(workspace: Workspace, journal: Journal, turn_id: str | None) -> str:
    """The whole change of a turn as one unified diff, from the journal's own images."""
    turn = await asyncio.to_thread(journal.choose, turn_id, undone=False)
    parts = []
    for name, record in turn.files.items():
        path = Path(name)
        display = workspace.roots.display(path)
        now = await workspace.snapshot(path)
        present = codec.encode(now.text, now.format, display) if now.exists else b""
        before = await asyncio.to_thread(journal.images.side, record, "before", present)
        old, _ = codec.decode(before, display, now.format.encoding)
        lines = hunks.lines_of(old)
        old_name = "/dev/null" if record["created"] else display
        parts.append(hunks.unified(lines, hunks.between(lines, hunks.lines_of(now.text)), old_name, display))
    return "\n".join(parts)
