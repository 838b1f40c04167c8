"""edit_file: replace one exact piece of a file that was read, as a proposal that the user reviews."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools.proposing import changed_since, propose
from turnstone_lsp.workspace import matching

if TYPE_CHECKING:
    from turnstone_lsp.tools.base import Plan
    from turnstone_lsp.tools.context import ToolContext


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
    target = await workspace.resolve(args.path, write=True)
    if args.old_string == "":
        raise ToolError("edit_file: old_string is empty; give the text to replace, or use write_file for a whole file.")
    if args.old_string == args.new_string:
        raise ToolError("edit_file: old_string and new_string are the same, so there is nothing to change.")
    base = await workspace.snapshot(target.path)
    if not base.exists:
        raise ToolError(f"{target.display} does not exist. Create it with write_file, or check the path with search.")
    stale = workspace.reads.stale(base)
    if stale is not None:
        raise ToolError(f"{target.display} was not edited: {stale}.{changed_since(workspace, base)}")
    pending = workspace.staging.current(target.path)
    text = pending.result if pending else base.text
    found = matching.find(text, args.old_string, args.new_string, args.near_line)
    result = text[: found.start] + found.replacement + text[found.end :]
    if result == text:
        raise ToolError(f"edit_file: this leaves {target.display} as it is; the new text is already there.")
    about = "" if found.tier == "exact" else f"Matched by {found.tier} at line {found.line}."
    return propose(ctx, "edit_file", target, base, result, about=about, line=found.line)
