"""Kills a process at every step of a write, and looks at what the next start finds. Run by test_writing.py.

A child is forked for each step. A profile hook counts the calls of C functions that it makes, system calls among them,
before and after each, and sends SIGKILL at the chosen one. So every point between two system calls is hit, whatever
their order. Prints one JSON line: the kills, the system calls seen, and what was wrong.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.config import folders
from turnstone_lsp.workspace import pending, writing
from turnstone_lsp.workspace.snapshot import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

OLD = b"old " * 5_000
NEW = [b"new " * 2_000, b"NEW!" * 4_000, b"end\n"]
SHORT = [b"short\n"]
SCENES = ["create", "create in new folders", "replace", "replace shorter", "in place", "in place shorter"]


def fingerprint(path: Path) -> Fingerprint:
    state = path.stat()
    return Fingerprint("", state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)


class Scene:
    """A folder, a write in it, and the contents that a file may have afterwards."""

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self.root = root
        self.path = root / ("deep/er/f.txt" if name == "create in new folders" else "f.txt")
        self.pieces = SHORT if name.endswith("shorter") else NEW

    def set_up(self) -> None:
        for path in sorted(self.root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        if not self.name.startswith("create"):
            self.path.write_bytes(OLD)
            self.path.chmod(0o640)
        if self.name.startswith("in place"):
            os.link(self.path, self.root / "other.txt")

    def write(self) -> None:
        expected = None if self.name.startswith("create") else fingerprint(self.path)
        writing.write(self.path, self.pieces, expected)

    def wrong(self) -> str | None:
        """What the next start finds that should not be."""
        pending.repair()
        found = sorted(str(p.relative_to(self.root)) for p in self.root.rglob("*") if p.is_file())
        names = [str(self.path.relative_to(self.root)), *(["other.txt"] if self.name.startswith("in place") else [])]
        if found != names and not (self.name.startswith("create") and found == []):
            return f"files: {found}"
        if list(pending.folder().iterdir()):
            return "a record is left"
        data = self.path.read_bytes() if self.path.exists() else None
        if data not in (None if self.name.startswith("create") else OLD, b"".join(self.pieces)):
            return f"neither old nor new: {len(data or b'')} bytes"
        if self.name.startswith("in place") and not self.path.samefile(self.root / "other.txt"):
            return "the hard link is broken"
        if not self.name.startswith("create") and self.path.stat().st_mode & 0o777 != 0o640:
            return "the mode is lost"
        return None


def hooked(work: Callable[[], None], at: int, seen: list[str]) -> None:
    """Run `work`; die at the given event. The names of the C functions go to `seen`."""
    count = 0

    def hook(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        del frame
        if not event.startswith("c_"):
            return
        if event == "c_call":
            seen.append(getattr(argument, "__name__", "?"))
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1

    sys.setprofile(hook)
    work()
    sys.setprofile(None)


def in_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def steps_of(scene: Scene) -> tuple[int, list[str]]:
    read, write = os.pipe()

    def count() -> None:
        seen: list[str] = []
        events = 0
        before = sys.getprofile()

        def hook(frame: FrameType, event: str, argument: object) -> None:
            nonlocal events
            del frame
            if event.startswith("c_"):
                events += 1
                if event == "c_call":
                    seen.append(getattr(argument, "__name__", "?"))

        sys.setprofile(hook)
        scene.write()
        sys.setprofile(before)
        os.write(write, json.dumps([events, sorted(set(seen))]).encode())

    scene.set_up()
    in_child(count)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        events, names = json.loads(pipe.read())
    return events, names


def main() -> None:
    folders.state_dir()
    root = Path(sys.argv[1])
    kills, wrong, calls = 0, [], set()
    scenes = sys.argv[2:] or SCENES
    for name in scenes:
        scene = Scene(root, name)
        events, names = steps_of(scene)
        calls |= set(names)
        for step in range(events):
            scene.set_up()
            status = in_child(lambda at=step, scene=scene: hooked(scene.write, at, []))
            kills += os.WIFSIGNALED(status)
            if problem := scene.wrong():
                wrong.append(f"{name}, step {step}: {problem}")
    randomly = random.Random(3)  # noqa: S311 - not for secrets
    for _ in range(100):
        scene = Scene(root, randomly.choice(scenes))
        scene.set_up()
        child = os.fork()
        if child == 0:
            scene.write()
            os._exit(0)
        time.sleep(randomly.random() * 0.006)
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        if problem := scene.wrong():
            wrong.append(f"{scene.name}, at random: {problem}")
    print(json.dumps({"kills": kills, "wrong": wrong, "calls": sorted(calls)}))


if __name__ == "__main__":
    main()
