"""The path guard: C-01, C-02, C-04, C-07, and the reports behind them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import opening, protected, windows
from turnstone_lsp.workspace.paths import Roots

if TYPE_CHECKING:
    from turnstone_lsp.workspace.view import Workspace


def test_a_neighbour_with_the_same_beginning_is_outside(root: Path) -> None:
    """C-04: `proj` versus `proj-evil`."""
    evil = root.parent / "proj-evil"
    evil.mkdir()
    (evil / "x").write_text("")
    roots = Roots([root])
    assert not roots.resolve("../proj-evil/x").inside
    assert not roots.resolve(str(evil / "x")).inside
    assert roots.resolve("../proj/x").inside
    assert roots.resolve("../proj-evil/x").reasons(write=True) == (f"{evil / 'x'} is outside the workspace",)


def test_links_are_judged_by_where_they_lead(root: Path) -> None:
    """faults.md 68, 69: a folder link, a dangling final link, and `..` behind a link."""
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "dir").symlink_to(outside)
    (root / "dangling").symlink_to(outside / "new.txt")
    roots = Roots([root])
    for given_path in ("dir/new.txt", "dangling"):
        target = roots.resolve(given_path, write=True)
        assert (target.path, target.inside) == (outside / "new.txt", False)
        assert target.shown == f"{root / given_path} -> {outside / 'new.txt'}" or not os.path.lexists(root / given_path)
    assert roots.resolve("dir/../x").path == root.parent / "x"
    (root / "loop").symlink_to("loop")
    with pytest.raises(ToolError, match="leads back to itself"):
        roots.resolve("loop")


@pytest.mark.parametrize("bad", ["a\0b", "a\nb", "a\x1b[31mb", "a\u202eb", "  ", "", "file://", "~nobody-here/x"])
def test_what_can_be_no_path_is_refused(root: Path, bad: str) -> None:
    """C-04, C-18: NUL, control characters, marks that reorder the name."""
    with pytest.raises(ToolError, match="path"):
        Roots([root]).resolve(bad)


def test_home_uris_and_unicode(root: Path, own_folders: Path) -> None:
    roots = Roots([root])
    assert roots.resolve("~/x").path == own_folders / "home" / "x"
    assert roots.resolve((root / "a b").as_uri()).path == root / "a b"
    assert roots.resolve("\u0646\u06cc\u0645\u200c\u0641.txt").inside  # a joiner is part of ordinary Persian names


def test_several_roots(tmp_path: Path) -> None:
    """faults.md 117, 118: all folders are roots; the same relative path in two is an error that lists both."""
    one, two, three = (tmp_path.resolve() / name for name in ("one", "two", "three"))
    for folder in (one, two, three):
        folder.mkdir()
    (one / "both.py").write_text("")
    (two / "both.py").write_text("")
    (three / "only.py").write_text("")
    (three / "pkg").mkdir()
    roots = Roots([one, two, three])
    assert all(roots.contains(folder / "x") for folder in (one, two, three))
    with pytest.raises(ToolError, match="ambiguous") as caught:
        roots.resolve("both.py")
    assert str(one / "both.py") in str(caught.value)
    assert str(two / "both.py") in str(caught.value)
    assert roots.resolve("only.py").path == three / "only.py"
    assert roots.resolve("two/both.py").path == two / "both.py"
    assert roots.resolve("pkg/new.py", write=True).path == three / "pkg" / "new.py"
    assert roots.resolve("new.py", write=True).path == one / "new.py"


def test_one_file_in_two_nested_roots_is_not_ambiguous(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "a").write_text("")
    assert Roots([root, root / "sub"], cwd=root / "sub").resolve("a").path == root / "sub" / "a"


def test_roots_come_from_the_client_and_cwd_stays(root: Path, tmp_path: Path) -> None:
    """C-07 and faults.md 119: no path text moves a root; cwd is fixed when the session begins."""
    roots = Roots([root])
    for text in ("..", "/", "~", "../../.."):
        roots.resolve(text)
    assert roots.paths == (root,)
    roots.replace([tmp_path.resolve() / "other", root])
    assert roots.cwd == root
    assert roots.resolve("x").path == root / "x"
    assert [name for name in dir(roots) if not name.startswith("_")] == [
        "contains", "cwd", "display", "key", "paths", "replace", "resolve", "root_of",
    ]  # fmt: skip


PROTECTED = [
    ".git/config", ".git/hooks/pre-commit", "sub/.git", ".vscode/settings.json", ".idea/x", ".zed/settings.json",
    ".cursor/mcp.json", ".claude/settings.json", ".codex/config.toml", ".roo/mcp.json", ".mcp.json", ".env",
    ".env.local", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pre-commit-config.yaml", ".github/workflows/ci.yml", ".envrc",
    "my.code-workspace", ".husky/pre-push", "conftest.py", "pkg/sitecustomize.py", ".bashrc", ".zshrc", ".profile",
    ".ssh/authorized_keys", "AGENTS.md", "CLAUDE.md", "sub/AGENTS.md",
]  # fmt: skip


@pytest.mark.parametrize("name", PROTECTED)
@pytest.mark.parametrize("exists", [True, False])
def test_protected_names_always_ask(root: Path, name: str, exists: bool) -> None:
    """C-02: created or existing, in any case, through a link, by `..`."""
    if exists:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
        (root / "innocent").symlink_to(name)
        assert Roots([root]).resolve("innocent", write=True).protected
    for spelling in (name, name.upper(), f"./x/../{name}"):
        assert Roots([root]).resolve(spelling, write=True).protected, spelling


@pytest.mark.parametrize("name", ["src/a.py", "tests/conftest.py", "git/config", ".github/ISSUE.md", "env.py", "x.git"])
def test_other_names_do_not(root: Path, name: str) -> None:
    target = Roots([root]).resolve(name, write=True)
    assert target.reasons(write=True) == target.reasons(write=False) == ()


@pytest.mark.parametrize("name", [".env", ".env.production", "~/.ssh/id_ed25519", "certs/server.key", "~/.aws/config"])
def test_secrets_ask_before_they_are_read(root: Path, name: str) -> None:
    """faults.md 123: the same rule whatever tool reads."""
    assert Roots([root]).resolve(name).secret
    assert not Roots([root]).resolve(".env.example").secret


def test_our_own_files_are_out_of_reach(root: Path, own_folders: Path) -> None:
    """C-01: configuration, state, memory, tool definitions; existing and absent, by link, `..`, case, hard link."""
    config, state = own_folders / "config" / "config.toml", own_folders / "state"
    state.mkdir()
    (state / "turnstone.db").write_text("")
    (root / "link").symlink_to(config)
    (root / "folder").symlink_to(state)
    os.link(config, root / "hard")
    os.link(state / "turnstone.db", root / "hard.db")
    package = Path(protected.__file__).resolve().parent.parent
    roots = Roots([root, own_folders])
    both = [config, root / "link", root / "hard", root / "hard.db", state / "turnstone.db", root / "folder" / "new",
            state / "sessions" / "x", str(config).upper(), root / ".." / ".." / config.relative_to("/")]  # fmt: skip
    for path in both[:-1]:
        for write in (True, False):
            with pytest.raises(ToolError, match="any tool: it is turnstone-lsp's own"):
                roots.resolve(str(path), write=write)
    for path in (package / "tools" / "base.py", package.parent / "tools" / "bash.json", state / "output" / "x"):
        with pytest.raises(ToolError, match="cannot be written by any tool"):
            roots.resolve(str(path), write=True)
    assert Roots([root]).resolve(str(state / "output" / "x")).reasons(write=False) == ()


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/environ", "/proc/self/mem", "/proc/thread-self/maps"])
def test_processes_are_not_read(root: Path, path: str) -> None:
    """faults.md 125: /proc/self/environ holds the keys."""
    with pytest.raises(ToolError, match="process"):
        Roots([root]).resolve(path)


def test_only_regular_files_are_opened(root: Path) -> None:
    """A FIFO must not hang (upstream.md), a device must not be read."""
    os.mkfifo(root / "fifo")
    for path, kind in ((root / "fifo", "named pipe"), (Path("/dev/zero"), "device"), (root, "folder")):
        with pytest.raises(ToolError, match=kind), opening.open_verified(path):
            pass


def test_a_folder_swapped_for_a_link_is_noticed(root: Path) -> None:
    """C-04: the descriptor is verified, not the name."""
    (root / "d").mkdir()
    (root / "d" / "f").write_text("mine")
    secret = root.parent / "secret"
    secret.mkdir()
    (secret / "f").write_text("theirs")
    judged = Roots([root]).resolve("d/f").path
    (root / "d").rename(root / "e")
    (root / "d").symlink_to(secret)
    with pytest.raises(ToolError, match="replaced by a link"), opening.open_verified(judged):
        pass
    with pytest.raises(ToolError, match="replaced by a link"), opening.open_folder(judged.parent):
        pass


def test_a_race_of_swaps_never_reads_outside(root: Path) -> None:
    """C-04's race test: another thread swaps a folder for a link to the outside, all the time."""
    secret = root.parent / "secret"
    secret.mkdir()
    (secret / "f").write_bytes(b"theirs")
    (root / "d").mkdir()
    (root / "d" / "f").write_bytes(b"mine")
    (root / "link").symlink_to(secret)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "d").rename(root / "away")
            (root / "link").rename(root / "d")
            (root / "d").rename(root / "link")
            (root / "away").rename(root / "d")

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[bytes] = set()
    try:
        for _ in range(3000):
            try:
                with opening.open_verified(root / "d" / "f") as descriptor:
                    seen.add(os.read(descriptor, 10))
            except (ToolError, FileNotFoundError):
                continue
    finally:
        stop.set()
        thread.join()
    assert seen <= {b"mine"}


def test_a_file_saved_by_rename_is_still_read(root: Path) -> None:
    (root / "f").write_text("old")
    stop = threading.Event()

    def save() -> None:
        while not stop.is_set():
            (root / "new").write_text("old")
            (root / "new").rename(root / "f")

    thread = threading.Thread(target=save)
    thread.start()
    failures = 0
    try:
        for _ in range(300):
            try:
                with opening.open_verified(root / "f"):
                    pass
            except ToolError:
                failures += 1
    finally:
        stop.set()
        thread.join()
    assert failures < 30


@given(st.text(max_size=30))
@settings(max_examples=300)
def test_no_text_crashes_the_guard(text: str) -> None:
    """Issue 6: a fuzzer on the path guard. Whatever a model writes is a target or a ToolError."""
    roots = Roots([Path("/usr/share")])
    try:
        target = roots.resolve(text)
    except ToolError:
        return
    assert target.path.is_absolute()
    assert target.inside == (target.path == Path("/usr/share") or Path("/usr/share") in target.path.parents)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("C:x", "current folder"), ("\\\\host\\share\\x", "UNC"), ("//host/share", "UNC"), ("\\\\?\\C:\\x", "verbatim"),
        ("a.txt:stream", "alternate"), ("dir\\name. ", "drops"), ("dir/name.", "drops"), ("NUL", "device"),
        ("con.txt", "device"), ("C:\\x\\COM1.log", "device"), ("PROGRA~1\\x", "8.3"),
    ],
)  # fmt: skip
def test_windows_special_paths(text: str, why: str) -> None:
    """C-04's Windows rules, as rules: not run on Windows."""
    assert why in (windows.refuse(text) or "")


@pytest.mark.parametrize("text", ["C:\\Users\\me\\x.py", "src/a.py", "..\\x", "console.py", "a~b"])
def test_windows_ordinary_paths(text: str) -> None:
    assert windows.refuse(text) is None


async def test_resolving_by_the_workspace(workspace: Workspace, root: Path) -> None:
    target = await workspace.resolve("sub/x.py")
    assert (target.path, target.display, target.inside) == (root / "sub" / "x.py", "sub/x.py", True)
