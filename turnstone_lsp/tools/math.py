"""math: Python for computation, in the sandbox."""

from __future__ import annotations

import asyncio
import threading
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process.text import clean, visible
from turnstone_lsp.tools.base import Call, Plan, Result, Subject
from turnstone_lsp.tools.task import first_line

if TYPE_CHECKING:
    from turnstone_lsp.tools.context import ToolContext


_UNCONFINED = ("this system offers no sandbox (level L1): the code could do what a command can",)
_NO_OUTPUT = "(no output: use print() to show a result)"
_compiling = threading.Lock()


@dataclass(frozen=True, slots=True)
class Args:
    """code: Python that prints what it finds."""

    code: str


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Check that the code compiles; nothing is started. Where there is no sandbox, every call asks."""
    await asyncio.to_thread(_compile, args.code)
    level = ctx.math.expected

    async def execute(call: Call) -> Result:
        del call
        timeout = ctx.settings.tools.math_timeout
        outcome = await ctx.math.run(args.code, timeout, unconfined=level == "L1")
        return Result(clean(outcome.output) or _NO_OUTPUT, ok=outcome.ok, level=outcome.level)

    return Plan(
        header=f"math: {visible(first_line(args.code))}",
        preview=visible(args.code, keep="\n\t"),
        needs_approval=True,
        execute=execute,
        kind="execute",
        subject=Subject("tool", "math"),
        must_ask=_UNCONFINED if level == "L1" else (),
    )


def _compile(code: str) -> None:
    """Raises ToolError for what Python cannot compile. Its warnings come with the result, from where the code runs."""
    try:
        with _compiling, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<math>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, UnicodeError) as error:
        raise ToolError(f"math: the code does not compile: {error}. Correct it and call math again.") from None
    except (RecursionError, MemoryError):
        raise ToolError("math: the code is nested too deeply to compile; write it in smaller steps.") from None
