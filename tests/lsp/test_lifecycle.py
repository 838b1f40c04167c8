"""The real process, from start to end: what it imports, and what it leaves behind however it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lsp_client import LspClient, lsp_client
from scripted import DONE, MINIMAL, call, names, start

if TYPE_CHECKING:
    from model_server import StubServer

HEAVY = (
    "openai",
    "httpx",
    "httpx2",
    "sympy",
    "numpy",
    "scipy",
    "lxml",
    "tavily",
    "readability",
    "tree_sitter",
    "sqlite3",
)

_PRINT_MODULES = """
import json, sys
from turnstone_lsp.lsp import server
class Told(server.TurnstoneServer):
    def __init__(self):
        super().__init__()
        answer = self.protocol._send_handler_result
        def told(future, *, msg_id):
            print(json.dumps(sorted(sys.modules)), file=sys.stderr, flush=True)
            answer(future, msg_id=msg_id)
        self.protocol._send_handler_result = told
from turnstone_lsp.lsp.lifecycle import serve_stdio
sys.exit(serve_stdio(Told))
"""


def _frame(message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def test_initialize_imports_nothing_heavy(project: Path) -> None:
    """Issue 'The main job', item 4; by sys.modules of the real process as it answers."""
    params = {"processId": None, "rootUri": project.as_uri(), "capabilities": MINIMAL}
    done = subprocess.run(
        [sys.executable, "-c", _PRINT_MODULES],
        input=_frame({"id": 1, "method": "initialize", "params": params}),
        capture_output=True,
        timeout=60,
        check=False,
    )
    modules = json.loads(done.stderr.splitlines()[0])
    assert [m for m in modules if m.split(".")[0] in HEAVY] == []
    assert "pygls" in modules
    ours = [m for m in modules if m.startswith("turnstone_lsp.") and m.count(".") == 2]
    assert [m for m in ours if m.split(".")[1] not in ("lsp", "config", "workspace", "process", "agent", "tools")] == []
    assert "turnstone_lsp.agent.engine" not in modules
    capabilities = json.loads(done.stdout.split(b"\r\n\r\n", 1)[1])["result"]["capabilities"]
    assert "turnstone.ask" in capabilities["executeCommandProvider"]["commands"]
    assert capabilities["codeActionProvider"]["codeActionKinds"] == ["quickfix", "turnstone"]
    assert capabilities["workspace"]["workspaceFolders"]["changeNotifications"] is True


async def test_a_stray_print_does_not_reach_the_client(project: Path) -> None:
    async with lsp_client(project, PYTHONINSPECT="", PYTHONSTARTUP="") as client:
        await start(client, project, MINIMAL)
        assert (await client.command("turnstone.state"))["state"] == "idle"


def test_a_terminal_is_told_what_it_started() -> None:
    """Somebody who types `turnstone-lsp` is not left with a silent process."""
    import pty

    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "turnstone_lsp"], stdin=slave, stderr=subprocess.PIPE)
    os.close(slave)
    _, errors = process.communicate(timeout=60)
    os.close(master)
    assert process.returncode == 2
    assert b"turnstone-lsp ask" in errors


# -- the end

_EDITOR = """
import subprocess, sys, time
server = subprocess.Popen([sys.executable, "-m", "turnstone_lsp"], stdin=sys.stdin, stdout=sys.stdout)
print(server.pid, file=sys.stderr, flush=True)
time.sleep(600)
"""


def _processes_with(mark: str) -> list[int]:
    """Processes whose environment holds the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


async def _gone(mark: str, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while left := _processes_with(mark):
        assert time.monotonic() < end, f"left behind: {left}"
        await asyncio.sleep(0.05)


async def _in_bash(client: LspClient, project: Path) -> None:
    """Bring a turn into the middle of a command with children of several kinds."""
    await client.command("turnstone.ask", text="go")
    await client.answer("tool", "allow")
    await client.until((project / "started").exists)


_COMMAND = "setsid sleep 600 & nohup sleep 601 & sleep 602 & touch started; sleep 603"


@pytest.mark.long
@pytest.mark.parametrize("how", ["exit", "eof", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
async def test_no_child_is_left_however_it_ends(
    project: Path, stub: StubServer, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """pygls#433, faults.md 102, 129"""
    mark = f"TURNSTONE_TEST_MARK={how}-{os.getpid()}"
    monkeypatch.setenv(*mark.split("="))
    stub.set({"replies": [call("bash", {"command": _COMMAND}), DONE]})
    async with lsp_client(project) as client:
        assert client.process is not None
        await start(client, project, MINIMAL)
        await _in_bash(client, project)
        monkeypatch.delenv(mark.split("=", maxsplit=1)[0])
        if how == "exit":
            client.notify("exit")
        elif how == "eof":
            client._writer.close()
        else:
            client.process.send_signal(getattr(signal, how))
        code = await asyncio.wait_for(client.process.wait(), 20)
        expected = {"exit": 1, "eof": 0, "SIGTERM": 143, "SIGINT": 130, "SIGHUP": 129, "SIGKILL": -9}
        assert code == expected[how]
        await _gone(mark)


@pytest.mark.long
async def test_no_child_is_left_when_the_editor_is_killed(
    project: Path, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor dies, but something else still holds the pipes: only its process id tells."""
    mark = f"TURNSTONE_TEST_MARK=editor-{os.getpid()}"
    stub.set({"replies": [call("bash", {"command": _COMMAND}), DONE]})
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _EDITOR, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, cwd=project, env={**os.environ, mark.split("=", maxsplit=1)[0]: mark.split("=")[1]}, limit=1 << 26,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    client = LspClient(process.stdout, process.stdin)
    client.handlers["window/workDoneProgress/create"] = lambda _: None
    params = {"processId": process.pid, "rootUri": project.as_uri(), "capabilities": MINIMAL}
    await client.request("initialize", params | {"initializationOptions": {"trusted": True}})
    client.notify("initialized", {})
    await _in_bash(client, project)
    process.kill()
    await process.wait()
    await _gone(mark)
    client.reading_ended.set()
    await client.close()


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_no_half_written_file_is_left_when_the_server_is_killed_at_any_moment(
    project: Path, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 'The main job', item 5. The exact steps of a write are covered by the tests of workspace/writing.py."""
    path = project / "big.txt"
    old, new = "old line\n" * 60_000, "new line\n" * 70_000
    write = call("write_file", {"path": "big.txt", "content": new}) | {"arg_chunk_chars": 100_000}
    stub.set({"replies": [write, DONE]})
    randomly = random.Random(20_260)  # noqa: S311 - moments, not secrets
    for _ in range(6):
        path.write_text(old)
        async with lsp_client(project) as client:
            assert client.process is not None
            await start(client, project, MINIMAL)
            await client.command("turnstone.ask", text="go")
            await client.answer("edit", "accept")
            await asyncio.sleep(randomly.random() * 0.15)
            client.process.kill()
            await client.process.wait()
        assert path.read_text() in (old, new)
    async with lsp_client(project) as client:
        await start(client, project, MINIMAL)
        await client.command("turnstone.newSession")
        assert names(project) == ["big.txt"], "the next start puts right what was left"
