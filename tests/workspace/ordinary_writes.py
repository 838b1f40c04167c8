"""Writes of an ordinary user where a new file cannot take the old one's place. Run by test_writing.py."""

from __future__ import annotations

import json
import os
from pathlib import Path

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import pending, writing
from turnstone_lsp.workspace.snapshot import Fingerprint


def write(path: Path) -> bool:
    state = path.stat()
    expected = Fingerprint("", state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    writing.write(path, [b"new\n"], expected)
    after = path.stat()
    return path.read_bytes() == b"new\n" and (after.st_ino, after.st_uid) == (state.st_ino, state.st_uid)


def main() -> None:
    home = Path(os.environ["HOME"])
    found: dict[str, object] = {}
    closed = home / "closed"
    closed.mkdir()
    (closed / "f.txt").write_bytes(b"old\n")
    closed.chmod(0o555)
    found["closed folder"] = write(closed / "f.txt")
    (home / "ro.txt").write_bytes(b"old\n")
    (home / "ro.txt").chmod(0o400)
    try:
        write(home / "ro.txt")
    except ToolError as error:
        found["no write"] = "read-only" if "read-only" in str(error) else str(error)
    # a file of root's that everybody may write
    found["shared"] = write(Path(os.environ["HOME"]).parent / "shared" / "f.txt")
    found["clean"] = not list(pending.folder().iterdir()) and [p.name for p in closed.iterdir()] == ["f.txt"]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
