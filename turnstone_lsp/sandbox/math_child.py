"""What the math host imports once, and how a held child runs the model's code."""

from __future__ import annotations

import ast
import importlib
import linecache
import sys
import traceback
from typing import Any

_MODULES = (
    *("math", "fractions", "itertools", "functools", "collections", "decimal", "operator", "random", "re", "string"),
    *("cmath", "statistics", "datetime", "json", "sqlite3", "textwrap", "bisect", "heapq", "typing", "dataclasses"),
)
_SCIENCE = (
    *("sympy", "numpy", "scipy"),
    *("scipy.integrate", "scipy.optimize", "scipy.linalg", "scipy.stats", "scipy.special", "scipy.interpolate"),
    *("scipy.sparse", "scipy.signal", "scipy.fft", "scipy.spatial", "sympy.stats", "sympy.combinatorics"),
    *("sympy.physics.units", "sympy.ntheory", "numpy.linalg", "numpy.random", "numpy.polynomial"),
)
_SYMBOLS = "x y z t a b c k m n"
_NAME = "<math>"
NAMESPACE: dict[str, Any] = {}


def prepare() -> None:
    """Import everything, build the namespace, warm what is slow the first time."""
    sys.set_int_max_str_digits(100_000)
    for name in (*_MODULES, *_SCIENCE):
        importlib.import_module(name)
    import numpy as np
    import scipy
    import sympy

    for name in sympy.__all__:
        NAMESPACE[name] = getattr(sympy, name)
    for name in _MODULES[:10]:
        NAMESPACE[name] = sys.modules[name]
    NAMESPACE.update({"sympy": sympy, "numpy": np, "np": np, "scipy": scipy, "sp": sympy})
    NAMESPACE.update({name: sympy.Symbol(name) for name in _SYMBOLS.split()})
    x = sympy.Symbol("x")
    str(sympy.integrate(sympy.sin(x) ** 2, x))
    str(sympy.solve(x**2 - 2, x))


def run(request: dict[str, Any]) -> int:
    """Run the code; 0 when it ended well. The value of a last bare expression is shown, as at a prompt."""
    code = str(request["code"])
    linecache.cache[_NAME] = (len(code), None, code.splitlines(keepends=True), _NAME)
    tree = ast.parse(code, _NAME)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    scope: dict[str, Any] = {**NAMESPACE, "__name__": "__main__"}
    sys.excepthook = sys.__excepthook__
    try:
        exec(compile(tree, _NAME, "exec"), scope)  # noqa: S102 - this is the sandbox
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), _NAME, "eval"), scope)  # noqa: S307 - as above
            if value is not None:
                print(value)
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - shown as Python shows it, cut to the code's own lines
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == _NAME]
        print("Traceback (most recent call last):", *traceback.format_list(frames), sep="\n", end="")
        print("".join(traceback.format_exception_only(error)), end="")
        return 1
    return 0
