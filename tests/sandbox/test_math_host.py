"""math: what the model's code finds, what comes back, and how calls end (spec: math; issue 6, the math host)."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from turnstone_lsp.errors import ToolError
from turnstone_lsp.sandbox.math_host import OUTPUT_CAP, MathHost

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from turnstone_lsp.sandbox.levels import Level

pytestmark = pytest.mark.asyncio(loop_scope="module")
_MODULES = "sympy numpy scipy math fractions itertools functools collections decimal operator random re string"
_NAMES = """
symbols solve simplify sqrt Matrix integrate diff limit series expand factor Eq Rational pi E I oo sin cos tan exp
log Symbol Function dsolve summation nsimplify N latex lambdify x y z t np
"""
MODULES, NAMES = _MODULES.split(), _NAMES.split()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host() -> AsyncIterator[MathHost]:
    made = MathHost()
    yield made
    await made.close()


async def output(host: MathHost, code: str, seconds: float = 20) -> str:
    outcome = await host.run(code, seconds, unconfined=False)
    return outcome.output


async def test_the_level_here_is_the_highest(host: MathHost) -> None:
    outcome = await host.run("print(integrate(sin(x)**2, x))", 20, unconfined=False)
    assert (outcome.output, outcome.ok, outcome.level) == ("x/2 - sin(x)*cos(x)/2", True, "L4")
    assert host.expected == "L4"


async def test_every_library_of_the_spec_is_imported_by_its_name(host: MathHost) -> None:
    """ "pre-imported libraries: sympy, numpy, scipy, math, ..."; re is the module and not sympy's real part."""
    code = f"import types; print([n for n in {MODULES} if not isinstance(globals().get(n), types.ModuleType)])"
    assert await output(host, code) == "[]"
    assert await output(host, "print([m.__name__ for m in (re, operator, string)])") == "['re', 'operator', 'string']"


async def test_common_sympy_names_are_imported(host: MathHost) -> None:
    assert await output(host, f"print([n for n in {NAMES} if n not in globals()])") == "[]"
    assert await output(host, "print(solve(x**2 - 4, x), Matrix([[1, 2], [3, 4]]).det())") == "[-2, 2] -2"


async def test_what_is_imported_late_and_below_scipy_works(host: MathHost) -> None:
    code = "from scipy import stats, optimize; import sympy.stats; print(round(stats.norm.cdf(1.96), 3))"
    assert await output(host, code) == "0.975"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("2**10", "1024"),
        ("'a\\n'", r"'a\n'"),
        ("print(1)\n2", "1\n2"),
        ("print(1)", "1"),
        ("None", ""),
        ("y1 = 3", ""),
        ("def f1():\n    return 7\nf1()", "7"),
        ("", ""),
        ("# only a comment", ""),
        ("Rational(1, 3)", "1/3"),
    ],
)
async def test_a_last_expression_is_shown_as_at_a_prompt(host: MathHost, code: str, shown: str) -> None:
    assert await output(host, code) == shown


async def test_the_last_semicolon_line_and_the_future_are_python(host: MathHost) -> None:
    assert await output(host, "a1 = 2; a1 + 1") == "3"
    assert await output(host, "from __future__ import annotations\ndef g1(v: nothing): return 5\ng1(1)") == "5"


async def test_an_exception_shows_only_the_codes_own_lines(host: MathHost) -> None:
    outcome = await host.run("def half(v):\n    return Matrix(v).inv()\n\nhalf([[1, 2], [2, 4]])", 20)
    assert not outcome.ok
    assert 'File "<math>", line 4' in outcome.output
    assert 'File "<math>", line 2, in half' in outcome.output
    assert "return Matrix(v).inv()" in outcome.output
    assert "NonInvertibleMatrixError" in outcome.output
    assert "site-packages" not in outcome.output
    assert "sandbox" not in outcome.output


async def test_causes_are_told_without_foreign_frames(host: MathHost) -> None:
    code = "import json\ntry:\n    json.loads('{')\nexcept ValueError as e:\n    raise RuntimeError('no data') from e"
    text = await output(host, code)
    assert "JSONDecodeError" in text
    assert "RuntimeError: no data" in text
    assert "direct cause" in text
    assert "/json/" not in text


async def test_errors_come_after_what_was_printed(host: MathHost) -> None:
    text = await output(host, "import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three')\n1/0")
    assert text.startswith("one\ntwo\nthree\nTraceback")


async def test_a_denied_file_is_explained(host: MathHost) -> None:
    text = await output(host, "open('/etc/passwd')")
    assert "Error" in text
    assert "no access to files, network or processes" in text


@pytest.mark.parametrize(
    ("code", "ok", "shown"),
    [
        ("print(1); raise SystemExit", True, "1"),
        ("import sys; print(2); sys.exit(0)", True, "2"),
        ("import sys; sys.exit(3)", False, "SystemExit: 3"),
        ("raise SystemExit('why')", False, "SystemExit: why"),
        ("exit(4)", False, "SystemExit: 4"),
    ],
)
async def test_exits_are_told(host: MathHost, code: str, ok: bool, shown: str) -> None:
    outcome = await host.run(code, 20)
    assert (outcome.ok, outcome.output) == (ok, shown)


async def test_a_call_that_takes_too_long_keeps_what_it_printed(host: MathHost) -> None:
    began = time.monotonic()
    outcome = await host.run("print('before')\nwhile True: pass", 1)
    assert not outcome.ok
    assert outcome.output.startswith("before\n")
    assert "time limit of 1 s" in outcome.output
    assert time.monotonic() - began < 10


async def test_output_is_capped_and_the_call_ended(host: MathHost) -> None:
    outcome = await host.run("while True: print('A' * 1000)", 20)
    assert not outcome.ok
    assert "more than 64 KiB" in outcome.output
    assert OUTPUT_CAP <= len(outcome.output) <= OUTPUT_CAP + 200


async def test_memory_is_limited_and_said(host: MathHost) -> None:
    outcome = await host.run("a1 = bytearray(3 * 2**30)", 20)
    assert not outcome.ok
    assert "MemoryError" in outcome.output
    assert "2 GiB" in outcome.output


async def test_a_crash_is_told(host: MathHost) -> None:
    outcome = await host.run("import ctypes; ctypes.string_at(0)", 20)
    assert not outcome.ok
    assert "stopped" in outcome.output
    assert "crashed" in outcome.output


async def test_huge_numbers_are_printed(host: MathHost) -> None:
    assert len(await output(host, "print(factorial(2000))")) == 5736


async def test_any_text_is_code(host: MathHost) -> None:
    """Any string the model may send: surrogates, NUL, other line ends, marks at the start."""
    assert await output(host, "print('π≈', 'é'.upper())") == "π≈ É"
    assert "Error" in await output(host, "print('\ud800')")
    assert "Error" in await output(host, "print(1)\0")
    assert await output(host, "print(1)\r\nprint(2)\r") == "1\n2"
    assert await output(host, "print(chr(0xd800))") == "\\ud800"


async def test_no_state_passes_from_call_to_call(host: MathHost) -> None:
    await host.run("kept = 1\nimport math\nmath.pi = 3\nsympy.sin = None\nimport builtins\nbuiltins.len = None", 20)
    assert "NameError" in await output(host, "print(kept)")
    assert await output(host, "print(math.pi > 3, len([1]), sympy.sin(0))") == "True 1 0"


async def test_random_numbers_differ_from_call_to_call(host: MathHost) -> None:
    code = "print(random.random(), np.random.rand(), sympy.core.random.random(), np.random.default_rng().random())"
    first, second = await asyncio.gather(output(host, code), output(host, code))
    assert all(a != b for a, b in zip(first.split(), second.split(), strict=True))


async def test_the_host_knows_nothing_of_the_user(host: MathHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never")
    names = json.loads(await output(host, "import os, json; print(json.dumps(dict(os.environ)))"))
    allowed = {"PATH", "LANG", "LC_CTYPE", "MPLBACKEND", "PYTHONHASHSEED", "TURNSTONE_CALL"}
    assert {n for n in names if not n.endswith("_NUM_THREADS") and not n.startswith("OPENBLAS_")} <= allowed
    assert names["OPENBLAS_NUM_THREADS"] == "1"
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # on some processors results are right only with it
        assert names.get(name) == os.environ.get(name)


async def test_two_calls_run_at_once_and_a_third_waits(host: MathHost) -> None:
    code = "import time; a1 = time.monotonic(); time.sleep(1); print(a1, time.monotonic())"
    spans = [tuple(map(float, text.split())) for text in await asyncio.gather(*(output(host, code) for _ in range(4)))]
    together = [sum(1 for other in spans if other[0] < begin + 0.5 < other[1]) for begin, _ in spans]
    assert max(together) == 2


async def test_a_cancelled_call_is_ended_and_the_host_goes_on(host: MathHost) -> None:
    task = asyncio.create_task(host.run("while True: pass", 60))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    spans = await asyncio.wait_for(asyncio.gather(*(output(host, "print(1)", 5) for _ in range(4))), 30)
    assert spans == ["1"] * 4


@pytest.mark.parametrize("level", ["L4", "L3", "L2"])
async def test_each_level_is_proved_when_it_is_the_highest_allowed(level: Level) -> None:
    host = MathHost(level)
    assert await host.probe() == level
    await host.close()


async def test_without_a_sandbox_nothing_runs_unless_the_user_agreed() -> None:
    """L1, forced: the tool refuses, and runs only what the user approved knowing that."""
    host = MathHost("L1")
    try:
        assert await host.probe() == "L1"
        with pytest.raises(ToolError, match=r"not run.*again"):
            await host.run("print(1)", 20, unconfined=False)
        outcome = await host.run("print(open('/etc/passwd').read(4))", 20, unconfined=True)
        assert (outcome.output, outcome.level) == ("root", "L1")
        assert host.expected == "L1"
    finally:
        await host.close()
