"""Runs the escape corpus: things worth stealing or breaking around the sandbox, and a check that all of it is whole.

Also a program: `python escape_harness.py FOLDER` runs the corpus in this process, as whoever runs it (the ordinary user
of the long tests), and prints what got out as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

CORPORA = Path(__file__).resolve().parent.parent / "corpora"


def load(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((CORPORA / f"{name}.json").read_text("utf-8"))
    return cases


class Surroundings:
    """A home with a secret, a folder with a victim, sockets that listen, and a process that must live."""

    def __init__(self, folder: Path) -> None:
        self.canary = f"CANARY-{secrets.token_hex(8)}"
        self.home, self.work = folder / "home", folder / "work"
        (self.home / ".ssh").mkdir(parents=True)
        self.work.mkdir()
        (self.home / ".ssh" / "id_canary").write_text(self.canary)
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(folder / "s"))
        self.unix.listen()
        self.abstract_name = f"ts-{secrets.token_hex(4)}"
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.abstract_name)
        self.abstract.listen()
        self.tcp = socket.socket()
        self.tcp.bind(("127.0.0.1", 0))
        self.tcp.listen()
        for listening in (self.unix, self.abstract, self.tcp):
            listening.setblocking(False)
        self.victim = subprocess.Popen(["sleep", "600"])
        self.names = {
            "HOME": str(self.home),
            "WORK": str(self.work),
            "SOCK": str(folder / "s"),
            "ABS": self.abstract_name,
            "PORT": str(self.tcp.getsockname()[1]),
            "VICTIM_PID": str(self.victim.pid),
        }
        self.reset()

    def reset(self) -> None:
        (self.work / "victim").write_text("victim")
        (self.work / "victim").chmod(0o644)
        self._state = self._look()

    def _look(self) -> Any:
        found = []
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
        """What got out, or None."""
        if "ESCAPED" in output.replace("print('ESCAPED", "").replace('print("ESCAPED', "").replace("'ESCAPED'", ""):
            lines = [line for line in output.splitlines() if line.startswith("ESCAPED")]
            if lines:
                return lines[0][:200]
        if self.canary in output:
            return "the secret was read"
        if self._look() != self._state:
            return "a file was changed"
        if self.victim.poll() is not None:
            return "the victim was killed"
        for listening in (self.unix, self.abstract, self.tcp):
            try:
                listening.accept()
            except BlockingIOError:
                continue
            return "a socket was reached"
        return None

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        for listening in (self.unix, self.abstract, self.tcp):
            listening.close()


async def run(folder: Path) -> dict[str, Any]:
    """{"level", "breaches": {case: what}, "wrong": {control: output}}"""
    from turnstone_lsp.sandbox.math_host import MathHost

    around = Surroundings(folder)
    os.environ["TEST_API_KEY"] = around.canary
    host = MathHost()
    breaches, wrong = {}, {}
    try:
        level = await host.probe()
        assert level in ("L3", "L4"), level
        for case in load("math_escapes"):
            outcome = await host.run(around.fill(case["code"]), 3)
            if what := around.breach(outcome.output):
                breaches[case["name"]] = what
                around.reset()
        for case in load("math_allowed"):
            outcome = await host.run(case["code"], 20)
            if case["must_contain"] not in outcome.output:
                wrong[case["name"]] = outcome.output
    finally:
        await host.close()
        around.close()
    return {"level": level, "breaches": breaches, "wrong": wrong}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Path(sys.argv[1])))))
