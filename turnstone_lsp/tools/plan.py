"""plan: a read-only sub-agent writes a plan to `.plan-<session_id>.md`; the user accepts, rejects or annotates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools.base import Call, Location, Plan, Result, Subject
from turnstone_lsp.tools.task import first_line
from turnstone_lsp.workspace.applying import put_text

if TYPE_CHECKING:
    from turnstone_lsp.tools.context import PlanReview, ToolContext


@dataclass(frozen=True, slots=True)
class Args:
    """prompt: goal, constraints and scope of the plan."""

    prompt: str


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Show what will be planned and where the plan will be written; an earlier plan of this session is refined."""
    target = await ctx.workspace.resolve(f".plan-{ctx.session_id}.md", write=True)
    prior = await ctx.workspace.snapshot(target.path)
    verb = "refine" if prior.exists else "write"

    async def execute(call: Call) -> Result:
        text = await ctx.run_agent("plan", _prompt(args.prompt, prior.text if prior.exists else ""), call)
        if not text.strip():
            raise ToolError("The planning sub-agent gave no plan. Call plan again with a narrower prompt.")
        await put_text(ctx.workspace, target.path, text.strip() + "\n")
        review = await ctx.review_plan(target.path, text, call)
        return Result(_report(target.display, text, review), ok=review.decision != "reject")

    return Plan(
        header=f"plan: {first_line(args.prompt)}",
        preview=f"{args.prompt}\n\nA read-only sub-agent will {verb} {target.display}; you review the plan afterwards.",
        needs_approval=True,
        execute=execute,
        kind="think",
        subject=Subject("tool", "plan"),
        locations=(Location(target.path),),
    )


def _prompt(goal: str, prior: str) -> str:
    if not prior:
        return goal
    return f"{goal}\n\nThis session's earlier plan, to be refined rather than restarted:\n\n{prior}"


def _report(where: str, text: str, review: PlanReview) -> str:
    said = f" The user said: {review.feedback}" if review.feedback else ""
    if review.decision == "reject":
        return f"The user rejected the plan in {where}.{said} Do not carry it out; ask what should change."
    if review.decision == "annotate":
        return (
            f"The user annotated the plan in {where}. Follow the annotations where they differ from the plan.{said}"
            f"\n\n{text}"
        )
    return f"The user accepted the plan in {where}.{said}\n\n{text}"
