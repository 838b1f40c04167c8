"""The user's terminal: colours where they are wanted, and lines of input that never block the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Console:
    """Writes to stdout (answers) and stderr (everything else); asks on the terminal, also when stdin is a pipe."""

    def __init__(self, *, interactive: bool | None = None, notes: TextIO | None = None) -> None:
        self._notes = notes or sys.stderr
        self._colour = self._notes.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._input = _terminal_input() if interactive is not False else None
        self._lines: asyncio.Queue[str | None] | None = None

    @property
    def interactive(self) -> bool:
        """A user can be asked."""
        return self._input is not None

    def style(self, text: str, *names: str) -> str:
        """`text` in colour, or as it stands where colours are off."""
        if not self._colour or not text:
            return text
        codes = ";".join(_STYLES[name] for name in names)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def answer(self, text: str) -> None:
        """Text of the answer, to stdout, without a line end of its own."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """A line for the user, to stderr where nothing else was chosen."""
        sys.stdout.flush()
        self._notes.write(text + "\n")
        self._notes.flush()

    def diff(self, text: str) -> None:
        """A unified diff, in colour."""
        for line in text.split("\n"):
            name = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
            self.note(self.style(line, name) if name else line)

    async def ask(self, question: str) -> str | None:
        """One line from the user without its line end; None when there is nobody to ask or the input ended."""
        if self._input is None:
            return None
        sys.stdout.flush()
        sys.stderr.write(self.style(question, "bold"))
        sys.stderr.flush()
        if self._lines is None:
            self._lines = line_queue(self._input)
        return await self._lines.get()


def line_queue(source: TextIO) -> asyncio.Queue[str | None]:
    """Lines without their ends, then None. A daemon thread reads: a blocked read holds up neither loop nor exit."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def put(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(lines.put_nowait, line)

    threading.Thread(target=_read_lines, args=(source, put), name="console", daemon=True).start()
    return lines


def _read_lines(source: TextIO, put: Callable[[str | None], None]) -> None:
    while line := source.readline():
        put(line.rstrip("\r\n"))
    put(None)


def _terminal_input() -> TextIO | None:
    if sys.stdin is not None and sys.stdin.isatty():
        return sys.stdin
    if not sys.stderr.isatty():
        return None
    try:
        return Path("/dev/tty").open(encoding="utf-8", errors="replace")
    except OSError:
        return None
