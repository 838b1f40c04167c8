"""The encoding matrix for reading: bytes to text and back, and what is refused."""

from __future__ import annotations

import codecs
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnstone_lsp.config.settings import EditSettings
from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import binary, codec, globs
from turnstone_lsp.workspace.documents import OpenDocuments
from turnstone_lsp.workspace.editor import NoEditor
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.snapshot import TextFormat
from turnstone_lsp.workspace.view import Workspace

if TYPE_CHECKING:
    from pathlib import Path

# (codec, BOM, must be declared, characters that it has beyond ASCII)
FORMS = [
    ("utf-8", b"", False, "é€😀\u2028\x85"),
    ("utf-8", codecs.BOM_UTF8, False, "é€😀\u2028\x85"),
    ("utf-16-le", codecs.BOM_UTF16_LE, False, "é€😀\u2028\x85"),
    ("utf-16-be", codecs.BOM_UTF16_BE, False, "é€😀\u2028\x85"),
    ("utf-32-le", codecs.BOM_UTF32_LE, False, "é€😀\u2028\x85"),
    ("utf-32-be", codecs.BOM_UTF32_BE, False, "é€😀\u2028\x85"),
    ("latin-1", b"", True, "éÿ\x85"),
    ("shift_jis", b"", True, "日本語"),
    ("gbk", b"", True, "中文"),
]
ENDS = {"lf": ["\n"], "crlf": ["\r\n"], "cr": ["\r"], "mixed": ["\n", "\r\n", "\r"]}


def body(ends: list[str], extra: str, shape: str, *, final: bool) -> str:
    if shape == "empty":
        return ""
    lines = [f"one{extra}"] if shape == "one" else [f"one{extra}", "", "form\x0cfeed", f"{extra}last"]
    text = "".join(line + end for line, end in zip(lines, itertools.cycle(ends), strict=False))
    return text if final else text.rstrip("\r\n")


@pytest.mark.parametrize("shape", ["empty", "one", "many"])
@pytest.mark.parametrize("final", [True, False])
@pytest.mark.parametrize("ends", list(ENDS))
@pytest.mark.parametrize(("encoding", "bom", "declared", "extra"), FORMS)
def test_the_matrix_reads_back_byte_for_byte(
    *, encoding: str, bom: bytes, declared: bool, extra: str, ends: str, final: bool, shape: str
) -> None:
    text = body(ENDS[ends], extra, shape, final=final)
    data = bom + text.encode(encoding)
    read, form = codec.decode(data, "f", codec.normalise(encoding) if declared else None)
    assert read == text
    assert codec.normalise(form.encoding) == codec.normalise(encoding)
    assert form.bom == bom
    assert codec.encode(read, form, "f") == data
    if shape == "many" and ends != "mixed":
        assert form.eol == ENDS[ends][0]


@pytest.mark.parametrize(("encoding", "extra"), [(e, x) for e, _, declared, x in FORMS if declared])
def test_undeclared_bytes_are_refused_naming_the_setting(encoding: str, extra: str) -> None:
    """faults.md 18-20: never decoded with replacement characters."""
    with pytest.raises(ToolError, match=r"not valid utf-8: byte 0x.. at offset \d+.*edits\.encodings"):
        codec.decode(f"x {extra}\n".encode(encoding), "f")


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\nx = '\xe9'\n", "iso8859-1"),
        (b"# vim: set fileencoding=cp1252 :\n\x80\n", "cp1252"),
        (b"\n" * 50 + b"\xe9\n# vim:fenc=latin1\n", "iso8859-1"),
        (b"# coding: utf-8-sig\n", "utf-8"),
        (b"# coding: base64\n", "utf-8"),
        (b"# coding: unicode_escape\n\\x41\n", "utf-8"),
        (b"# coding: no-such-thing\n", "utf-8"),
        (b"\n\n# coding: latin-1 on line three does not count\n", "utf-8"),
    ],
)
def test_a_file_declares_its_encoding(data: bytes, encoding: str) -> None:
    text, form = codec.decode(data, "f")
    assert form.encoding == encoding
    assert codec.encode(text, form, "f") == data


async def test_a_setting_beats_editorconfig_beats_the_coding_line(root: Path) -> None:
    (root / "old").mkdir()
    (root / ".editorconfig").write_text("root = true\n[*.{c,h}]\ncharset = latin1\n[old/**]\nend_of_line = crlf\n")
    workspace = Workspace(Roots([root]), OpenDocuments(), NoEditor(), EditSettings(encodings={"old/*": "shift_jis"}))
    (root / "old" / "a.c").write_bytes("日本".encode("shift_jis"))
    (root / "b.c").write_bytes(b"# coding: cp1252\n\xe9")
    assert (await workspace.snapshot(root / "old" / "a.c")).text == "日本"
    assert (await workspace.snapshot(root / "b.c")).format.encoding == "iso8859-1"
    new = await workspace.snapshot(root / "old" / "new.txt")
    assert (new.exists, new.format) == (False, TextFormat("shift_jis", b"", "\r\n"))
    (root / "c.bin").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 8)
    with pytest.raises(ToolError, match=r"c\.bin is not text: a PNG image, 16 bytes"):
        await workspace.snapshot(root / "c.bin")


def test_bytes_that_would_not_come_back_are_refused() -> None:
    # 0x81 0x5f and 0x5c both read as a backslash in some tables; utf-16 with an odd byte does not decode
    with pytest.raises(ToolError, match="not valid utf-16-le"):
        codec.decode(codecs.BOM_UTF16_LE + b"a\0b", "f")
    with pytest.raises(ToolError, match="byte for byte"):
        codec.decode(b"\x1b(B\x1b(Bplain", "f", "iso2022_jp")


@pytest.mark.parametrize(
    ("text", "form", "says"),
    [
        ("ok\n日本", TextFormat("latin-1"), r"Line 2 .* '日' \(U\+65E5\), which latin-1.*does not have"),
        ("a\ud800", TextFormat("utf-8"), r"Line 1 .*lone surrogate \(U\+D800\)"),
    ],
)
def test_text_that_the_encoding_lacks_is_named(text: str, form: TextFormat, says: str) -> None:
    """faults.md 21; upstream-faults 60: encoded before anything is opened for writing."""
    with pytest.raises(ToolError, match=says):
        codec.encode(text, form, "f")


@given(st.binary(max_size=60), st.sampled_from([None, "iso8859-1", "shift_jis", "gbk", "utf-16-le", "cp1252"]))
def test_whatever_is_decoded_comes_back_byte_for_byte(data: bytes, declared: str | None) -> None:
    try:
        text, form = codec.decode(data, "f", declared)
    except ToolError:
        return
    assert codec.encode(text, form, "f") == data


def test_the_dominant_ending_wins() -> None:
    assert codec.dominant_eol("a\r\nb\r\nc\n") == "\r\n"
    assert codec.dominant_eol("a\rb\rc\n") == "\r"
    assert codec.dominant_eol("none", "\r\n") == "\r\n"


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"RIFF\0\0\0\0WEBP", "WebP"),
        (b"\x7fELF\x02", "ELF"),
        (b"SQLite format 3\0", "SQLite"),
        (b"\0\1\2", "binary file"),
    ],
)
def test_binary_kinds(head: bytes, kind: str) -> None:
    """faults.md 116: refused with size and type."""
    assert kind in binary.refusal("f", head, 12_345)
    assert "12,345 bytes" in binary.refusal("f", head, 12_345)


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*.py", "a/b/c.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/**", "src/b/a.py", True),
        ("**/x/*.c", "x/a.c", True),
        ("*.{c,h}", "d/a.h", True),
        ("f{1..3}.txt", "f2.txt", True),
        ("f{1..3}.txt", "f4.txt", False),
        ("[!a]*.py", "b.py", True),
        ("[!a]*.py", "a.py", False),
        ("[a-c].py", "b.py", True),
        ("a+(b).py", "a+(b).py", True),
        ("?.py", "ab.py", False),
    ],
)
def test_globs(glob: str, path: str, expected: bool) -> None:
    assert globs.matches(glob, path) is expected
