"""The same answer from ripgrep, grep and Python, on the same trees and the same patterns."""

from __future__ import annotations

import asyncio
import codecs
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace.searching import dialect, engine, render, ripgrep, walk, worker
from turnstone_lsp.workspace.searching.results import Found

RG, GREP = shutil.which("rg"), shutil.which("grep")


def answer(found: Found) -> dict[str, Any]:
    return {
        "files": {hits.path: (hits.count, hits.lines) for hits in found.files},
        "ignored": (found.ignored, found.ignored_names),
        "binary": sorted(found.binary),
        "failed": sorted(path for path, _ in found.failed),
    }


async def by_ripgrep(pattern: str, base: Path) -> dict[str, Any]:
    assert RG
    node = dialect.parse(pattern)
    found = await ripgrep.search_files(RG, node, [base], lambda _: True, walk.above(base, None))
    for name, text in engine.lone_returns(found).items():
        await ripgrep.search_text(RG, node, name, text, found)
    return answer(found)


def by_python(pattern: str, base: Path, grep: str | None = None) -> dict[str, Any]:
    node = dialect.parse(pattern)
    job = worker.Job(
        pattern=render.python(node),
        bases=[str(base)],
        skip=[],
        texts={},
        encodings={},
        roots=[],
        grep=(grep, render.grep(node)) if grep else None,
        parents=walk.above(base, None) != "none",
    )
    return answer(worker.run(job))


def compare(pattern: str, base: Path) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LC_ALL", "C.UTF-8")
        python, grep = by_python(pattern, base), by_python(pattern, base, GREP)
    found = asyncio.run(by_ripgrep(pattern, base))
    assert found == python, pattern
    assert found == grep, pattern
    return found


TREE: dict[str, bytes] = {
    "a.py": b"import os\n\ndef f():\n    return 'needle'\n",
    "crlf.txt": b"needle\r\nsecond needle\r\n\r\n",
    "cr.txt": b"one\rneedle\rthree needle\r",
    "mixed.txt": b"a\rneedle\nb\r\nneedle",
    "no_end.txt": b"needle",
    "empty.txt": b"",
    "newline.txt": b"\n",
    "bom.txt": codecs.BOM_UTF8 + b"needle\n",
    "utf16.txt": codecs.BOM_UTF16_LE + "needle \u00e9\r\nx\r\n".encode("utf-16-le"),
    "utf16be.txt": codecs.BOM_UTF16_BE + "x\nneedle\n".encode("utf-16-be"),
    "latin1.txt": b"needle \xe9t\xe9\n",
    "unicode.txt": "é needle 😀\nform\x0cfeed needle\u2028same line\x85\n".encode(),
    "long.js": b"x" * 3000 + b"needle" + b"y" * 3000 + b"\n",
    "huge.js": b"needle" + b"z " * 550_000 + b"\n",
    "image.png": b"\x89PNG\r\n\x1a\n\0\0needle\0\n",
    "late.bin": b"needle\n" + b"x " * 50_000 + b"\n\0\n",
    "no_match.bin": b"\0\0\0",
    ".hidden": b"needle\n",
    ".git/config": b"needle\n",
    "sub/.gitignore": b"# comment\n*.log\n!keep.log\n/build/\ndeep/*.tmp\n",
    "sub/x.log": b"needle\n",
    "sub/keep.log": b"needle\n",
    "sub/build/y": b"needle\n",
    "sub/deep/a.tmp": b"needle\n",
    "sub/deep/build/z": b"needle\n",
    "-v": b"needle -v\n",
    "white space/q.txt": b"needle\n",
}


def write_tree(base: Path, tree: dict[str, bytes]) -> None:
    for name, data in tree.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_bytes(data)


@pytest.fixture
def tree(root: Path) -> Path:
    write_tree(root, TREE)
    (root / "link.txt").symlink_to("a.py")
    (root / "out").symlink_to(root.parent)
    return root


@pytest.mark.parametrize(
    "pattern",
    [
        "needle", "^needle$", "needle.", ".needle", "^$", "^", "$", "needle$", "x*", r"\bneedle\b", r"\Bneedle", "-v", "--",
        r"\w+ needle", "[^a-z]needle", r"\s", r"^\s*$", "n(ee|oo)dle", "(needle|three)", "(?i)NEEDLE", "é", "[é-ü]", "😀",
        ".😀", r"needle \W", "needle .t", "ne{2}dle", "a|", "[[:upper:]]", r"\.", "^.{0,3}$", "^[^x]*$", r"\S\S\S\S\S\S\S$",
    ],
)  # fmt: skip
def test_the_same_answer_on_every_kind_of_file(tree: Path, pattern: str) -> None:
    compare(pattern, tree)


def test_what_the_answer_is(tree: Path) -> None:
    found = compare("needle", tree)
    files = {Path(path).relative_to(tree).as_posix(): hits for path, hits in found["files"].items()}
    assert set(files) == {
        "a.py", "crlf.txt", "cr.txt", "mixed.txt", "no_end.txt", "bom.txt", "utf16.txt", "utf16be.txt", "latin1.txt",
        "unicode.txt", "long.js", "huge.js", ".hidden", "sub/keep.log", "sub/deep/build/z", "-v", "white space/q.txt",
    }  # fmt: skip
    assert files["cr.txt"] == (2, [(2, "needle", 0), (3, "three needle", 0)])
    assert files["mixed.txt"] == (2, [(2, "needle", 0), (4, "needle", 0)])
    assert files["crlf.txt"][1] == [(1, "needle", 0), (2, "second needle", 0)]
    assert files["utf16.txt"][1] == [(1, "needle é", 0)]
    assert files["latin1.txt"][1] == [(1, "needle \ufffdt\ufffd", 0)]
    assert files["long.js"][1] == [(1, "x" * 400, 5606)]
    assert files["huge.js"][1] == [(1, "[a line of more than 1,000,000 bytes]", 0)]
    assert [Path(path).name for path in found["binary"]] == ["image.png", "late.bin"]
    assert found["ignored"][0] == 3


@pytest.mark.parametrize(
    "name", ["a.py", "sub", "sub/build", "sub/x.log", "sub/build/y", "image.png", "-v", "empty.txt"]
)
def test_the_same_answer_from_one_place_in_the_tree(tree: Path, name: str) -> None:
    """A file or folder that is ignored is searched when it is named."""
    compare("needle", tree / name)


def test_rules_of_a_repository_end_at_its_top(root: Path) -> None:
    write_tree(
        root, {".gitignore": b"*\n", "repo/.git/HEAD": b"", "repo/a.txt": b"x\n", "repo/sub/b.txt": b"x\n", "c": b"x\n"}
    )
    assert len(compare("x", root / "repo")["files"]) == 2
    assert len(compare("x", root / "repo" / "sub")["files"]) == 1
    assert compare("x", root)["files"] == {}


def test_rules_above_the_workspace_do_not_count_without_a_repository(root: Path) -> None:
    write_tree(root, {".gitignore": b"*\n", "proj/a.txt": b"x\n"})
    assert walk.above(root / "proj", root / "proj") == "none"
    assert walk.above(root / "proj", root) == "none"  # ignored itself, but named on purpose
    (root / ".gitignore").write_text("*.log\n")
    assert walk.above(root / "proj", root / "proj") == "none"
    assert walk.above(root / "proj", root) == "all"
    (root / ".git").mkdir()
    assert walk.above(root / "proj", root / "proj") == "repository"


CHARS = "ab \n\r\té_-.😀\x0c"
chars = ["a", "b", "é", ".", "[ab]", "[^a]", r"\w", r"\W", r"\s", " ", "-", r"\.", "😀", "[é-ü]", r"[^\w]", "_"]
atoms = st.sampled_from(
    [*chars, "$", *(place + char for place in (r"\b", r"\B", r"^\b", "^") for char in ("a", ".", " "))]
)
repeats = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}"])
pieces = st.builds(lambda a, r: a if a == "$" else a + r, atoms, repeats)
sequences = st.lists(pieces, min_size=1, max_size=4).map("".join)
patterns = st.recursive(
    sequences,
    lambda inner: st.one_of(
        st.builds("({}|{})".format, inner, inner),
        st.builds("({}){}".format, inner, repeats),
        st.builds("{}{}".format, inner, inner),
        st.builds("(?i){}".format, sequences),
    ),
    max_leaves=4,
)
bodies = st.one_of(
    st.text(CHARS, max_size=30).map(str.encode),
    st.text(CHARS, max_size=30).map(lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le")),
    st.builds(lambda text, odd: text.encode() + odd, st.text(CHARS, max_size=15), st.sampled_from([b"\xe9 a", b"\0a", b"\xf0\x9f", b"\xc3b"])),
)  # fmt: skip


@given(patterns, st.lists(bodies, min_size=1, max_size=5))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_answer_for_any_pattern(pattern: str, contents: list[bytes]) -> None:
    try:
        dialect.parse(pattern)
    except ToolError:
        return
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        write_tree(base, {f"f{n}": data for n, data in enumerate(contents)})
        compare(pattern, base)


names = st.sampled_from(["a", "b", "build", "x.log", "a.b", "sub"])
globs = st.sampled_from(["a", "/a", "a/", "*.log", "!x.log", "sub/*", "**/a", "a/**", "sub/**/b", "[ab]", "?", "!b/", "#a", "\\#a", "*", "!*/", " a", "a\\ ", "sub/a", "/sub/build/"])  # fmt: skip


@given(
    st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), min_size=1, max_size=8),
    st.dictionaries(st.sampled_from(["", "sub/", "a/"]), st.lists(globs, min_size=1, max_size=4), max_size=3),
)
@settings(max_examples=80, deadline=None)
def test_the_same_files_are_ignored(paths: list[str], rules: dict[str, list[str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(os.path.realpath(folder))
        (base / ".git").mkdir()
        for path in paths:
            if not any((base / parent).is_file() for parent in (path, *map(str, Path(path).parents))):
                (base / path).parent.mkdir(parents=True, exist_ok=True)
                if not (base / path).exists():
                    (base / path).write_text("x\n")
        for place, lines in rules.items():
            if (base / place).is_dir():
                (base / place / ".gitignore").write_text("\n".join(lines) + "\n")
        compare("x", base)


def test_an_unreadable_file_does_not_lose_the_others(tree: Path) -> None:
    """upstream.md: grep's exit status 2 threw every match away. Run as an ordinary user, also when CI is root."""
    (tree / "locked").write_text("needle\n")
    (tree / "locked").chmod(0)
    (tree / "shut").mkdir()
    (tree / "shut").chmod(0)
    if os.geteuid() != 0:
        found = compare("needle", tree)
        assert [Path(path).name for path in found["failed"]] == ["locked", "shut"]
        assert len(found["files"]) == 17
        return
    log = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", RG or "rg", "-c", "needle", str(tree)],
        capture_output=True,
        check=False,
        cwd="/",
    )
    seen = Found()
    ripgrep._Log(seen).feed(log.stderr)
    assert (
        sorted(Path(path).name for path, _ in seen.failed) == ["locked", "shut"] or b"Permission denied" in log.stderr
    )
