"""The journal: what each turn changed, so that it can be taken back and put back. Never git.

One small JSON file for each change of a file, written before the file is, and the text that was there before it.
Nothing is kept of files that no turn touched.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnstone_lsp.config import folders
from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.workspace.images import DELTA_CHARACTERS, Images, put
from turnstone_lsp.workspace.reads import digest, text_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turnstone_lsp.config.settings import EditSettings
    from turnstone_lsp.workspace.hunks import Change
    from turnstone_lsp.workspace.images import Way
    from turnstone_lsp.workspace.snapshot import Snapshot

_PRUNE_SECONDS = 600
_BASH = "bash.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of one file.

    before, after: SHA-256 of the texts; before is None for a file that did not exist, after is "" while the change is
    under way; back, forth: the ways to the other text; forth is known once the change was undone.
    """

    file: Path
    path: str
    at: float
    before: str | None
    after: str
    back: Way | None
    forth: Way | None = None
    undone: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn changed, in order; bash: files that its commands changed, which no undo restores."""

    id: str
    entries: tuple[Entry, ...] = ()
    bash: tuple[str, ...] = field(default=())

    def of_files(self) -> dict[Path, list[Entry]]:
        """The entries by file."""
        found: dict[Path, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(Path(entry.path), []).append(entry)
        return found


class Journal:
    """The turns of one session. Its methods block; call them in threads."""

    def __init__(self, session_id: str, settings: EditSettings) -> None:
        self._settings = settings
        self._root = folders.state_dir() / "journal"
        self._folder = self._root / session_id

    @property
    def images(self) -> Images:
        """The texts that entries name."""
        return Images(folders.state_dir() / "images")

    def record(self, turn_id: str, base: Snapshot, text: str, changes: Sequence[Change]) -> Entry:
        """A file is about to change from `base` to `text`, which `changes` make of it: keep the way back."""
        place = self._folder / turn_id
        if not place.exists():
            place.mkdir(mode=0o700, parents=True)
            self._prune_now_and_then()
        before = text_digest(base) if base.exists else None
        entry = Entry(
            file=place / f"{time.time_ns():020}-{secrets.token_hex(2)}.json",
            path=str(base.path),
            at=time.time(),
            before=before,
            after=digest(text) if len(text) <= DELTA_CHARACTERS else "",
            back=self.images.way_back(base.text, changes, before) if base.exists else None,
        )
        self.save(entry)
        return entry

    def settle(self, entry: Entry, base: Snapshot, text: str, changes: Sequence[Change]) -> None:
        """The file came to hold `text` instead: an editor changed more on top."""
        back = self.images.way_back(base.text, changes) if base.exists else None
        self.save(replace(entry, after=digest(text), back=back))

    def finish(self, entry: Entry, after: Snapshot) -> None:
        """The file has the text that was meant."""
        if entry.after == "":
            self.save(replace(entry, after=text_digest(after)))

    def discard(self, entry: Entry) -> None:
        """The change was not made after all."""
        entry.file.unlink(missing_ok=True)

    def note_bash(self, turn_id: str, paths: Iterable[Path]) -> None:
        """Files that a command changed: listed by undo as not undoable."""
        place = self._folder / turn_id
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        put(place / _BASH, json.dumps(sorted({*self._bash(place), *map(str, paths)})).encode())

    def choose(self, turn_id: str | None, *, undone: bool) -> Turn:
        """The named turn, or without a name the newest one that can be undone (redone: the oldest that was undone).

        Raises TurnstoneError when there is nothing to undo or redo.
        """
        word = "redo" if undone else "undo"
        if turn_id is not None:
            place = self._folder / Path(turn_id).name
            turn = self._read(place) if place.is_dir() else None
            if turn is None or not (turn.entries or turn.bash):
                raise TurnstoneError(f"Turn {turn_id} changed no files, so there is nothing to {word}.")
            if turn.entries and not any(entry.undone == undone for entry in turn.entries):
                raise TurnstoneError(f"Turn {turn_id} was {'not undone' if undone else 'undone already'}.")
            return turn
        found = [turn for turn in self._turns() if any(entry.undone == undone for entry in turn.entries)]
        if not found:
            raise TurnstoneError(f"There is nothing to {word}: no turn of this session has changed files.")
        times = {turn.id: turn.entries[-1].at for turn in found}
        return min(found, key=lambda t: times[t.id]) if undone else max(found, key=lambda t: times[t.id])

    def save(self, entry: Entry) -> None:
        """Write an entry."""
        body = {f.name: getattr(entry, f.name) for f in fields(entry) if f.name != "file"}
        put(entry.file, json.dumps(body).encode())

    def prune(self) -> None:
        """Drop turns older than edits.undo_days, and the oldest while the images exceed edits.undo_bytes."""
        horizon = time.time() - self._settings.undo_days * 86_400
        turns = sorted((place.stat().st_mtime, place) for place in self._root.glob("*/*") if place.is_dir())
        excess = self.images.total() - self._settings.undo_bytes
        kept: list[Path] = []
        for at, place in turns:
            if at < horizon or excess > 0:
                excess -= self._size(place)
                _drop(place)
            else:
                kept.append(place)
        self.images.drop_all_but({name for place in kept for name in self._names(place)})

    # -- files

    def _prune_now_and_then(self) -> None:
        stamp = self._root / ".pruned"
        if not stamp.exists() or time.time() - stamp.stat().st_mtime > _PRUNE_SECONDS:
            stamp.touch(mode=0o600)
            self.prune()

    def _turns(self) -> Iterator[Turn]:
        for place in self._folder.glob("*"):
            if place.is_dir():
                yield self._read(place)

    def _read(self, place: Path) -> Turn:
        entries = tuple(self._entries(place))
        return Turn(place.name, entries, tuple(self._bash(place)))

    def _entries(self, place: Path) -> Iterator[Entry]:
        for file in sorted(place.glob("[0-9]*.json")):
            body: dict[str, Any] = json.loads(file.read_bytes())
            yield Entry(file=file, **body)

    def _bash(self, place: Path) -> list[str]:
        file = place / _BASH
        return list(json.loads(file.read_bytes())) if file.exists() else []

    def _names(self, place: Path) -> Iterator[str]:
        for entry in self._entries(place):
            for way in (entry.back, entry.forth):
                if way is not None:
                    yield way["image"]

    def _size(self, place: Path) -> int:
        return sum(self.images.size(name) for name in set(self._names(place)))


def _drop(place: Path) -> None:
    for file in place.iterdir():
        file.unlink(missing_ok=True)
    place.rmdir()
