"""search: every sentence of the spec and the issue, with the engine that the machine has, and without ripgrep."""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from workspaces import Context, call, own_folders, root, workspace

from turnstone_lsp.config.settings import EditSettings, Settings, ToolSettings
from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools import search
from turnstone_lsp.workspace import uris
from turnstone_lsp.workspace.documents import Change, OpenDocuments
from turnstone_lsp.workspace.editor import NoEditor
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.searching import dialect, engine, ripgrep
from turnstone_lsp.workspace.view import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["own_folders", "root", "workspace"]


@pytest.fixture(params=["ripgrep", "grep", "python"])
def ctx(
    request: pytest.FixtureRequest,
    workspace: Workspace,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Context]:
    """The tool on a machine that has just the one engine on its PATH."""
    programs = tmp_path_factory.mktemp("bin")
    names = {"ripgrep": "rg", "grep": "grep"}
    if request.param in names:
        program = shutil.which(names[request.param])
        assert program, f"{names[request.param]} is needed to test search"
        (programs / names[request.param]).symlink_to(program)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(engine.sysconfig, "get_path", lambda _: str(programs))
    return Context(workspace)


async def test_matching_lines_with_paths_and_numbers(ctx: Context, root: Path) -> None:
    """'Recursively searches for the pattern. Returns matching lines with file paths and line numbers.'"""
    (root / "b").mkdir()
    (root / "b" / "x.py").write_text("def f():\n    return 1\n")
    (root / "a.py").write_text("x\n\ndef g(a, b):\n\treturn 2 \n")
    assert await call("search", ctx, query=r"^def \w+\(|return 2") == (
        "a.py:3:def g(a, b):\na.py:4:\treturn 2 \nb/x.py:1:def f():"
    )
    assert await call("search", ctx, query="return", path="b") == "b/x.py:2:    return 1"
    assert await call("search", ctx, query="return", path="a.py") == "a.py:4:\treturn 2 "


async def test_no_match_is_no_error(ctx: Context, root: Path) -> None:
    (root / "a").write_text("x\n")
    assert await call("search", ctx, query="zzz") == "No line of . matches zzz"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "'query' is missing"),
        ({"query": ""}, "'query' is empty"),
        ({"query": "a("}, r"query: at character 2 the \( has no \)"),
        ({"query": "x", "path": "nowhere"}, "path nowhere does not exist"),
        ({"query": "x", "path": "*.py"}, "without wildcards"),
        ({"query": "x", "path": "/dev/null"}, "neither a file nor a folder"),
        ({"query": "x", "pattern": "y"}, "unknown argument 'pattern'"),
        ({"query": ["x"]}, "'query' must be a string"),
    ],
)
async def test_errors(ctx: Context, arguments: dict[str, object], says: str) -> None:
    with pytest.raises(ToolError, match=says):
        await call("search", ctx, **arguments)


async def test_a_pattern_that_starts_with_a_dash_is_a_pattern(ctx: Context, root: Path) -> None:
    """C-13, upstream-faults 66: no text becomes an option."""
    (root / "a").write_text("--pre=cmd\n-f\n")
    (root / "--pre=touch owned").write_text("-f\n")
    assert await call("search", ctx, query="--pre=c") == "a:1:--pre=cmd"
    assert await call("search", ctx, query="-f", path="--pre=touch owned") == "--pre=touch owned:1:-f"
    assert not (root / "owned").exists()


async def test_ignored_and_binary_files_are_skipped_and_said_so(ctx: Context, root: Path) -> None:
    """faults.md 121, 122: never a silent 'no such code'."""
    (root / ".gitignore").write_text("scripts/*\nnode_modules/\n")
    for name in ("scripts/a.sh", "scripts/b.sh", "node_modules/m/i.js", ".git/x", "src/a.py", ".github/ci.yml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("deploy\n")
    (root / "data.bin").write_bytes(b"deploy\0\1")
    assert await call("search", ctx, query="deploy") == (
        ".github/ci.yml:1:deploy\nsrc/a.py:1:deploy\n"
        "[3 git-ignored files or folders not searched: node_modules, scripts/a.sh, scripts/b.sh. "
        "Give one as path to search it.]\n"
        "[1 binary file matched, not shown: data.bin.]"
    )
    assert await call("search", ctx, query="deploy", path="node_modules") == "node_modules/m/i.js:1:deploy"


async def test_open_buffers_are_searched_over_the_disk(ctx: Context, root: Path) -> None:
    """faults.md 40, 46."""
    for name in ("a.py", "b.py", "c.py"):
        (root / name).write_text("old\n")
    documents = ctx.workspace.documents
    documents.open(uris.from_path(root / "a.py"), "old\n", 1)
    documents.change(uris.from_path(root / "a.py"), 2, [Change("one\rtwo\nnew \u2028 text\n")])
    documents.open(uris.from_path(root / "b.py"), "old\n", 1)
    documents.open(uris.from_path(root / "unsaved.py"), "new file\n", 1)
    assert await call("search", ctx, query="old") == "b.py:1:old\nc.py:1:old"
    assert await call("search", ctx, query="^new") == "a.py:3:new \u2028 text\nunsaved.py:1:new file"
    assert await call("search", ctx, query="new", path="b.py") == "No line of b.py matches new"
    (root / ".gitignore").write_text("a.py\n")
    assert "a.py:" not in await call("search", ctx, query="new", path=".")


async def test_the_output_is_capped_and_spread_over_the_files(ctx: Context, root: Path) -> None:
    """Capped with the count of what was left out; every file gets its line (upstream-faults: 60, 61, 62)."""
    (root / "big.txt").write_text("hit\n" * 1000)
    for n in range(40):
        (root / f"s{n:02}.txt").write_text("hit\nhit\n")
    text = await call("search", ctx, query="hit")
    lines = text.split("\n")
    assert lines[-1] == "[830 more matching lines not shown: big.txt (830). Narrow the query or give a path.]"
    assert len(lines) == 251
    assert sum(line.startswith("big.txt:") for line in lines) == 170
    small = Context(ctx.workspace, Settings(tools=ToolSettings(output_limit=3000)))
    text = await call("search", small, query="hit")
    assert len(text) <= 3000
    assert all(f"s{n:02}.txt:1:hit" in text for n in range(40))
    shown = sum(line.endswith(":hit") for line in text.split("\n"))
    assert f"[{1080 - shown:,} more matching lines not shown" in text


async def test_long_lines_are_cut_visibly(ctx: Context, root: Path) -> None:
    (root / "min.js").write_text("a" * 1000 + "\n")
    assert await call("search", ctx, query="a+") == f"min.js:1:{'a' * 400} [... 600 more characters]"


async def test_links_are_not_followed_and_secrets_not_searched(ctx: Context, root: Path) -> None:
    """faults.md 68, 123: one path policy for every tool."""
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "x").write_text("key\n")
    (root / "link").symlink_to(outside)
    (root / "file").symlink_to(outside / "x")
    (root / ".env").write_text("key=1\n")
    (root / "id_rsa").write_text("key\n")
    (root / ".env.example").write_text("key=\n")
    assert await call("search", ctx, query="key") == ".env.example:1:key="
    assert await call("search", ctx, query="key", path=".env") == ".env:1:key=1"  # named on purpose: it asks
    plan = await search.prepare(search.Args("key", ".env"), ctx)  # type: ignore[arg-type]  # what the tool asks of it
    assert "secrets" in plan.must_ask[0]
    plan = await search.prepare(search.Args("key", "link"), ctx)  # type: ignore[arg-type]  # as above
    assert "link leads to" in plan.must_ask[0]
    assert not plan.needs_approval


async def test_declared_encodings_are_searched_as_they_are_read(ctx: Context, root: Path) -> None:
    """One view of text: what read_file shows, search finds."""
    (root / "old").mkdir()
    (root / "old" / "a.txt").write_bytes("naïve\n".encode("latin-1"))
    (root / "old" / "b.txt").write_bytes("日本 naïve".encode("utf-16"))
    (root / "c.txt").write_text("naïve\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "old" / "x.log").write_bytes("naïve\n".encode("latin-1"))
    ctx.workspace.edits = EditSettings(encodings={"old/**": "latin-1"})
    text = await call("search", ctx, query="na[ï]ve$")
    assert text.startswith("c.txt:1:naïve\nold/a.txt:1:naïve\nold/b.txt:1:日本 naïve\n[1 git-ignored")


async def test_our_own_files_are_never_shown(ctx: Context, own_folders: Path) -> None:
    """C-01, C-23: a search of the folder above them, once approved, does not give the key."""
    text = await call("search", ctx, query="sk-secret", path=str(own_folders))
    assert "sk-secret" not in text.replace("matches sk-secret", "")


async def test_all_roots_are_searched(ctx: Context, root: Path) -> None:
    """faults.md 117."""
    one, two = root / "one", root / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "f").write_text("x\n")
    both = Context(Workspace(Roots([one, two, one / "nested"]), OpenDocuments(), NoEditor(), EditSettings()))
    assert await call("search", both, query="x") == f"f:1:x\n{two}/f:1:x"


async def test_an_unreadable_file_is_noted(ctx: Context, root: Path) -> None:
    (root / "a").write_text("x\n")
    (root / "locked").write_text("x\n")
    (root / "locked").chmod(0)
    text = await call("search", ctx, query="x")
    assert text.startswith("a:1:x")
    if os.geteuid() != 0:
        assert "[Could not be read: locked (Permission denied).]" in text


async def test_a_name_with_control_characters_is_shown_escaped(ctx: Context, root: Path) -> None:
    (root / "a\x1b[31m\nb").write_text("x\n")
    assert await call("search", ctx, query="x") == "'a\\x1b[31m\\nb':1:x"


async def test_a_search_can_be_cancelled_and_leaves_no_process(workspace: Workspace, root: Path) -> None:
    """One way to stop: the engine's process ends with the call."""
    stand_in = root.parent / "rg"
    stand_in.write_text("#!/bin/sh\necho $$ > $0.pid\nexec sleep 600\n")
    stand_in.chmod(0o755)
    task = asyncio.create_task(ripgrep.search_files(str(stand_in), dialect.Char("x"), [root], lambda _: True, "all"))
    pid = stand_in.with_suffix(".pid")
    while not (pid.exists() and pid.read_text()):  # noqa: ASYNC110 - see below
        await asyncio.sleep(0.01)  # another process writes the file, so there is no event to wait for
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_ripgrep_of_the_workspace_is_not_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-14: executables come from outside the workspace."""
    (root / "rg").write_text("#!/bin/sh\n")
    (root / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(root))
    monkeypatch.setattr(engine.sysconfig, "get_path", lambda _: str(root))
    assert engine.find_ripgrep([root]) is None
    assert engine.find_ripgrep([]) == str(root / "rg")
