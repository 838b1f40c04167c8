"""The engine for machines without ripgrep, in a process of its own: `re` cannot be interrupted, a process can.

Reads a job as JSON from stdin, writes a Found as JSON to stdout. With grep at hand, grep chooses the files.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.workspace.declared import Declared
from turnstone_lsp.workspace.searching import walk
from turnstone_lsp.workspace.searching.results import LONGEST_LINE, TOO_LONG, FileHits, Found, as_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BATCH = 60_000
"""Bytes of file names given to one grep; every system takes that many."""
_LARGEST = 256 * 1024 * 1024
_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """What to search: folders and files, but for `skip` (open documents), and `texts` (those documents, by name).

    pattern: for `re`; grep: (program, pattern) or None; parents: rules above the bases apply; encodings, roots: the
    setting edits.encodings and where it counts; declared_only: search only files that have an encoding by it.
    """

    pattern: str
    bases: list[str]
    skip: list[str]
    texts: dict[str, str]
    encodings: dict[str, str]
    roots: list[str]
    grep: tuple[str, str] | None = None
    declared_only: bool = False
    parents: bool = True


def main() -> None:
    """Do one job."""
    job = Job(**json.loads(sys.stdin.buffer.read()))
    sys.stdout.write(json.dumps(dataclasses.asdict(run(job))))


def run(job: Job) -> Found:
    """Search as the job says."""
    found = Found()
    pattern = re.compile(job.pattern, re.MULTILINE)
    for name, text in job.texts.items():
        add(found, name, text, pattern)
    skip, declared = frozenset(job.skip), Declared(job.encodings, job.roots)
    plain: list[str] = []
    for path in _files(job, found):
        encoding = declared.encoding(path)
        if path not in skip and encoding:
            _search_file(path, pattern, found, encoding)
        elif path not in skip and not job.declared_only:
            plain.append(path)
    for path in _chosen(plain, *job.grep, found) if job.grep else plain:
        _search_file(path, pattern, found)
    return found


def _files(job: Job, found: Found) -> Iterator[str]:
    for base in map(Path, job.bases):
        if base.is_dir():
            yield from walk.files_below(str(base), walk.rules_above(base) if job.parents else [], found)
        else:
            yield str(base)


def _chosen(files: Iterable[str], program: str, pattern: str, found: Found) -> Iterator[str]:
    """The files that hold a line which may match, as grep says, and those that it cannot read as text."""
    batch: list[str] = []
    size = 0
    for path in files:
        batch.append(path)
        size += len(os.fsencode(path)) + 1
        if size > _BATCH:
            yield from _grep(batch, program, pattern, found)
            batch, size = [], 0
    if batch:
        yield from _grep(batch, program, pattern, found)


def _grep(batch: list[str], program: str, pattern: str, found: Found) -> list[str]:
    argv = [program, "-laE", "--null", "-e", pattern, "--", *batch]
    out = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if out.returncode > 1 and not out.stdout:
        return batch
    holding = {os.fsdecode(name) for name in out.stdout.split(b"\0")}
    return [path for path in batch if path in holding or _is_utf16(path, found)]


def _is_utf16(path: str, found: Found) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return os.read(descriptor, 2) in _MARKS
        finally:
            os.close(descriptor)
    except OSError as error:
        found.failed.append((path, error.strerror or str(error)))
        return False


def _search_file(path: str, pattern: re.Pattern[str], found: Found, encoding: str = "utf-8") -> None:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            if os.fstat(file.fileno()).st_size > _LARGEST:
                found.failed.append((path, "too large to search without ripgrep"))
                return
            data = file.read()
    except OSError as error:
        found.failed.append((path, error.strerror or str(error)))
        return
    add(found, path, as_text(data, encoding), pattern)


def as_text(data: bytes, encoding: str = "utf-8") -> str:
    """A file's text as ripgrep reads it: by its UTF-8 or UTF-16 BOM, else as UTF-8 whose stray bytes stay."""
    if data[:2] in _MARKS:
        return data[2:].decode("utf-16-le" if data[:2] == _MARKS[0] else "utf-16-be", "replace")
    if data.startswith(b"\xef\xbb\xbf") or encoding == "utf-8":
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return data.decode(encoding, "replace")


def add(found: Found, name: str, text: str, pattern: re.Pattern[str]) -> None:
    """Search one text and add what it holds."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        if pattern.search(text.replace("\0", "\n")):
            found.binary.append(name)
        return
    last = len(text) - text.endswith("\n") - (not text)
    hits, room = FileHits(name), found.room()
    at, line, counted = 0, 1, 0
    while at <= last and (match := pattern.search(text, at)) and match.start() <= last:
        start = text.rfind("\n", 0, match.start()) + 1
        stop = text.find("\n", match.start())
        stop = len(text) if stop < 0 else stop
        line += text.count("\n", counted, start)
        counted = start
        hits.count += 1
        if len(hits.lines) < room:
            hits.lines.append((line, *_shown(text[start:stop])))
        at = stop + 1
    if hits.count:
        found.files.append(hits)


def _shown(line: str) -> tuple[str, int]:
    long = len(line) > LONGEST_LINE // 4 and len(line.encode("utf-8", "surrogatepass")) > LONGEST_LINE
    return (TOO_LONG, 0) if long else as_shown(line)
