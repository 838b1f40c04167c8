"""Matching of permission rules: what a prepared call is about, and whether a rule speaks of it.

A rule is read twice. As a prohibition (deny, ask) it is read widely: letters fold, a command needs only to begin with
the rule's words, a path counts wherever the call names it. As a permission it is read narrowly: every simple command
of the line, every path, in full. What cannot be read is prohibited and never permitted.
"""

from __future__ import annotations

import re
import shlex
import sys
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from turnstone_lsp.agent.options import runs_something
from turnstone_lsp.web import outbound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pathspec

    from turnstone_lsp.config.settings import Rule
    from turnstone_lsp.tools.base import Plan

_FOLDING = sys.platform in {"darwin", "win32"}
"""File systems there do not tell letters' case apart; elsewhere a permission does."""

_EXPANDS = frozenset("$`*?[{~")
"""Characters without which bash expands no word."""

_BETWEEN_WORDS = re.compile(r"[\s;|&<>()'\"`]+")

Argv = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """What a call is about.

    argvs: each simple command of the line; empty when the line cannot be read in full. known: those that can be read.
    doubtful: the tool itself asks, e.g. for a command name that only the shell will know.
    """

    tool: str
    command: str | None = None
    argvs: tuple[Argv, ...] = ()
    known: tuple[Argv, ...] = ()
    doubtful: bool = False
    path: Path | None = None
    named: tuple[Path, ...] = ()
    """All real paths that the call names, `path` too."""
    host: str | None = None
    roots: tuple[Path, ...] = ()

    @property
    def unreadable(self) -> bool:
        """A command whose simple commands are not all known."""
        return self.command is not None and not self.argvs


def target(plan: Plan, tool: str, roots: Sequence[Path]) -> Target:
    """The target of a prepared call. `roots` are the real workspace folders."""
    subject = plan.subject
    kind = subject.kind if subject else "tool"
    text = subject.text if subject else ""
    path = Path(text) if kind == "path" else None
    named = tuple(dict.fromkeys([*([path] if path else []), *(place.path for place in plan.locations)]))
    return Target(
        tool,
        command=text if kind == "command" else None,
        argvs=subject.prefixes if subject and kind == "command" else (),
        known=(subject.known or subject.prefixes) if subject and kind == "command" else (),
        doubtful=bool(plan.must_ask),
        path=path,
        named=named,
        host=text if kind == "host" else None,
        roots=tuple(roots),
    )


def show(rule: Rule) -> str:
    """A rule as the user wrote it: "deny bash: rm *"."""
    parts = [p for p in (rule.path, rule.command, rule.host) if p]
    return f"{rule.decision} {rule.tool or 'every tool'}" + (f": {' '.join(parts)}" if parts else "")


def prohibits(rule: Rule, about: Target) -> bool:
    """Whether a deny or ask rule speaks of the call."""
    return (
        rule.tool in {"", about.tool}
        and (not rule.path or _names_path(rule.path, about))
        and (not rule.command or _has_command(rule.command, about))
        and (not rule.host or (about.host is not None and host_matches(rule.host, about.host)))
    )


def may_prohibit(rule: Rule, about: Target) -> bool:
    """Whether a rule could speak of the part of a command line that cannot be read.

    That is where the shell will expand something; for a rule about commands, only when the gate has doubts as well.
    """
    if not about.unreadable or rule.tool not in {"", about.tool} or rule.host:
        return False
    hidden = bool(_EXPANDS.intersection(about.command or ""))
    return hidden and bool(rule.path or (rule.command and about.doubtful))


def permits(rule: Rule, about: Target) -> bool:
    """Whether an allow rule without a command covers the call. Commands are covered by `covers_commands`."""
    if rule.tool not in {"", about.tool} or rule.command:
        return False
    if rule.path and not (about.path and all(path_matches(rule.path, p, about.roots) for p in about.named)):
        return False
    return not rule.host or (about.host is not None and host_covers(rule.host, about.host))


def covers_commands(about: Target, rules: Iterable[Rule], prefixes: Iterable[Argv] = ()) -> bool:
    """Whether allow rules and argv prefixes together cover every simple command of the line."""
    if about.command is None or not about.argvs:
        return False
    patterns = [
        words(rule.command)
        for rule in rules
        if rule.command and not rule.path and not rule.host and rule.tool in {"", about.tool}
    ]
    patterns += [(*prefix, "*") for prefix in prefixes]
    return all(any(covers(pattern, argv) for pattern in patterns) for argv in about.argvs)


# --- commands -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def words(pattern: str) -> Argv:
    """The words of a rule's command, read as a shell reads words."""
    try:
        return tuple(shlex.split(pattern))
    except ValueError:  # an open quote: the words as they stand
        return tuple(pattern.split())


def covers(pattern: Argv, argv: Argv) -> bool:
    """Whether a pattern covers one simple command: the same words, or with a trailing * the same first words.

    The words that the * stands for may not hold an option by which the program runs or writes something (C-13).
    """
    if not pattern or pattern == ("*",):
        return pattern == ("*",)
    if pattern[-1] != "*":
        return argv == pattern
    fixed = pattern[:-1]
    return argv[: len(fixed)] == fixed and not runs_something(argv, len(fixed))


def _has_command(pattern: str, about: Target) -> bool:
    fixed = tuple(w.casefold() for w in words(pattern))
    fixed = fixed[:-1] if fixed[-1:] == ("*",) else fixed
    for argv in about.known:
        given = tuple(w.casefold() for w in argv[: len(fixed)])
        if given == fixed or (given and (PurePath(given[0]).name, *given[1:]) == fixed):
            return True
    return False


# --- paths ----------------------------------------------------------------------------------------------------------


def path_matches(pattern: str, path: Path, roots: Sequence[Path], *, fold: bool = _FOLDING) -> bool:
    """Whether a glob covers a real path: an absolute glob (or ~) the whole path, another one the part below a root.

    As in .gitignore: * stays within a component, ** does not, a glob without a slash matches at any depth, and what
    matches a folder covers what is in it.
    """
    absolute = str(Path(pattern).expanduser()) if pattern.startswith("~") else pattern
    if PurePath(absolute).is_absolute():
        return _glob(absolute, path.as_posix(), fold)
    return any(path.is_relative_to(root) and _glob(pattern, path.relative_to(root).as_posix(), fold) for root in roots)


def _glob(pattern: str, path: str, fold: bool) -> bool:
    pattern, path = (unicodedata.normalize("NFC", text) for text in (pattern, path))
    if fold:
        pattern, path = pattern.casefold(), path.casefold()
    return bool(_spec(pattern).match_file(path.lstrip("/")))


@lru_cache(maxsize=512)
def _spec(pattern: str) -> pathspec.GitIgnoreSpec:
    import pathspec

    escaped = "\\" + pattern if pattern.startswith(("!", "#")) else pattern
    return pathspec.GitIgnoreSpec.from_lines([escaped])


def _names_path(pattern: str, about: Target) -> bool:
    return any(path_matches(pattern, place, about.roots, fold=True) for place in places(about))


def places(about: Target) -> Iterator[Path]:
    """Every real path that the call may name: those it says, and where each word of a command may lead."""
    yield from about.named
    words = {word for argv in about.known for word in argv[1:]}
    words.update(_BETWEEN_WORDS.split(about.command or ""))  # redirections, and what the gate could not read
    for word in sorted(words):
        yield from _places(word, about.roots)


def _places(word: str, roots: Sequence[Path]) -> Iterator[Path]:
    """Where a word of a command may point, if it is a path; --option=path counts by its value."""
    text = word.partition("=")[2] if word.startswith("-") and "=" in word else word
    if not text or "\0" in text:
        return
    given = Path(text).expanduser() if text.startswith("~") else Path(text)
    for root in roots:
        yield (root / given).resolve()


# --- hosts ----------------------------------------------------------------------------------------------------------


def host_matches(pattern: str, place: str) -> bool:
    """Whether a place is, read widely, the pattern's: that host or one below it, by whole labels (C-17).

    A place is a host, or on hosts where anyone can publish "host/owner". An IP address matches only itself.
    """
    wanted, given = _split(pattern), _split(place)
    if wanted.owner and given.owner and wanted.owner != given.owner:
        return False
    if wanted.host == given.host:
        return bool(wanted.host)
    return bool(wanted.host) and not _is_address(given.host) and given.host.endswith("." + wanted.host)


def host_covers(pattern: str, place: str) -> bool:
    """The same, read narrowly: where anyone can publish, the owner must be named, in full."""
    wanted, given = _split(pattern), _split(place)
    if given.shared and (not wanted.owner or pattern.partition("/")[2].strip("/") != place.partition("/")[2]):
        return False
    if not given.shared and (wanted.shared or wanted.host in outbound.SHARED_SUFFIXES):
        return False
    return host_matches(pattern, place)


class _Place(NamedTuple):
    host: str
    owner: str
    shared: bool


def _split(place: str) -> _Place:
    host, slash, owner = place.strip().partition("/")
    return _Place(_labels(host), owner.strip("/").casefold(), bool(slash))


@lru_cache(maxsize=512)
def _labels(host: str) -> str:
    text = host.strip().removeprefix("*.").strip(".").lower()
    if text.isascii():
        return text
    import idna

    try:
        return idna.encode(text, uts46=True).decode()
    except idna.IDNAError:
        return text


def _is_address(host: str) -> bool:
    return ":" in host or host.rstrip(".").rpartition(".")[2].isdigit()
