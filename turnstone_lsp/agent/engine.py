"""Engine: what a process shares among its sessions, and the one place where sessions are opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnstone_lsp.agent.always import Approvals
from turnstone_lsp.agent.context import AgentContext, Scope, Services
from turnstone_lsp.agent.history import History
from turnstone_lsp.agent.model import Model
from turnstone_lsp.agent.session import Session, ToolSession
from turnstone_lsp.memory.sessions import new_id
from turnstone_lsp.process import supervisor

if TYPE_CHECKING:
    from turnstone_lsp.agent.ui import SessionUI
    from turnstone_lsp.config.settings import Settings
    from turnstone_lsp.memory.store import Store
    from turnstone_lsp.workspace.view import Workspace


class Engine:
    """Settings, store, model client and sandboxed children of one process."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.model = Model(settings.model)
        self.services = Services(settings, store, self.model)
        self._sessions: dict[str, Session] = {}

    async def open_session(
        self,
        *,
        workspace: Workspace,
        ui: SessionUI,
        session_id: str | None = None,
        trusted: bool,
        auto_approve: bool = False,
    ) -> Session:
        """A new session, or an earlier one with its conversation. Raises TurnstoneError for an unknown id."""
        scope = self._scope(workspace, ui, session_id, trusted=trusted, auto_approve=auto_approve)
        history, title = History(self.store, scope.session_id, []), ""
        if session_id is not None:
            title = (await self.store.session(session_id)).title
            history = await History.resume(self.store, session_id)
            scope.call_ids.update(history.call_ids())
        session = Session(AgentContext(self.services, scope, workspace), history, title)
        self._sessions[session.id] = session
        return session

    async def open_tools(
        self, *, workspace: Workspace, ui: SessionUI, trusted: bool, auto_approve: bool = False
    ) -> ToolSession:
        """A session for single tool calls, without a conversation."""
        scope = self._scope(workspace, ui, None, trusted=trusted, auto_approve=auto_approve)
        return ToolSession(AgentContext(self.services, scope, workspace, durable=False))

    async def close(self) -> None:
        """Stop every turn and end every child."""
        for session in self._sessions.values():
            await session.stop()
        await self.services.close()
        supervisor.shutdown()
        self.store.close()

    def close_now(self) -> None:
        """The same for a process that must go at once: only what leaves no child behind."""
        supervisor.shutdown()

    def _scope(
        self, workspace: Workspace, ui: SessionUI, session_id: str | None, *, trusted: bool, auto_approve: bool
    ) -> Scope:
        return Scope(
            session_id or new_id(),
            workspace.roots.cwd,
            ui,
            Approvals(self.store, str(workspace.roots.key), workspace.roots.cwd),
            mode=self.settings.mode,
            trusted=trusted,
            auto_approve=auto_approve,
        )
