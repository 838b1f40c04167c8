"""edit_file: a read of the present text is required; one change of one place; nothing else of the file moves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from edits import Agent

from turnstone_lsp.tools.base import Plan
from turnstone_lsp.workspace import codec
from turnstone_lsp.workspace.snapshot import TextFormat

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def agent(project: Path) -> Agent:
    return Agent(project.resolve())


async def staged(agent: Agent, path: Path, old: str, new: str) -> Plan:
    plans, _ = await agent.stage(("edit_file", {"path": str(path), "old_string": old, "new_string": new}))
    assert isinstance(plans[0], Plan), plans[0]
    return plans[0]


async def test_it_requires_a_prior_read_in_this_session(agent: Agent) -> None:
    path = agent.root / "a.py"
    path.write_text("x = 1\n")
    assert "call read_file on it first" in await agent.edit(path, "x = 1", "x = 2")
    assert path.read_text() == "x = 1\n"
    await agent.read(path)
    assert "Changed a.py at line 1" in await agent.edit(path, "x = 1", "x = 2")
    assert path.read_text() == "x = 2\n"


async def test_a_file_changed_since_the_read_is_refused_with_what_changed(agent: Agent) -> None:
    """faults.md 38, 44"""
    path = agent.root / "a.py"
    path.write_text("x = 1\ny = 1\n")
    await agent.read(path)
    path.write_text("x = 1\ny = 2\n")
    text = await agent.edit(path, "x = 1", "x = 2")
    assert "changed after it was read" in text
    assert "-y = 1" in text
    assert "+y = 2" in text
    assert path.read_text() == "x = 1\ny = 2\n"


async def test_its_own_edits_do_not_need_a_new_read(agent: Agent) -> None:
    path = agent.root / "a.py"
    path.write_text("x = 1\n")
    await agent.read(path)
    await agent.edit(path, "x = 1", "x = 2")
    await agent.edit(path, "x = 2", "x = 3")
    assert path.read_text() == "x = 3\n"


async def test_the_preview_is_the_whole_diff_and_the_header_counts_it(agent: Agent) -> None:
    path = agent.root / "a.txt"
    path.write_text("".join(f"{i}\n" for i in range(400)))
    await agent.read(path)
    old = "".join(f"{i}\n" for i in range(100, 300))
    plan = await staged(agent, path, old, "new\n")
    assert "a.txt (+1 -200)" in plan.header
    assert plan.preview.count("\n-") == 200
    assert plan.needs_approval
    assert plan.edits
    assert path.read_text().startswith("0\n1\n")


async def test_nothing_is_on_disk_before_approval(agent: Agent) -> None:
    """faults.md 42"""
    path = agent.root / "a.txt"
    path.write_text("a\n")
    await agent.read(path)
    await agent.stage(
        ("edit_file", {"path": str(path), "old_string": "a", "new_string": "b"}),
        ("write_file", {"path": "new/x.txt", "content": "x"}),
    )
    assert path.read_text() == "a\n"
    assert sorted(p.name for p in agent.root.iterdir()) == ["a.txt"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "x", "old_string is empty"),
        ("a", "a", "are the same"),
        ("nope", "x", "not in the file"),
        ("l", "x", "2 places"),
        ("alpha", "\0", "NUL"),
        ("alpha", "\ufffd", "U+FFFD"),
        ("alpha", "\ud800", "surrogate"),
    ],
)
async def test_every_failing_edit_leaves_the_bytes_and_the_time(agent: Agent, old: str, new: str, says: str) -> None:
    """faults.md 1, 26, 35"""
    path = agent.root / "a.txt"
    path.write_text("alpha\nlow\n")
    before = path.stat()
    await agent.read(path)
    assert says in await agent.edit(path, old, new)
    assert path.read_text() == "alpha\nlow\n"
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


async def test_an_empty_new_string_deletes(agent: Agent) -> None:
    path = agent.root / "a.txt"
    path.write_text("a\nb\nc\n")
    await agent.read(path)
    await agent.edit(path, "b\n", "")
    assert path.read_text() == "a\nc\n"


async def test_a_tier_that_is_not_exact_is_shown_and_told(agent: Agent) -> None:
    path = agent.root / "a.py"
    path.write_text("def f():\n        x = 1\n        return x\n")
    await agent.read(path)
    plan = await staged(agent, path, "    x = 1\n    return x\n", "    return 1\n")
    assert any("matched by indentation at line 2" in note for note in plan.notes)
    assert "matched by indentation at line 2" in await agent.edit(path, "    x = 1\n    return x\n", "    return 1\n")
    assert path.read_text() == "def f():\n        return 1\n"


async def test_paths_that_are_no_file(agent: Agent) -> None:
    (agent.root / "d").mkdir()
    assert "does not exist" in await agent.edit("gone.txt", "a", "b")
    assert "folder" in await agent.edit("d", "a", "b")
    (agent.root / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    assert "PNG image" in await agent.edit("b.png", "a", "b")
    assert "near_line" in await agent.edit("gone.txt", "a", "b", near_line=0)


async def test_several_edits_of_one_file_are_one_proposal(agent: Agent) -> None:
    """faults.md 11, 12: each call has its own result; line hints are of the file as it was read."""
    path = agent.root / "a.txt"
    path.write_text("one\nx\ntwo\nx\nthree\nx\n")
    await agent.read(path)
    plans, proposals = await agent.stage(
        ("edit_file", {"path": "a.txt", "old_string": "one\n", "new_string": "1\n1\n1\n1\n"}),
        ("edit_file", {"path": "a.txt", "old_string": "nope", "new_string": ""}),
        ("edit_file", {"path": "a.txt", "old_string": "x\n", "new_string": "X\n", "near_line": 4}),
        ("edit_file", {"path": "a.txt", "old_string": "three", "new_string": "3"}),
    )
    assert isinstance(plans[1], str)
    assert "not_found" in plans[1]
    assert len(proposals) == 1
    assert proposals[0].call_ids == ("c1", "c3", "c4")
    await agent.apply(proposals[0])
    assert path.read_text() == "1\n1\n1\n1\nx\ntwo\nX\n3\nx\n"


async def test_a_second_edit_with_the_text_before_the_first_is_refused(agent: Agent) -> None:
    """faults.md 7"""
    path = agent.root / "a.txt"
    path.write_text("a = 1\nb = 1\n")
    await agent.read(path)
    await agent.edit(path, "a = 1", "a = 2")
    assert "not_found" in await agent.edit(path, "a = 1\nb = 1", "a = 1\nb = 2")
    assert path.read_text() == "a = 2\nb = 1\n"


@pytest.mark.parametrize(("name", "old", "new"), [("a.json", '"b": 1', '"b": 1,'), ("n.ipynb", '"code"', "code")])
async def test_valid_json_and_notebooks_stay_valid(agent: Agent, name: str, old: str, new: str) -> None:
    """faults.md 31; issue 3, item 7."""
    path = agent.root / name
    text = json.dumps({"a": 1, "b": 1, "cells": [{"cell_type": "code", "source": []}]}, indent=1)
    path.write_text(text)
    await agent.read(path)
    reply = await agent.edit(path, old, new)
    assert "would not be after this change" in reply
    assert path.read_text() == text
    await agent.edit(path, '"a": 1', '"a": 2')
    assert json.loads(path.read_text())["a"] == 2


async def test_a_notebook_keeps_its_cells(agent: Agent) -> None:
    path = agent.root / "n.ipynb"
    path.write_text('{"cells": [{"cell_type": "code"}]}')
    await agent.read(path)
    assert "notebook" in await agent.edit(path, '[{"cell_type": "code"}]', "3")


async def test_json_that_was_broken_before_may_be_edited(agent: Agent) -> None:
    path = agent.root / "tsconfig.json"
    path.write_text('{"a": 1, // why\n "b": 2}')
    await agent.read(path)
    await agent.edit(path, "// why", "// because")
    assert "because" in path.read_text()


async def test_what_the_user_should_see_is_asked_about(agent: Agent) -> None:
    path = agent.root / "a.py"
    path.write_text("def f():\n    value_new = 1\n    return value_new\n")
    await agent.read(path)
    plan = await staged(agent, path, "    value_new = 1\n    return value", "    return v2")
    assert any("inside the word 'value_new'" in reason for reason in plan.must_ask)
    plan = await staged(agent, path, "    value_new = 1\n", "    # ... existing code ...\n")
    assert any("leave something out" in reason for reason in plan.must_ask)
    plan = await staged(agent, path, "value_new = 1", "value_new = 1  # \u202e\u200b")
    assert any("invisible" in note and "U+202E" in note for note in plan.notes)


async def test_protected_names_ask_and_our_own_files_are_blocked(agent: Agent, state: Path) -> None:
    """C-01, C-02"""
    path = agent.root / ".env"
    path.write_text("A=1\n")
    await agent.read(path)
    plan = await staged(agent, path, "A=1", "A=2")
    assert any("protected name" in reason for reason in plan.must_ask)
    assert "cannot be written by any tool" in await agent.edit(state / "turnstone.db", "a", "b")


async def test_an_open_document_is_refused_where_the_editor_cannot_be_asked(agent: Agent) -> None:
    path = agent.root / "a.txt"
    path.write_text("a\n")
    agent.open(path)
    agent.editor.unable = "it takes no edits"
    await agent.read(path)
    assert "open in the editor, and it takes no edits" in await agent.edit(path, "a", "b")


async def test_two_agents_do_not_overwrite_each_other(agent: Agent) -> None:
    """faults.md 45"""
    path = agent.root / "a.txt"
    path.write_text("a\nb\n")
    child = agent.sub_agent()
    await agent.read(path)
    await child.read(path)
    await child.edit(path, "b", "B")
    assert "changed after it was read" in await agent.edit(path, "a", "A")
    assert path.read_text() == "a\nB\n"


async def test_a_file_read_in_part_can_be_edited_anywhere_it_is_unchanged(agent: Agent) -> None:
    path = agent.root / "big.txt"
    path.write_bytes(b"".join(b"line %d\n" % i for i in range(700_000)))
    plan = await agent.prepare("read_file", path=str(path), offset=600_000, limit=3)
    await plan.execute(None)  # type: ignore[arg-type]
    await agent.edit(path, "line 600000\n", "changed\n")
    assert path.read_bytes().count(b"changed\n") == 1
    assert "changed after" not in await agent.edit(path, "line 12345\n", "x\n")


# -- encodings: issue 3, item 3; faults.md 18 to 22

FORMATS = [
    TextFormat("utf-8"),
    TextFormat("utf-8", codec._BOMS[2][0]),
    TextFormat("utf-16-le", b"\xff\xfe"),
    TextFormat("utf-16-be", b"\xfe\xff"),
    TextFormat("latin-1"),
    TextFormat("shift_jis"),
    TextFormat("gbk"),
]
BODIES = {"empty": "", "one line": "mark", "lines": "first\nmark\nlast", "form feed": "a\fb\nmark\nc\fd"}
WIDE = {"nel": "a\x85b\nmark\nz", "ls": "a\u2028b\nmark\nz", "astral": "\U0001f600\nmark \U0001f600\nz"}
ENDS = ["\n", "\r\n", "\r", "mixed"]


def with_ends(text: str, end: str) -> str:
    if end != "mixed":
        return text.replace("\n", end)
    parts = text.split("\n")
    return "".join(part + e for part, e in zip(parts, ["\r\n", "\n", "\r", "\n"] * 4, strict=False))[
        : -2 if len(parts) == 1 else -1
    ]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.encoding + ("-bom" if form.bom else ""))
@pytest.mark.parametrize("end", ENDS, ids=["lf", "crlf", "cr", "mixed"])
@pytest.mark.parametrize("final", [True, False], ids=["final", "no-final"])
async def test_the_encoding_matrix(project: Path, form: TextFormat, end: str, final: bool) -> None:
    """Every byte outside the edit is as it was, through edit_file and, for the rest of the file, write_file."""
    from turnstone_lsp.config.settings import EditSettings

    declared = {} if form.bom or form.encoding == "utf-8" else {"*": form.encoding}
    agent = Agent(project, EditSettings(encodings=declared))
    local = {"latin-1": "caf\u00e9", "shift_jis": "\u65e5\u672c", "gbk": "\u4e2d\u6587"}.get(
        form.encoding, "\u4e2d\U0001f600"
    )
    bodies = BODIES | (WIDE if form.encoding.startswith("utf") else {})
    for name, body in bodies.items():
        text = with_ends(body, end) + ({"mixed": "\r\n"}.get(end, end) if final and body else "")
        path = agent.root / f"{name}.txt"
        data = form.bom + text.encode(form.encoding)
        path.write_bytes(data)
        await agent.read(path)
        if "mark" not in text:
            continue
        await agent.edit(path, "mark", f"mark {local}")
        expected = text.replace("mark", f"mark {local}")
        assert path.read_bytes() == form.bom + expected.encode(form.encoding), name
        await agent.edit(path, f"mark {local}", "mark")
        assert path.read_bytes() == data, name
        content = text.replace("\r\n", "\n").replace("\r", "\n")
        await agent.write(path, content.replace("mark", "other"))
        assert path.read_bytes() == form.bom + text.replace("mark", "other").encode(form.encoding), name


@pytest.mark.parametrize(
    "data", ["caf\u00e9\n".encode("latin-1"), "\u65e5\u672c\n".encode("shift_jis"), "\u4e2d\u6587\n".encode("gbk")]
)
async def test_undeclared_bytes_are_refused_by_every_tool(agent: Agent, data: bytes) -> None:
    """faults.md 18, 19"""
    path = agent.root / "a.txt"
    path.write_bytes(data)
    with pytest.raises(Exception, match=r"edits\.encodings"):
        await agent.read(path)
    assert "edits.encodings" in await agent.edit(path, "a", "b")
    assert "edits.encodings" in await agent.write(path, "plain\n")
    assert path.read_bytes() == data


async def test_what_the_files_encoding_lacks_is_refused(project: Path) -> None:
    """faults.md 21"""
    from turnstone_lsp.config.settings import EditSettings

    agent = Agent(project, EditSettings(encodings={"*": "latin-1"}))
    path = agent.root / "a.txt"
    path.write_bytes("caf\u00e9\n".encode("latin-1"))
    await agent.read(path)
    assert "U+4E2D" in await agent.edit(path, "caf\u00e9", "\u4e2d")
    assert path.read_bytes() == "caf\u00e9\n".encode("latin-1")
    agent.open(path, "caf\u00e9\nopen\n")
    await agent.read(path)
    assert "U+4E2D" in await agent.edit(path, "open", "\u4e2d")
