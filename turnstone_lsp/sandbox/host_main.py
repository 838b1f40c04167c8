"""The host: an exec'd process that has everything imported and forks a held child for each call.

It reads requests as JSON lines on stdin and answers as JSON lines on stdout. It ends when its input does, also in the
middle of a call, so that a killed server leaves nothing. Run by `host.Host`, never imported by the server.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import sysconfig
import time
import traceback
from typing import TYPE_CHECKING, Any

from turnstone_lsp.sandbox import layers

if TYPE_CHECKING:
    from collections.abc import Callable

MEMORY = 3 * 1024**3
_CANARIES = {
    "read a file": "open('/etc/passwd').read()",
    "write a file": "open('/tmp/turnstone-canary', 'w').write('x')",
    "open a socket": "__import__('socket').socket()",
    "start a process": "__import__('os').fork()",
    "signal its parent": "__import__('os').kill(__import__('os').getppid(), 0)",
}


def main(task: str) -> None:
    """Serve calls of one task ("math" or "html")."""
    layers.die_with_parent()
    work = importlib.import_module(f"turnstone_lsp.sandbox.{task}_child")
    work.prepare()
    with contextlib.suppress(OSError):
        layers.drop_capabilities()
    gc.collect()
    gc.freeze()
    readable = _readable()
    level = _choose_level(readable)
    _send({"ready": True, "level": level})
    while (request := _receive()) is not None:
        if "code" not in request and "data" not in request:
            continue  # a cancellation that came too late
        _send(_call(work.run, request, level, readable))


def _receive() -> dict[str, Any] | None:
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else None


def _send(answer: dict[str, Any]) -> None:
    os.write(1, json.dumps(answer).encode() + b"\n")


def _readable() -> list[str]:
    """What a child may read: Python's own folders, shared libraries, time zones."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths |= {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo"}
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8") as maps:  # noqa: PTH123 - as below
        for line in maps:
            name = line.rstrip("\n").split(None, 5)[5:]
            if name and name[0].startswith("/") and ".so" in name[0]:
                paths.add(os.path.dirname(name[0]))  # noqa: PTH120 - strings are what the layers take
    paths |= {p for p in sys.path if os.path.isabs(p)}  # noqa: PTH117 - as above
    return sorted(p for p in paths if p)


def _choose_level(readable: list[str]) -> str:
    """The highest level whose every canary is stopped. L1: nothing holds."""
    for level in ("L3", "L2"):
        if level == "L3" and not layers.landlock_abi():
            continue
        if all(_held(code, level, readable) for code in _CANARIES.values()):
            return level
    return "L1"


def _held(code: str, level: str, readable: list[str]) -> bool:
    def attempt(_: dict[str, Any]) -> int:
        exec(code, {})  # noqa: S102 - the canaries above
        return 0

    answer = _call(attempt, {"timeout": 5}, level, readable)
    return bool(answer["how"] == "error")


def _call(
    run: Callable[[dict[str, Any]], int], request: dict[str, Any], level: str, readable: list[str]
) -> dict[str, Any]:
    """Fork, hold, run, watch. {"output", "how": "ok" | "error" | "timeout" | "killed" | "flood" | "cancelled"}"""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(run, request, level, readable, writing)
    os.close(writing)
    try:
        return _watch(pid, reading, request)
    finally:
        os.close(reading)


def _child(
    run: Callable[[dict[str, Any]], int], request: dict[str, Any], level: str, readable: list[str], writing: int
) -> None:
    """In this order, and fail closed: a layer that was promised and cannot be had ends the call."""
    code = 70
    try:
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.closerange(3, 4096)
        os.setsid()
        seconds = int(request["timeout"])
        if level != "L1":
            layers.die_with_parent()
            layers.no_new_privileges()
            layers.limit(seconds + 1, MEMORY)
            if level == "L3":
                layers.landlock(readable)
            layers.seccomp(files=level == "L3")
        else:
            layers.limit(seconds + 1, MEMORY)
        code = _run(run, request)
    except BaseException:  # noqa: BLE001 - whatever it is, the child must end here
        with contextlib.suppress(BaseException):
            os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _run(run: Callable[[dict[str, Any]], int], request: dict[str, Any]) -> int:
    try:
        code = run(request)
    except SystemExit as end:
        code = 0 if end.code in (None, 0) else 1
        if code:
            print(f"SystemExit: {end.code}")
    except BaseException:  # noqa: BLE001 - the user's code may raise anything
        traceback.print_exc(limit=-20)
        code = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def _watch(pid: int, reading: int, request: dict[str, Any]) -> dict[str, Any]:
    """Collect the output until the child ends, its time is up, it floods, or the server cancels or is gone."""
    end = time.monotonic() + float(request["timeout"])
    cap = int(request.get("cap", 65_536))
    output = bytearray()
    how = ""
    while not how:
        left = end - time.monotonic()
        ready, _, _ = select.select([reading, 0], [], [], max(0.0, left))
        if not ready:
            how = "timeout"
        elif 0 in ready:
            how = "cancelled"
        else:
            piece = os.read(reading, 65_536)
            output += piece
            if not piece:
                break
            if len(output) > cap:
                how = "flood"
    if how:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not how:
        how = "killed" if os.WIFSIGNALED(status) else "ok" if os.WEXITSTATUS(status) == 0 else "error"
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    text = bytes(output[:cap]).decode("utf-8", "replace")
    return {"output": text, "how": how, "signal": number}


if __name__ == "__main__":
    main(sys.argv[1])
