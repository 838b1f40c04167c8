"""What the gate answers, and how findings become one answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Level = Literal["block", "ask", "ok"]

Argv = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's answer to one command line.

    verdict: "block" never runs, in any mode; "ask" is asked even where a rule or a mode would allow it; "ok" means
    only that the ordinary approval decides. why: the reasons, strongest first, as one text; "" for ok.
    commands: the words of every simple command at any depth, as far as they are known.
    plain: nothing is dynamic, redirected to a file, environment-prefixed or redefined, so that an allow rule which
    matches every one of `commands` may cover the line.
    prefixes: for each command the words that an "always" may store; () where no always may be offered.
    paths: files and folders outside commands' own names that the line names for writing.
    """

    verdict: Level
    why: str = ""
    reasons: tuple[str, ...] = ()
    commands: tuple[Argv, ...] = ()
    plain: bool = False
    prefixes: tuple[Argv, ...] = ()
    paths: tuple[Path, ...] = ()

    @property
    def pattern(self) -> str | None:
        """What an "always" for this line would store, for the user to read; None: no always."""
        return "; ".join(f"{' '.join(words)} *" for words in self.prefixes) or None

    def covered_by(self, patterns: Iterable[Argv]) -> bool:
        """True when allow patterns answer for the whole line: every command matches one, and nothing is doubtful.

        A pattern is the words of a command; a last word "*" stands for any further words, none included.
        """
        rules = list(patterns)
        return (
            self.verdict == "ok"
            and self.plain
            and bool(self.commands)
            and all(any(matches(rule, argv) for rule in rules) for argv in self.commands)
        )

    def touched_by(self, patterns: Iterable[Argv]) -> bool:
        """True when a deny or ask pattern matches any command of the line, at any depth."""
        return any(matches(rule, argv) for rule in patterns for argv in self.commands)


def matches(pattern: Argv, argv: Argv) -> bool:
    """True when the words of a command fit a pattern (see `Verdict.covered_by`)."""
    if pattern and pattern[-1] == "*":
        return argv[: len(pattern) - 1] == pattern[:-1]
    return argv == pattern


@dataclass(slots=True)
class Findings:
    """What the walk over one command line has found so far."""

    blocks: list[str] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)
    commands: list[Argv] = field(default_factory=list)
    prefixes: list[Argv] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    plain: bool = True

    def block(self, why: str) -> None:
        """The line never runs."""
        if why not in self.blocks:
            self.blocks.append(why)

    def ask(self, why: str) -> None:
        """The line is asked about in every mode."""
        if why not in self.asks:
            self.asks.append(why)

    def verdict(self) -> Verdict:
        """The one answer."""
        reasons = tuple(self.blocks + self.asks)
        level: Level = "block" if self.blocks else "ask" if self.asks else "ok"
        plain = self.plain and level == "ok" and bool(self.commands)
        return Verdict(
            level,
            "; ".join(reasons[:4]),
            reasons,
            tuple(dict.fromkeys(self.commands)),
            plain,
            tuple(dict.fromkeys(self.prefixes)) if plain else (),
            tuple(dict.fromkeys(self.paths)),
        )
