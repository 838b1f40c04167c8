"""Undo and redo of a turn: before-images of touched files, never over the user's changes, across restarts."""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING

import pytest
from edits import Agent

from turnstone_lsp.config import folders
from turnstone_lsp.config.settings import EditSettings
from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.workspace import images, undoing
from turnstone_lsp.workspace.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def agent(project: Path) -> Agent:
    return Agent(project.resolve())


async def undo(agent: Agent, turn: str | None = None) -> str:
    return await undoing.undo(agent.workspace, Journal("s1", agent.edits), turn)


async def redo(agent: Agent, turn: str | None = None) -> str:
    return await undoing.redo(agent.workspace, Journal("s1", agent.edits), turn)


def tree(agent: Agent) -> dict[str, bytes]:
    return {str(p.relative_to(agent.root)): p.read_bytes() for p in agent.root.rglob("*") if p.is_file()}


async def a_turn(agent: Agent) -> dict[str, bytes]:
    """Several edits of one file, one of a strange format, a created file; the tree before."""
    (agent.root / "a.txt").write_text("one\ntwo\nthree\n")
    (agent.root / "w.txt").write_bytes(b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le"))
    (agent.root / "w.txt").chmod(0o640)
    before = tree(agent)
    await agent.read("a.txt")
    await agent.read("w.txt")
    await agent.edit("a.txt", "one", "1")
    await agent.edit("a.txt", "three", "3")
    await agent.edit("w.txt", "b", "B\nC")
    await agent.write("new/n.txt", "new\n")
    return before


async def test_undo_restores_and_redo_puts_back_across_restarts(agent: Agent) -> None:
    """faults.md 43, 48: a created file is deleted, and the undo itself can be undone."""
    before = await a_turn(agent)
    after = tree(agent)
    assert len(after) == 3
    for _ in range(2):
        text = await undo(agent)
        assert tree(agent) == before
        assert "new/n.txt (deleted: the turn had created it)" in text
        assert stat.S_IMODE((agent.root / "w.txt").stat().st_mode) == 0o640
        assert "Redone" in await redo(agent)
        assert tree(agent) == after
    with pytest.raises(TurnstoneError, match="nothing to redo"):
        await redo(agent)


async def test_turns_are_undone_newest_first_and_redone_in_their_order(agent: Agent) -> None:
    path = agent.root / "a.txt"
    path.write_text("0")
    await agent.read(path)
    for number in range(1, 4):
        agent.turn = f"t{number}"
        await agent.edit(path, str(number - 1), str(number))
    for expected in ("2", "1", "0"):
        await undo(agent)
        assert path.read_text() == expected
    with pytest.raises(TurnstoneError, match="nothing to undo"):
        await undo(agent)
    for expected in ("1", "2", "3"):
        await redo(agent)
        assert path.read_text() == expected
    with pytest.raises(TurnstoneError, match="was not undone"):
        await redo(agent, "t1")
    with pytest.raises(TurnstoneError, match="changed no files"):
        await undo(agent, "t9")


async def test_undo_stops_at_files_that_the_user_changed_and_says_which(agent: Agent) -> None:
    before = await a_turn(agent)
    (agent.root / "a.txt").write_text("the user's\n")
    text = await undo(agent)
    assert "a.txt: it was changed since" in text
    assert tree(agent) == {**before, "a.txt": b"the user's\n"}


async def test_a_change_by_the_user_in_the_middle_of_a_turn_survives(agent: Agent) -> None:
    path = agent.root / "a.txt"
    path.write_text("one\ntwo\n")
    await agent.read(path)
    await agent.edit(path, "one", "1")
    path.write_text("1\ntwo\nuser\n")
    await agent.read(path)
    await agent.edit(path, "two", "2")
    assert "back to the change made to it during the turn" in await undo(agent)
    assert path.read_text() == "1\ntwo\nuser\n"


async def test_open_documents_are_undone_through_the_editor(agent: Agent) -> None:
    path = agent.root / "a.txt"
    path.write_text("one\n")
    document = agent.open(path)
    await agent.read(path)
    await agent.edit(path, "one", "1")
    await undo(agent)
    assert document.text == "one\n"
    assert agent.editor.undo_steps == ["one\n", "1\n"]
    await redo(agent)
    assert document.text == "1\n"
    agent.editor.type(path, "1\nmine\n")
    assert "it was changed since" in await undo(agent)
    assert document.text == "1\nmine\n"


async def test_after_a_formatter_undo_goes_back_behind_both(agent: Agent) -> None:
    path = agent.root / "a.txt"
    path.write_text("a=1\n")
    agent.open(path)
    agent.editor.on_save = lambda text: text.replace("=", " = ")
    await agent.read(path)
    await agent.edit(path, "a=1", "a=2")
    assert path.read_text() == "a = 2\n"
    agent.editor.on_save = lambda text: text
    await undo(agent)
    assert path.read_text() == "a=1\n"


async def test_a_created_file_with_unsaved_changes_is_left(agent: Agent) -> None:
    await agent.write("n.txt", "new\n")
    agent.open(agent.root / "n.txt", "new\nmore\n")
    assert "it was changed since" in await undo(agent)
    agent.editor.type(agent.root / "n.txt", "new\n")
    assert "unsaved changes" in await undo(agent)
    assert (agent.root / "n.txt").exists()
    await agent.editor.save(agent.root / "n.txt")
    assert "deleted" in await undo(agent)
    assert not (agent.root / "n.txt").exists()


async def test_what_bash_changed_is_listed_as_not_undoable(agent: Agent) -> None:
    await a_turn(agent)
    agent.journal.note_bash("t1", [agent.root / "built.o"])
    agent.journal.note_bash("t1", [agent.root / "cache"])
    text = await undo(agent)
    assert "cannot be undone" in text
    assert "built.o" in text
    assert "cache" in text


async def test_a_partial_acceptance_is_undone_to_the_base(agent: Agent) -> None:
    path = agent.root / "a.txt"
    text = "".join(f"{i}\n" for i in range(40))
    path.write_text(text)
    await agent.read(path)
    content = text.replace("5\n", "five\n").replace("30\n", "thirty\n")
    _, (proposal,) = await agent.stage(("write_file", {"path": "a.txt", "content": content}))
    await agent.apply(proposal, frozenset({1}))
    assert path.read_text() != text
    await undo(agent)
    assert path.read_text() == text


async def test_the_diff_of_a_turn_is_whole(agent: Agent) -> None:
    await a_turn(agent)
    diff = await undoing.diff(agent.workspace, agent.journal)
    for part in ("-one", "+1", "-three", "+3", "+C", "--- /dev/null", "+new", "+++ new/n.txt"):
        assert part in diff


async def test_a_write_that_was_interrupted_before_it_began_is_nothing_to_undo(agent: Agent) -> None:
    path = agent.root / "a.txt"
    path.write_text("one\n")
    base = await agent.workspace.snapshot(path)
    agent.journal.record("t1", base, "two\n", ())
    gone = await agent.workspace.snapshot(agent.root / "gone.txt")
    agent.journal.record("t1", gone, "two\n", ())
    await undo(agent)
    assert tree(agent) == {"a.txt": b"one\n"}


async def test_large_files_are_kept_as_differences(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """faults.md 51, 52: what is stored is in proportion to what was changed."""
    monkeypatch.setattr(images, "DELTA_CHARACTERS", 50_000)
    path = agent.root / "big.txt"
    text = "".join(f"line {i}\n" for i in range(20_000))
    path.write_text(text)
    await agent.read(path)
    await agent.do(
        ("edit_file", {"path": "big.txt", "old_string": "line 17\n", "new_string": "seventeen\nmore\n"}),
        ("edit_file", {"path": "big.txt", "old_string": "line 19000\n", "new_string": ""}),
    )
    await agent.edit(path, "line 18\n", "eighteen\n")
    after = path.read_text()
    kept = sum(p.stat().st_size for p in (folders.state_dir() / "images").iterdir())
    assert kept < 1_000
    await undo(agent)
    assert path.read_text() == text
    await redo(agent)
    assert path.read_text() == after


async def test_what_is_kept_is_private_capped_and_expires(agent: Agent) -> None:
    """faults.md 50, 51: in our state folder, 0600, never git."""
    path = agent.root / "a.txt"
    (agent.root / ".git").mkdir()
    path.write_text("x" * 10_000)
    await agent.read(path)
    for number in range(6):
        agent.turn = f"t{number}"
        await agent.write(path, str(number) * 10_000)
        os.utime(folders.state_dir() / "journal/s1" / agent.turn, (1_000 * number + time.time() - 50_000,) * 2)
    for kept in (*(folders.state_dir() / "images").iterdir(), *(folders.state_dir() / "journal/s1/t0").iterdir()):
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        os.utime(kept, (time.time() - 80_000,) * 2)
    for number in range(6):
        os.utime(folders.state_dir() / "journal/s1" / f"t{number}", (1_000 * number + time.time() - 50_000,) * 2)
    Journal("s1", EditSettings(undo_bytes=25_000)).prune()
    assert sorted(p.name for p in (folders.state_dir() / "journal/s1").iterdir()) == ["t4", "t5"]
    assert sum(p.stat().st_size for p in (folders.state_dir() / "images").iterdir()) <= 25_000
    agent.turn = "t4"
    assert "Undone" in await undo(agent)
    Journal("s1", EditSettings(undo_days=0)).prune()
    with pytest.raises(TurnstoneError, match="nothing to undo"):
        await undo(agent)
    assert list((agent.root / ".git").iterdir()) == []


async def test_a_text_that_expired_is_said(agent: Agent) -> None:
    await a_turn(agent)
    for kept in (folders.state_dir() / "images").iterdir():
        kept.unlink()
    assert "no longer kept" in await undo(agent)
