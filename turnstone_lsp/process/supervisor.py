"""Running commands: started supervised, read in bounded memory, ended as a whole tree.

run       a command whose output is text for the user and the model (bash, man)
capture   a program whose output we parse (rg, git): stdout and stderr apart, as bytes
start     the bare child with descriptors of the caller's own (the math host)
end       everything that a session left running; shutdown: everything, from any thread, at exit too

Whoever awaits may be cancelled at any time: the call ends at once, and the supervisor ends the processes.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process.child import GRACE, Child, Command, Exit, Process
from turnstone_lsp.process.environment import find_program, probe_env
from turnstone_lsp.process.output import Collector
from turnstone_lsp.process.pipes import Reader, source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Captured", "Exit", "Outcome", "Process", "background", "capture", "end", "run", "shutdown", "start"]

DRAIN = 0.05
"""Seconds for which output is awaited after a command that left processes behind; the supervisor waited 0.15 before."""
_DRAIN_ALONE = 5.0
"""The same when nothing was left: the end of the output is then certain and only needs reading."""
FLUSH = 0.15
"""Seconds after which a part of a line is shown without its end."""
HARD_CAP = 256 * 1024 * 1024
"""Bytes of output after which a command is ended."""

_live: set[Child] = set()
_pumps: set[asyncio.Future[object]] = set()
"""Readers that outlive their call with the background processes; the event loop itself would forget them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command came to.

    exit_code, signal: one of them; both None when it was ended by us before it ended itself.
    output: plain text; where it was too long, its middle is replaced by a note that names `path`, the whole text.
    ended: why we ended it: "timeout", "output" (more than HARD_CAP), or "" when it ended by itself.
    background: processes that it left running; they are ended with the session.
    binary: what kind of data it wrote when that is no text; output is then empty.
    """

    exit_code: int | None
    signal: int | None
    output: str
    ended: Literal["", "timeout", "output"] = ""
    path: Path | None = None
    left_out: int = 0
    background: tuple[Process, ...] = ()
    binary: str | None = None
    bytes_seen: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Captured:
    """What a program wrote. `truncated`: it wrote more than the limit and was ended for it."""

    exit_code: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False


async def start(command: Command) -> Child:
    """Start a command under supervision. The caller closes its copies of the descriptors. Raises ToolError."""
    if sys.platform == "win32":
        from turnstone_lsp.process.windows import WindowsChild as Platform
    else:
        from turnstone_lsp.process.posix import PosixChild as Platform
    child = Platform(command, _live.discard)
    _live.add(child)
    try:
        await child.start(command)
    except BaseException:
        child.stop()
        raise
    return child


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None = None,
    on_output: Callable[[str], None] | None = None,
    transform: Callable[[str], str] | None = None,
    stdin: bytes | None = None,
    limits: Mapping[str, int] | None = None,
    keep: int = 32_000,
    name: str = "output",
    owner: str = "",
) -> Outcome:
    """Run a command to its end and return its merged output.

    Returns when the command itself has ended, though descendants live on and hold the pipe; those belong to `owner`
    (a session) and go on writing to the file of the outcome. timeout: seconds; keep: characters of output in
    memory; on_output: gets each line as it is produced; transform: applied to all text first; name: of the file.
    Raises ToolError when the command cannot be started.
    """
    began = time.monotonic()
    collector = Collector(keep, name, on_output, transform)
    child, reader = await _start_merged(argv, cwd=cwd, env=env, limits=limits or {}, stdin=stdin, owner=owner)
    pump: asyncio.Future[object] = asyncio.ensure_future(_pump(reader, collector, child))
    _pumps.add(pump)
    pump.add_done_callback(_pumps.discard)
    try:
        ended = await _wait(child, pump, collector, timeout)
        exit_ = await child.exited() if ended == "" else None
        left = exit_.left if exit_ else ()
        with contextlib.suppress(TimeoutError):
            held = bool(left) or (ended != "" and not child.ended)
            await asyncio.wait_for(asyncio.shield(pump), DRAIN if held else _DRAIN_ALONE)
        collector.detach()
        if not left:
            pump.cancel()
            await asyncio.wait({pump})
            collector.finish()
        await _catch_up(collector, force=bool(left))
    except BaseException:
        child.stop()
        pump.cancel()
        raise
    output, left_out = _joined(collector)
    return Outcome(
        exit_.code if exit_ else None,
        exit_.signal if exit_ else None,
        output,
        ended,
        collector.path,
        left_out,
        left,
        collector.binary,
        collector.bytes_seen,
        time.monotonic() - began,
    )


async def capture(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 30.0,
    limit: int = 8 * 1024 * 1024,
    stdin: bytes | None = None,
) -> Captured:
    """Run a program of our own account and return what it wrote, at most `limit` bytes of each stream.

    `env` defaults to `probe_env()`. Nothing that it starts outlives the call. Raises ToolError when it cannot start.
    """
    env = probe_env() if env is None else env
    (out_r, out_w), (err_r, err_w) = os.pipe(), os.pipe()
    streams = Reader(out_r), Reader(err_r)
    try:
        with source(stdin) as file:
            child = await start(Command(_resolved(argv), cwd, env, (file.fileno(), out_w, err_w)))
    finally:
        os.close(out_w)
        os.close(err_w)
    timed_out = False
    reads = [asyncio.ensure_future(_read_up_to(stream, limit, child)) for stream in streams]
    try:
        async with asyncio.timeout(timeout):
            (out, cut_out), (err, cut_err) = await asyncio.gather(*reads)
            exit_: Exit | None = None if cut_out or cut_err else await child.exited()
    except TimeoutError:
        timed_out, exit_, cut_out, cut_err = True, None, False, False
        out, err = (r.result()[0] if r.done() and not r.cancelled() else b"" for r in reads)
    finally:
        child.stop()
        for read, stream in zip(reads, streams, strict=True):
            read.cancel()
            stream.close()
    code, number = (exit_.code, exit_.signal) if exit_ else (None, None)
    return Captured(code, number, out, err, timed_out, cut_out or cut_err)


def background(owner: str | None = None) -> list[Child]:
    """Children whose command still runs or has left processes; of one owner, or all."""
    return [child for child in _live if owner is None or child.owner == owner]


async def end(owner: str) -> None:
    """End everything that belongs to `owner`, and wait until it is gone (at most GRACE and a little)."""
    children = background(owner)
    for child in children:
        child.stop()
    if children:
        await asyncio.wait([asyncio.ensure_future(child.gone()) for child in children], timeout=GRACE + 3)


def shutdown(timeout: float = 2.0) -> None:
    """End every child and wait until all are gone, `timeout` seconds at most. Blocks; needs no event loop."""
    children = list(_live)
    for child in children:
        child.stop()
    deadline = time.monotonic() + timeout
    for child in children:
        if child.wait_gone(max(deadline - time.monotonic(), 0.01)):
            _live.discard(child)


atexit.register(shutdown)


async def _start_merged(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    limits: Mapping[str, int],
    stdin: bytes | None,
    owner: str,
) -> tuple[Child, Reader]:
    read_end, write_end = os.pipe()
    reader = Reader(read_end)
    try:
        with source(stdin) as file:
            fds = (file.fileno(), write_end, write_end)
            child = await start(Command(_resolved(argv), cwd, env, fds, limits, owner))
    except BaseException:
        reader.close()
        raise
    finally:
        os.close(write_end)
    return child, reader


def _resolved(argv: Sequence[str]) -> list[str]:
    program = argv[0] if Path(argv[0]).is_absolute() else find_program(argv[0])
    if program is None:
        raise ToolError(f"The program '{argv[0]}' was not found on PATH; install it.")
    return [program, *argv[1:]]


async def _wait(
    child: Child, pump: asyncio.Future[object], collector: Collector, timeout: float | None
) -> Literal["", "timeout", "output"]:
    """Wait for the command's end; if we had to end it, why."""
    exited: asyncio.Future[object] = asyncio.ensure_future(child.exited())
    try:
        async with asyncio.timeout(timeout):
            await asyncio.wait({exited, pump}, return_when=asyncio.FIRST_COMPLETED)
            if collector.bytes_seen < HARD_CAP:
                await exited
                return ""
    except TimeoutError:
        pass
    finally:
        exited.cancel()
    child.stop()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(child.gone(), GRACE + 3)
    return "output" if collector.bytes_seen >= HARD_CAP else "timeout"


async def _pump(reader: Reader, collector: Collector, child: Child) -> None:
    """Move output from the pipe to the collector until its end; lives on while background processes write."""
    try:
        while True:
            try:
                async with asyncio.timeout(FLUSH if collector.pending else None):
                    data = await reader.read()
            except TimeoutError:
                collector.flush()
            else:
                if not data:
                    break
                collector.feed(data)
            await _catch_up(collector)
            if collector.bytes_seen >= HARD_CAP and not collector.detached:
                child.stop()
                break
        collector.finish()
        await _catch_up(collector)
    finally:
        reader.close()
        if collector.spool:
            collector.spool.close()


async def _catch_up(collector: Collector, *, force: bool = False) -> None:
    work = collector.spool_work(force=force)
    if work:
        await asyncio.to_thread(work)


async def _read_up_to(reader: Reader, limit: int, child: Child) -> tuple[bytes, bool]:
    pieces: list[bytes] = []
    size = 0
    while data := await reader.read():
        pieces.append(data[: limit - size])
        size += len(data)
        if size > limit:
            child.stop()
            return b"".join(pieces), True
    return b"".join(pieces), False


def _joined(collector: Collector) -> tuple[str, int]:
    head, tail, left_out = collector.text()
    if not left_out:
        return head + tail, 0
    where = f"; the text is in {collector.path} (read_file)" if collector.path else ""
    return f"{head}\n[... {left_out:,} characters left out here{where} ...]\n{tail}", left_out
