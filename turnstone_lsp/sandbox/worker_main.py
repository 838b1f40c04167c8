"""A worker: imports a task's libraries, waits for one request, runs it and ends. Started by `worker.WorkerHost`."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import Any, NoReturn

from turnstone_lsp.sandbox import frames, libraries

_CHUNK = 1 << 20


def main(task: str, highest: str, folders: dict[str, str]) -> NoReturn:
    """Run one call of a task. highest: always L1, nothing confines."""
    try:
        libraries.make_importable(folders)
        work: Any = importlib.import_module(f"turnstone_lsp.sandbox.{task}_child")
        work.prepare()
    except Exception as error:  # noqa: BLE001 - told to the server as the reason
        os.write(1, frames.pack({"failed": f"{type(error).__name__}: {error}"}))
        os._exit(1)
    os.write(1, frames.pack({"ready": highest, "why": "this system has no sandbox that is used here"}))
    request = _receive()
    if request is None:
        os._exit(0)
    header, body = request
    _limit(int(header["timeout"]) + 2)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(1, 2)
    code = 1
    with contextlib.suppress(BaseException):  # the exit code tells
        code = 0 if work.run(header, body) else 1
    os._exit(code)


def _receive() -> tuple[frames.Header, bytes] | None:
    unpacker = frames.Unpacker()
    while data := os.read(0, _CHUNK):
        unpacker.feed(data)
        if (frame := unpacker.take()) is not None:
            return frame
    return None


def _limit(cpu_seconds: int) -> None:
    if sys.platform == "win32":
        return
    from turnstone_lsp.sandbox import limits

    with contextlib.suppress(OSError, ValueError):  # macOS refuses some; none is counted on at L1
        limits.limit(cpu_seconds, limits.MEMORY)
