"""math: Python for computation, in the sandbox."""

from __future__ import annotations

import ast
import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process.text import clean
from turnstone_lsp.tools.base import Call, Plan, Result, Subject
from turnstone_lsp.tools.task import first_line

if TYPE_CHECKING:
    from turnstone_lsp.tools.context import ToolContext


_UNCONFINED = ("this system offers no sandbox (level L1): the code could do what a command can",)


@dataclass(frozen=True, slots=True)
class Args:
    """code: Python that prints what it finds."""

    code: str


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Check that the code compiles, and begin to start the sandbox. Where there is none, every call asks."""
    await asyncio.to_thread(_compile, args.code)
    level = ctx.math.expected
    ctx.math.warm()

    async def execute(call: Call) -> Result:
        del call
        timeout = ctx.settings.tools.math_timeout
        outcome = await ctx.math.run(args.code, timeout, unconfined=level == "L1")
        text = clean(outcome.output) or "(no output: use print() to show a result)"
        return Result(text, ok=outcome.ok, level=outcome.level)

    return Plan(
        header=f"math: {first_line(args.code)}",
        preview=args.code,
        needs_approval=True,
        execute=execute,
        kind="execute",
        subject=Subject("tool", "math"),
        must_ask=_UNCONFINED if level == "L1" else (),
    )


def _compile(code: str) -> None:
    try:
        ast.parse(code, "<math>")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ToolError(f"math: the code does not compile: {error}. Correct it and call math again.") from None
