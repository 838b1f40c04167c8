"""The engine for machines with ripgrep: it walks, reads and matches; its output is read as it comes, little is kept."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import tempfile
from typing import IO, TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process.environment import probe_env
from turnstone_lsp.workspace.searching import render
from turnstone_lsp.workspace.searching.results import (
    LONGEST_LINE,
    MOST_LINES,
    TOO_LONG,
    FileHits,
    Found,
    as_shown,
)
from turnstone_lsp.workspace.searching.walk import LEFT_OUT, Above

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from turnstone_lsp.workspace.searching.dialect import Node

SECONDS = 60.0
"""After which a search is ended, and what was found so far is shown."""
_READ = 1024 * 1024
_IGNORING = re.compile(rb"ignoring (.+): Ignore\(IgnoreMatch\(Gitignore\(")
"""In the debug log of every ripgrep since 11. Should a later one say it otherwise, the count is left out."""
_COUNT = re.compile(rb"([^\0]+)\0(\d+)\n")
_LINE = re.compile(rb"\d+:|\n")
_FAILED = re.compile(rb"(?:rg: )?(.+): (.+) \(os error \d+\)")
_BINARY = re.compile(rb'^(?!\d+[:])(.+): binary file matches \(found ".*" byte around offset \d+\)\n', re.MULTILINE)
_OMITTED = re.compile(r"\[Omitted long [^]]*\]")

_COMMON = (
    "--no-config", "--color=never", "--with-filename", "--null", "--no-mmap", "--regex-size-limit=64M",
    "--dfa-size-limit=64M",
)  # fmt: skip
_WALK = (
    "--count", "--hidden", "--binary", "--debug", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global",
    *(f"--glob=!{name}" for name in sorted(LEFT_OUT)),
)  # fmt: skip
_LINES = ("--line-number", "--heading", f"--max-columns={LONGEST_LINE}", f"--max-count={MOST_LINES}")
_READ_AGAIN = 1000
"""Files, in the order of their paths, whose lines are read and whose binary ones are told apart; others are counted."""


async def search_files(
    program: str, node: Node, bases: Sequence[Path], wanted: Callable[[str], bool], above: Above
) -> Found:
    """Search files and folders. `wanted` says of each file with matches whether it is to be kept.

    First the matching lines of each file are counted, which needs little output however many there are; then the
    files to be shown are read. above: which .gitignore files above the bases count.

    A file in the result without lines has some that end in a lone CR, and must be searched as a text.
    """
    found = Found()
    flags = [*_WALK]
    if above != "repository":
        flags.append("--no-require-git")  # given in a repository, ripgrep 14 would not stop at its top
    if above == "none":
        flags.append("--no-ignore-parent")
    argv = [program, *_COMMON, *flags, "--regexp", render.counting(node), "--", *map(os.fspath, bases)]
    # ripgrep writes for each file by itself: into a file that wakes nobody up
    with tempfile.TemporaryFile() as out:
        try:
            async with asyncio.timeout(SECONDS):
                await _run(argv, out, _Log(found).feed)
        except TimeoutError:
            found.stopped = f"the search was ended after {SECONDS:.0f} seconds; search a smaller folder"
        out.seek(0)
        counts = _COUNT.findall(out.read())
    counted = sorted((path, int(count)) for path, count in counts if wanted(os.fsdecode(path)))
    found.files = [FileHits(os.fsdecode(path), count) for path, count in counted[:_READ_AGAIN]]
    found.more_files = len(counted) - len(found.files)
    found.more_lines = sum(count for _, count in counted[_READ_AGAIN:])
    if found.files:
        await _read_lines(program, render.ripgrep(node), found)
    return found


async def _read_lines(program: str, pattern: str, found: Found) -> None:
    """Read the lines of the files in `found`, and take out those that are binary."""
    again = Found()
    reader = _Reader(again)
    argv = [program, *_COMMON, *_LINES, "--binary", "--regexp", pattern, "--", *(hits.path for hits in found.files)]
    await _run(argv, reader.feed)
    reader.close()
    found.binary = again.binary
    read = {hits.path: hits for hits in again.files}
    binary = frozenset(again.binary)
    for hits in found.files:
        if hits.path in read:
            hits.lines = read[hits.path].lines
    found.files = [hits for hits in found.files if hits.path not in binary]


async def search_text(program: str, node: Node, name: str, text: str, found: Found) -> None:
    """Search a text in memory, whatever its line ends, and add what it holds to `found`."""
    if "\0" in text:
        text = text.replace("\0", "\n")
        await search_text(program, node, name, text, probe := Found())
        found.binary += [name] if probe.files else []
        return
    data = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "surrogateescape")
    reader = _Reader(found, name)
    argv = [program, *_COMMON, *_LINES[:-1], "--text", "--encoding=none", "--regexp", render.ripgrep(node), "--", "-"]
    await _run(argv, reader.feed, stdin=data)
    reader.close()


async def _run(
    argv: Sequence[str],
    out: IO[bytes] | Callable[[bytes], None],
    log: Callable[[bytes], None] | None = None,
    *,
    stdin: bytes | None = None,
) -> None:
    """Run ripgrep to its end, killed when the caller is cancelled. Raises ToolError when it refuses its arguments.

    out: a file, or who takes each piece of output; log: who takes each piece of what it says beside.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL if stdin is None else pipe,
        stdout=pipe if callable(out) else out,
        stderr=pipe,
        env=probe_env(),
        cwd="/" if os.name == "posix" else None,
        limit=_READ,
    )
    said: list[bytes] = []

    def keep(data: bytes) -> None:
        said[:] = [b"".join(said)[-2000:], data]
        if log:
            log(data)

    try:
        await asyncio.gather(_drain(process.stdout, out), _drain(process.stderr, keep), _give(process.stdin, stdin))
        code = await process.wait()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    text = b"".join(said).decode("utf-8", "replace")
    if code > 1 and "(os error" not in text:
        raise ToolError(f"query: ripgrep cannot search for it: {text.strip()[-300:]}")


async def _drain(stream: asyncio.StreamReader | None, take: IO[bytes] | Callable[[bytes], None]) -> None:
    while stream and callable(take) and (data := await stream.read(_READ)):
        take(data)


async def _give(stream: asyncio.StreamWriter | None, data: bytes | None) -> None:
    if stream and data is not None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stream.write(data)
            await stream.drain()
            stream.close()
            await stream.wait_closed()


class _Reader:
    r"""Reads output of the form `path NUL number:line \n ... \n \n path NUL ...` in chunks of any size."""

    def __init__(self, found: Found, name: str | None = None) -> None:
        self._found = found
        self._name = name
        self._tail = b""
        self._hits: FileHits | None = None

    def feed(self, data: bytes) -> None:
        """Take a chunk."""
        data = self._tail + data
        # cut at a line end that is none in a path, and leave it to the rest, so that blank lines stay whole
        cut = len(data) - 1
        while (cut := data.rfind(b"\n", 0, cut)) >= 0 and not _LINE.match(data, cut + 1):
            pass
        self._tail = data[max(cut, 0) :]
        self._region(data[: max(cut, 0)])

    def close(self) -> None:
        """The output has ended."""
        self._region(self._tail)
        self._end_file()

    def _region(self, region: bytes) -> None:
        at = 0
        while (nul := region.find(b"\0", at)) >= 0:
            blank = region.rfind(b"\n\n", at, nul)
            begin = blank + 2 if blank >= 0 else at + region.startswith(b"\n", at)
            self._lines(region[at:begin])
            self._end_file()
            self._hits = FileHits(self._name or os.fsdecode(region[begin:nul]))
            at = nul + 1
        self._lines(region[at:])

    def _end_file(self) -> None:
        if self._hits and self._hits.count:
            self._found.files.append(self._hits)
        self._hits = None

    def _lines(self, body: bytes) -> None:
        if b": binary file matches (found " in body:
            for name in map(os.fsdecode, _BINARY.findall(body + b"\n")):
                self._found.binary.append(name)
                if self._hits and self._hits.path == name:
                    self._hits = None
            body = _BINARY.sub(b"", body + b"\n")
        body = body.strip(b"\n")
        hits = self._hits
        if hits is None or not body:
            return
        hits.count += body.count(b"\n") + 1
        missing = MOST_LINES - len(hits.lines)
        if missing > 0:
            for line in body.split(b"\n", missing)[:missing]:
                number, _, text = line.partition(b":")
                hits.lines.append((int(number), *_shown(text)))


def _shown(line: bytes) -> tuple[str, int]:
    text = line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
    return (TOO_LONG, 0) if _OMITTED.fullmatch(text) else as_shown(text)


class _Log:
    """Reads ripgrep's log: what it ignored and what it could not read."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._tail = b""

    def feed(self, data: bytes) -> None:
        """Take a chunk."""
        *lines, self._tail = (self._tail + data).split(b"\n")
        for line in lines:
            if b"DEBUG|" in line:
                ignoring = _IGNORING.search(line)
                if ignoring:
                    self._found.ignore(os.fsdecode(ignoring[1]))
            elif failed := _FAILED.fullmatch(line):
                self._found.failed.append((os.fsdecode(failed[1]), failed[2].decode("utf-8", "replace")))
