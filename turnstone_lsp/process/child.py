"""What every platform's way of supervising a command has in common."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was still alive when its command ended."""

    pid: int
    command: str


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended: `code` or `signal`, the other is None; `left` are descendants still alive."""

    code: int | None
    signal: int | None = None
    left: tuple[Process, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """What to run. `argv[0]` is an absolute path; the three descriptors become the child's standard streams.

    limits: names of `resource` limits (POSIX) to their value, e.g. {"RLIMIT_CORE": 0}.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    fds: tuple[int, int, int]
    limits: Mapping[str, int] = field(default_factory=dict)
    owner: str = ""
    grace: float = GRACE


class Child:
    """A running command and all its descendants.

    `stop()` begins the end of all of them and returns at once; the platform's part sees it through even if this
    process dies. It may be called from any thread, at any time, more than once.
    """

    def __init__(self, command: Command) -> None:
        loop = asyncio.get_running_loop()
        self.owner = command.owner
        self.name = " ".join(command.argv)[:200]
        self.pid = -1
        self._started: asyncio.Future[None] = loop.create_future()
        self._exit: asyncio.Future[Exit] = loop.create_future()
        self._gone: asyncio.Future[None] = loop.create_future()
        for future in (self._started, self._exit):
            future.add_done_callback(_retrieve)

    async def exited(self) -> Exit:
        """Wait for the command itself to end; its descendants may live on."""
        return await asyncio.shield(self._exit)

    async def gone(self) -> None:
        """Wait until nothing of it is left."""
        await asyncio.shield(self._gone)

    @property
    def ended(self) -> bool:
        """True once nothing of it is left."""
        return self._gone.done()

    def stop(self) -> None:
        """Begin to end the command and all its descendants."""
        raise NotImplementedError

    def wait_gone(self, timeout: float) -> bool:
        """Block until nothing is left, without an event loop (at exit). False when `timeout` seconds were too few."""
        raise NotImplementedError


def _retrieve(future: asyncio.Future[None] | asyncio.Future[Exit]) -> None:
    """Mark an exception as seen: whoever waits still gets it, and nobody waiting is no error."""
    if not future.cancelled():
        future.exception()
