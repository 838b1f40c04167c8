"""App: what the commands of one connection work on: its engine, its conversations, its settings."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnstone_lsp.config import folders
from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.lsp.context import context_of
from turnstone_lsp.lsp.edge import ClientError

if TYPE_CHECKING:
    from turnstone_lsp.agent.engine import Engine
    from turnstone_lsp.agent.prompt import EditorContext
    from turnstone_lsp.agent.session import Session
    from turnstone_lsp.agent.turns import Turn
    from turnstone_lsp.config.load import Loaded
    from turnstone_lsp.config.settings import Settings
    from turnstone_lsp.lsp.connection import Connection
    from turnstone_lsp.lsp.conversation import Conversation
    from turnstone_lsp.lsp.desk import Desk
    from turnstone_lsp.lsp.progress import Token
    from turnstone_lsp.lsp.trust import Trust
    from turnstone_lsp.workspace.view import Workspace

log = logging.getLogger(__name__)

_CONFIGURATION_SECONDS = 2.0


class App:
    """One connection's state. Whatever is heavy is made when it is first needed, off the event loop."""

    def __init__(self, connection: Connection, desk: Desk) -> None:
        self.connection = connection
        self.desk = desk
        self.options: dict[str, Any] = {}
        """The client's initializationOptions."""
        self.context: dict[str, Any] = {}
        """The client's last turnstone/context."""
        self.current: Conversation | None = None
        self.roots: list[Path] = []
        self._trust: Trust | None = None
        self._trusted = False
        """The workspace is trusted: its prohibitions are in force too."""
        self._engine: Engine | None = None
        self._workspace: Workspace | None = None
        self._conversations: dict[str, Conversation] = {}
        self._views: list[Workspace] = []
        """What the sessions see of the workspace."""
        self._making = asyncio.Lock()
        self._opening = asyncio.Lock()
        self._notes: list[str] = []
        """For the user, in the next conversation that begins."""

    # -- the engine and its settings

    async def engine(self) -> Engine:
        """The engine, made on first use. Raises ConfigError, StoreError."""
        async with self._making:
            if self._engine is None:
                self._engine = await self._make_engine()
            return self._engine

    async def _make_engine(self) -> Engine:
        await asyncio.to_thread(_import_engine)
        from turnstone_lsp.agent.engine import Engine
        from turnstone_lsp.memory.store import Store
        from turnstone_lsp.workspace import pending
        from turnstone_lsp.workspace.paths import Roots
        from turnstone_lsp.workspace.view import Workspace

        loaded = await self._load()
        self._notes += loaded.warnings
        for done in await asyncio.to_thread(pending.repair):
            log.warning("after an interrupted write: %s", done)
        settings = loaded.settings
        self.desk.save_after_accept = settings.edits.save_after_accept
        roots = Roots(self.roots or [Path.cwd()])
        self._workspace = Workspace(roots, self.desk.documents, self.desk.editor, settings.edits)
        return Engine(settings, Store(folders.database()))

    async def workspace(self) -> Workspace:
        """The files, as this connection's agents see them."""
        await self.engine()
        assert self._workspace is not None  # noqa: S101 - made with the engine
        return self._workspace

    async def preload(self) -> None:
        """After `initialized`: get ready for the first request. What is wrong is said when something is asked."""
        with contextlib.suppress(TurnstoneError):
            await self.engine()
            # in a thread that the end of the process does not wait for
            threading.Thread(target=import_sdk, name="preload", daemon=True).start()

    async def _load(self) -> Loaded:
        from turnstone_lsp.config.load import load

        given = {name: value for name, value in self.options.items() if name != "trusted"}
        workspace = await self._configuration()
        return await asyncio.to_thread(load, options=given, workspace=workspace)

    async def _configuration(self) -> dict[str, Any]:
        """The editor's settings for us, into which editors merge the workspace's: only harmless ones count."""
        if not self.connection.client.configuration:
            return {}
        params = {"items": [{"section": "turnstone"}]}
        try:
            answer = await self.connection.ask("workspace/configuration", params, seconds=_CONFIGURATION_SECONDS)
        except ClientError as error:
            log.info("no settings from the editor: %s", error)
            return {}
        first = answer[0] if isinstance(answer, list) and answer else None
        return first if isinstance(first, dict) else {}

    async def reconfigure(self) -> None:
        """The editor's settings changed: take those that can change while we run."""
        if self._engine is None:
            return
        try:
            settings = (await self._load()).settings
        except TurnstoneError as error:
            self.connection.show_message(str(error), "warning")
            return
        await self._use(settings)

    async def _use(self, settings: Settings) -> None:
        """Put settings in force, in a trusted workspace with its own prohibitions. Raises ConfigError."""
        engine, workspace = await self.engine(), await self.workspace()
        if self._trusted:
            from turnstone_lsp.lsp.trust import narrowed

            settings, warnings = await asyncio.to_thread(narrowed, settings, workspace.roots.paths)
            self._notes += warnings
        engine.settings = engine.services.settings = settings
        for view in self._views:
            view.edits = settings.edits
        self.desk.save_after_accept = settings.edits.save_after_accept

    def set_roots(self, roots: list[Path]) -> None:
        """The client's workspace folders. A session's own folder stays what it was (faults.md 119)."""
        self.roots = roots
        if self._workspace is not None:
            self._workspace.roots.replace(roots)
            if self._trust is not None and "trusted" not in self.options:
                self._trust.decided = None

    # -- conversations

    async def conversation(self, session_id: str | None = None) -> Conversation:
        """The named conversation, opened if it is not yet; without a name the current one, or a new one."""
        async with self._opening:
            if session_id is None and self.current is not None:
                return self.current
            if session_id is not None and session_id in self._conversations:
                return self._conversations[session_id]
            opened = await self._open(session_id)
            if session_id is None:
                self.current = opened
            return opened

    async def new_conversation(self) -> Conversation:
        """A new one, which becomes the current one. What runs in others runs on."""
        async with self._opening:
            self.current = await self._open(None)
            return self.current

    async def resume(self, session_id: str) -> Conversation:
        """An earlier one, which becomes the current one."""
        self.current = await self.conversation(session_id)
        return self.current

    async def _open(self, session_id: str | None) -> Conversation:
        from turnstone_lsp.lsp.conversation import Conversation

        engine, workspace = await self.engine(), await self.workspace()
        trusted = await self._trusted_already()
        conversation = Conversation(self.desk)
        view = workspace.child()
        self._views.append(view)
        session = await engine.open_session(
            workspace=view, ui=conversation, session_id=session_id, trusted=trusted is True
        )
        messages = await engine.store.load(session_id) if session_id is not None else ()
        conversation.bind(session, messages)
        self._conversations[session.id] = conversation
        notes, self._notes = self._notes, []
        for note in notes:
            conversation.note(note)
        return conversation

    def conversations(self) -> list[Conversation]:
        """All that were opened."""
        return list(self._conversations.values())

    async def forget(self, session_id: str) -> None:
        """A session is about to be deleted: end it here."""
        conversation = self._conversations.pop(session_id, None)
        if conversation is not None:
            await conversation.session.stop()
            if self.current is conversation:
                self.current = None

    # -- trust

    async def _trusted_already(self) -> bool | None:
        """Whether the workspace is trusted; None when the user is still to be asked. Raises ConfigError."""
        from turnstone_lsp.lsp.trust import Trust

        engine, workspace = await self.engine(), await self.workspace()
        if self._trust is None:
            said = self.options.get("trusted")
            self._trust = Trust(said if isinstance(said, bool) else None)
        trusted = await self._trust.look_up(engine.store, workspace.roots.paths, engine.settings)
        await self._set_trusted(engine, trusted=trusted is True)
        return trusted

    async def _set_trusted(self, engine: Engine, *, trusted: bool) -> None:
        if trusted != self._trusted:
            self._trusted = trusted
            await self._use(engine.settings)

    async def _settle_trust(self, conversation: Conversation) -> None:
        """The first step of a turn for which trust was not decided: ask. Without it the turn goes on all the same."""
        engine, workspace = await self.engine(), await self.workspace()
        assert self._trust is not None  # noqa: S101 - looked up when the session was opened

        async def ask(question: str) -> bool:
            return await conversation.yes_or_no("trust", question)

        trusted = await self._trust.settle(engine.store, workspace.roots.paths, ask)
        await self._set_trusted(engine, trusted=trusted)
        if not trusted:
            conversation.note("This folder is not trusted, so its instructions are not read and every effect is asked.")
        conversation.session.set_trusted(trusted=trusted)

    async def trust(self, *, trusted: bool) -> None:
        """The user trusts the workspace, or takes that back."""
        await self._trusted_already()
        engine, workspace = await self.engine(), await self.workspace()
        assert self._trust is not None  # noqa: S101 - just looked up
        if trusted:
            await self._trust.decide(engine.store, workspace.roots.paths, trusted=True)
        else:
            await self._trust.withdraw(engine.store, workspace.roots.paths)
        await self._set_trusted(engine, trusted=trusted)
        for conversation in self.conversations():
            conversation.session.set_trusted(trusted=trusted)

    # -- turns

    async def start(
        self,
        text: str,
        session_id: str | None = None,
        context: dict[str, Any] | None = None,
        token: Token | None = None,
    ) -> tuple[Conversation, Turn]:
        """Begin a turn, or say more to the running one; it goes on in the background. Raises TurnstoneError."""
        conversation = await self.conversation(session_id)
        undecided = await self._trusted_already() is None
        first = (lambda: self._settle_trust(conversation)) if undecided else None
        about = self.editor_context(context or self.context)
        return conversation, conversation.start(text, about, token, first)

    def editor_context(self, context: dict[str, Any]) -> EditorContext | None:
        """Where the user is, with texts as they are now."""
        return context_of(context, self.desk.documents)

    async def stop(self, session_id: str | None = None) -> int:
        """The one way to stop: a session's turn, or all of them. How many ran."""
        running = [c.session for c in self.conversations() if session_id in (None, c.session.id) and c.session.turn]
        await asyncio.gather(*(session.stop() for session in running))
        return len(running)

    def stop_token(self, token: Token) -> None:
        """The client cancelled a progress: the turn that it shows stops."""
        for conversation in self.conversations():
            if conversation.has_token(token):
                self.connection.spawn(conversation.session.stop())

    def session_of(self, session_id: str | None) -> Session | None:
        """An opened session, by default the current one."""
        conversation = self.current if session_id is None else self._conversations.get(session_id)
        return conversation.session if conversation is not None else None

    # -- the end

    async def close(self) -> None:
        """Stop every turn, end every child, close the store. Idempotent."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()
            await self.desk.close()

    def close_now(self) -> None:
        """End every child process at once; for a process that is about to go."""
        if self._engine is not None:
            self._engine.close_now()


def import_sdk() -> None:
    """Import the model's SDK, which takes half a second."""
    import openai.resources.chat  # noqa: F401 - imported for its import


def _import_engine() -> None:
    import turnstone_lsp.agent.engine
    import turnstone_lsp.lsp.conversation
    import turnstone_lsp.lsp.trust
    import turnstone_lsp.workspace.pending  # noqa: F401 - imported here so that the event loop need not wait
