"""spec/tools.md: the sentences under each file, computation and information tool, seen on disk and by the model.

web_fetch and web_search: tests/tools/test_web_fetch.py and test_web_search.py, which quote theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from harness import ScriptedUser, bench, call, calls

from turnstone_lsp.config.settings import ToolSettings

if TYPE_CHECKING:
    from pathlib import Path

DONE = {"text": "done"}


async def results(
    project: Path, state: Path, *made: Any, user: ScriptedUser | None = None, **settings: Any
) -> list[str]:
    """The results of calls made one after the other, as the model reads them."""
    replies = [*(calls(call(name, arguments)) for name, arguments in made), DONE]
    async with bench(project, state, replies, **settings) as b:
        await (await b.session(user or ScriptedUser())).start("go").wait()
        return b.tool_messages()


async def test_bash_returns_stdout_and_stderr(project: Path, state: Path) -> None:
    """'Execute a bash command and return stdout + stderr.'"""
    (text,) = await results(project, state, ("bash", {"command": "echo out; echo err >&2; echo more; exit 4"}))
    assert text.split("\n")[:3] == ["out", "err", "more"]
    assert "exit code 4" in text


async def test_bash_has_a_configurable_timeout(project: Path, state: Path) -> None:
    """'Runs the command in a subprocess with a configurable timeout.'"""
    tools = ToolSettings(bash_timeout=1)
    (text,) = await results(project, state, ("bash", {"command": "echo began; sleep 60"}), tools=tools)
    assert "began" in text
    assert "1 s" in text


async def test_bash_checks_a_blocklist(project: Path, state: Path) -> None:
    """'Commands are sanitized and checked against a blocklist (e.g. rm -rf /).' Also when everything is approved."""
    user = ScriptedUser()
    made = (
        ("bash", {"command": "rm -rf /"}),
        ("bash", {"command": "rm  -r  -f  //"}),
        ("bash", {"command": "rm -rf /tmp/nothing-here-x"}),
    )
    blocked, spaced, fine = await results(project, state, *made, user=user)
    assert "not run" in blocked
    assert "not run" in spaced
    assert "exit code 0" in fine
    assert [i.preview for batch in user.asked for i in batch] == ["rm -rf /tmp/nothing-here-x"]


async def test_read_file_returns_numbered_lines(project: Path, state: Path) -> None:
    """'Read the contents of a file, returning numbered lines.' 'offset 1-based, default 1'; 'limit: omit for full file'"""
    (project / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    made = (("read_file", {"path": "a.txt"}), ("read_file", {"path": str(project / "a.txt"), "offset": 2, "limit": 2}))
    whole, part = await results(project, state, *made)
    assert [line.strip() for line in whole.split("\n")[:4]] == ["1\tone", "2\ttwo", "3\tthree", "4\tfour"]
    assert "2\ttwo" in part
    assert "3\tthree" in part
    assert "one" not in part
    assert "\tfour" not in part


async def test_write_file_creates_and_overwrites(project: Path, state: Path) -> None:
    """'Creates or overwrites the file at the given path. Parent directories are created as needed.'"""
    (project / "old.txt").write_text("old\n")
    made = (
        ("write_file", {"path": "new/deep/a.txt", "content": "a\n"}),
        ("write_file", {"path": "old.txt", "content": "new\n"}),
    )
    await results(project, state, *made)
    assert (project / "new/deep/a.txt").read_text() == "a\n"
    assert (project / "old.txt").read_text() == "new\n"


TWICE = "x = 1\ny\nx = 1\nz\n"


@pytest.mark.parametrize(
    ("old", "near", "expected", "words"),
    [
        ("y", None, "x = 1\nY!\nx = 1\nz\n", "Changed"),
        ("missing", None, TWICE, "not in the file"),
        ("x = 1", None, TWICE, "2 places"),
        ("x = 1", 3, "x = 1\ny\nY!\nz\n", "Changed"),
        ("x = 1", 2, TWICE, "equally near"),
    ],
)
async def test_edit_file_finds_one_place(
    project: Path, state: Path, old: str, near: int | None, expected: str, words: str
) -> None:
    """'Finds old_string in the file and replaces it with new_string. Fails if the string is not found or matches
    multiple locations (unless near_line is provided to pick the nearest match).'"""
    (project / "a.txt").write_text(TWICE)
    edit = {"path": "a.txt", "old_string": old, "new_string": "Y!", **({"near_line": near} if near else {})}
    _, text = await results(project, state, ("read_file", "a.txt"), ("edit_file", edit))
    assert (project / "a.txt").read_text() == expected
    assert words in text


async def test_search_is_recursive_with_paths_and_line_numbers(project: Path, state: Path) -> None:
    """'Recursively searches for the pattern ... Returns matching lines with file paths and line numbers.'
    'path: File or directory to search in (default: current directory)'"""
    (project / "sub").mkdir()
    (project / "a.txt").write_text("no\nneedle 1\n")
    (project / "sub" / "b.txt").write_text("needle 22\n")
    made = (
        ("search", {"query": "needle [0-9]+"}),
        ("search", {"query": "needle", "path": "sub"}),
        ("search", {"query": "-needle"}),
    )
    everywhere, below, dashed = await results(project, state, *made)
    assert "a.txt:2:needle 1" in everywhere
    assert "sub/b.txt:1:needle 22" in everywhere
    assert "sub/b.txt:1" in below
    assert "a.txt:2" not in below
    assert dashed == "No line of . matches -needle"


LIBRARIES = [
    "sympy",
    "numpy",
    "scipy",
    "math",
    "fractions",
    "itertools",
    "functools",
    "collections",
    "decimal",
    "operator",
    "random",
    "re",
    "string",
]
NAMES = [
    "symbols",
    "solve",
    "simplify",
    "sqrt",
    "Matrix",
    "integrate",
    "diff",
    "limit",
    "series",
    "Eq",
    "Rational",
    "pi",
    "E",
    "I",
    "oo",
    "sin",
    "cos",
    "exp",
    "log",
]


async def test_math_has_its_libraries_and_names(project: Path, state: Path) -> None:
    """'Runs Python code in a sandboxed environment with pre-imported libraries ... Common sympy names ... are
    pre-imported.' 'Must use print() for output.'"""
    code = "\n".join(f"print('{name}', {name} is not None)" for name in [*LIBRARIES, *NAMES])
    named, silent = await results(project, state, ("math", {"code": code}), ("math", {"code": "y = 1"}))
    assert named.count("True") == len(LIBRARIES) + len(NAMES)
    assert "print()" in silent


async def test_man_gives_the_full_formatted_page(project: Path, state: Path) -> None:
    """'Returns the full formatted manual entry.' 'section: Manual section (e.g. 1 commands, 2 syscalls, 3 library)'"""
    made = (("man", "grep"), ("man", {"page": "printf", "section": "3"}), ("man", {"page": "no-such-page-x"}))
    grep, printf, missing = await results(project, state, *made)
    assert "SYNOPSIS" in grep
    assert "\x1b" not in grep
    assert "\b" not in grep
    assert "stdio.h" in printf
    assert "no-such-page-x" in missing


async def test_feedback_and_results_of_every_tool_are_text(project: Path, state: Path) -> None:
    """Every call gets exactly one answer, whatever it is."""
    made = [
        (name, {})
        for name in (
            "bash",
            "read_file",
            "write_file",
            "edit_file",
            "search",
            "math",
            "man",
            "web_fetch",
            "task",
            "plan",
            "remember",
            "forget",
        )
    ]
    texts = await results(project, state, *made)
    assert len(texts) == len(made)
    for (name, _), text in zip(made, texts, strict=True):
        assert text.startswith(name)
        assert "missing" in text
