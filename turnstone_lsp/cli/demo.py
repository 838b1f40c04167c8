"""`turnstone-lsp demo`: a full turn on a small broken project, through the real language server.

The demo is the editor: it speaks LSP and our protocol to a server of its own, shows what a user would see, and gives
the answers that a user would give. The model is scripted, and says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnstone_lsp.cli.console import Console
from turnstone_lsp.cli.demo_model import BROKEN, TEST, scripted_model
from turnstone_lsp.lsp import protocol
from turnstone_lsp.process.text import visible

if TYPE_CHECKING:
    import argparse

_SECONDS = 120.0
_CAPABILITIES = {
    "window": {"workDoneProgress": True},
    "workspace": {"applyEdit": True},
    "experimental": {"turnstone": {"version": protocol.VERSION, "updates": True, "approvals": True, "reviews": True}},
}


def run(options: argparse.Namespace) -> int:
    """Show the turn; 0 when the project's tests pass at its end."""
    folder = Path(tempfile.mkdtemp(prefix="turnstone-demo-"))
    try:
        return asyncio.run(_demo(folder))
    finally:
        if options.keep:
            print(f"The project is kept in {folder}.")
        else:
            shutil.rmtree(folder, ignore_errors=True)


async def _demo(folder: Path) -> int:
    project = folder / "project"
    project.mkdir()
    (project / "stats.py").write_text(BROKEN, "utf-8")
    (project / "test_stats.py").write_text(TEST, "utf-8")
    console = Console(interactive=False, notes=sys.stdout)
    console.note(console.style("turnstone-lsp demo: the model is scripted; everything else is real.", "yellow"))
    console.note(f"A small project with a failing test: {project}\n")
    async with scripted_model() as base_url:
        process = await _start(project, folder, base_url)
        editor = _Editor(process, console)
        try:
            async with asyncio.timeout(_SECONDS):
                await editor.turn(project, "The median test fails. Find out why and fix it.")
        finally:
            await _end(process)
    passed = editor.commands[-1:] == [True]
    console.note(console.style("\nThe test passes now." if passed else "\nThe test still fails.", "bold"))
    return 0 if passed else 1


async def _start(project: Path, folder: Path, base_url: str) -> asyncio.subprocess.Process:
    """The language server, with settings and state of its own: the user's are neither read nor written."""
    own = {
        "TURNSTONE_CONFIG": str(folder / "config.toml"),
        "TURNSTONE_STATE_DIR": str(folder / "state"),
        "OPENAI_BASE_URL": base_url,
        "OPENAI_API_KEY": "the-demo-needs-no-key",
        "OPENAI_MODEL": "scripted",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "turnstone_lsp",
        "serve",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=project,
        env={**os.environ, **own},
    )


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), 10)
    except TimeoutError:
        process.kill()
        await process.wait()


class _Editor:
    """The editor's side: shows the event stream and answers the questions."""

    def __init__(self, process: asyncio.subprocess.Process, console: Console) -> None:
        self._process = process
        self._console = console
        self.commands: list[bool] = []
        """Whether each command that ran did well."""
        self._ids = 0
        self._ended = False

    async def turn(self, project: Path, text: str) -> None:
        """Initialize, ask, and stay until the turn has ended."""
        self._console.note(self._console.style(f"> {text}\n", "bold"))
        folders = [{"uri": project.as_uri(), "name": "project"}]
        self._request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": project.as_uri(),
                "workspaceFolders": folders,
                "capabilities": _CAPABILITIES,
                "initializationOptions": {"trusted": True},
            },
        )
        while not self._ended:
            self._take(await self._message())
            if self._ids == 1:
                self._send({"method": "initialized", "params": {}})
                self._request("workspace/executeCommand", {"command": "turnstone.ask", "arguments": [{"text": text}]})

    async def _message(self) -> dict[str, Any]:
        reader = self._process.stdout
        if reader is None:
            raise RuntimeError("the server has no output")
        head = await reader.readuntil(b"\r\n\r\n")
        message: dict[str, Any] = json.loads(await reader.readexactly(int(head.split(b":")[1])))
        return message

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        if self._process.stdin is not None:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _request(self, method: str, params: dict[str, Any]) -> None:
        self._ids += 1
        self._send({"id": self._ids, "method": method, "params": params})

    def _take(self, message: dict[str, Any]) -> None:
        if "error" in message:
            raise RuntimeError(message["error"].get("message"))
        params = message.get("params") or {}
        match message.get("method"):
            case protocol.UPDATE:
                for event in params["events"]:
                    self._show(event)
            case protocol.REQUEST_APPROVAL:
                self._say(f"turnstone asks: {params['item']['header']}", "bold")
                self._console.note(visible(params["item"]["preview"], keep="\n\t"))
                self._say("approved (by the demo)\n", "green")
                self._answer(message, {"decision": "allow"})
            case protocol.REVIEW_EDITS:
                self._answer(message, {"files": [self._review(file) for file in params["files"]]})
            case _ if "id" in message and "method" in message:
                self._answer(message, None)
            case _:
                pass

    def _answer(self, message: dict[str, Any], result: Any) -> None:
        self._send({"id": message["id"], "result": result})

    def _review(self, file: dict[str, Any]) -> dict[str, Any]:
        self._say(f"turnstone proposes a change of {file['display']}:", "bold")
        for hunk in file["hunks"]:
            self._console.diff("".join(f"-{line}" for line in hunk["old"]).rstrip("\n"))
            self._console.diff("".join(f"+{line}" for line in hunk["new"]).rstrip("\n"))
        self._say("accepted (by the demo)\n", "green")
        return {"promptId": file["promptId"], "decision": "accept", "appliedBy": "server"}

    def _show(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "textDelta":
                self._console.answer(visible(event["text"], keep="\n"))
            case "messageDone":
                self._console.answer("\n")
            case "toolCallUpdate" if event["status"] == "pending" and event.get("approvedBecause"):
                self._say(f"● {event.get('header', event['name'])}", "cyan")
            case "toolCallUpdate" if event.get("result") is not None:
                self._result(event)
            case "stateChanged" if event["state"] == "idle":
                self._ended = True
            case _:
                pass

    def _result(self, event: dict[str, Any]) -> None:
        if event["name"] == "bash":
            self.commands.append("exit code 0" in event["result"])
        shown = visible(event["result"], keep="\n\t").strip("\n").split("\n")
        self._say("\n".join(f"  {line}" for line in shown[:14]), "dim")

    def _say(self, text: str, style: str) -> None:
        self._console.note(self._console.style(text, style))
