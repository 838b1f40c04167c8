"""What edit_file and write_file share: a staged change as a Plan that the batch's review decides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools.base import Call, Location, Plan, Result, Subject
from turnstone_lsp.workspace import codec, hunks

if TYPE_CHECKING:
    from turnstone_lsp.tools.context import ToolContext
    from turnstone_lsp.workspace.paths import Target
    from turnstone_lsp.workspace.snapshot import Snapshot
    from turnstone_lsp.workspace.view import Workspace

_SHOWN = 1_200


def propose(
    ctx: ToolContext,
    tool: str,
    target: Target,
    base: Snapshot,
    result: str,
    *,
    about: str = "",
    line: int | None = None,
    must_ask: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Plan:
    """Stage one change and describe it. Raises ToolError for a text that the file cannot take."""
    _check(target.display, base, result)
    asking = (*target.reasons(write=True), *must_ask)
    shown = (*((about,) if about else ()), *notes)
    own = ctx.workspace.staging.stage(
        base, target.display, result, call_id=ctx.call_id, about=about, must_ask=asking, notes=shown
    )
    added, removed = own.counts
    verb = "edit" if base.exists else "create"
    return Plan(
        header=f"{tool}: {verb} {target.shown} (+{added} -{removed})",
        preview=own.diff(),
        needs_approval=True,
        execute=_decided_by_the_review,
        kind="edit",
        subject=Subject("path", str(target.path)),
        locations=(Location(target.path, line),),
        must_ask=asking,
        notes=shown,
        edits=True,
    )


async def _decided_by_the_review(call: Call) -> Result:
    """Never called: the pipeline applies the proposal that this call is a part of."""
    raise AssertionError(call.id)


def _check(display: str, base: Snapshot, result: str) -> None:
    """What can be known before anyone is asked: it can be encoded, and holds no NUL that was not there."""
    codec.encode(result, base.format, display)
    for char, name in (("\0", "a NUL character"), ("\ufffd", "U+FFFD, the mark of a lost character")):
        if char in result and result.count(char) > base.text.count(char):
            raise ToolError(f"The new text for {display} has {name}, which it must not gain. Nothing was written.")
    if display.endswith((".json", ".ipynb")) and base.exists:
        _still_json(display, base.text, result)


def _still_json(display: str, old: str, new: str) -> None:
    try:
        json.loads(old)
    except ValueError:
        return
    try:
        json.loads(new)
    except ValueError as error:
        raise ToolError(
            f"{display} is valid JSON and would not be after this change ({error}). Nothing was written; send an edit "
            "that keeps it valid."
        ) from None


def changed_since(workspace: Workspace, now: Snapshot) -> str:
    """What changed in a file since it was read, where its text was kept; begins with a newline, or is empty."""
    record = workspace.reads.get(now.path)
    if record is None or record.text is None or not now.exists:
        return ""
    old = hunks.lines_of(record.text)
    diff = hunks.unified(old, hunks.between(old, hunks.lines_of(now.text)), "as read", "now")
    return f"\nWhat changed since:\n{diff[:_SHOWN]}"
