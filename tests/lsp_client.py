"""A raw LSP client over stdio: it speaks bytes, so that a test can send anything, and keeps all it got."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

PATIENCE = 10.0


class RpcError(Exception):
    """The server answered a request with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.code = error.get("code")


class LspClient:
    """One connection to a real `turnstone-lsp` process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.received: list[dict[str, Any]] = []
        self.handlers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.documents: dict[str, dict[str, Any]] = {}
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next = 0
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())
        self._answering: set[asyncio.Task[None]] = set()

    # -- sending

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"method": method, "params": params})

    def begin(self, method: str, params: Any = None) -> tuple[int, asyncio.Future[Any]]:
        self._next += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._next] = future
        self.send({"id": self._next, "method": method, "params": params})
        return self._next, future

    async def request(self, method: str, params: Any = None) -> Any:
        _, future = self.begin(method, params)
        return await asyncio.wait_for(future, PATIENCE)

    async def command(self, name: str, **arguments: Any) -> Any:
        return await self.request("workspace/executeCommand", {"command": name, "arguments": [arguments]})

    # -- receiving

    async def until(self, found: Callable[[], Any]) -> Any:
        """Wait until a condition on what was received holds; its value."""
        async with asyncio.timeout(PATIENCE):
            while not (value := found()):
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 0.05)
        return value

    def all(self, method: str) -> list[dict[str, Any]]:
        return [m.get("params") or {} for m in self.received if m.get("method") == method]

    async def _read(self) -> None:
        reader = self.process.stdout
        assert reader is not None
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.split(b":")[1].split(b"\r")[0])
                self._take(json.loads(await reader.readexactly(length)))

    def _take(self, message: dict[str, Any]) -> None:
        self.received.append(message)
        self._news.set()
        if "method" not in message:
            future = self._waiting.pop(message["id"], None)
            if future is not None and not future.done():
                if "error" in message:
                    future.set_exception(RpcError(message["error"]))
                else:
                    future.set_result(message.get("result"))
        elif "id" in message:
            task = asyncio.create_task(self._answer(message))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _answer(self, message: dict[str, Any]) -> None:
        handler = self.handlers.get(message["method"])
        if handler is None:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "unknown method"}})
            return
        result = handler(message.get("params") or {})
        if asyncio.iscoroutine(result):
            result = await result
        self.send({"id": message["id"], "result": result})

    # -- an editor's documents

    def open(self, path: Path, text: str, version: int = 1) -> str:
        uri = path.as_uri()
        self.documents[uri] = {"text": text, "version": version}
        item = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, text: str) -> None:
        document = self.documents[uri]
        document["text"] = text
        document["version"] += 1
        identifier = {"uri": uri, "version": document["version"]}
        self.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [{"text": text}]})

    def apply_edit(self, params: dict[str, Any]) -> dict[str, Any]:
        """What an editor does with workspace/applyEdit: versions checked, changes told."""
        for change in params["edit"].get("documentChanges") or [
            {"textDocument": {"uri": u, "version": None}, "edits": e}
            for u, e in params["edit"].get("changes", {}).items()
        ]:
            uri, version = change["textDocument"]["uri"], change["textDocument"]["version"]
            document = self.documents[uri]
            if version is not None and version != document["version"]:
                return {"applied": False, "failureReason": "version"}
            text = document["text"]
            for edit in sorted(change["edits"], key=lambda e: e["range"]["start"]["line"], reverse=True):
                begin, end = (_offset(text, edit["range"][w]) for w in ("start", "end"))
                text = text[:begin] + edit["newText"] + text[end:]
            self.change(uri, text)
        return {"applied": True}

    # -- life

    async def initialize(self, root: Path, capabilities: dict[str, Any], **options: Any) -> dict[str, Any]:
        params = {
            "processId": os.getpid(),
            "rootUri": root.as_uri(),
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
            "capabilities": capabilities,
            "initializationOptions": options or None,
        }
        result: dict[str, Any] = await self.request("initialize", params)
        self.notify("initialized", {})
        return result

    async def close(self) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.request("shutdown"), 10)
                self.notify("exit")
            with contextlib.suppress(Exception):
                assert self.process.stdin is not None
                self.process.stdin.close()
            try:
                await asyncio.wait_for(self.process.wait(), 10)
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
        self._reading.cancel()


def _offset(text: str, position: dict[str, int]) -> int:
    lines = text.split("\n")
    line = position["line"]
    return min(len(text), sum(len(s) + 1 for s in lines[:line]) + position["character"])


@contextlib.asynccontextmanager
async def lsp_client(cwd: Path, **env: str) -> AsyncIterator[LspClient]:
    """Start the installed server and connect; ended at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "turnstone_lsp",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=cwd,
        env={**os.environ, **env},
        limit=1 << 26,
    )
    client = LspClient(process)
    try:
        yield client
    finally:
        await client.close()
