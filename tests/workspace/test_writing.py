"""Durable writes keep what a file is, and find it whole after any kill."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import ordinary_user
import pytest

from turnstone_lsp.config import folders
from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import metadata_linux, metadata_macos, metadata_windows, pending, writing
from turnstone_lsp.workspace.encoded import Encoded, holds
from turnstone_lsp.workspace.snapshot import Fingerprint, TextFormat

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def path(root: Path) -> Path:
    path = root / "f.txt"
    path.write_bytes(b"old\n")
    return path


def state_of(path: Path) -> Fingerprint:
    state = path.stat()
    return Fingerprint("", state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


def write(path: Path, data: bytes = b"new\n") -> Fingerprint:
    return writing.write(path, [data], state_of(path) if path.exists() else None)


def alone(path: Path) -> bool:
    return [p.name for p in path.parent.iterdir()] == [path.name] and not list(pending.folder().iterdir())


def test_mode_and_extended_attributes_are_kept(path: Path) -> None:
    path.chmod(0o754)
    os.setxattr(path, "user.origin", b"here")
    found = write(path)
    assert path.read_bytes() == b"new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert os.getxattr(path, "user.origin") == b"here"
    assert (found.ino, found.size) == (path.stat().st_ino, 4)
    assert alone(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_is_kept(path: Path) -> None:
    os.chown(path, 65534, 65533)
    path.chmod(0o4755)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (65534, 65533, 0o4755)


def test_an_acl_of_the_folder_is_not_given_to_a_file_that_had_none(path: Path) -> None:
    acl = b"\x02\0\0\0" + b"".join(
        tag.to_bytes(2, "little") + perm.to_bytes(2, "little") + (uid).to_bytes(4, "little")
        for tag, perm, uid in (
            (1, 7, 2**32 - 1),
            (2, 7, 65534),
            (4, 5, 2**32 - 1),
            (16, 7, 2**32 - 1),
            (32, 5, 2**32 - 1),
        )
    )
    os.setxattr(path.parent, "system.posix_acl_default", acl)
    write(path)
    assert "system.posix_acl_access" not in os.listxattr(path)
    os.setxattr(path, "system.posix_acl_access", acl)
    write(path, b"again\n")
    assert os.getxattr(path, "system.posix_acl_access") == acl


def test_a_hard_link_stays_one(path: Path) -> None:
    other = path.parent / "other.txt"
    os.link(path, other)
    write(path)
    assert other.read_bytes() == b"new\n"
    assert other.samefile(path)
    assert not list(pending.folder().iterdir())


def test_a_new_file_has_the_mode_of_any_new_file(root: Path) -> None:
    with (root / "model").open("w"):
        pass
    write(root / "a" / "b" / "new.txt")
    assert (root / "a/b/new.txt").stat().st_mode == (root / "model").stat().st_mode


def test_a_name_that_fills_its_bytes_can_be_written(root: Path) -> None:
    path = root / ("\u4e2d" * 85)
    write(path)
    write(path, b"again\n")
    assert path.read_bytes() == b"again\n"


@pytest.mark.parametrize("how", ["content", "replaced", "deleted", "folder"])
def test_a_file_that_moved_on_is_not_written(path: Path, how: str) -> None:
    expected = state_of(path)
    if how == "content":
        path.write_bytes(b"user\n")
    else:
        path.unlink()
    if how == "replaced":
        path.write_bytes(b"old\n")
        os.utime(path, ns=(expected.mtime_ns + 1,) * 2)
    if how == "folder":
        path.mkdir()
    with pytest.raises(writing.MovedError):
        writing.write(path, [b"new\n"], expected)
    assert how != "content" or path.read_bytes() == b"user\n"
    assert not [p for p in path.parent.iterdir() if p != path]


def test_a_file_that_has_appeared_is_not_overwritten(path: Path) -> None:
    with pytest.raises(writing.MovedError, match="has appeared"):
        writing.write(path, [b"new\n"], None)
    assert path.read_bytes() == b"old\n"
    assert alone(path)


def test_a_folder_that_became_a_link_is_not_followed(root: Path, tmp_path: Path) -> None:
    """C-04"""
    (tmp_path / "elsewhere").mkdir()
    (root / "d").mkdir()
    (root / "d").rmdir()
    (root / "d").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ToolError):
        writing.write(root / "d" / "f.txt", [b"x"], None)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_read_only_file_is_refused(path: Path) -> None:
    path.chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        write(path)
    assert path.read_bytes() == b"old\n"
    assert alone(path)


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Files cannot grow over a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(path: Path) -> None:
    """faults.md 1, 35"""
    with full_disk(10_000), pytest.raises(ToolError, match="Nothing was changed"):
        write(path, b"x" * 20_000)
    assert path.read_bytes() == b"old\n"
    assert alone(path)
    with full_disk(10_000), pytest.raises(ToolError):
        write(path.parent / "q" / "r" / "new.txt", b"x" * 20_000)
    assert alone(path)


def test_a_write_in_place_that_fails_puts_the_old_bytes_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(path, path.parent / "other.txt")
    original = writing._write_all
    calls = 0

    def failing(descriptor: int, pieces: list[bytes]) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            os.write(descriptor, b"ne")
            raise OSError(28, "No space left on device")
        return original(descriptor, pieces)

    monkeypatch.setattr(writing, "_write_all", failing)
    with pytest.raises(ToolError, match="No space left"):
        write(path)
    assert path.read_bytes() == b"old\n"
    assert not list(pending.folder().iterdir())


def test_remove_takes_only_the_expected_file(path: Path) -> None:
    expected = state_of(path)
    path.write_bytes(b"user\n")
    with pytest.raises(writing.MovedError):
        writing.remove(path, expected)
    writing.remove(path, state_of(path))
    assert not path.exists()


def test_a_write_by_another_server_is_left_alone_by_a_start(path: Path) -> None:
    temporary = path.parent / ".f.txt.ts-1"
    with pending.recorded(path, temporary):
        temporary.write_bytes(b"half")
        code = "from turnstone_lsp.workspace import pending; print(pending.repair())"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n"
        assert temporary.exists()
    assert not list(pending.folder().iterdir())


def test_what_someone_wrote_since_is_no_torn_file(path: Path) -> None:
    assert pending.is_torn(b"newold", b"oldold", b"newnew")
    assert pending.is_torn(b"newne", b"old", b"newnew")
    assert pending.is_torn(
        b"neold", b"longold"[2:], b"new"
    )  # one byte of "new" and the rest of "ngold" would be "ngold"
    for untouched in (b"oldold", b"newnew", b"oldnew", b"user", b"newoldx", b""):
        assert not pending.is_torn(untouched, b"oldold", b"newnew")


def test_each_platform_has_its_way_of_putting_files_in_place() -> None:
    """macOS and Windows are not run here; the choice among them is."""
    assert writing.for_platform("linux") is metadata_linux
    assert writing.for_platform("freebsd14") is metadata_linux
    assert writing.for_platform("darwin") is metadata_macos
    assert writing.for_platform("win32") is metadata_windows


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "iso2022_jp", "latin-1"])
def test_a_long_text_is_encoded_piece_by_piece(root: Path, encoding: str) -> None:
    text = {"iso2022_jp": "\u65e5a"}.get(encoding, "\u00e9a") * 900_000
    whole = Encoded(text, TextFormat(encoding, b"\xff\xfe" if encoding == "utf-16-le" else b""), "f")
    data = b"".join(whole)
    assert data == whole.form.bom + text.encode(encoding)
    (root / "f").write_bytes(data)
    with (root / "f").open("rb") as file:
        assert holds(file.fileno(), whole)
        assert not holds(file.fileno(), [data, b"x"])
        assert not holds(file.fileno(), [data[:-1]])
    with pytest.raises(ToolError, match=r"Line 1 of the new text .* surrogate"):
        Encoded(text + "\ud800", whole.form, "f").check()


# -- kills: issue 3, item 5


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that an ordinary user can reach, whatever other test runs do to pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def killed(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    assert found["wrong"] == []
    return found


def test_a_kill_at_every_step_of_a_replacement_finds_old_or_new(root: Path) -> None:
    script = Path(__file__).with_name("kill_writes.py")
    folders.state_dir()
    done = subprocess.run(
        [sys.executable, str(script), str(root), "replace"], capture_output=True, text=True, timeout=100, check=False
    )
    found = killed(done)
    assert int(str(found["kills"])) >= 300
    assert {"open", "write", "fchmod", "fsync", "replace", "unlink", "close", "stat"} <= set(found["calls"])  # type: ignore[call-overload]


@pytest.mark.long
def test_a_kill_at_every_step_of_every_kind_of_write_finds_old_or_new(root: Path) -> None:
    script = Path(__file__).with_name("kill_writes.py")
    folders.state_dir()
    done = subprocess.run([sys.executable, str(script), str(root)], capture_output=True, text=True, check=False)
    found = killed(done)
    assert int(str(found["kills"])) >= 1_500
    assert {"link", "ftruncate", "mkdir", "replace", "write"} <= set(found["calls"])  # type: ignore[call-overload]


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user")
def test_the_kills_again_as_an_ordinary_user(place: Path) -> None:
    (place / "work").mkdir()
    (place / "work").chmod(0o777)
    done = ordinary_user.run(place, "workspace/kill_writes.py", str(place / "work"))
    assert int(str(killed(done)["kills"])) >= 1_500


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes an ordinary user")
def test_an_ordinary_user_keeps_owner_and_folder_rules(place: Path) -> None:
    """Where the owner cannot be kept, or the folder takes no new file, the file is written in place."""
    (place / "shared").mkdir()
    (place / "shared").chmod(0o777)
    (place / "shared" / "f.txt").write_bytes(b"old\n")
    (place / "shared" / "f.txt").chmod(0o666)
    done = ordinary_user.run(place, "workspace/ordinary_writes.py")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"shared": True, "closed folder": True, "no write": "read-only", "clean": True}
