"""Starting a host: its command line, its environment, and the pipes to it."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from turnstone_lsp.process import supervisor
from turnstone_lsp.process.child import Child, Command
from turnstone_lsp.process.pipes import Reader
from turnstone_lsp.sandbox import libraries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnstone_lsp.sandbox.frames import Header
    from turnstone_lsp.sandbox.levels import Level

Task = Literal["math", "html", "probe"]
START_SECONDS = 60.0
"""Seconds for which libraries may take to be imported."""
IDLE_SECONDS = 600.0
"""Seconds without a call after which a host is ended."""
_THREADS = ("OPENBLAS", "OMP", "MKL", "NUMEXPR", "VECLIB")
_OPENBLAS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""On some processors OpenBLAS computes right only with what the system sets here."""
_START = "import sys; sys.path.append({0!r}); from turnstone_lsp.sandbox.{1} import main; main({2!r}, {3!r}, {4!r})"
_PACKAGE_PARENT = str(Path(__file__).resolve().parents[2])


@dataclass(frozen=True, slots=True)
class Answer:
    """How a call ended (`calls.How`), the signal that killed it or 0, and what it wrote."""

    how: str
    signal: int
    output: bytes


def environment() -> dict[str, str]:
    """An environment from nothing: no name or value of the user's is in it."""
    made = {"PATH": os.defpath, "LANG": "C.UTF-8", "MPLBACKEND": "Agg", "PYTHONHASHSEED": "random"}
    made |= {f"{name}_NUM_THREADS": "1" for name in _THREADS}
    return made | {name: os.environ[name] for name in (*_OPENBLAS, "SYSTEMROOT") if name in os.environ}


def command_line(module: str, task: Task, highest: Level, names: Sequence[str]) -> list[str]:
    """The command that starts a host. Isolated: no module comes from the folder it runs in or from PYTHONPATH.

    It may write bytecode, as Python does: without, an installation that has none would compile sympy at every start.
    """
    folders = libraries.folders_of(names)
    return [sys.executable, "-I", "-c", _START.format(_PACKAGE_PARENT, module, task, highest, folders)]


class Host(Protocol):
    """Runs the calls of one task, each in a process of its own. Starts when first needed."""

    level: Level | None
    """The level that holds; None before it has been proved."""

    async def start(self) -> Level:
        """Have it ready; its level. Raises ToolError."""
        ...

    async def call(self, body: bytes, *, timeout: float, cap: int, header: Header | None = None) -> Answer:
        """One call of at most `timeout` seconds and `cap` bytes of output. Cancelling it ends its process.

        Raises ToolError when the host cannot be had, or ended or did not answer during the call.
        """
        ...

    async def close(self) -> None:
        """End it and wait for that."""
        ...


@dataclass(slots=True)
class Process:
    """A host process and the ends of its pipes."""

    child: Child
    reader: Reader
    writing: int

    async def close(self) -> None:
        """End it and wait until nothing is left of it."""
        self.child.stop()
        self.reader.close()
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1
        await self.child.gone()


async def spawn(argv: Sequence[str]) -> Process:
    """Start a host, supervised: it ends with this process, however that ends. Raises ToolError."""
    reading, their_writing = os.pipe()
    their_reading, writing = os.pipe()
    null = os.open(os.devnull, os.O_WRONLY)
    folder = Path(sys.executable).anchor
    try:
        command = Command(argv, Path(folder), environment(), (their_reading, their_writing, null))
        child = await supervisor.start(command)
    except BaseException:
        os.close(reading)
        os.close(writing)
        raise
    finally:
        for fd in (their_reading, their_writing, null):
            os.close(fd)
    return Process(child, Reader(reading), writing)


def choose(task: Task, names: Sequence[str], highest: Level = "L4", platform: str = sys.platform) -> Host:
    """The kind of host that a platform gets. Forking is safe on Linux only, and needs its process descriptors."""
    if platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            os.close(os.pidfd_open(os.getpid()))
            from turnstone_lsp.sandbox.forking import ForkingHost

            return ForkingHost(task, names, highest)
    from turnstone_lsp.sandbox.worker import WorkerHost

    return WorkerHost(task, names)
