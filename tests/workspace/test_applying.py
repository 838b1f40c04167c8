"""Applying a review: bound to base and result, by the editor for open documents, by the disk for closed files."""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
from typing import TYPE_CHECKING

import pytest
from edits import Agent, refusal

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import writing

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.workspace.proposals import Proposal

TEXT = "".join(f"line {i}\n" for i in range(30))


@pytest.fixture
def agent(project: Path) -> Agent:
    agent = Agent(project.resolve())
    (agent.root / "a.txt").write_text(TEXT)
    return agent


async def three_hunks(agent: Agent) -> Proposal:
    path = agent.root / "a.txt"
    await agent.read(path)
    _, proposals = await agent.stage(
        *(
            ("edit_file", {"path": "a.txt", "old_string": f"line {n}\n", "new_string": f"LINE {n}\nmore\n"})
            for n in (3, 12, 25)
        )
    )
    assert len(proposals[0].hunks) == 3
    return proposals[0]


# -- what the model is told


async def test_all_accepted(agent: Agent) -> None:
    proposal = await three_hunks(agent)
    texts = (await agent.apply(proposal)).splitlines()
    assert texts == [
        "Changed a.txt at lines 4-5 (+2 -1 lines).",
        "Changed a.txt at lines 14-15 (+2 -1 lines).",
        "Changed a.txt at lines 28-29 (+2 -1 lines).",
    ]
    assert (agent.root / "a.txt").read_text() == proposal.result


async def test_some_hunks_accepted_the_model_knows_which(agent: Agent) -> None:
    """faults.md 47: what was rejected is not written."""
    proposal = await three_hunks(agent)
    text = await agent.apply(proposal, frozenset({0, 2}), feedback="keep line 12")
    assert (agent.root / "a.txt").read_text() == proposal.with_hunks({0, 2})
    assert "line 12\n" in (agent.root / "a.txt").read_text()
    first, _, rest = text.partition("\n")
    assert first.startswith("Changed a.txt at lines 4-5")
    assert "The user rejected this change of a.txt; none of it is in the file" in rest
    assert "-line 12" in rest
    assert "Changed a.txt at lines 27-28" in rest
    assert "The user said: keep line 12" in rest


async def test_one_call_accepted_in_part(agent: Agent) -> None:
    path = agent.root / "a.txt"
    await agent.read(path)
    _, (proposal,) = await agent.stage(
        ("write_file", {"path": "a.txt", "content": TEXT.replace("line 3\n", "three\n").replace("line 20\n", "")})
    )
    text = await agent.apply(proposal, frozenset({1}))
    assert "accepted 1 of 2 hunks" in text
    assert "+three" in text
    assert path.read_text() == TEXT.replace("line 20\n", "")


async def test_an_edited_result_is_told_as_it_went_in(agent: Agent) -> None:
    """faults.md 58"""
    proposal = await three_hunks(agent)
    edited = proposal.result.replace("LINE 3", "Line three")
    text = await agent.apply(proposal, text=edited)
    assert (agent.root / "a.txt").read_text() == edited
    assert "the user edited the change first" in text
    assert "-LINE 3" in text
    assert "+Line three" in text


async def test_a_text_that_is_not_what_the_hunks_give_counts_as_edited(agent: Agent) -> None:
    proposal = await three_hunks(agent)
    text = await agent.apply(proposal, frozenset({0, 1, 2}), text=proposal.result + "own\n")
    assert "the user edited the change first" in text
    assert (agent.root / "a.txt").read_text().endswith("own\n")


async def test_a_rejection_leaves_the_file_and_the_next_edit_sees_it(agent: Agent) -> None:
    """faults.md 41, 49: there is no other copy that could come back."""
    path = agent.root / "a.txt"
    proposal = await three_hunks(agent)
    text = await agent.apply(proposal, frozenset(), applied_by="none", feedback="no")
    assert "rejected" in text
    assert "The user said: no" in text
    assert path.read_text() == TEXT
    await agent.edit(path, "line 5\n", "five\n")
    assert path.read_text() == TEXT.replace("line 5\n", "five\n")


async def test_a_subset_that_breaks_json_is_not_written(agent: Agent) -> None:
    path = agent.root / "a.json"
    text = '{\n "a": [\n  1\n ],\n "b": 2\n}\n'
    path.write_text(text)
    await agent.read(path)
    content = text.replace("[", '{"x":').replace("]", "}")
    _, (proposal,) = await agent.stage(("write_file", {"path": "a.json", "content": content}))
    assert len(proposal.hunks) == 2
    assert "would not be after this change" in await refusal(agent.apply(proposal, frozenset({0})))
    assert path.read_text() == text


# -- races: issue 3, item 4


@pytest.mark.parametrize("phase", ["before prepare", "after prepare", "during review", "while applying"])
@pytest.mark.parametrize(
    ("is_open", "what"),
    [(False, "disk"), (False, "deleted"), (False, "opened"), (True, "disk"), (True, "buffer"), (True, "closed")],
)
async def test_a_change_between_any_two_phases_never_loses_the_users_text(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, phase: str, is_open: bool, what: str
) -> None:
    """faults.md 6, 38, 44, 56: whatever moves, the user's text is there afterwards, in its place."""
    monkeypatch.setattr("turnstone_lsp.workspace.applying.SYNC_SECONDS", 0.05)
    path = agent.root / "a.txt"
    user = TEXT.replace("line 20\n", "the user's line\n")
    if is_open:
        agent.open(path)

    def move() -> None:
        if what == "disk":
            path.write_text(user)
        elif what == "buffer":
            agent.editor.type(path, user)
        elif what == "deleted":
            path.unlink()
        elif what == "opened":
            agent.open(path, user)
        else:
            document = agent.workspace.documents.get(path)
            assert document is not None
            path.write_text(user)
            agent.workspace.documents.close(document.uri)

    await agent.read(path)
    if phase == "before prepare":
        move()
    plans, proposals = await agent.stage(
        ("edit_file", {"path": "a.txt", "old_string": "line 3\n", "new_string": "LINE 3\n"})
    )
    if phase == "after prepare":
        move()
    reply = str(plans[0])
    if proposals:
        if phase == "during review":
            move()
        if phase == "while applying":
            agent.editor.before_apply = move
            made_alike = writing._made_alike
            monkeypatch.setattr(writing, "_made_alike", lambda *given: (move(), made_alike(*given))[1])
        try:
            reply = await agent.apply(proposals[0])
        except ToolError as error:
            reply = str(error)
    document = agent.workspace.documents.get(path)
    if what == "deleted":
        assert not path.exists()
    elif what in {"buffer", "opened"}:
        assert document is not None
        assert document.text == user
    elif document is not None:  # the disk moved under an open document: that is for its editor to settle, not for us
        assert (agent.editor.saves == 0) == (path.read_text() == user)
    else:
        assert path.read_text() == user
    assert "Changed a.txt" not in reply or (is_open and what == "disk") or what == "opened"
    assert [p for p in agent.root.iterdir() if p != path] == []


@pytest.mark.parametrize(
    "step", ["applying.encoded.holds", "applying.Encoded.check", "writing._by_rename", "writing._made_alike"]
)
async def test_a_change_of_the_disk_at_any_step_of_a_write_is_kept(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = agent.root / "a.txt"
    proposal = await three_hunks(agent)
    name = f"turnstone_lsp.workspace.{step}"
    module = importlib.import_module("turnstone_lsp.workspace." + step.split(".", maxsplit=1)[0])
    original = functools.reduce(getattr, step.split(".")[1:], module)

    def changed(*given: object, **named: object) -> object:
        result = original(*given, **named) if step.endswith("holds") else None
        path.write_text("the user's\n")
        return result if step.endswith("holds") else original(*given, **named)

    monkeypatch.setattr(name, changed)
    assert "has changed" in await refusal(agent.apply(proposal))
    assert path.read_text() == "the user's\n"
    assert [p for p in agent.root.iterdir() if p != path] == []


async def test_a_change_of_the_same_size_and_time_is_noticed(agent: Agent) -> None:
    """mtime alone is not enough: git and rsync restore it."""
    path = agent.root / "a.txt"
    state = path.stat()
    proposal = await three_hunks(agent)
    user = TEXT.replace("line 20", "LINE 20")
    with path.open("r+") as file:
        file.write(user)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    reply = await refusal(agent.apply(proposal))
    assert "has changed since the change was shown" in reply
    assert "+LINE 20" in reply
    assert path.read_text() == user


async def test_two_agents_applying_at_once_serialise_on_the_file(agent: Agent) -> None:
    """faults.md 45: one lock for each real path, shared with sub-agents; also by a link's name."""
    path = agent.root / "a.txt"
    (agent.root / "link.txt").symlink_to(path)
    child = agent.sub_agent()
    child.turn = "t2"
    await agent.read(path)
    await child.read("link.txt")
    _, (mine,) = await agent.stage(("edit_file", {"path": "a.txt", "old_string": "line 1\n", "new_string": "A\n"}))
    _, (theirs,) = await child.stage(("edit_file", {"path": "link.txt", "old_string": "line 2\n", "new_string": "B\n"}))
    done = await asyncio.gather(agent.apply(mine), child.apply(theirs), return_exceptions=True)
    assert sorted(isinstance(d, Exception) for d in done) == [False, True]
    text = path.read_text()
    assert text in (TEXT.replace("line 1\n", "A\n"), TEXT.replace("line 2\n", "B\n"))
    assert (agent.root / "link.txt").is_symlink()


async def test_a_stop_during_a_write_lets_the_write_end(agent: Agent) -> None:
    path = agent.root / "a.txt"
    proposal = await three_hunks(agent)
    task = asyncio.ensure_future(agent.apply(proposal))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not agent.workspace.lock(path).locked()
    assert path.read_text() in (TEXT, proposal.result)
    assert [p.name for p in agent.root.iterdir()] == ["a.txt"]


# -- open documents


async def test_an_open_document_is_changed_in_one_undo_step_and_saved_by_the_editor(agent: Agent) -> None:
    """faults.md 40, 46, 59"""
    path = agent.root / "a.txt"
    agent.open(path)
    proposal = await three_hunks(agent)
    await agent.apply(proposal)
    assert agent.editor.undo_steps == [TEXT]
    assert agent.editor.saves == 1
    assert path.read_text() == proposal.result
    await agent.edit(path, "line 29\n", "last\n")
    assert path.read_text().endswith("last\n")


async def test_a_document_with_unsaved_changes_stays_unsaved(agent: Agent) -> None:
    """The disk of an open document is never touched by us; the model sees and edits the buffer (faults.md 40)."""
    path = agent.root / "a.txt"
    document = agent.open(path, TEXT + "unsaved\n")
    assert "unsaved" in await agent.read(path)
    reply = await agent.edit(path, "unsaved\n", "still unsaved\n")
    assert document.text == TEXT + "still unsaved\n"
    assert path.read_text() == TEXT
    assert agent.editor.saves == 0
    assert "not saved yet" in reply


async def test_saving_after_acceptance_is_a_setting(agent: Agent) -> None:
    from turnstone_lsp.config.settings import EditSettings

    agent.workspace.edits = EditSettings(save_after_accept=False)
    path = agent.root / "a.txt"
    document = agent.open(path)
    await agent.read(path)
    await agent.edit(path, "line 1\n", "one\n")
    assert path.read_text() == TEXT
    assert "one\n" in document.text


@pytest.mark.parametrize(
    ("way", "applied"),
    [("refuses", False), ("lies", False), ("does it and says no", True), ("does half", True)],
)
async def test_the_text_decides_whatever_the_editor_says(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, way: str, applied: bool
) -> None:
    """Never: `applied: true` believed without comparing the text (design.md)."""
    monkeypatch.setattr("turnstone_lsp.workspace.applying.SYNC_SECONDS", 0.05)
    path = agent.root / "a.txt"
    agent.open(path)
    agent.editor.way = way  # type: ignore[assignment]
    proposal = await three_hunks(agent)
    if applied:
        text = await agent.apply(proposal)
        assert ("The editor changed more on top" in text) == (way == "does half")
    else:
        assert "The editor did not change a.txt" in await refusal(agent.apply(proposal))
        assert path.read_text() == TEXT
        assert "nothing to undo" in await _undo_error(agent)


async def _undo_error(agent: Agent) -> str:
    from turnstone_lsp.errors import TurnstoneError
    from turnstone_lsp.workspace import undoing

    with pytest.raises(TurnstoneError) as caught:
        await undoing.undo(agent.workspace, agent.journal)
    return str(caught.value)


async def test_what_a_formatter_changes_on_save_is_told_and_needs_no_new_read(agent: Agent) -> None:
    """faults.md 36, 37"""
    path = agent.root / "a.txt"
    agent.open(path)
    agent.editor.on_save = lambda text: text.replace("LINE 3\n", "Line 3  # formatted\n")
    proposal = await three_hunks(agent)
    text = await agent.apply(proposal)
    assert "The editor changed more on top" in text
    assert "+Line 3  # formatted" in text
    await agent.edit(path, "Line 3  # formatted\n", "x\n")
    assert path.read_text().count("x\n") == 1


async def test_the_client_may_have_applied_it_and_the_buffer_is_the_proof(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstone_lsp.workspace.applying.SYNC_SECONDS", 0.05)
    path = agent.root / "a.txt"
    agent.open(path)
    proposal = await three_hunks(agent)
    assert "its text is as before" in await refusal(agent.apply(proposal, applied_by="client"))
    chosen = proposal.with_hunks({1})
    agent.editor.type(path, chosen)
    text = await agent.apply(proposal, frozenset({1}), applied_by="client")
    assert "none of it is in the file" in text
    assert path.read_text() == chosen, "it was clean before, so it is saved"
    assert agent.editor.undo_steps == []


async def test_new_diagnostics_are_told_within_a_bounded_wait(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnstone_lsp.workspace.applying.AFTER_SECONDS", 0.05)
    path = agent.root / "a.txt"

    async def says(changed: Path) -> str:
        return f"New problems: {changed.name}:1 bad"

    async def never(changed: Path) -> str:
        await asyncio.sleep(60)
        return str(changed)

    await agent.read(path)
    agent.workspace.after_edit = says
    assert "New problems: a.txt:1 bad" in await agent.edit(path, "line 1\n", "x\n")
    agent.workspace.after_edit = never
    assert "Changed a.txt" in await agent.edit(path, "line 2\n", "y\n")


async def test_a_file_opened_during_the_review_goes_through_the_editor(agent: Agent) -> None:
    path = agent.root / "a.txt"
    proposal = await three_hunks(agent)
    document = agent.open(path)
    await agent.apply(proposal)
    assert document.text == proposal.result
    assert agent.editor.undo_steps == [TEXT]


async def test_a_file_closed_during_the_review_is_written(agent: Agent) -> None:
    path = agent.root / "a.txt"
    document = agent.open(path)
    proposal = await three_hunks(agent)
    agent.workspace.documents.close(document.uri)
    await agent.apply(proposal)
    assert path.read_text() == proposal.result


async def test_looking_at_a_proposal_changes_nothing(agent: Agent) -> None:
    """faults.md 57"""
    proposal = await three_hunks(agent)
    before = {p: p.read_bytes() for p in agent.root.iterdir()}
    assert proposal.diff()
    assert proposal.hunk_diff(1)
    assert proposal.with_hunks({0})
    assert {p: p.read_bytes() for p in agent.root.iterdir()} == before
