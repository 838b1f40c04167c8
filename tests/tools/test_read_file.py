"""read_file: every sentence of the spec and the issue, and the reports about reading."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workspaces import Context, call, own_folders, root, workspace

from turnstone_lsp.config.settings import Settings, ToolSettings
from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools import read_file
from turnstone_lsp.workspace import opening, slices, uris
from turnstone_lsp.workspace.documents import Change
from turnstone_lsp.workspace.reads import digest
from turnstone_lsp.workspace.slices import Window

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.workspace.view import Workspace

__all__ = ["own_folders", "root", "workspace"]


@pytest.fixture
def ctx(workspace: Workspace) -> Context:
    return Context(workspace)


async def test_numbered_lines(ctx: Context, root: Path) -> None:
    """'Reads the file and returns content with line numbers', in the form that the JSON file describes."""
    (root / "a.txt").write_text("one\n\n  three \t\n")
    assert await call("read_file", ctx, path="a.txt") == "    1\tone\n    2\t\n    3\t  three \t"


async def test_offset_and_limit(ctx: Context, root: Path) -> None:
    (root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 51)))
    text = await call("read_file", ctx, path="a.txt", offset=12, limit=2)
    assert text == "   12\tline 12\n   13\tline 13\n[Lines 12-13 of 50; more follow. Go on with offset=14.]"
    assert await call("read_file", ctx, path="a.txt", offset=50) == "   50\tline 50"
    assert await call("read_file", ctx, path="a.txt", offset=49, limit=2) == "   49\tline 49\n   50\tline 50"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"path": "a.txt", "offset": 4}, r"offset 4 is beyond the end: a\.txt has 3 lines"),
        ({"path": "a.txt", "offset": 0}, "'offset' is a line number and begins at 1"),
        ({"path": "a.txt", "limit": 0}, "'limit' must be 1 or more"),
        ({"path": "a.txt", "offset": "x"}, "'offset' must be an integer"),
        ({"path": "A.text"}, r"A\.text does not exist\. Did you mean a\.txt\?"),
        ({"path": "zzz"}, "zzz does not exist"),
        ({"path": "no/such/folder/x"}, "does not exist. Of its folders, .*proj is the last that does"),
        ({"path": "a.txt/x"}, "does not exist"),
        ({"path": "sub"}, "sub is a folder"),
        ({"path": "fifo"}, "named pipe"),
        ({"path": "x.jpg"}, "JPEG image, 96,004 bytes"),
        ({"path": ""}, "'path' is empty"),
        ({}, "'path' is missing"),
        ({"path": "a.txt", "lines": 3}, "unknown argument 'lines'"),
    ],
)
async def test_errors_name_the_argument_and_what_to_do(
    ctx: Context, root: Path, arguments: dict[str, object], says: str
) -> None:
    (root / "a.txt").write_text("1\n2\n3\n")
    (root / "sub").mkdir()
    os.mkfifo(root / "fifo")
    (root / "x.jpg").write_bytes(b"\xff\xd8\xff\xe0" + b"\0" * 96_000)
    with pytest.raises(ToolError, match=says):
        await call("read_file", ctx, **arguments)
    assert list(ctx.workspace.reads) == []  # a failed read gives no right to edit


async def test_an_unreadable_file_says_so(ctx: Context, root: Path) -> None:
    """As root every mode is readable, so the sentence is made from the refusal that an ordinary user gets."""
    (root / "a.txt").write_text("x")
    (root / "a.txt").chmod(0)
    if os.geteuid() == 0:
        assert await call("read_file", ctx, path="a.txt")
    else:
        with pytest.raises(ToolError, match=r"a\.txt cannot be read: Permission denied"):
            await call("read_file", ctx, path="a.txt")


async def test_empty_files_and_final_newlines(ctx: Context, root: Path) -> None:
    (root / "empty").write_text("")
    (root / "open").write_text("no end")
    assert await call("read_file", ctx, path="empty") == "[empty is empty.]"
    assert await call("read_file", ctx, path="open") == "    1\tno end\n[No newline at the end of the file.]"


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"a\r\nb\r\n", "Line endings are CRLF"),
        (b"a\rb\r", "Line endings are CR;"),
        (b"a\r\nb\n", "Line endings are mixed (CRLF, LF)"),
        (codecs.BOM_UTF8 + b"a\nb\n", "Encoding utf-8 with a byte-order mark"),
        (codecs.BOM_UTF16_LE + "a\nb\n".encode("utf-16-le"), "Encoding utf-16-le with"),
    ],
)
async def test_oddities_are_noted_once_and_not_shown_as_text(ctx: Context, root: Path, data: bytes, note: str) -> None:
    (root / "f").write_bytes(data)
    text = await call("read_file", ctx, path="f")
    assert text.startswith("    1\ta\n    2\tb\n[")
    assert text.count(note) == 1
    assert "\r" not in text
    assert "\ufeff" not in text


async def test_reading_and_editing_share_one_view_of_crlf(ctx: Context, root: Path) -> None:
    """faults.md 15, 19: what read_file showed is what an edit sees, byte by byte."""
    (root / "f").write_bytes(b"a\r\nb\r\n")
    await call("read_file", ctx, path="f")
    snapshot = await ctx.workspace.snapshot(root / "f")
    assert ctx.workspace.reads.stale(snapshot) is None
    (root / "gbk").write_bytes("中文\n".encode("gbk"))
    with pytest.raises(ToolError, match=r"edits\.encodings"):
        await call("read_file", ctx, path="gbk")
    with pytest.raises(ToolError, match=r"edits\.encodings"):
        await ctx.workspace.snapshot(root / "gbk")


async def test_long_lines_are_cut_visibly(ctx: Context, root: Path) -> None:
    (root / "min.js").write_text("x" * 5000 + "\nshort\n")
    text = await call("read_file", ctx, path="min.js")
    assert text == f"    1\t{'x' * 2000} [... 3,000 more characters]\n    2\tshort"


async def test_the_output_limit_says_how_to_go_on(workspace: Workspace, root: Path) -> None:
    ctx = Context(workspace, Settings(tools=ToolSettings(output_limit=2000)))
    (root / "f").write_text("".join(f"{n:040}\n" for n in range(1, 1001)))
    seen, offset = [], 1
    for _ in range(60):
        text = await call("read_file", ctx, path="f", offset=offset)
        assert len(text) <= 2000
        lines = [line for line in text.split("\n") if not line.startswith("[")]
        seen += [int(line.split("\t")[1]) for line in lines]
        if "Go on with" not in text:
            break
        assert "the output limit was reached" in text
        offset = int(text.rsplit("offset=", 1)[1].rstrip(".]"))
    assert seen == list(range(1, 1001))


async def test_unsaved_text_is_read_first(ctx: Context, root: Path) -> None:
    """faults.md 40, 46."""
    (root / "a.py").write_text("disk\n")
    uri = uris.from_path(root / "a.py")
    ctx.workspace.documents.open(uri, "disk\n", 1)
    assert await call("read_file", ctx, path="a.py") == "    1\tdisk"
    ctx.workspace.documents.change(uri, 2, [Change("buffer\n")])
    text = await call("read_file", ctx, path="a.py")
    assert text == "    1\tbuffer\n[This is unsaved text from the editor.]"
    # a document that was never written to disk is a file all the same
    ctx.workspace.documents.open(uris.from_path(root / "new.py"), "fresh\n", 1)
    assert "fresh" in await call("read_file", ctx, path="new.py")


async def test_outside_and_secret_files_ask(ctx: Context, root: Path) -> None:
    """The user's approval is the boundary: read_file asks for what is outside the roots or usually secret."""
    (root.parent / "other").write_text("x")
    (root / ".env").write_text("KEY=1")
    (root / "link").symlink_to(root.parent / "other")
    for path, reason in (("../other", "outside"), ("link", "link leads to"), (".env", "secrets")):
        plan = await read_file.prepare(read_file.Args(path), ctx)  # type: ignore[arg-type]  # what the tool asks of it
        assert any(reason in said for said in plan.must_ask), path
    plan = await read_file.prepare(read_file.Args("link"), ctx)  # type: ignore[arg-type]  # as above
    assert str(root.parent / "other") in plan.preview


async def test_the_session_tracks_which_files_have_been_read(ctx: Context, root: Path) -> None:
    """'the session tracks which files have been read'; issue 3: a later change is known."""
    (root / "a").write_text("one\ntwo\nthree\n")
    snapshot = await ctx.workspace.snapshot(root / "a")
    assert "has not been read" in (ctx.workspace.reads.stale(snapshot) or "")
    await call("read_file", ctx, path="a")
    assert ctx.workspace.reads.stale(snapshot) is None
    assert ctx.workspace.child().reads.stale(snapshot)  # a sub-agent has read nothing yet
    assert await ctx.workspace.changed_since_read() == []
    (root / "a").write_text("one\nTWO\nthree\n")
    changed = await ctx.workspace.snapshot(root / "a")
    assert "changed after it was read" in (ctx.workspace.reads.stale(changed) or "")
    assert await ctx.workspace.changed_since_read() == [root / "a"]
    assert await ctx.workspace.changed_since_read() == []  # each state is told once


async def test_a_read_in_part_covers_what_was_shown(ctx: Context, root: Path) -> None:
    """design, seams: the fingerprint is the stat identity and the hash of what was shown."""
    (root / "a").write_text("one\ntwo\nthree\nfour\n")
    await call("read_file", ctx, path="a", offset=2, limit=2)
    reads = ctx.workspace.reads
    record = reads.get(root / "a")
    assert record is not None
    assert not record.whole
    assert record.shown[0].sha256 == digest("two\nthree\n")
    (root / "a").write_text("one\ntwo\nthree\nFOUR\n")
    assert reads.stale(await ctx.workspace.snapshot(root / "a")) is None
    (root / "a").write_text("one\ntwo\nTHREE\nfour\n")
    assert "lines 2-3 were changed" in (reads.stale(await ctx.workspace.snapshot(root / "a")) or "")


async def test_a_file_saved_after_it_was_read_in_the_editor_is_not_changed(ctx: Context, root: Path) -> None:
    uri = uris.from_path(root / "a")
    (root / "a").write_text("x\n")
    ctx.workspace.documents.open(uri, "x\n", 1)
    ctx.workspace.documents.change(uri, 2, [Change("é\n")])
    await call("read_file", ctx, path="a")
    (root / "a").write_text("é\n")
    ctx.workspace.documents.close(uri)
    assert ctx.workspace.reads.stale(await ctx.workspace.snapshot(root / "a")) is None
    assert await ctx.workspace.changed_since_read() == []


# -- large files: lines are counted in bytes, only what is shown is decoded

texts = st.text(st.sampled_from("ab\n\ré😀\x0c\u2028"), max_size=60)


@given(texts, st.integers(1, 12), st.one_of(st.none(), st.integers(1, 5)), st.integers(30, 60), st.integers(1, 9))
def test_a_slice_of_a_file_equals_a_slice_of_its_text(
    text: str, first: int, limit: int | None, budget: int, chunk: int
) -> None:
    import tempfile

    with pytest.MonkeyPatch.context() as patch, tempfile.NamedTemporaryFile() as file:
        patch.setattr(slices, "_CHUNK", chunk)
        file.write(text.encode())
        file.flush()
        window = Window(first, limit, budget)
        whole, total = slices.of_text(text, window)
        streamed = slices.of_file(file.fileno(), "f", None, window)
    if whole.lines:
        assert streamed.slice == whole
    else:
        assert (streamed.slice.lines, streamed.total) == ([], total)


def test_undecodable_bytes_are_found_where_they_are(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "f"
    path.write_bytes(b"a\n" * 10 + b"ok \xe9 x\n")
    with opening.open_verified(path) as descriptor:
        assert slices.of_file(descriptor, "f", None, Window(1, 10)).slice.last == 10
        with pytest.raises(ToolError, match=r"byte 0xe9 at offset 23"):
            slices.of_file(descriptor, "f", None, Window(9))
        assert slices.of_file(descriptor, "f", "iso8859-1", Window(11)).slice.lines == ["ok é x"]


PROBE = """
import resource, sys
from pathlib import Path
from turnstone_lsp.workspace import opening, slices
from turnstone_lsp.workspace.slices import Window
path = Path(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with opening.open_verified(path) as descriptor:
    found = slices.of_file(descriptor, "big", None, Window(int(sys.argv[2]), 20))
    print(found.slice.lines[0], (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
    print(__import__("os").lseek(descriptor, 0, 1))
"""


def test_a_large_file_is_read_only_as_far_as_it_must(tmp_path: Path) -> None:
    """Issue 2: a 200 MB file with offset reads only what it must; under 20 MB of memory."""
    path = tmp_path.resolve() / "big"
    line = b"%09d " + b"x" * 90 + b"\n"
    with path.open("wb") as file:
        for start in range(0, 2_000_000, 20_000):
            file.write(b"".join(line % n for n in range(start, start + 20_000)))
    out = subprocess.run(
        [sys.executable, "-c", PROBE, str(path), "1500001"], capture_output=True, text=True, check=True
    )
    shown, memory, position = (
        out.stdout.split("\n")[0].split()[0],
        int(out.stdout.split()[-2]),
        int(out.stdout.split()[-1]),
    )
    assert shown == "001500000"
    assert memory < 20
    assert position < 1_500_000 * 101 + 3 * 1024 * 1024


async def test_a_large_file_through_the_tool(ctx: Context, root: Path) -> None:
    (root / "big").write_bytes(b"".join(b"%07d\r\n" % n for n in range(1, 600_001)))
    text = await call("read_file", ctx, path="big", offset=599_999)
    assert text.startswith("599999\t0599999\n600000\t0600000\n[Line endings are CRLF")
    assert ctx.workspace.reads.stale(await ctx.workspace.snapshot(root / "big")) is None
    with pytest.raises(ToolError, match="big has 600,000 lines"):
        await call("read_file", ctx, path="big", offset=600_001)
