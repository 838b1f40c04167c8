"""Walking a tree as ripgrep does: .gitignore honoured, links not followed, version control left out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from turnstone_lsp.workspace.searching.results import Found

LEFT_OUT = frozenset({".git", ".hg", ".svn", ".jj"})
"""Folders of version control, never searched."""

_FOLDER = "ps_d"
"""pathspec's name for the slash at which a folder matched."""
Above = Literal["repository", "all", "none"]


@dataclass(frozen=True, slots=True)
class Rules:
    """One .gitignore: the folder it stands in (with a final separator), and its patterns, the last first.

    A pattern is (regex, ignores). The regex is pathspec's, which also matches what is below an ignored folder; a walk
    judges each entry by itself, as git and ripgrep do, so a match must reach to the entry's end.
    """

    folder: str
    patterns: tuple[tuple[re.Pattern[str], bool], ...]

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """Whether the path is ignored (True), re-included (False), or not spoken of (None)."""
        relative = path[len(self.folder) :].replace(os.sep, "/")
        for regex, ignores in self.patterns:
            found = regex.search(relative)
            if found and found.groupdict().get(_FOLDER) is None:
                return ignores
            if folder and _FOLDER in regex.groupindex:
                ends = (match.end(_FOLDER) for match in regex.finditer(f"{relative}/"))
                if any(end > len(relative) for end in ends):
                    return ignores
        return None


def rules_in(folder: str) -> Rules | None:
    """The .gitignore of a folder; None without one, or when it cannot be read."""
    try:
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8-sig", errors="surrogateescape") as file:  # noqa: PTH118, PTH123 - a Path for each of 50,000 folders costs more than reading
            lines = file.read().split("\n")
    except OSError:
        return None
    patterns = [pattern for line in reversed(lines) if (pattern := _pattern(line))]
    return Rules(os.path.join(folder, ""), tuple(patterns))  # noqa: PTH118 - as above


def _pattern(line: str) -> tuple[re.Pattern[str], bool] | None:
    """A line of .gitignore; None for a comment, a blank line, and what git does not understand either."""
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    try:
        pattern = GitIgnoreSpecPattern(line)
    except ValueError:
        return None
    return None if pattern.regex is None or pattern.include is None else (pattern.regex, pattern.include)


def rules_above(base: Path) -> list[Rules]:
    """The .gitignore files of the folders above `base` that apply to it, outermost first: up to the repository's top.

    Without a repository there are none above the topmost folder with rules: all of them apply.
    """
    found: list[Rules] = []
    folder = base
    while not (folder / ".git").exists() and folder != folder.parent:
        folder = folder.parent
        rules = rules_in(str(folder))
        if rules:
            found.append(rules)
    return found[::-1]


def ignored(path: str, rules: list[Rules], *, folder: bool) -> bool:
    """Whether the innermost rules that speak of a path ignore it."""
    for each in reversed(rules):
        verdict = each.verdict(path, folder=folder)
        if verdict is not None:
            return verdict
    return False


def files_below(base: str, above: list[Rules], found: Found) -> Iterator[str]:
    """Every regular file to search below a folder. What is ignored or unreadable is put into `found`."""
    todo: list[tuple[str, list[Rules]]] = [(base, above)]
    while todo:
        folder, rules = todo.pop()
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            found.failed.append((folder, error.strerror or str(error)))
            continue
        names = {entry.name for entry in listed}
        if ".git" in names:
            rules = []  # another repository's rules end where this one begins
        if ".gitignore" in names and (own := rules_in(folder)):
            rules = [*rules, own]
        for entry in listed:
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name in LEFT_OUT or not (is_folder or entry.is_file(follow_symlinks=False)):
                continue
            if ignored(entry.path, rules, folder=is_folder):
                found.ignore(entry.path)
            elif is_folder:
                todo.append((entry.path, rules))
            else:
                yield entry.path


def is_ignored(path: Path, bases: list[Path]) -> bool:
    """Whether a search of `bases` would leave out a file because of .gitignore. A base itself is never left out."""
    base = next((b for b in bases if path.is_relative_to(b)), None)
    if base is None or path == base:
        return False
    rules = rules_above(base)
    folder = base
    for name in path.relative_to(base).parts:
        if (folder / ".git").exists():
            rules = []
        own = rules_in(str(folder))
        rules = [*rules, own] if own else rules
        folder /= name
        if ignored(str(folder), rules, folder=folder != path):
            return True
    return False


def above(base: Path, root: Path | None) -> Above:
    """Which .gitignore files above a folder count when it is searched: those up to its repository's top, or all.

    None count when they ignore the folder itself, which was then named on purpose; nor when they stand above the
    workspace without a repository around both, like the one that some people keep in their home folder.
    """
    rules = rules_above(base)
    in_repository = any((folder / ".git").exists() for folder in (base, *base.parents))
    stray = rules and not in_repository and (root is None or not Path(rules[0].folder).is_relative_to(root))
    if stray or ignored(str(base), rules, folder=True):
        return "none"
    return "repository" if in_repository else "all"
