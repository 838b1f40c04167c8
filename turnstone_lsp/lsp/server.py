"""The language server: features, nothing else. `main` serves one client over stdio."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams, JsonRpcRequestCancelled
from pygls.lsp.server import LanguageServer

from turnstone_lsp import __version__
from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.lsp import actions, commands, protocol
from turnstone_lsp.lsp.app import App
from turnstone_lsp.lsp.client import Client
from turnstone_lsp.lsp.edge import EdgeProtocol, lsp_method, plain_converter
from turnstone_lsp.lsp.sync import context_of
from turnstone_lsp.lsp.transport import Writer, read_messages
from turnstone_lsp.workspace import uris
from turnstone_lsp.workspace.documents import Change

if TYPE_CHECKING:
    from pathlib import Path

log = logging.getLogger(__name__)

_PARENT_SECONDS = 1.0


class Protocol(EdgeProtocol):
    """Text sync and commands, in place of pygls' own."""

    app: App

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """The editor opened a document: from now on its text is the truth."""
        document = params.text_document
        self.app.documents.open(document.uri, document.text, document.version, str(document.language_id))

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Trap: pygls splits lines by str.splitlines, which moves every later edit after a form feed or U+2028."""
        changes = [_change(c) for c in params.content_changes]
        self.app.documents.change(params.text_document.uri, params.text_document.version, changes)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """The disk is the truth again."""
        self.app.documents.close(params.text_document.uri)

    @lsp_method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Folders came or went."""
        gone = {_folder(f.uri) for f in params.event.removed}
        kept = [r for r in self.app.roots if r not in gone]
        self.app.set_roots([*kept, *(p for f in params.event.added if (p := _folder(f.uri)))])

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(self, params: types.ExecuteCommandParams) -> Any:
        """Run a command. Trap: pygls answers a cancelled command while its coroutine runs on to the end."""
        try:
            return await commands.run(self.app, params.command, params.arguments, params.work_done_token)
        except TurnstoneError as error:
            raise JsonRpcInvalidParams(str(error)) from None
        except asyncio.CancelledError:
            raise JsonRpcRequestCancelled(f"{params.command} was cancelled") from None

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> None:
        """Trap: pygls exits inside the handler, before anything could be ended."""
        self.app.exit(0 if self._shutdown else 1)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        """The user cancelled a turn by its progress."""
        self.app.stop_token(params.token)


def _change(change: types.TextDocumentContentChangeEvent) -> Change:
    span = getattr(change, "range", None)
    if span is None:
        return Change(change.text)
    return Change(change.text, (span.start.line, span.start.character), (span.end.line, span.end.character))


def _folder(uri: str) -> Path | None:
    path = uris.to_path(uri)
    return path.resolve() if path else None


def create() -> tuple[LanguageServer, App]:
    """The server and its App, not yet connected."""
    server = LanguageServer(
        "turnstone-lsp",
        __version__,
        text_document_sync_kind=types.TextDocumentSyncKind.Full,
        protocol_cls=Protocol,
        converter_factory=plain_converter,
    )
    wire = server.protocol
    if not isinstance(wire, Protocol):
        raise TypeError(wire)
    app = App(wire)
    wire.app = app
    server.report_server_error = wire.report  # type: ignore[method-assign]  # errors go to the log
    _register(server, app)
    return server, app


def _register(server: LanguageServer, app: App) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        app.client = Client.of(params)
        app.options = (
            dict(params.initialization_options or {}) if isinstance(params.initialization_options, dict) else {}
        )
        found = [_folder(f.uri) for f in params.workspace_folders or ()] or [_folder(params.root_uri or "")]
        app.set_roots([path for path in found if path is not None])
        _watch_parent(params.process_id)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        encoding = server.workspace.position_encoding
        app.documents.units = encoding.value if encoding else "utf-16"
        app.spawn(app.preload())

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        app.documents.save(params.text_document.uri, params.text)

    @server.feature(protocol.CONTEXT)
    def context(params: Any) -> None:
        if isinstance(params, dict):
            app.context = context_of(params, app.documents)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        return actions.code_actions(app, params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        return actions.code_lenses(app, params)

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: None) -> None:
        await app.close()

    for command in protocol.COMMANDS:
        server.command(command)(_declared)


def _declared(*_: Any) -> None:
    """Named in the server's capabilities; run by `Protocol.lsp_workspace__execute_command`."""


def _watch_parent(process_id: int | None) -> None:
    """End when the editor does, even if it could not close our input."""
    if process_id is None or process_id == os.getpid():
        return

    async def watch() -> None:
        while _alive(process_id):
            await asyncio.sleep(_PARENT_SECONDS)
        log.warning("the editor (process %d) is gone", process_id)
        signal.raise_signal(signal.SIGTERM)

    task = asyncio.get_running_loop().create_task(watch(), name="parent-watch")
    _kept.add(task)


_kept: set[asyncio.Task[None]] = set()


def _alive(process_id: int) -> bool:
    if sys.platform == "win32":  # not run: there the closed input has to do
        return True
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


async def serve(server: LanguageServer, app: App) -> int:
    """Serve until the input ends, a signal comes, or the client says exit. Leaves no child behind."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not end up in the protocol
    writer = Writer(out, lambda: loop.call_soon_threadsafe(ended.set))
    app.writer = writer
    app.on_exit = ended.set
    wire = app.protocol
    wire.set_writer(writer)  # type: ignore[arg-type]  # it has write and close, which is all that is used
    for number in (signal.SIGTERM, signal.SIGINT, *((signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ())):
        with contextlib.suppress(NotImplementedError, ValueError):
            loop.add_signal_handler(number, ended.set)
    reading = asyncio.create_task(read_messages(wire.receive, sys.stdin.buffer))
    ending = asyncio.create_task(ended.wait())
    await asyncio.wait({reading, ending}, return_when=asyncio.FIRST_COMPLETED)
    for task in (reading, ending):
        task.cancel()
    app.close_now()
    with contextlib.suppress(TimeoutError, TurnstoneError):
        async with asyncio.timeout(2.0):
            await app.close()
    writer.close()
    del server
    return app.exit_code


def main() -> int:
    """`turnstone-lsp serve`."""
    level = os.environ.get("TURNSTONE_LOG_LEVEL", "WARNING").upper()
    logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("pygls").setLevel(logging.ERROR)
    if threading.current_thread() is threading.main_thread() and sys.stdin is None:
        print(
            "turnstone-lsp serves LSP over stdio; it is started by an editor. Try turnstone-lsp --help.",
            file=sys.stderr,
        )
        return 2

    async def go() -> int:
        server, app = create()
        try:
            return await serve(server, app)
        finally:
            app.close_now()

    return asyncio.run(go())
