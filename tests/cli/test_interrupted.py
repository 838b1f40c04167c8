"""A command that was killed while it wrote leaves nothing behind that the next start does not put right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_KILLED = """
import os, signal, sys
from pathlib import Path
from turnstone_lsp.workspace import writing
from turnstone_lsp.workspace.snapshot import Fingerprint

path = Path(sys.argv[1])
state = path.stat()
writing.{step} = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
writing.write(path, [b"new\\n"], Fingerprint("", state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns))
"""


def test_a_start_removes_the_temporary_file_of_a_killed_write(
    run: Callable[..., subprocess.CompletedProcess[str]], project: Path
) -> None:
    """Issue 3, item 5: no temp file after the next start, and the file is the old one."""
    path = project.resolve() / "a.txt"
    path.write_text("old\n")
    done = subprocess.run([sys.executable, "-c", _KILLED.format(step="_made_alike"), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(project.iterdir())) == 2
    assert "old" in run("tool", "read_file", "a.txt").stdout
    assert [p.name for p in project.iterdir()] == ["a.txt"]


def test_a_start_finishes_a_write_in_place_that_was_cut_short(
    run: Callable[..., subprocess.CompletedProcess[str]], project: Path
) -> None:
    path = project.resolve() / "a.txt"
    path.write_text("old old old\n")
    os.link(path, project / "b.txt")
    torn = _KILLED.replace(
        "writing.{step} = lambda *given:", "writing.{step} = lambda descriptor, pieces: os.write(descriptor, b'ne') and"
    )
    done = subprocess.run([sys.executable, "-c", torn.format(step="_write_all"), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "ned old old\n"
    run("tool", "read_file", "a.txt")
    assert path.read_text() == "new\n"
    assert path.samefile(project / "b.txt")
