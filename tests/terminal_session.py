"""A command of ours on a real pseudo-terminal, typed into and read by the test."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
PATIENCE = 30.0


class TerminalSession:
    """`turnstone-lsp ...` with a terminal as stdin, stdout and stderr."""

    def __init__(self, *argv: str, cwd: Path, env: dict[str, str] | None = None) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "turnstone_lsp", *argv],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env={**os.environ, "TERM": "xterm", **(env or {})},
            start_new_session=True,
        )
        os.close(slave)
        self.raw = ""

    @property
    def text(self) -> str:
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def expect(self, wanted: str) -> str:
        """Read until the text is on the screen; what stood before it is dropped from the next search."""
        end = time.monotonic() + PATIENCE
        while wanted not in self.text:
            assert time.monotonic() < end, f"{wanted!r} did not appear in:\n{self.text}"
            if not self._read():
                break
        assert wanted in self.text, f"{wanted!r} is not in:\n{self.text}"
        return self.text

    def type(self, line: str) -> None:
        os.write(self._master, line.encode() + b"\n")

    def interrupt(self) -> None:
        os.kill(self.process.pid, signal.SIGINT)

    def end(self) -> int:
        """Read to the end; the exit code."""
        end = time.monotonic() + PATIENCE
        while self._read():
            assert time.monotonic() < end, f"it did not end:\n{self.text}"
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 0.5)
        if not ready:
            return self.process.poll() is None
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self.raw += data.decode("utf-8", "replace")
        return bool(data)
