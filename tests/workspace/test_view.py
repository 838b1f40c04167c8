"""The workspace as a whole: one view for parent and sub-agents, and what changed since it was read."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import uris
from turnstone_lsp.workspace.documents import Change
from turnstone_lsp.workspace.reads import ReadLog
from turnstone_lsp.workspace.snapshot import Fingerprint, Snapshot, TextFormat

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.workspace.view import Workspace


async def test_a_sub_agent_shares_documents_and_locks_but_not_reads(workspace: Workspace, root: Path) -> None:
    """faults.md 45: one lock per real path, for parent and sub-agents."""
    child = workspace.child()
    assert (child.roots, child.documents, child.editor) == (workspace.roots, workspace.documents, workspace.editor)
    assert child.reads is not workspace.reads
    order: list[str] = []

    async def hold(view: Workspace, name: str) -> None:
        async with view.lock(root / "a"):
            order.append(f"{name} in")
            await asyncio.sleep(0)
            order.append(f"{name} out")

    await asyncio.gather(hold(workspace, "parent"), hold(child.child(), "child"))
    assert order == ["parent in", "parent out", "child in", "child out"]


async def test_the_other_agents_change_makes_a_read_stale(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("one\n")
    child = workspace.child()
    snapshot = await workspace.snapshot(root / "a")
    for view in (workspace, child):
        view.reads.note(snapshot)
    (root / "a").write_text("two\n")
    child.reads.note(await child.snapshot(root / "a"))  # the child wrote it, so it knows the new text
    now = await workspace.snapshot(root / "a")
    assert child.reads.stale(now) is None
    assert "changed after it was read" in (workspace.reads.stale(now) or "")


async def test_changes_of_buffers_and_deletions_are_told(workspace: Workspace, root: Path) -> None:
    """faults.md 38, 39: what changed since the model read it, in the editor or on disk."""
    for name in ("buffer", "disk", "gone", "same", "touched"):
        (root / name).write_text("one\n")
        workspace.reads.note(await workspace.snapshot(root / name))
    workspace.documents.open(uris.from_path(root / "buffer"), "one\n", 1)
    workspace.documents.open(uris.from_path(root / "same"), "one\n", 1)
    assert await workspace.changed_since_read() == []
    workspace.documents.change(uris.from_path(root / "buffer"), 2, [Change("two\n")])
    (root / "disk").write_text("two\n")
    (root / "gone").unlink()
    (root / "touched").write_text("one\n")
    assert await workspace.changed_since_read() == [root / "buffer", root / "disk", root / "gone"]
    assert await workspace.changed_since_read() == []
    workspace.documents.change(uris.from_path(root / "buffer"), 3, [Change("three\n")])
    assert await workspace.changed_since_read() == [root / "buffer"]


async def test_a_file_that_is_being_written_is_read_whole(workspace: Workspace, root: Path) -> None:
    """A snapshot's text, hash and stat belong together, whoever writes meanwhile."""
    path = root / "f"
    path.write_bytes(b"a" * 200_000)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for letter in (b"a", b"b"):
                (root / "new").write_bytes(letter * 200_000)
                (root / "new").rename(path)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        texts = {(await workspace.snapshot(path)).text for _ in range(40)}
    finally:
        stop.set()
        thread.join()
    assert texts <= {"a" * 200_000, "b" * 200_000}


async def test_what_cannot_be_read_says_why(workspace: Workspace, root: Path) -> None:
    with pytest.raises(ToolError, match="folder"):
        await workspace.snapshot(root)
    missing = await workspace.snapshot(root / "missing")
    assert (missing.exists, missing.text) == (False, "")


def test_texts_are_kept_within_a_bound(tmp_path: Path) -> None:
    log = ReadLog()
    for n in range(100):
        text = str(n) * 400_000
        log.note(Snapshot(tmp_path / str(n), text[:400_000], TextFormat(), Fingerprint(f"{n}")))
    kept = [record for path in log if (record := log.get(path)) and record.text is not None]
    assert sum(len(record.text or "") for record in kept) <= 16 * 1024 * 1024
    assert len(list(log)) == 100
    assert all(getattr(log.get(path), "whole", False) for path in log)
