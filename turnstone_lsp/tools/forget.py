"""forget: delete a memory by its key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
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


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Show what would go. A missing key is found out by `execute`: an earlier call of the batch may still save it."""
    workspace = workspace_of(ctx)
    key = memories.normal_key(args.key)
    with as_tool_errors("forget"):
        known = [m for m in await ctx.store.memories(workspace) if m.key == key]

    async def execute(_call: Call) -> Result:
        with as_tool_errors("forget"):
            old = await ctx.store.forget(key, workspace)
            if old is None:
                raise ToolError(_missing(key, await ctx.store.memories(workspace)))
        return Result(f"Forgot '{key}', which was: {shorten(old.value, 500)}")

    return Plan(f"forget {key}", known[-1].value if known else "", needs_approval=False, execute=execute)


def _missing(key: str, known: list[memories.Memory]) -> str:
    near = memories.near(key, known)
    if near:
        hint = "Near keys: " + ", ".join(f"'{k}'" for k in near) + "."
    else:
        hint = "recall without a query lists all keys." if known else "No memories are saved."
    return f"forget: there is no memory '{key}'. {hint}"
