"""Where real edits come from: a git history, or two neighbouring versions of a source package."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SUFFIXES = {
    "python": (".py",),
    "javascript and typescript": (".js", ".mjs", ".ts", ".tsx"),
    "c": (".c", ".h"),
    "rust": (".rs",),
    "lua": (".lua",),
    "go": (".go",),
    "emacs lisp": (".el",),
}
PACKAGES = (
    ("pypi", "django", "4.1.13", "4.2.10"),
    ("npm", "eslint", "8.0.0", "8.57.0"),
    ("npm", "rxjs", "7.0.0", "7.8.1"),
    ("pypi", "psutil", "5.8.0", "5.9.8"),
    ("pypi", "pillow", "9.0.0", "9.5.0"),
)
"""Three languages: Python, JavaScript with TypeScript, C."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One file before and after; both are UTF-8 with LF line ends."""

    language: str
    name: str
    before: str
    after: str


def language_of(name: str) -> str | None:
    return next((language for language, ends in SUFFIXES.items() if name.endswith(ends)), None)


def _pair(name: str, before: bytes, after: bytes) -> Pair | None:
    language = language_of(name)
    if language is None or b"\r" in before + after or b"\0" in before + after or name.endswith(".min.js"):
        return None
    try:
        return Pair(language, name, before.decode(), after.decode())
    except UnicodeDecodeError:
        return None


def of_git(repository: Path, commits: int) -> Iterator[Pair]:
    """The files that the last commits modified, merges left out."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout

    for commit in git("rev-list", "--no-merges", "--min-parents=1", f"--max-count={commits}", "HEAD").decode().split():
        changed = git("diff-tree", "-r", "-z", "--no-commit-id", "--name-only", "--diff-filter=M", commit)
        for name in changed.decode("utf-8", "replace").split("\0"):
            if name and language_of(name):
                pair = _pair(name, git("show", f"{commit}^:{name}"), git("show", f"{commit}:{name}"))
                if pair is not None:
                    yield pair


def of_versions(old: Path, new: Path) -> Iterator[Pair]:
    """Files that two versions, folders or tar archives, have in common and that differ."""
    before, after = dict(_files(old)), dict(_files(new))
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            pair = _pair(name, before[name], after[name])
            if pair is not None:
                yield pair


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    """(path without its first folder, content) of the source files."""
    if place.is_dir():
        for path in sorted(place.rglob("*")):
            if path.is_file() and language_of(path.name):
                yield str(path.relative_to(place)), path.read_bytes()
        return
    with tarfile.open(place) as archive:
        for member in archive:
            name = member.name.partition("/")[2]
            if member.isfile() and language_of(name) and (file := archive.extractfile(member)) is not None:
                yield name, file.read()


def fetched(folder: Path) -> Iterator[Pair]:
    """Pairs of the packages above, fetched by pip and npm and kept in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for registry, name, *versions in PACKAGES:
        old, new = (_fetch(folder, registry, name, version) for version in versions)
        yield from of_versions(old, new)


def _fetch(folder: Path, registry: str, name: str, version: str) -> Path:
    if (found := _found(folder, name, version)) is not None:
        return found
    print(f"fetching {name} {version}", file=sys.stderr)
    if registry == "npm":
        command = ["npm", "pack", "--silent", f"{name}@{version}"]
    else:
        pip = [sys.executable, "-m", "pip"] if _has_pip() else ["pip"]
        command = [*pip, "download", "--quiet", "--no-deps", "--no-binary", ":all:", f"{name}=={version}"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    found = _found(folder, name, version)
    assert found is not None, f"{name} {version} was not fetched"
    return found


def _has_pip() -> bool:
    return subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


def _found(folder: Path, name: str, version: str) -> Path | None:
    wanted = f"{name}-{version}"
    archives: Iterable[Path] = folder.iterdir()
    return next((p for p in archives if p.name.lower().removesuffix(".tgz").removesuffix(".tar.gz") == wanted), None)
