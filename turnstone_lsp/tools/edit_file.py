"""edit_file: replace one exact piece of a file that was read, as a proposal that the user reviews."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools.proposing import Draft, changed_since, pending_text, propose
from turnstone_lsp.workspace import checks, matching
from turnstone_lsp.workspace.hunks import Change

if TYPE_CHECKING:
    from turnstone_lsp.tools.base import Plan
    from turnstone_lsp.tools.context import ToolContext
    from turnstone_lsp.workspace.matching import Match
    from turnstone_lsp.workspace.paths import Target
    from turnstone_lsp.workspace.snapshot import Snapshot
    from turnstone_lsp.workspace.view import Workspace


@dataclass(frozen=True, slots=True)
class Args:
    """near_line (1-based) chooses among equal matches; an empty new_string deletes the text."""

    path: str
    old_string: str = field(metadata={"empty": True})
    new_string: str = field(metadata={"empty": True})
    near_line: int | None = None


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Find the place and stage the change. The file must have been read in this session and be unchanged since."""
    workspace = ctx.workspace
    if args.near_line is not None and args.near_line < 1:
        raise ToolError("edit_file: argument 'near_line' is a line number and begins at 1.")
    target = await workspace.resolve(args.path, write=True)
    pending = workspace.staging.current(target.path)
    near_line = pending.line_now(args.near_line) if pending and args.near_line else args.near_line
    known = await pending_text(ctx, target) if pending or workspace.documents.get(target.path) else None

    def look() -> tuple[Snapshot, str, Match]:
        base, text = known or _on_disk(workspace, target)
        if pending is None:
            _check_read(workspace, target, base)
        return base, text, matching.find(text, args.old_string, args.new_string, near_line)

    base, text, found = await asyncio.to_thread(look)
    must_ask, notes = _doubts(text, found, args.old_string)
    draft = Draft(
        tool="edit_file",
        target=target,
        base=base,
        text=text,
        change=Change(found.start, found.end, found.replacement),
        about="" if found.tier == "exact" else f"matched by {found.tier} at line {found.line}",
        line=found.line,
        must_ask=must_ask,
        notes=notes,
    )
    return await propose(ctx, draft)


def _on_disk(workspace: Workspace, target: Target) -> tuple[Snapshot, str]:
    base = workspace.disk_snapshot(target.path)
    return base, base.text


def _check_read(workspace: Workspace, target: Target, base: Snapshot) -> None:
    """Raise ToolError unless the agent has seen the file, as it is now."""
    if not base.exists:
        raise ToolError(
            f"edit_file: {target.display} does not exist. Create it with write_file, or check the path with search."
        )
    stale = workspace.reads.stale(base)
    if stale is not None:
        raise ToolError(f"edit_file: {target.display} was not edited: {stale}.{changed_since(workspace, base)}")


def _doubts(text: str, found: Match, old: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Reasons to ask, and notes: an edit that cuts a word in two is seldom meant, of several lines hardly ever."""
    word = checks.cut_word(text, found.start, found.end)
    if word is None:
        return (), ()
    note = f"the edit at line {found.line} begins or ends inside the word {word!r}"
    return ((note,), ()) if "\n" in old else ((), (note,))
