"""math: "Execute Python code for math and computation in a sandbox" (tools.md), as the model calls it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from harness import ScriptedUser, bench, call, calls
from processes import Running
from sandbox.escape_harness import descendants

from turnstone_lsp.agent.ui import Decision
from turnstone_lsp.config.settings import Settings, ToolSettings
from turnstone_lsp.errors import ToolError
from turnstone_lsp.sandbox.math_host import MathHost
from turnstone_lsp.tools import math, registry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from turnstone_lsp.tools.base import Plan, Result

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Context:
    """What math asks of the session that runs it."""

    math: MathHost
    settings: Settings = field(default_factory=Settings)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ctx() -> AsyncIterator[Context]:
    made = Context(MathHost())
    yield made
    await made.math.close()


async def prepare(code: str, ctx: Context) -> Plan:
    return await math.prepare(math.Args(code), ctx)  # type: ignore[arg-type]


async def run(code: str, ctx: Context) -> Result:
    return await (await prepare(code, ctx)).execute(Running())


async def test_it_asks_and_shows_the_whole_code(ctx: Context) -> None:
    """Spec: "confirmation required despite being sandboxed"; C-18: nothing in the code is invisible to who approves."""
    plan = await prepare("x1 = 1  # \u202e\nprint(x1)\n\t\n", ctx)
    assert plan.needs_approval
    assert plan.kind == "execute"
    assert plan.preview == "x1 = 1  # \\u{202e}\nprint(x1)\n\t\n"
    assert plan.header == "math: x1 = 1  # \\u{202e}"
    assert plan.must_ask == ()
    definition = registry.DEFINITIONS["math"]
    assert (definition["auto_approve"], definition["agent"], definition["task_agent"]) == (False, True, True)
    assert definition["primary_key"] == "code"


async def test_nothing_is_started_before_the_approval() -> None:
    before = descendants(os.getpid())
    fresh = Context(MathHost())
    await prepare("print(1)", fresh)
    assert descendants(os.getpid()) <= before
    await fresh.math.close()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print(", r"was never closed \(<math>, line 1\)"),
        ("x = 1\n  y = 2", "unexpected indent"),
        ("return 5", "'return' outside function"),
        ("print(1)\0", "null bytes"),
        ("'\ud800'", "surrogates not allowed"),
        ("-" * 100_000 + "1", "nested too deeply"),
        ("a" + ".b" * 100_000, "nested too deeply"),
        ("(" * 1000, "too many nested parentheses"),
    ],
)
async def test_code_that_does_not_compile_is_an_error_at_once(ctx: Context, code: str, why: str) -> None:
    with pytest.raises(ToolError, match=rf"^math: .*{why}"):
        await prepare(code, ctx)


async def test_a_warning_of_the_compiler_is_no_error(ctx: Context) -> None:
    result = await run(r"print(len('\d'))", ctx)
    assert result.ok
    assert result.text.endswith("2")


async def test_the_result_names_the_level_that_was_in_force(ctx: Context) -> None:
    result = await run("print(integrate(sin(x)**2, x))", ctx)
    assert (result.text.strip(), result.ok, result.level) == ("x/2 - sin(x)*cos(x)/2", True, "L4")


async def test_no_output_says_how_to_have_some(ctx: Context) -> None:
    """Spec: "Must use print() for output"."""
    result = await run("a1 = 41 + 1", ctx)
    assert result.ok
    assert "use print()" in result.text


async def test_an_exception_is_a_failed_call_with_its_traceback(ctx: Context) -> None:
    result = await run("1/0", ctx)
    assert not result.ok
    assert "ZeroDivisionError: division by zero" in result.text


async def test_escape_sequences_do_not_reach_the_result(ctx: Context) -> None:
    result = await run(r"print('\x1b[31mred\x1b[0m \x1b]52;c;aGk=\x07 done')", ctx)
    assert "\x1b" not in result.text
    assert "red" in result.text
    assert "done" in result.text


async def test_the_time_limit_is_the_setting(ctx: Context) -> None:
    short = Context(ctx.math, Settings(tools=ToolSettings(math_timeout=0.5)))
    result = await run("print('so far')\nwhile True: pass", short)
    assert not result.ok
    assert "so far" in result.text
    assert "0.5 s" in result.text


async def test_without_a_sandbox_every_call_must_ask_and_then_runs() -> None:
    """L1, forced: asked in every mode, with the reason; what was approved so is run."""
    bare = Context(MathHost("L1"))
    try:
        plan = await prepare("print(6 * 7)", bare)
        assert "no sandbox" in plan.must_ask[0]
        result = await plan.execute(Running())
        assert (result.text.strip(), result.level) == ("42", "L1")
    finally:
        await bare.math.close()


async def test_an_approval_for_the_sandbox_does_not_cover_a_run_without() -> None:
    """The kernel seemed to offer a sandbox when the call was approved, and then none could be proved."""
    bare = Context(MathHost("L1"))
    bare.math._highest = "L3"
    try:
        plan = await prepare("print(open('/etc/passwd').read())", bare)
        assert plan.must_ask == ()
        with pytest.raises(ToolError, match="Call math again"):
            await plan.execute(Running())
        assert (await prepare("1", bare)).must_ask != ()
    finally:
        await bare.math.close()


async def test_the_model_gets_the_output_and_a_denial_runs_nothing(project: Path, state: Path) -> None:
    """One turn: an approved call, a bare string as its primary key, a denied one and one that does not compile."""
    user = ScriptedUser(lambda item: Decision(approved="denied" not in item.preview))
    replies = [
        calls(
            call("math", {"code": "print(2**70)"}),
            call("math", json.dumps("factorial(20)")),
            call("math", {"code": "print('denied')"}),
            call("math", {"code": "print("}),
        ),
        {"text": "done"},
    ]
    async with bench(project, state, replies) as b:
        await (await b.session(user)).start("go").wait()
        first, second, denied, broken = b.tool_messages()
    assert first.strip() == "1180591620717411303424"
    assert second.strip() == "2432902008176640000"
    assert "denied" in denied
    assert "does not compile" in broken
    assert len([item for item in user.asked[0] if item.needs_approval]) == 3
