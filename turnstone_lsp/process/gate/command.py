"""One simple command as the rules see it: its name, its words, and helpers to read options the way programs do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from turnstone_lsp.process.gate.places import MEANING, Place, Surroundings, inside, is_secret_name, locate
from turnstone_lsp.process.gate.words import UNKNOWN, State, Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turnstone_lsp.process.gate.verdict import Findings


_NO_CLUSTERS = frozenset({"gcc", "g++", "cc", "c++", "clang", "clang++", "cmake", "java", "go", "date", "gradle"})
"""Programs whose letters cannot be put together behind one dash."""


@dataclass(frozen=True, slots=True)
class Feed:
    """What comes in on a command's standard input: its text where known, and the programs that it came through."""

    text: str | None = None
    through: tuple[str, ...] = ()


class Judge(Protocol):
    """What rules may ask of the walk that called them."""

    found: Findings
    around: Surroundings

    def argv(self, words: Sequence[Word], state: State, feed: Feed | None = None) -> None:
        """Judge another command that this one would run."""
        ...

    def script(self, source: str, state: State, *, here: bool = False) -> None:
        """Judge a text that this command would give to a shell; here: to the very shell that reads it."""
        ...


@dataclass(slots=True)
class Command:
    """A command with expanded words."""

    name: str
    args: list[Word]
    state: State
    judge: Judge
    feed: Feed | None = None

    # -- reporting

    def block(self, why: str) -> None:
        """The line never runs."""
        self.judge.found.block(f"{self.name}: {why}")

    def ask(self, why: str) -> None:
        """The line is asked about in every mode."""
        self.judge.found.ask(f"{self.name}: {why}")

    # -- reading options

    def has(self, short: str = "", *long: str) -> bool:
        """True when an option is there: a letter in a cluster, or a long name, abbreviated or with a value."""
        return any(True for _ in self._found(short, long))

    def values(self, short: str = "", *long: str) -> list[Word]:
        """The values given to an option: -oX, -o X, --long=X, --long X."""
        return list(self._found(short, long))

    def _found(self, short: str, long: Iterable[str]) -> Iterable[Word]:
        nothing = Word("")
        for at, word in enumerate(self.args):
            text = word.text
            if text == "--":
                return
            following = self.args[at + 1] if at + 1 < len(self.args) else nothing
            if text.startswith("--"):
                name, equals, value = text[2:].partition("=")
                if any(option == name or (len(name) > 2 and option.startswith(name)) for option in long):
                    yield Word(value, word.glob) if equals else following
            elif text.startswith("-") and len(text) > 1:
                cut = min((at for c in short if (at := text.find(c, 1)) > 0), default=0)
                cut = 0 if cut > 1 and self.name in _NO_CLUSTERS else cut
                if cut:
                    rest = text[cut + 1 :]
                    yield Word(rest, word.glob) if rest else following
                elif text[1:].partition("=")[0] in long:
                    yield Word(text.partition("=")[2], word.glob) if "=" in text else following

    def operands(self, valued: str = "", *long_valued: str) -> list[Word]:
        """Words that are no options and no values of the options given here (short letters, long names)."""
        out: list[Word] = []
        skip = False
        for at, word in enumerate(self.args):
            text = word.text
            if skip:
                skip = False
            elif text == "--":
                return out + self.args[at + 1 :]
            elif text.startswith("--"):
                skip = text[2:] in long_valued
            elif text.startswith("-") and len(text) > 1:
                skip = text[-1] in valued and len(text.rstrip(valued)) <= len(text) - 1
            else:
                out.append(word)
        return out

    @property
    def subcommand(self) -> str:
        """The first operand, for programs with subcommands."""
        return next((w.text for w in self.args if not w.text.startswith("-")), "")

    # -- judging paths

    def place(self, word: Word, *, follow: bool = True) -> Place:
        """The kind of place that a word stands for."""
        return locate(word, self.state, self.judge.around, follow=follow)[0]

    def writes(self, word: Word, what: str = "writes to") -> None:
        """A file that the command creates or overwrites."""
        place, paths = locate(word, self.state, self.judge.around)
        self.judge.found.paths += _as_paths(paths)
        if place in {Place.OWN, Place.DEVICE, Place.CRITICAL}:
            self.block(f"{what} {word.shown}, {MEANING[place]}")
        elif place in {Place.TEMPORARY, Place.TEMPORARY_ROOT}:
            self.judge.found.plain = False
        elif place == Place.WORKSPACE_ROOT and all(any(inside(p, r) for r in self.judge.around.roots) for p in paths):
            return
        elif place > Place.TEMPORARY:
            self.ask(f"{what} {word.shown}, {MEANING[place]}")

    def removes(self, word: Word, *, recursive: bool, what: str = "deletes") -> None:
        """A file or folder that the command deletes or moves away."""
        place, paths = locate(word, self.state, self.judge.around, follow=False)
        self.judge.found.paths += _as_paths(paths)
        if place in {Place.VITAL, Place.OWN, Place.DEVICE, Place.CRITICAL}:
            self.block(f"{what} {word.shown}, {MEANING[place]}")
        elif place in {Place.WORKSPACE_ROOT, Place.TEMPORARY_ROOT}:
            if recursive and not word.glob and place == Place.WORKSPACE_ROOT:
                self.block(f"{what} {word.shown}, {MEANING[place]}")
            elif recursive or word.glob:
                self.ask(f"{what} {word.shown}, {MEANING[place]}")
        elif place > Place.TEMPORARY:
            self.ask(f"{what} {word.shown}, {MEANING[place]}")

    def reads(self, word: Word) -> None:
        """A word that may name a file: ours and secret ones are noticed whatever the program is."""
        if word.text.startswith("-") or not word.text or word.text == UNKNOWN:
            return
        place, _ = locate(word, self.state, self.judge.around)
        if place == Place.OWN:
            self.block(f"names {word.shown}, {MEANING[place]}")
        elif place in {Place.SECRET, Place.DEVICE} or (
            place != Place.UNKNOWN and is_secret_name(word) and self._likely(word)
        ):
            self.ask(
                f"touches {word.shown}, {MEANING[max(place, Place.SECRET)] if place != Place.DEVICE else 'a device'}"
            )

    def _likely(self, word: Word) -> bool:
        """A bare word is a file name only if such a file is there, or nothing else could be meant."""
        if "/" in word.text or word.text.startswith(".env"):
            return True
        return any(folder and Path(folder, word.text).exists() for folder in self.state.folders)


def _as_paths(paths: list[str]) -> list[Path]:
    return [Path(path) for path in paths]
