"""A raw LSP client: it speaks bytes, so that a test can send anything, and keeps all it got.

`lsp_client` connects it to a real `turnstone-lsp` process, `connected` to a server in this process over a socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

PATIENCE = 30.0
PROFILES = Path(__file__).parent / "lsp" / "profiles"


def profile(name: str) -> dict[str, Any]:
    """What a real editor says in its initialize request: clientInfo and capabilities."""
    found: dict[str, Any] = json.loads((PROFILES / f"{name}.json").read_text("utf-8"))
    return found


class RpcError(Exception):
    """The server answered a request with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.code = error.get("code")


class LspClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.received: list[dict[str, Any]] = []
        self.handlers: dict[str, Callable[[dict[str, Any]], Any]] = {}
        self.documents: dict[str, dict[str, Any]] = {}
        self.process: asyncio.subprocess.Process | None = None
        self.server: Any = None
        self.reading_ended = asyncio.Event()
        """The server reads no more, or is gone."""
        self._reader, self._writer = reader, writer
        self._waiting: dict[Any, asyncio.Future[Any]] = {}
        self._next = 0
        self._news = asyncio.Event()
        self._answering: set[asyncio.Task[None]] = set()
        self._reading = asyncio.create_task(self._read())

    # -- sending

    def send_bytes(self, data: bytes) -> None:
        self._writer.write(data)

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
        """Wait until a condition holds on what was received (or on the disk); its value."""
        async with asyncio.timeout(PATIENCE):
            while not (value := found()):
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 0.05)
        return value

    def all(self, method: str) -> list[dict[str, Any]]:
        return [m.get("params") or {} for m in self.received if m.get("method") == method]

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The event stream so far."""
        events = [e for params in self.all("turnstone/update") for e in params["events"]]
        return [e for e in events if kind in (None, e["type"])]

    async def prompt(self, kind: str | None = None) -> dict[str, Any]:
        """An open question of the kind, as soon as there is one."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for found in await self.command("turnstone.pending"):
                    if kind in (None, found["kind"]):
                        return dict(found)
                await asyncio.sleep(0.02)

    async def answer(self, kind: str, decision: str, **more: Any) -> dict[str, Any]:
        """Answer a question by its id, as a user without a plugin does; the question."""
        found = await self.prompt(kind)
        assert await self.command("turnstone.answer", promptId=found["promptId"], decision=decision, **more) == {
            "resolved": True
        }
        return found

    async def idle(self) -> dict[str, Any]:
        """The current session's state when no turn runs any more."""
        async with asyncio.timeout(PATIENCE):
            while (state := await self.command("turnstone.state"))["state"] != "idle":  # noqa: ASYNC110 - asked, not told
                await asyncio.sleep(0.02)
        return dict(state)

    async def _read(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await self._reader.readuntil(b"\r\n\r\n")
                length = int(head.split(b":")[1].split(b"\r")[0])
                self._take(json.loads(await self._reader.readexactly(length)))
        self.reading_ended.set()

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
        try:
            result = handler(message.get("params") or {})
            if asyncio.iscoroutine(result):
                result = await result
        except RuntimeError as error:
            self.send({"id": message["id"], "error": {"code": -32603, "message": str(error)}})
            return
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

    def close_document(self, uri: str) -> None:
        del self.documents[uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def apply_edit(self, params: dict[str, Any]) -> dict[str, Any]:
        """What an editor does with workspace/applyEdit: versions checked, changes told. Positions: UTF-16 or ASCII."""
        edit = params["edit"]
        changes = edit.get("documentChanges") or [
            {"textDocument": {"uri": uri, "version": None}, "edits": edits}
            for uri, edits in edit.get("changes", {}).items()
        ]
        for change in changes:
            uri, version = change["textDocument"]["uri"], change["textDocument"]["version"]
            document = self.documents[uri]
            if version is not None and version != document["version"]:
                return {"applied": False, "failureReason": "the version is another one"}
            self.change(uri, edited(document["text"], change["edits"]))
        return {"applied": True}

    # -- life

    async def initialize(self, root: Path, capabilities: dict[str, Any], **options: Any) -> dict[str, Any]:
        """With the capabilities, or with a profile's whole `{clientInfo, capabilities}`."""
        about = capabilities if "capabilities" in capabilities else {"capabilities": capabilities}
        params = {
            "processId": os.getpid(),
            "rootUri": root.as_uri(),
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
            "initializationOptions": options or None,
            **about,
        }
        result: dict[str, Any] = await self.request("initialize", params)
        self.notify("initialized", {})
        return result

    async def close(self) -> None:
        if not self.reading_ended.is_set():
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.request("shutdown"), 10)
                self.notify("exit")
        self._reading.cancel()
        for task in self._answering:
            task.cancel()
        await asyncio.gather(self._reading, *self._answering, return_exceptions=True)
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after LSP edits."""
    for edit in sorted(
        edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True
    ):
        begin, end = (_offset(text, edit["range"][where]) for where in ("start", "end"))
        text = text[:begin] + edit["newText"] + text[end:]
    return text


def _offset(text: str, position: dict[str, int]) -> int:
    lines = text.split("\n")
    line = position["line"]
    return min(len(text), sum(len(s) + 1 for s in lines[:line]) + position["character"])


@contextlib.asynccontextmanager
async def lsp_client(cwd: Path, **env: str) -> AsyncIterator[LspClient]:
    """A client of the installed server, as an editor starts it; ended at the end."""
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
    assert process.stdout is not None
    assert process.stdin is not None
    client = LspClient(process.stdout, process.stdin)
    client.process = process
    try:
        yield client
    finally:
        await client.close()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def connected() -> AsyncIterator[LspClient]:
    """A client of a server in this process: the same bytes over a socket, without the start of a process."""
    from turnstone_lsp.lsp.server import TurnstoneServer
    from turnstone_lsp.lsp.transport import Writer, read_messages

    ours, theirs = socket.socketpair()
    server = TurnstoneServer()
    server.protocol.on_exit = lambda _: None
    server.connection.writer = Writer(theirs.fileno(), lambda: None)
    server.protocol.set_writer(server.connection.writer)
    reading = asyncio.create_task(read_messages(server.protocol.receive, theirs.makefile("rb", buffering=0)))
    client = LspClient(*await asyncio.open_connection(sock=ours, limit=1 << 26))
    client.server = server
    reading.add_done_callback(lambda _: client.reading_ended.set())
    try:
        yield client
    finally:
        await client.close()
        await server.app.close()
        await server.connection.close()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        server.connection.writer.close()
        theirs.close()
