"""task: a sub-agent that does a self-contained piece of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.tools.base import Call, Plan, Result, Subject
from turnstone_lsp.tools.registry import TASK_AGENT_TOOLS

if TYPE_CHECKING:
    from turnstone_lsp.tools.context import ToolContext


@dataclass(frozen=True, slots=True)
class Args:
    """prompt: the complete task description."""

    prompt: str


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Show the whole task; its sub-agent's own calls are asked for one by one, unless the approval grants them."""
    names = ", ".join(t["function"]["name"] for t in TASK_AGENT_TOOLS)

    async def execute(call: Call) -> Result:
        return Result(await ctx.run_agent("task", args.prompt, call))

    return Plan(
        header=f"task: {first_line(args.prompt)}",
        preview=f"{args.prompt}\n\nThe sub-agent may ask for: {names}.",
        needs_approval=True,
        execute=execute,
        subject=Subject("tool", "task"),
    )


def first_line(text: str, limit: int = 80) -> str:
    """The first line of a text, cut to `limit` characters, for a header."""
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= limit else line[: limit - 1] + "…"
