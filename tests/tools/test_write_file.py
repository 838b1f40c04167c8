"""write_file: creates, or replaces all of a file that keeps what it is; doubts are asked about."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest
from edits import Agent

from turnstone_lsp.tools.base import Plan
from turnstone_lsp.workspace import checks

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def agent(project: Path) -> Agent:
    return Agent(project.resolve())


async def staged(agent: Agent, path: Path | str, content: str) -> Plan:
    plans, _ = await agent.stage(("write_file", {"path": str(path), "content": content}))
    assert isinstance(plans[0], Plan), plans[0]
    return plans[0]


async def test_parent_directories_are_created(agent: Agent) -> None:
    assert "Created a/b/c.txt" in await agent.write("a/b/c.txt", "hello\n")
    assert (agent.root / "a/b/c.txt").read_text() == "hello\n"
    assert stat.S_IMODE((agent.root / "a/b/c.txt").stat().st_mode) & 0o600 == 0o600


async def test_an_empty_file_can_be_created(agent: Agent) -> None:
    plan = await staged(agent, "e.txt", "")
    assert "e.txt (empty)" in plan.preview
    await agent.write("e.txt", "")
    assert (agent.root / "e.txt").read_bytes() == b""


async def test_an_existing_file_is_overwritten_and_keeps_mode_bom_and_line_ends(agent: Agent) -> None:
    """faults.md 17, 22, 23"""
    path = agent.root / "run.sh"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    path.chmod(0o751)
    await agent.read(path)
    assert "Changed run.sh" in await agent.write(path, "\ufeffa\nc\nd\n")
    assert path.read_bytes() == b"\xef\xbb\xbfa\r\nc\r\nd\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751


async def test_lines_that_stay_keep_their_ends_in_a_mixed_file(agent: Agent) -> None:
    """faults.md 16"""
    path = agent.root / "m.txt"
    path.write_bytes(b"a\r\nb\nc\r\nd\n\re")
    await agent.read(path)
    await agent.write(path, "a\nB\nc\nd\n\ne\nf\n")
    assert path.read_bytes() == b"a\r\nB\nc\r\nd\n\re\nf\n"


async def test_a_file_that_was_not_read_is_asked_about_in_every_mode(agent: Agent) -> None:
    """faults.md 30"""
    path = agent.root / "a.txt"
    path.write_text("old\n")
    plan = await staged(agent, path, "new\n")
    assert plan.needs_approval
    assert any("has not been read in this session" in reason for reason in plan.must_ask)
    await agent.read(path)
    assert (await staged(agent, path, "new\n")).must_ask == ()
    path.write_text("changed\n")
    assert any("changed after it was read" in reason for reason in (await staged(agent, path, "new\n")).must_ask)


async def test_a_placeholder_for_a_part_is_asked_about(agent: Agent) -> None:
    """faults.md 28"""
    path = agent.root / "a.py"
    path.write_text("".join(f"line{i}\n" for i in range(30)))
    await agent.read(path)
    plan = await staged(agent, path, "line0\n# ... rest of the file unchanged ...\n")
    assert any("leave something out" in reason for reason in plan.must_ask)
    assert any("shrinks from 30 to 2 lines" in reason for reason in plan.must_ask)


@pytest.mark.parametrize(
    "line",
    [
        "# ... rest of the file unchanged ...",
        "// ... existing code ...",
        "/* rest of code remains the same */",
        "<!-- rest of the document -->",
        "    # ... (previous code) ...",
        "// rest of the function remains unchanged",
        "# the rest of the code stays as before",
        "...remaining methods unchanged...",
        "[... unchanged ...]",
        "-- ... other functions ...",
        "# [rest of file omitted]",
        "// … existing imports …",
        "    // (rest of implementation)",
        "# remaining code unchanged",
        "/* ... existing styles ... */",
        "{/* ... rest of the component ... */}",
        "# Code continues here...",
    ],
)
def test_omission_placeholders(line: str) -> None:
    assert checks.omissions("", f"def f():\n{line}\n")
    assert not checks.omissions(f"x\n{line}\n", f"def f():\n{line}\n"), "it was there before"


@pytest.mark.parametrize(
    "line",
    [
        "first, *rest = values",
        "# the rest of the arguments are passed on to the handler",
        "function f(...rest) {",
        "return {...state, other: 1};",
        "const {a, ...remaining} = props;",
        "# keep the same order as before",
        'print("Loading existing files...")',
        "// Skip existing entries",
        "raise NotImplementedError(...)",
        "def f(self, *args): ...",
        "# unchanged since version 2",
        'log("... the same again ...")',
    ],
)
def test_ordinary_lines_are_no_placeholders(line: str) -> None:
    assert not checks.omissions("", f"{line}\n")


async def test_a_strong_shrink_is_asked_about(agent: Agent) -> None:
    """faults.md 29"""
    path = agent.root / "a.py"
    path.write_text("".join(f"x{i} = {i}\n" for i in range(385)))
    await agent.read(path)
    plan = await staged(agent, path, "".join(f"x{i} = {i}\n" for i in range(20)))
    assert any("shrinks from 385 to 20 lines" in reason for reason in plan.must_ask)


async def test_the_same_content_is_nothing_to_do(agent: Agent) -> None:
    path = agent.root / "a.txt"
    path.write_bytes(b"a\r\nb\r\n")
    before = path.stat().st_mtime_ns
    plan = await staged(agent, path, "a\nb\n")
    assert not plan.needs_approval
    assert "nothing to do" in await agent.write(path, "a\nb\n")
    assert path.stat().st_mtime_ns == before


async def test_places_where_no_file_can_be(agent: Agent) -> None:
    (agent.root / "d").mkdir()
    (agent.root / "f").write_text("x")
    assert "is a folder" in await agent.write("d", "x")
    assert "is a file, not a folder" in await agent.write("f/g/h.txt", "x")
    assert "surrogate" in await agent.write("s.txt", "a\ud800")
    assert "NUL" in await agent.write("s.txt", "a\0")
    assert sorted(p.name for p in agent.root.iterdir()) == ["d", "f"]


async def test_a_file_that_appears_before_approval_is_not_overwritten(agent: Agent) -> None:
    _, proposals = await agent.stage(("write_file", {"path": "n.txt", "content": "mine\n"}))
    (agent.root / "n.txt").write_text("the user's\n")
    with pytest.raises(Exception, match="has appeared"):
        await agent.apply(proposals[0])
    assert (agent.root / "n.txt").read_text() == "the user's\n"


async def test_a_new_file_can_be_edited_in_the_same_batch(agent: Agent) -> None:
    reply = await agent.do(
        ("write_file", {"path": "n.txt", "content": "one\ntwo\n"}),
        ("edit_file", {"path": "n.txt", "old_string": "two", "new_string": "2"}),
    )
    assert "Created n.txt" in reply
    assert (agent.root / "n.txt").read_text() == "one\n2\n"


async def test_a_new_file_takes_what_editorconfig_says(agent: Agent) -> None:
    (agent.root / ".editorconfig").write_text("root = true\n[*.bat]\nend_of_line = crlf\ncharset = utf-8-bom\n")
    await agent.write("x.bat", "a\nb\n")
    assert (agent.root / "x.bat").read_bytes() == b"\xef\xbb\xbfa\r\nb\r\n"
