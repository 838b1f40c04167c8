"""`turnstone-lsp gate --stdin`: one command line in, one JSON line of verdict out. Nothing is executed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from turnstone_lsp.process.gate import judge

if TYPE_CHECKING:
    from collections.abc import Iterator


def main(stdin: TextIO, stdout: TextIO) -> int:
    """Judge each line of `stdin`; returns the exit code.

    A line is a command, or JSON: a string, or an object with "cmd" (so that a command may have several lines).
    Each answer is {"cmd", "verdict": "block" | "ask" | "ok", "why"}.
    """
    for command in _commands(stdin):
        verdict = judge(command)
        answer = {"cmd": command, "verdict": verdict.verdict, "why": verdict.why}
        stdout.write(json.dumps(answer) + "\n")
        stdout.flush()
    return 0


def _commands(stdin: TextIO) -> Iterator[str]:
    for line in stdin:
        text = line.rstrip("\n")
        if not text.strip():
            continue
        yield _command(text)


def _command(text: str) -> str:
    if text.lstrip()[:1] in {'"', "{"}:
        try:
            value = json.loads(text)
        except ValueError:
            return text
        if isinstance(value, dict):
            value = value.get("cmd", value.get("command"))
        if isinstance(value, str):
            return value
    return text
