"""What edit_file and write_file share: a staged change as a Plan that the batch's review decides."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools.base import Call, Location, Plan, Result, Subject
from turnstone_lsp.workspace import checks, codec, hunks
from turnstone_lsp.workspace.proposals import Step

if TYPE_CHECKING:
    from turnstone_lsp.tools.context import ToolContext
    from turnstone_lsp.workspace.hunks import Change
    from turnstone_lsp.workspace.paths import Target
    from turnstone_lsp.workspace.snapshot import Snapshot
    from turnstone_lsp.workspace.view import Workspace

_SHOWN = 1_200
_INLINE = 512 * 1024
"""Characters of a text up to which it is worked on at once rather than in a thread."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A change that is ready to be staged.

    change: of the text that this batch has made of the file so far, `text`; about: for the model, once it is applied;
    line: where it is, for the editor.
    """

    tool: str
    target: Target
    base: Snapshot
    text: str
    change: Change
    about: str = ""
    line: int | None = None
    must_ask: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


async def pending_text(ctx: ToolContext, target: Target) -> tuple[Snapshot, str]:
    """The base of a change, and the text that the batch's earlier calls have made of it.

    Raises ToolError when the file cannot be read as text, or is open in an editor that cannot be asked to change it.
    """
    workspace = ctx.workspace
    pending = workspace.staging.current(target.path)
    base = pending.base if pending else await workspace.snapshot(target.path)
    if base.is_buffer:
        refusal = workspace.editor.can_apply()
        if refusal is not None:
            raise ToolError(f"{target.display} is open in the editor, and {refusal}. Nothing was changed.")
    return base, pending.result if pending else base.text


async def propose(ctx: ToolContext, draft: Draft) -> Plan:
    """Stage one change and describe it. Raises ToolError for a text that the file cannot take."""
    form = draft.base.format
    if draft.base.is_buffer:
        # an editor shows text in any encoding; what it cannot save must not get into its buffer
        declared = await asyncio.to_thread(ctx.workspace.declared_encoding, draft.target.path)
        form = replace(form, encoding=declared or form.encoding)
    if len(draft.text) <= _INLINE:
        return _plan(ctx, draft, form.encoding)
    return await asyncio.to_thread(_plan, ctx, draft, form.encoding)


def _plan(ctx: ToolContext, draft: Draft, encoding: str) -> Plan:
    target, base, change = draft.target, draft.base, draft.change
    replaced = draft.text[change.start : change.end]
    codec.encode(change.text, replace(base.format, encoding=encoding, bom=b""), target.display)
    checks.gains_nothing_broken(target.display, replaced, change.text)
    if base.exists and target.path.suffix.lower() in (".json", ".ipynb"):
        checks.still_json(target.path, target.display, base.text, hunks.apply_changes(draft.text, [change]))
    must_ask = (*target.reasons(write=True), *draft.must_ask, *checks.omissions(replaced, change.text))
    about = (draft.about,) if draft.about else ()
    notes = (*about, *draft.notes, *checks.invisible(replaced, change.text))
    step = Step(ctx.call_id, change, draft.about, must_ask, notes, draft.line or 1)
    own = ctx.workspace.staging.stage(base, target.display, step).step_alone(ctx.call_id)
    added, removed = own.counts
    return Plan(
        header=f"{draft.tool}: {'edit' if base.exists else 'create'} {target.shown} (+{added} -{removed})",
        preview=own.diff(),
        needs_approval=True,
        execute=_decided_by_the_review,
        kind="edit",
        subject=Subject("path", str(target.path)),
        locations=(Location(target.path, draft.line),),
        must_ask=must_ask,
        notes=notes,
        edits=True,
    )


async def _decided_by_the_review(call: Call) -> Result:
    """Never called: the pipeline applies the proposal that this call is a part of."""
    raise AssertionError(call.id)


def changed_since(workspace: Workspace, now: Snapshot) -> str:
    """What changed in a file since it was read, where its text was kept; begins with a newline, or is empty."""
    record = workspace.reads.get(now.path)
    if record is None or record.text is None or not now.exists:
        return ""
    diff = hunks.difference(record.text, now.text, "as read", "now")
    return f"\nWhat changed since:\n{diff if len(diff) <= _SHOWN else diff[:_SHOWN] + ' ...'}"
