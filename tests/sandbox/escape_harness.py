"""Runs the escape corpora: things worth stealing or breaking around the sandbox, and a check that all of it is whole.

Also a program: `python escape_harness.py FOLDER [HIGHEST [CATEGORY ...]]` runs the corpora as whoever runs it (the
ordinary user of the long tests) and prints what got out as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

    from turnstone_lsp.sandbox.levels import Level
    from turnstone_lsp.sandbox.math_host import MathHost

CORPORA = Path(__file__).resolve().parent.parent / "corpora"
SECONDS = 2.0
"""Time of an escape; some never end."""
_LEFT_BEHIND = ("/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem")
_TARGETS = ("/tmp/ts_pwn", "/var/tmp/ts_pwn", "/run/ts_pwn", "/ts_pwn", "/usr/lib/ts_pwn")


def load(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((CORPORA / f"{name}.json").read_text("utf-8"))
    return cases


class Surroundings:
    """A home with a secret, a folder with victims, sockets that listen, and a process that must live."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.canary = f"CANARY-{secrets.token_hex(8)}"
        self.home, self.work = folder / "home", folder / "work"
        (self.home / ".ssh").mkdir(parents=True)
        self.work.mkdir()
        (self.home / ".ssh" / "id_canary").write_text(self.canary)
        self._fill_work()
        name = f"ts-{secrets.token_hex(4)}"
        self._streams = [_listening(socket.AF_UNIX, str(folder / "s")), _listening(socket.AF_UNIX, f"\0{name}")]
        self._streams.append(_listening(socket.AF_INET, ("127.0.0.1", 0)))
        port = self._streams[2].getsockname()[1]
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("127.0.0.1", port))
        self._datagrams.setblocking(False)
        environment = {"PATH": os.defpath, "SECRET_TOKEN": self.canary}
        self.victim = subprocess.Popen(["sleep", "600"], env=environment)
        self.names = {
            "HOME": str(self.home),
            "WORK": str(self.work),
            "SOCK": str(folder / "s"),
            "ABS": name,
            "PORT": str(port),
            "VICTIM_PID": str(self.victim.pid),
        }
        self.reset()

    def _fill_work(self) -> None:
        (self.work / "evil_module.py").write_text("print('ESCAPED module')\n")
        (self.work / "evil.so").write_bytes(b"\x7fELF")
        database = sqlite3.connect(self.work / "mem.db")
        database.execute("create table memories (text)")
        database.commit()
        database.close()

    def reset(self) -> None:
        victim = self.work / "victim"
        victim.write_text("victim")
        victim.chmod(0o644)
        self._state = self._look()

    def _look(self) -> list[Any]:
        found: list[Any] = [Path(path).read_text() for path in _LEFT_BEHIND if Path(path).exists()]
        found += [Path(target).exists() for target in _TARGETS] + [sorted(Path("/dev/shm").iterdir())]
        for path in sorted(self.work.rglob("*")) + sorted(self.home.rglob("*")):
            state = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found.append((str(path), state.st_mode, state.st_uid, state.st_ino, state.st_mtime_ns, data))
        return found

    def fill(self, code: str) -> str:
        for name, value in self.names.items():
            code = code.replace("{{" + name + "}}", value)
        return code

    def breach(self, output: str) -> str | None:
        """What got out, or None. Lines of code in a traceback are indented; what a case prints is not."""
        if any(line.startswith("ESCAPED") for line in output.splitlines()):
            return next(line for line in output.splitlines() if line.startswith("ESCAPED"))[:200]
        if self.canary in output:
            return "the secret was read"
        if self._look() != self._state:
            return "a file, or an object of the system, was changed"
        if self.victim.poll() is not None:
            return "the victim was killed"
        for listening in self._streams:
            try:
                listening.accept()
            except BlockingIOError:
                continue
            return "a socket was reached"
        try:
            self._datagrams.recv(10)
        except BlockingIOError:
            return None
        return "a datagram was sent"

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        for listening in (*self._streams, self._datagrams):
            listening.close()


def _listening(family: int, address: Any) -> socket.socket:
    made = socket.socket(family)
    made.bind(address)
    made.listen()
    made.setblocking(False)
    return made


def descendants(of: int) -> set[int]:
    """The living processes below one."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = int(entry.parent.name), entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if rest[0] not in "ZX":
            parents[pid] = int(rest[1])
    found: set[int] = {of}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {of}


async def run(folder: Path, highest: Level = "L4", categories: Collection[str] = (), but: Collection[str] = ()) -> Any:
    """{"level", "breaches": {case: what}, "wrong": {control: output}, "count": cases}"""
    from turnstone_lsp.sandbox.math_host import MathHost

    os.environ["TEST_API_KEY"] = "CANARY of the environment"
    around = Surroundings(folder)
    host = MathHost(highest)
    cases = [
        case
        for case in load("math_escapes") + load("math_escapes_more")
        if case["category"] not in but and (not categories or case["category"] in categories)
    ]
    try:
        level = (await host.run("print('earlier' + 'secret')", 20, unconfined=False)).level
        assert level == highest, level  # what must be there is there, or nothing dangerous is run
        breaches = await _attempt(host, around, cases)
        wrong = {}
        for case in load("math_allowed"):
            outcome = await host.run(case["code"], 30)
            if case["must_contain"] not in outcome.output:
                wrong[case["name"]] = outcome.output
    finally:
        await host.close()
        around.close()
    return {"level": level, "breaches": breaches, "wrong": wrong, "count": len(cases)}


async def _attempt(host: MathHost, around: Surroundings, cases: list[dict[str, Any]]) -> dict[str, str]:
    """Run the cases one after the other; what got out, and what harmed the host."""
    breaches = {}
    lasting = descendants(os.getpid())
    for case in cases:
        outcome = await host.run(around.fill(case["code"]), SECONDS)
        what = around.breach(outcome.output)
        if what is None and (now := descendants(os.getpid())) != lasting:
            what = f"processes were left or ended: {now ^ lasting}"
            lasting = now
        if what is None and "CANARY of the environment" in outcome.output:
            what = "the environment was read"
        if what is not None:
            breaches[case["name"]] = what
            around.reset()
    return breaches


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Path(sys.argv[1]), *sys.argv[2:3], sys.argv[3:]))))  # type: ignore[arg-type]
