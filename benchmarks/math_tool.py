"""math against what it costs without a sandbox: a warm call, and the first. Prints a table and the ratios.

    python benchmarks/math_tool.py [--runs 40] [--firsts 5]

Warm: the same code in the same pre-imported process, forked for each call with no layer, no supervisor and no
limits; the child writes to a pipe, the parent reads it and waits. First: a fresh Python that imports the host's own
list and ends. Both sides are measured in turn. CPU counts the client, the host and everything that it has forked; the
targets are on it, because wall time on a shared machine says little. Wall time is shown.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from turnstone_lsp.sandbox.host import environment
from turnstone_lsp.sandbox.math_child import IMPORTS
from turnstone_lsp.sandbox.math_host import MathHost

if TYPE_CHECKING:
    from collections.abc import Iterable

CODE = "print(integrate(sin(x)**2, x))"
ANSWER = "x/2 - sin(x)*cos(x)/2"
TARGET_WARM, TARGET_FIRST = 1.3, 1.2
ROOT = Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")
BARE = """
import gc, os, sys
from turnstone_lsp.sandbox import math_child
math_child.prepare()
names = math_child._names()
gc.collect(); gc.freeze()
for code in sys.stdin:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writing, 1)
        exec(compile(code, "<math>", "exec"), dict(names))
        sys.stdout.flush()
        os._exit(0)
    os.close(writing)
    answer = b""
    while piece := os.read(reading, 65536):
        answer += piece
    os.close(reading)
    os.waitpid(pid, 0)
    os.write(1, answer)
"""


class Cost(NamedTuple):
    cpu: float
    wall: float


def processes_below(pid: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {pid})


def cpu_of(pids: Iterable[int]) -> float:
    """Seconds of CPU of these processes and of the children that they have waited for."""
    total = 0
    for pid in pids:
        total += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return total / TICKS


def start_bare() -> subprocess.Popen[str]:
    argv = [sys.executable, "-I", "-c", f"import sys; sys.path.append({str(ROOT)!r})\n{BARE}"]
    return subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True, bufsize=1
    )


async def warm(runs: int, batch: int = 20) -> tuple[list[Cost], list[Cost]]:
    """Cost of a call with and without the sandbox, each the mean of a batch."""
    host = MathHost()
    assert (await host.run(CODE, 20)).level == "L4"
    ours = processes_below(os.getpid())
    bare = start_bare()
    assert bare.stdin is not None
    assert bare.stdout is not None

    async def sandboxed() -> None:
        assert (await host.run(CODE, 20)).output.strip() == ANSWER

    async def unsandboxed() -> None:
        bare.stdin.write(CODE + "\n")
        assert bare.stdout.readline().strip() == ANSWER

    async def measure(call, pids: list[int]) -> Cost:
        cpu, wall = time.process_time() + cpu_of(pids), time.perf_counter()
        for _ in range(batch):
            await call()
        spent = time.process_time() + cpu_of(pids) - cpu
        return Cost(spent / batch, (time.perf_counter() - wall) / batch)

    await unsandboxed()
    pairs = [(await measure(sandboxed, ours), await measure(unsandboxed, [bare.pid])) for _ in range(runs)]
    await host.close()
    bare.stdin.close()
    bare.wait()
    return [a for a, _ in pairs], [b for _, b in pairs]


async def first_call() -> Cost:
    cpu, wall = time.process_time(), time.perf_counter()
    host = MathHost()
    assert (await host.run(CODE, 20)).output.strip() == ANSWER
    took = time.perf_counter() - wall
    spent = time.process_time() - cpu + cpu_of(processes_below(os.getpid()))
    await host.close()
    return Cost(spent, took)


def importing() -> Cost:
    wall = time.perf_counter()
    code = "\n".join(f"import {name}" for name in IMPORTS)
    process = subprocess.Popen([sys.executable, "-I", "-c", code], env=environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - wall)


def row(name: str, ours: list[Cost], bare: list[Cost], target: float) -> bool:
    """Print a row of the table; whether its target holds."""
    mine, theirs = ([statistics.median(side) * 1000 for side in zip(*costs, strict=True)] for costs in (ours, bare))
    cpu, wall = (statistics.median(a[i] / b[i] for a, b in zip(ours, bare, strict=True)) for i in (0, 1))
    print(
        f"{name:12}{mine[0]:10.1f}{theirs[0]:10.1f}{cpu:8.2f}{target:8.2f}{mine[1]:11.1f}{theirs[1]:10.1f}{wall:8.2f}"
    )
    return cpu <= target


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="batches of 20 warm calls")
    parser.add_argument("--firsts", type=int, default=5, help="first calls")
    given = parser.parse_args()
    importing()  # bytecode and the file cache
    print(f"{'math':12}{'CPU ms':>10}{'bare':>10}{'ratio':>8}{'target':>8}{'wall ms':>11}{'bare':>10}{'ratio':>8}")
    held = row("warm", *asyncio.run(warm(given.runs)), TARGET_WARM)
    firsts = [(asyncio.run(first_call()), importing()) for _ in range(given.firsts)]
    held &= row("first call", [a for a, _ in firsts], [b for _, b in firsts], TARGET_FIRST)
    print("all targets hold" if held else "A TARGET DOES NOT HOLD")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
