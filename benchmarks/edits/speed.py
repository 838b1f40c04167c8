"""What an edit costs: of a file of 5,000 lines, and of one of 100 MB, against reading and durably writing it.

An edit is all that the server does for one accepted edit_file call: prepare (read, match, diff, check), apply (compare
with the disk, keep the way back, write durably, read log). The yardstick resolves the path, reads the file as text and
writes it back the same durable way, with nothing between. Both run in a process of their own, so that the memory can
be told.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from turnstone_lsp.config.settings import EditSettings, Settings
from turnstone_lsp.tools import edit_file, read_file
from turnstone_lsp.workspace import writing
from turnstone_lsp.workspace.applying import apply_review
from turnstone_lsp.workspace.documents import OpenDocuments
from turnstone_lsp.workspace.editor import NoEditor
from turnstone_lsp.workspace.encoded import Encoded
from turnstone_lsp.workspace.journal import Journal
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.view import Workspace

SIZES = {"5,000 lines": 5_000, "100 MB": 2_100_000}
RUNS = {"5,000 lines": 60, "100 MB": 9}
TARGET, MEMORY_MB = 2.0, 300


@dataclass
class Context:
    """What the file tools ask of their session."""

    workspace: Workspace
    settings: Settings
    call_id: str = "c1"


def fill(path: Path, lines: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(lines):
            file.write(f"    value_{number} = compute(value_{number}, scale=3)\n")


async def edit(context: Context, path: Path, line: int, run: int) -> None:
    """One accepted call, as the pipeline makes it."""
    workspace = context.workspace
    workspace.begin_batch()
    old = f"    value_{line} = compute(value_{line}, scale={'3' if run == 0 else 3 + run})\n"
    args = edit_file.Args(str(path), old, old.replace(f"scale={3 + run}" if run else "scale=3", f"scale={4 + run}"))
    await edit_file.prepare(args, context)  # type: ignore[arg-type]
    (proposal,) = workspace.staging.proposals()
    everything = frozenset(range(len(proposal.hunks)))
    journal = Journal("bench", context.settings.edits)
    report = await apply_review(workspace, proposal, proposal.result, accepted=everything, journal=journal, turn="t")
    assert report.ok, report.text


async def read_and_write(workspace: Workspace, path: Path) -> None:
    target = await workspace.resolve(str(path), write=True)
    snapshot = await workspace.snapshot(target.path)
    pieces = Encoded(snapshot.text, snapshot.format, path.name)
    await asyncio.to_thread(writing.write, target.path, pieces, snapshot.fingerprint)


def memory_mb(line: str) -> float:
    """VmRSS: what is in memory now; VmHWM: the most there was (getrusage counts the parent's in)."""
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(row.split()[1]) for row in status if row.startswith(f"{line}:")) / 1024


async def measure(name: str, folder: Path) -> dict[str, list[float] | float]:
    path = folder / "file.txt"
    fill(path, SIZES[name])
    settings = Settings(edits=EditSettings())
    workspace = Workspace(Roots([folder]), OpenDocuments(), NoEditor(), settings.edits)
    context = Context(workspace, settings)
    line = SIZES[name] * 3 // 4
    plan = await read_file.prepare(read_file.Args(str(path), line, 20), context)  # type: ignore[arg-type]
    await plan.execute(None)  # type: ignore[arg-type]
    idle = memory_mb("VmRSS")
    figures: dict[str, list[float]] = {"edit": [], "yardstick": [], "edit wall": [], "yardstick wall": []}
    memory = 0.0
    for run in range(RUNS[name]):
        os.sync()
        wall, cpu = time.perf_counter(), time.process_time()
        await edit(context, path, line, run)
        figures["edit"].append(time.process_time() - cpu)
        figures["edit wall"].append(time.perf_counter() - wall)
        memory = memory_mb("VmHWM") - idle if run == 0 else memory
        os.sync()
        wall, cpu = time.perf_counter(), time.process_time()
        await read_and_write(workspace, path)
        figures["yardstick"].append(time.process_time() - cpu)
        figures["yardstick wall"].append(time.perf_counter() - wall)
        plan = await read_file.prepare(read_file.Args(str(path), line, 20), context)  # type: ignore[arg-type]
        await plan.execute(None)  # type: ignore[arg-type]
    return {**figures, "memory": memory}


def run() -> list[str]:
    """Print the table; the targets that were missed."""
    missed = []
    print(
        "\n{:<14}{:>12}{:>16}{:>8}{:>14}{:>18}{:>8}{:>12}".format(
            "edit of", "CPU ms", "read+write ms", "ratio", "wall ms", "read+write ms", "ratio", "memory MB"
        )
    )
    for name in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TURNSTONE_STATE_DIR": f"{folder}/state"}
            command = [sys.executable, str(Path(__file__)), name, folder]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        figures = json.loads(done.stdout)
        cpu, base, wall, base_wall = (
            1000 * statistics.median(figures[key]) for key in ("edit", "yardstick", "edit wall", "yardstick wall")
        )
        print(
            f"{name:<14}{cpu:>12.1f}{base:>16.1f}{cpu / base:>8.2f}{wall:>14.1f}{base_wall:>18.1f}"
            f"{wall / base_wall:>8.2f}{figures['memory']:>12.0f}"
        )
        if cpu / base > TARGET:
            missed.append(f"an edit of {name} takes {cpu / base:.2f} times reading and writing it")
        if name == "100 MB" and figures["memory"] > MEMORY_MB:
            missed.append(f"an edit of {name} takes {figures['memory']:.0f} MB above idle")
    return missed


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(sys.argv[1], Path(sys.argv[2]).resolve()))))
