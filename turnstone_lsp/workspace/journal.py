"""The journal: what each turn changed, so that it can be taken back and put back. Never git.

One JSON file for each turn, one record for each file, written before the file is. Undo and redo go the way of every
change: open documents through the editor, closed files durably, and never over a text that the user has changed since.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from turnstone_lsp.config import folders
from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.workspace.images import Images, sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnstone_lsp.config.settings import EditSettings

Side = Literal["before", "after"]


@dataclass(slots=True)
class Turn:
    """The record of one turn."""

    file: Path
    body: dict[str, Any]

    @property
    def id(self) -> str:
        """The turn's id."""
        return str(self.body["turn"])

    @property
    def undone(self) -> bool:
        """It has been taken back."""
        return bool(self.body.get("undone"))

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        """Path -> record: created, before_sha, after_sha ("" where the file is not there), images."""
        files: dict[str, dict[str, Any]] = self.body["files"]
        return files


class Journal:
    """The turns of one session."""

    def __init__(self, session_id: str, settings: EditSettings) -> None:
        self._session = session_id
        self._settings = settings
        self._root = folders.state_dir() / "journal"
        self._folder = self._root / session_id

    @property
    def images(self) -> Images:
        """The contents that records name."""
        return Images(self._root / "images")

    def record(self, turn_id: str, path: Path, before: bytes | None, after: bytes) -> None:
        """A file is about to change: keep both images. None: it is about to be created. Blocks.

        A second change in one turn keeps the first before-image.
        """
        if not turn_id:
            return
        turn = self._load(turn_id) or self._new(turn_id)
        old = turn.files.get(str(path))
        if old is not None and not old["created"]:
            before = self.images.side(old, "before", before or b"")
        created = old["created"] if old is not None else before is None
        turn.files[str(path)] = {
            "created": created,
            "before_sha": "" if created else sha256(before or b""),
            "after_sha": sha256(after),
            **self.images.pair(before or b"", after),
        }
        self._save(turn)

    def note_bash(self, turn_id: str, paths: list[Path]) -> None:
        """Files that a command changed: listed by undo as not undoable."""
        turn = self._load(turn_id) or self._new(turn_id)
        turn.body["bash"] = sorted({*turn.body.get("bash", []), *map(str, paths)})
        self._save(turn)

    def choose(self, turn_id: str | None, *, undone: bool) -> Turn:
        """The named turn, or the newest one that changed files and is (not) undone. Raises TurnstoneError."""
        word = "redo" if undone else "undo"
        if turn_id is not None:
            turn = self._load(turn_id)
            if turn is None or not turn.files:
                raise TurnstoneError(f"Turn {turn_id} changed no files, so there is nothing to {word}.")
            if turn.undone != undone:
                raise TurnstoneError(f"Turn {turn_id} {'was not' if undone else 'was already'} undone.")
            return turn
        found = [turn for turn in self._turns() if turn.files and turn.undone == undone]
        if not found:
            raise TurnstoneError(f"There is nothing to {word}: no turn of this session has changed files.")
        return min(found, key=lambda t: t.body["at"]) if undone else max(found, key=lambda t: t.body["at"])

    def mark(self, turn: Turn, *, undone: bool) -> None:
        """The turn has been taken back, or put back."""
        turn.body["undone"] = undone
        self._save(turn)

    def bash_changes(self, turn: Turn) -> list[str]:
        """Files that commands of the turn changed."""
        return list(turn.body.get("bash", ()))

    def prune(self) -> None:
        """Drop turns past edits.undo_days, and the oldest while edits.undo_bytes is exceeded. Blocks."""
        horizon = time.time() - self._settings.undo_days * 86_400
        records = sorted((json.loads(p.read_bytes())["at"], p) for p in self._root.glob("*/*.json"))
        while records and records[0][0] < horizon:
            records.pop(0)[1].unlink(missing_ok=True)
        self._sweep([p for _, p in records])
        while records and self.images.total() > self._settings.undo_bytes:
            records.pop(0)[1].unlink(missing_ok=True)
            self._sweep([p for _, p in records])

    def _sweep(self, records: list[Path]) -> None:
        names: set[str] = set()
        for path in records:
            for record in json.loads(path.read_bytes())["files"].values():
                names |= {record[k] for k in ("before", "after", "old", "new") if k in record}
        self.images.drop_all_but(names)

    # -- files

    def _turns(self) -> Iterator[Turn]:
        for path in self._folder.glob("*.json"):
            yield Turn(path, json.loads(path.read_bytes()))

    def _path(self, turn_id: str) -> Path:
        return self._folder / f"{turn_id}.json"

    def _load(self, turn_id: str) -> Turn | None:
        path = self._path(turn_id)
        if not turn_id or "/" in turn_id or not path.exists():
            return None
        return Turn(path, json.loads(path.read_bytes()))

    def _new(self, turn_id: str) -> Turn:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.prune()
        return Turn(self._path(turn_id), {"turn": turn_id, "at": time.time(), "files": {}})

    def _save(self, turn: Turn) -> None:
        temporary = turn.file.with_name(f".{turn.file.name}.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(turn.body).encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(turn.file)
