"""What the process tests share: commands that can be found again, and servers that can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.config.settings import Settings
from turnstone_lsp.process.environment import child_env

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnstone_lsp.workspace.view import Workspace


@dataclass
class Context:
    """What bash and man ask of the session that runs it."""

    cwd: Path
    workspace: Workspace
    settings: Settings = field(default_factory=Settings)
    session_id: str = "session_1"
    call_id: str = "call_1"


@dataclass
class Running:
    """The running call: keeps what was streamed."""

    id: str = "call_1"
    lines: list[str] = field(default_factory=list)

    def output(self, text: str) -> None:
        self.lines.append(text)


SHELL = ("/bin/bash", "--norc", "--noprofile", "-o", "pipefail", "-c")


def token() -> str:
    """A sleeping time that is nobody else's: processes are found by it."""
    return f"7{int.from_bytes(os.urandom(4), 'big'):010d}.5"


def holders(mark: str) -> list[tuple[int, str]]:
    """Living processes whose command line holds `mark`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark in words and state not in "ZX" and int(entry.name) != os.getpid():
            found.append((int(entry.name), words))
    return found


def wait_none(mark: str, seconds: float = 10.0) -> list[tuple[int, str]]:
    """Wait until no process holds `mark`; what is left after `seconds`, which is ten times the promised bound."""
    deadline = time.monotonic() + seconds
    while (left := holders(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def wait_some(mark: str, count: int = 1, seconds: float = 20.0) -> None:
    """Wait until at least `count` processes hold `mark`."""
    deadline = time.monotonic() + seconds
    while len(holders(mark)) < count:
        assert time.monotonic() < deadline, f"{count} processes with {mark} did not start: {holders(mark)}"
        time.sleep(0.02)


async def until_some(mark: str, count: int = 1) -> None:
    """The same without holding up the event loop."""
    await asyncio.to_thread(wait_some, mark, count)


_DAEMON = (
    "import os, signal\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "os.chdir('/')\n"
    "[os.close(fd) for fd in range(3)]\n"
    "signal.pause()\n"
)


def ways(mark: str) -> dict[str, str]:
    """Ways to leave a process behind (issue 6, item 3): each starts exactly one that holds `mark`."""
    return {
        "child": f"(sleep {mark})",
        "background": f"sleep {mark} &",
        "nohup": f"nohup sleep {mark} >/dev/null 2>&1 &",
        "disown": f"sleep {mark} & disown",
        "setsid": f"setsid sleep {mark} &",
        "setsid --fork": f"setsid --fork sleep {mark}",
        "set -m": f"set -m; sleep {mark} &",
        "double fork": f"( ( setsid sleep {mark} & ) & )",
        "daemon": f"{sys.executable} -c {shlex.quote(_DAEMON)} {mark}",
        "deaf to TERM": f"(trap '' TERM HUP INT; exec sleep {mark}) &",
        "stopped": f"sleep {mark} & kill -STOP $!",
        "background server": f"(exec -a server-{mark} {sys.executable} -m http.server --bind 127.0.0.1 0) &",
    }


def start_server(mark: str, commands: Sequence[str], cwd: Path) -> subprocess.Popen[bytes]:
    """A process that runs the commands as the language server would, and shuts down when its stdin ends."""
    script = textwrap.dedent(
        """
        import asyncio, json, sys
        from pathlib import Path
        from turnstone_lsp.process import supervisor
        from turnstone_lsp.process.environment import child_env

        async def main():
            shell, commands = json.loads(sys.argv[1])
            env = child_env()
            tasks = [
                asyncio.ensure_future(supervisor.run([*shell, c], cwd=Path.cwd(), env=env, timeout=600)) for c in commands
            ]
            await asyncio.to_thread(sys.stdin.read)
            supervisor.shutdown()
            for task in tasks:
                task.cancel()

        asyncio.run(main())
        """
    )
    arguments = json.dumps([SHELL, list(commands)])
    return subprocess.Popen([sys.executable, "-c", script, arguments], stdin=subprocess.PIPE, cwd=cwd, env=child_env())
