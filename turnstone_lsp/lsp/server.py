"""The language server: its features and commands, and nothing else."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from turnstone_lsp import __version__
from turnstone_lsp.lsp import documents, protocol
from turnstone_lsp.lsp.app import App
from turnstone_lsp.lsp.client import Client
from turnstone_lsp.lsp.command_table import COMMANDS
from turnstone_lsp.lsp.connection import Connection
from turnstone_lsp.lsp.desk import Desk
from turnstone_lsp.lsp.edge import EdgeProtocol, lsp_method, plain_converter

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

__all__ = ["TurnstoneServer", "main"]


class Protocol(EdgeProtocol):
    """Text sync, folders and commands, in place of pygls' own."""

    app: App
    on_exit: Callable[[int], None]
    """Called once the client has said exit, with the exit code that LSP asks for."""

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """See `documents.py`."""
        documents.opened(self.app.desk.documents, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """See `documents.py`."""
        documents.changed(self.app.desk.documents, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """The disk is the truth again."""
        self.app.desk.documents.close(params.text_document.uri)

    @lsp_method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Folders came or went."""
        self.app.set_roots(documents.roots_after(self.app.roots, params))

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]  # a coroutine can be cancelled
        self, params: types.ExecuteCommandParams
    ) -> Any:
        """Run a command. Trap: pygls answers a cancelled command while its coroutine runs on to the end."""
        from turnstone_lsp.lsp import commands

        return await commands.run(self.app, params.command, params.arguments, params.work_done_token)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> None:
        """The user cancelled the progress of a turn."""
        self.app.stop_token(params.token)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> None:  # type: ignore[override]  # nothing of pygls' own is to run
        """Trap: pygls exits inside the handler, before anything could be ended."""
        self.on_exit(0 if self._shutdown else 1)


class TurnstoneServer(LanguageServer):
    """One server for one client."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__(
            "turnstone-lsp",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            protocol_cls=Protocol,
            converter_factory=plain_converter,
        )
        self.connection = Connection(self.protocol)
        self.app = self.protocol.app = App(self.connection, Desk(self.connection))
        self.on_initialize: Callable[[int | None], None] = lambda _: None
        """Called with the process id that the client gives."""
        _register(self)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Errors go to the log. Trap: pygls pops each one up in the editor."""
        known = isinstance(error, JsonRpcException)
        log.error("%s: %s", getattr(source, "__name__", source), error, exc_info=None if known else error)


def _register(server: TurnstoneServer) -> None:
    app, connection, desk = server.app, server.connection, server.app.desk

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        connection.client = Client.of(params)
        encoding = types.PositionEncodingKind(ServerCapabilitiesBuilder.choose_position_encoding(params.capabilities))
        desk.documents.units = encoding.value
        options = params.initialization_options
        app.options = options if isinstance(options, dict) else {}
        app.set_roots(documents.roots_of(params))
        server.on_initialize(params.process_id)

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        connection.spawn(app.preload())

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        desk.documents.save(params.text_document.uri, params.text)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configured(_: types.DidChangeConfigurationParams) -> None:
        connection.spawn(app.reconfigure())

    @server.feature(protocol.CONTEXT)
    def context(params: Any) -> None:
        if isinstance(params, dict):
            app.context = params
            documents.take_context(desk.documents, params)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=_kinds()))
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        from turnstone_lsp.lsp import actions

        return actions.code_actions(app, params)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        from turnstone_lsp.lsp import actions

        return actions.code_lenses(app, params)

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: None) -> None:
        await app.close()

    server.protocol.fm.commands.update(dict.fromkeys(COMMANDS, _declared))


def _kinds() -> list[types.CodeActionKind | str]:
    return [types.CodeActionKind.QuickFix, "turnstone"]


def _declared(*_: Any) -> None:
    """Named in the server's capabilities; run by `Protocol.lsp_workspace__execute_command`."""


def main() -> int:
    """Serve one client over stdio."""
    from turnstone_lsp.lsp.lifecycle import serve_stdio

    return serve_stdio(TurnstoneServer)
