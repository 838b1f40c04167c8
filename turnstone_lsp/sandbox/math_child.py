"""What the math host imports once, and how a confined child runs the model's code."""

from __future__ import annotations

import ast
import importlib
import io
import linecache
import os
import random
import sys
import traceback
from typing import Any

_SPOKEN = (
    *("math", "fractions", "itertools", "functools", "collections", "decimal", "operator", "random", "re", "string"),
)
"""Modules that the tool's description names: in the namespace by their own names, over sympy's."""
_STANDARD = (
    *("abc", "array", "bisect", "calendar", "cmath", "contextlib", "copy", "csv", "dataclasses", "datetime", "enum"),
    *("graphlib", "hashlib", "heapq", "inspect", "io", "json", "numbers", "pprint", "secrets", "sqlite3", "statistics"),
    *("struct", "sys", "textwrap", "time", "types", "typing", "unicodedata", "zlib", "zoneinfo"),
)
_SCIENCE = (
    *("sympy", "sympy.stats", "sympy.combinatorics", "sympy.ntheory", "sympy.physics.units", "sympy.vector"),
    *("sympy.parsing.sympy_parser", "sympy.functions.combinatorial.numbers", "sympy.geometry", "sympy.logic"),
    *("numpy", "numpy.linalg", "numpy.random", "numpy.fft", "numpy.polynomial", "mpmath"),
    *("scipy", "scipy.integrate", "scipy.optimize", "scipy.linalg", "scipy.stats", "scipy.special"),
    *("scipy.interpolate", "scipy.sparse", "scipy.sparse.linalg", "scipy.signal", "scipy.fft", "scipy.spatial"),
    *("scipy.ndimage", "scipy.constants", "scipy.cluster"),
)
IMPORTS = (*_SPOKEN, *_STANDARD, *_SCIENCE)
"""Everything that is imported before the first call, in this order."""
NAME = "<math>"
_INTEGER_DIGITS = 100_000
_HINT = "(math has no access to files, network or processes.)"
_namespace: dict[str, Any] = {}


def prepare() -> None:
    """Import everything, build the namespace, and do once what is slow the first time."""
    sys.set_int_max_str_digits(_INTEGER_DIGITS)
    for name in IMPORTS:
        importlib.import_module(name)
    _namespace.update(_names())
    exec(_WARMING, dict(_namespace))  # noqa: S102 - the line below


_WARMING = """
str(integrate(sin(x)**2, x)); solve(x**2 - 2, x); np.linalg.eigvalsh(np.eye(2))
lambdify(x, x**2)(3); latex(x/2); pretty(x/2); dsolve(f(x).diff(x) - f(x)); limit(sin(x)/x, x, 0)
"""


def _names() -> dict[str, Any]:
    """The public names of sympy, the spoken modules, np, and symbols as sympy's own session has them."""
    import numpy as np
    import scipy
    import sympy

    names: dict[str, Any] = {name: getattr(sympy, name) for name in sympy.__all__}
    names |= {name: sys.modules[name] for name in _SPOKEN}
    names |= {"sympy": sympy, "sp": sympy, "numpy": np, "np": np, "scipy": scipy}
    names |= {"Fraction": sys.modules["fractions"].Fraction, "Decimal": sys.modules["decimal"].Decimal}
    names |= {name: sympy.Symbol(name) for name in "abcxyzt"}
    names |= {name: sympy.Symbol(name, integer=True) for name in "kmn"}
    names |= {name: sympy.Function(name) for name in "fgh"}
    return names


def run(header: dict[str, Any], body: bytes) -> bool:
    """Run the code; False when it failed. The value of a last bare expression is shown, as at a prompt."""
    del header
    code = body.decode("utf-8", "surrogatepass")
    _open_streams()
    _reseed()
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    scope: dict[str, Any] = {**_namespace, "__name__": "__main__", "__builtins__": __builtins__}
    try:
        _execute(code, scope)
        ended_well = True
    except SystemExit as end:
        ended_well = _tell_exit(end)
    except BaseException as error:  # noqa: BLE001 - the code may raise anything; all of it is told
        _tell(error)
        ended_well = False
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # the code has closed it
            ended_well = False
    return ended_well


def _execute(code: str, scope: dict[str, Any]) -> None:
    tree = ast.parse(code, NAME)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    exec(compile(tree, NAME, "exec"), scope)  # noqa: S102 - what the sandbox is for
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), NAME, "eval"), scope)  # noqa: S307 - the same
        if value is not None:
            print(repr(value))


def _open_streams() -> None:
    """Text streams over the call's output, a line at a time, so that what was printed survives a kill."""
    for name, fd in (("stdout", 1), ("stderr", 2)):
        raw = io.BufferedWriter(io.FileIO(fd, "wb", closefd=False))
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", newline="\n", line_buffering=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, "rb", closefd=False), encoding="utf-8")


def _reseed() -> None:
    """Every call is a copy of one process: without this, all of them would draw the same random numbers."""
    import numpy as np
    import sympy.core.random

    random.seed()
    np.random.seed(int.from_bytes(os.urandom(4), "little"))  # noqa: NPY002 - the generator that np.random.rand uses
    sympy.core.random.seed(int.from_bytes(os.urandom(8), "little"))


def _tell_exit(end: SystemExit) -> bool:
    if end.code in (None, 0):
        return True
    print(f"SystemExit: {end.code}")
    return False


def _tell(error: BaseException) -> None:
    """Print the error as Python does, without the frames that are not the code's own."""
    told = traceback.TracebackException.from_exception(error, limit=-200)
    _keep_own_frames(told, set())
    print("".join(told.format(chain=True)), end="")
    if isinstance(error, PermissionError | FileNotFoundError | ConnectionError) or _is_thread_error(error):
        print(_HINT)
    if isinstance(error, MemoryError):
        print("(A call can use 2 GiB of memory.)")


def _is_thread_error(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and "start new thread" in str(error)


def _keep_own_frames(told: traceback.TracebackException | None, seen: set[int]) -> None:
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    told.stack[:] = [frame for frame in told.stack if frame.filename == NAME]
    _keep_own_frames(told.__cause__, seen)
    _keep_own_frames(told.__context__, seen)
