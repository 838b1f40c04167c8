"""remember: save a key-value memory that outlasts the session. Runs unasked, is always shown, keeps its origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.memory import memories
from turnstone_lsp.tools.base import Plan, Result
from turnstone_lsp.tools.memory_text import as_tool_errors, shorten, workspace_of

if TYPE_CHECKING:
    from turnstone_lsp.tools.base import Call
    from turnstone_lsp.tools.context import ToolContext


@dataclass(frozen=True, slots=True)
class Args:
    """The JSON parameters."""

    key: str
    value: str


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Check key and value. Raises ToolError for one that is too long or looks like a secret."""
    with as_tool_errors("remember"):
        memories.check(args.key, args.value)
    key = memories.normal_key(args.key)
    untrusted = ctx.tainted  # text of strangers in the conversation may have led to this (C-22)

    async def execute(_call: Call) -> Result:
        with as_tool_errors("remember"):
            old = await ctx.store.remember(
                key, args.value, workspace=workspace_of(ctx), session=ctx.session_id, untrusted=untrusted
            )
        if old is None:
            return Result(f"Remembered '{key}'.")
        if old.value == args.value:
            return Result(f"Remembered '{key}'; it had this value already.")
        return Result(f"Remembered '{key}', replacing: {shorten(old.value, 500)}")

    notes = ("Text from the web or from files is in context; the memory is marked as such.",) if untrusted else ()
    return Plan(f"remember {key}", f"{key}: {args.value}", needs_approval=False, execute=execute, notes=notes)
