"""One search: which engine looks, what open buffers hold over the disk, and what is put right afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import sysconfig
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process import supervisor
from turnstone_lsp.process.environment import find_program, probe_env
from turnstone_lsp.workspace import protected
from turnstone_lsp.workspace.searching import render, ripgrep, walk
from turnstone_lsp.workspace.searching.results import MOST_LINES, FileHits, Found
from turnstone_lsp.workspace.searching.worker import Job, as_text
from turnstone_lsp.workspace.text import has_lone_cr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turnstone_lsp.workspace.searching.dialect import Node
    from turnstone_lsp.workspace.searching.walk import Above
    from turnstone_lsp.workspace.view import Workspace

_LARGEST_CHECKED = 16 * 1024 * 1024
"""Bytes of a file up to which it is looked at for lines that end in a lone CR."""
_WORKER_OUTPUT = 256 * 1024 * 1024
_START = "import sys; sys.path = sys.argv[1:]; from turnstone_lsp.workspace.searching.worker import main; main()"
"""The worker sees the modules that this process sees, and nothing of the folder that it runs in."""


async def search(workspace: Workspace, node: Node, bases: Sequence[Path]) -> Found:
    """Search real paths, each a folder or a file, and the open documents below them.

    Raises ToolError when the engine cannot take the pattern.
    """
    roots = workspace.roots.paths
    keep = _keeper(bases)
    above, texts = await asyncio.to_thread(_prepared, workspace, bases, keep)
    job = Job(
        pattern=render.python(node),
        bases=[str(base) for base in bases],
        skip=list(texts),
        texts=texts,
        parents=above != "none",
        encodings=workspace.edits.encodings,
        roots=[str(root) for root in roots],
    )
    program = find_ripgrep(roots)
    if program is None:
        grep = await _find_grep(roots)
        found = await _built_in(replace(job, grep=(grep, render.grep(node)) if grep else None))
        return _kept(found, keep)
    declared = workspace.declared

    def wanted(path: str) -> bool:
        return path not in texts and keep(path) and not declared.encoding(path)

    found = await ripgrep.search_files(program, node, bases, wanted, above)
    again = await asyncio.to_thread(lone_returns, found)
    for name, text in (texts | again).items():
        await ripgrep.search_text(program, node, name, text, found)
    if declared:
        # only the built-in engine knows all of Python's encodings
        others = _kept(await _built_in(replace(job, texts={}, declared_only=True)), keep)
        found.files += others.files
        found.binary += others.binary
    return found


def _kept(found: Found, keep: Callable[[str], bool]) -> Found:
    found.files = [hits for hits in found.files if keep(hits.path)]
    found.binary = [path for path in found.binary if keep(path)]
    return found


def find_ripgrep(roots: Sequence[Path]) -> str | None:
    """The `rg` to use: on PATH or installed beside us (the extra "search"), never one of a workspace (C-14)."""
    beside = Path(sysconfig.get_path("scripts")) / ("rg.exe" if os.name == "nt" else "rg")
    found = find_program("rg", roots)
    if found or not beside.is_file() or any(beside.resolve().is_relative_to(root) for root in roots):
        return found
    return str(beside)


def _keeper(bases: Sequence[Path]) -> Callable[[str], bool]:
    """Says of a file whether search may show it: not our own, and no secrets but those named on purpose."""
    own = protected.own_folders()
    on_purpose = any(protected.read_reason(base) for base in bases)

    def keep(path: str) -> bool:
        return not path.startswith(own) and (on_purpose or not protected.is_secret(path))

    return keep


def _prepared(workspace: Workspace, bases: Sequence[Path], keep: Callable[[str], bool]) -> tuple[Above, dict[str, str]]:
    """What applies from above, and the buffers to search; looks at the disk."""
    each = {walk.above(base, workspace.roots.root_of(base)) for base in bases}
    above: Above = each.pop() if len(each) == 1 else "none" if "none" in each else "all"
    return above, _buffers(workspace, bases, keep)


def _buffers(workspace: Workspace, bases: Sequence[Path], keep: Callable[[str], bool]) -> dict[str, str]:
    """The texts of open documents below the bases that differ from the disk, by path."""
    texts: dict[str, str] = {}
    for document in workspace.documents:
        path = document.path
        if path is None or not any(path.is_relative_to(base) for base in bases) or not keep(str(path)):
            continue
        if not walk.is_ignored(path, list(bases)) and (document.dirty or _on_disk(path) != document.text):
            texts[str(path)] = document.text
    return texts


def _on_disk(path: Path) -> str | None:
    try:
        return as_text(path.read_bytes())
    except OSError:
        return None


def lone_returns(found: Found) -> dict[str, str]:
    """Files with lines that end in a lone CR, which ripgrep does not know: what must be searched again as a text.

    They are taken out of `found`, and so are files that ripgrep only counted because they might have such lines. Of
    files with matches, those that can be shown are looked at.
    """
    texts: dict[str, str] = {}
    files = sorted(found.files, key=lambda hits: (bool(hits.lines), hits.path))
    only_counted = sum(not hits.lines for hits in files)
    for hits in files[: only_counted + MOST_LINES]:
        text = _text_with_lone_returns(Path(hits.path))
        if text is not None:
            texts[hits.path] = text
    found.files = [hits for hits in found.files if hits.lines and hits.path not in texts]
    return texts


def _text_with_lone_returns(path: Path) -> str | None:
    try:
        if path.stat().st_size > _LARGEST_CHECKED:
            return None
        data = path.read_bytes()
    except OSError:
        return None
    if b"\r" not in data or data.count(b"\r") == data.count(b"\r\n"):
        return None
    text = as_text(data)
    return text if has_lone_cr(text) and "\0" not in text else None


async def _built_in(job: Job) -> Found:
    """Have the built-in engine do a job. Raises ToolError when it fails or takes too long."""
    path = [entry for entry in sys.path if Path(entry).is_absolute()]
    argv = [sys.executable, "-I", "-c", _START, *path]
    done = await supervisor.capture(
        argv,
        cwd=Path(sys.prefix),
        env=probe_env({"LC_ALL": "C.UTF-8"}),
        timeout=ripgrep.SECONDS,
        limit=_WORKER_OUTPUT,
        stdin=json.dumps(asdict(job)).encode(),
    )
    if done.timed_out:
        raise ToolError("search: it took too long without ripgrep; install ripgrep, or search a smaller folder.")
    if done.exit_code != 0:
        raise ToolError(f"search: the built-in engine failed: {done.stderr.decode('utf-8', 'replace').strip()[-300:]}")
    data = json.loads(done.stdout)
    files = [
        FileHits(f["path"], f["count"], [(n, text, cut) for n, text, cut in f["lines"]]) for f in data.pop("files")
    ]
    failed = [(path, reason) for path, reason in data.pop("failed")]
    return Found(files=files, failed=failed, **data)


async def _find_grep(roots: Sequence[Path]) -> str | None:
    """A grep that knows UTF-8 and --null; None when there is none."""
    program = find_program("grep", roots)
    if program is None:
        return None
    done = await supervisor.capture(
        [program, "-laE", "--null", "-e", "x.y", "--", "-"],
        cwd=Path("/"),
        env=probe_env({"LC_ALL": "C.UTF-8"}),
        stdin="xéy\n".encode(),
    )
    return program if done.exit_code == 0 and done.stdout.endswith(b"\0") else None
