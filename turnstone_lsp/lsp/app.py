"""App: one connection's engine, session, documents, questions and front end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.events import Event, StateChanged
from turnstone_lsp.agent.prompt import INSTRUCTIONS_NAME
from turnstone_lsp.config import folders
from turnstone_lsp.config.load import NARROWING_FILE, load
from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.client import Client
from turnstone_lsp.lsp.edge import ClientError
from turnstone_lsp.lsp.editor import LspEditor
from turnstone_lsp.lsp.fallback import PlainUI
from turnstone_lsp.lsp.progress import TurnProgress
from turnstone_lsp.lsp.prompts import Prompts
from turnstone_lsp.lsp.transcript import Transcript
from turnstone_lsp.lsp.ui import RichUI, UpdateStream
from turnstone_lsp.workspace import pending
from turnstone_lsp.workspace.documents import OpenDocuments
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.view import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.agent.engine import Engine
    from turnstone_lsp.agent.prompt import EditorContext
    from turnstone_lsp.agent.session import Session
    from turnstone_lsp.agent.turns import Turn
    from turnstone_lsp.config.load import Loaded
    from turnstone_lsp.lsp.edge import EdgeProtocol
    from turnstone_lsp.lsp.transport import Writer
    from turnstone_lsp.workspace.proposals import Proposal

log = logging.getLogger(__name__)


class App:
    """What the features and commands of the server work on. Heavy parts are made when first needed."""

    def __init__(self, wire: EdgeProtocol) -> None:
        self.protocol = wire
        self.client = Client()
        self.documents = OpenDocuments()
        self.editor = LspEditor(self)
        self.prompts = Prompts(self._prompts_changed, self._prompt_resolved)
        self.stream = UpdateStream(self)
        self.context: EditorContext | None = None
        """The editor's last turnstone/context."""
        self.roots: list[Path] = []
        self.options: dict[str, Any] = {}
        self.writer: Writer | None = None
        self.exit_code = 0
        self.on_exit: Callable[[], None] = lambda: None
        self._plain = PlainUI(self)
        self._rich = RichUI(self, self.stream)
        self._engine: Engine | None = None
        self._session: Session | None = None
        self._workspace: Workspace | None = None
        self._transcripts: dict[str, Transcript] = {}
        self._progress: dict[str, TurnProgress] = {}
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- the wire

    @property
    def backlog(self) -> int:
        """Bytes that the client has not read yet."""
        return self.writer.backlog if self.writer else 0

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.protocol.tell(method, params)

    async def ask(self, method: str, params: Any) -> Any:
        """Ask the user through the client: no deadline. Raises ClientError."""
        return await self.protocol.ask(method, params, seconds=None)

    def spawn(self, work: Any) -> asyncio.Task[Any]:
        """Run something in the background; kept until it ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- the engine

    def loaded(self) -> Loaded:
        """The settings in force. Raises ConfigError."""
        return load(options={k: v for k, v in self.options.items() if k != "trusted"})

    async def engine(self) -> Engine:
        """The engine, made on first use."""
        if self._engine is None:
            from turnstone_lsp.agent.engine import Engine
            from turnstone_lsp.memory.store import Store

            loaded = await asyncio.to_thread(self.loaded)
            for warning in loaded.warnings:
                log.warning("%s", warning)
            await asyncio.to_thread(pending.repair)
            self._engine = Engine(loaded.settings, Store(folders.database()))
        return self._engine

    async def preload(self) -> None:
        """After `initialized`: import what the first request needs, off the loop."""
        with contextlib.suppress(TurnstoneError):
            await (await self.engine()).model.preload()

    @property
    def session_id(self) -> str:
        """The current session's id; "" before there is one."""
        return self._session.id if self._session else ""

    @property
    def current(self) -> Session | None:
        """The current session, if one was opened."""
        return self._session

    async def workspace(self) -> Workspace:
        """The files, as this connection's agents see them."""
        if self._workspace is None:
            engine = await self.engine()
            roots = Roots(self.roots or [Path.cwd()])
            self._workspace = Workspace(roots, self.documents, self.editor, engine.settings.edits)
        return self._workspace

    def set_roots(self, folders_: list[Path]) -> None:
        """The client's workspace folders. A session's own folder stays what it was (faults.md 119)."""
        self.roots = folders_
        if self._workspace is not None:
            self._workspace.roots.replace(folders_)

    async def session(self, session_id: str | None = None, *, new: bool = False) -> Session:
        """The current session, a resumed one, or a new one. Raises TurnstoneError."""
        async with self._opening:
            if self._session and not new and session_id in (None, self._session.id):
                return self._session
            engine = await self.engine()
            workspace = await self.workspace()
            if self._session is not None:
                await self._session.stop()
            self._session = await engine.open_session(
                workspace=workspace.child(),
                ui=self,
                session_id=session_id,
                trusted=await self.trusted(),
            )
            return self._session

    async def trusted(self) -> bool:
        """Whether the workspace may be read for instructions: the editor said so, or the user, now or earlier."""
        if self.options.get("trusted") is True:
            return True
        if self.client.speaks.approvals:
            return False
        engine = await self.engine()
        folder = (await self.workspace()).roots.key
        if await engine.store.trusted(folder):
            return True
        if not await asyncio.to_thread(has_instructions, folder):
            return False  # there is nothing that trust would change, so nobody is asked
        question = f"Trust {folder}? Its AGENTS.md is then read as instructions."
        if await self._plain.ask_trust(question):
            await engine.store.trust(folder)
            return True
        return False

    async def trust(self) -> None:
        """The user trusts the workspace."""
        engine = await self.engine()
        await engine.store.trust((await self.workspace()).roots.key)
        if self._session is not None:
            self._session.set_trusted()

    # -- turns

    async def start(self, text: str, session_id: str | None, context: EditorContext | None, token: Any = None) -> Turn:
        """Begin a turn; it goes on in the background."""
        session = await self.session(session_id)
        progress = TurnProgress(self, token)
        turn = session.start(text, context)
        self._progress[turn.id] = progress
        self.spawn(self._follow(turn, progress))
        return turn

    async def _follow(self, turn: Turn, progress: TurnProgress) -> None:
        await progress.begin()
        result = await turn.wait()
        progress.end(result.message or result.stop_reason)
        self._progress.pop(turn.id, None)

    async def stop(self) -> None:
        """The one way to stop."""
        if self._session is not None:
            await self._session.stop()

    def stop_token(self, token: str | int) -> None:
        """The client cancelled a progress."""
        if any(p.token == token for p in self._progress.values()):
            self.spawn(self.stop())

    async def close(self) -> None:
        """Stop everything."""
        if self._engine is not None:
            await self._engine.close()
            self._engine = None

    def exit(self, code: int) -> None:
        """The client said exit."""
        self.exit_code = code
        self.on_exit()

    def close_now(self) -> None:
        """Leave no child behind, at once."""
        if self._engine is not None:
            self._engine.close_now()

    # -- SessionUI: events go to every view, questions to the front end that the client can show

    def emit(self, event: Event) -> None:
        """See SessionUI."""
        if self.client.speaks.updates:
            self._rich.emit(event)
        for progress in self._progress.values():
            progress.take(event)
        self.transcript().take(event)
        if isinstance(event, StateChanged) and event.state == "idle":
            self.stream.flush() if self.client.speaks.updates else None

    async def approve_tools(self, items: Any, proposals: Any) -> Any:
        """See SessionUI."""
        speaks = self.client.speaks
        if speaks.approvals and speaks.reviews:
            return await self._rich.approve_tools(items, proposals)
        return await self._plain.approve_tools(items, proposals)

    async def review_plan(self, path: Path, text: str, call_id: str) -> Any:
        """See SessionUI."""
        ui = self._rich if self.client.speaks.approvals else self._plain
        return await ui.review_plan(path, text, call_id)

    async def ask_continue(self, question: str) -> bool:
        """See SessionUI."""
        ui = self._rich if self.client.speaks.approvals else self._plain
        return await ui.ask_continue(question)

    # -- what is shown

    def transcript(self) -> Transcript:
        """The current session's transcript."""
        key = self.session_id or "new"
        if key not in self._transcripts:
            self._transcripts[key] = Transcript(self, key)
        return self._transcripts[key]

    async def show_document(self, uri: str, *, focus: bool = False) -> bool:
        """Open a document in the editor without taking the focus. False where the client cannot."""
        if not self.client.show_document:
            return False
        with contextlib.suppress(ClientError):
            await self.protocol.ask("window/showDocument", {"uri": uri, "takeFocus": focus})
            return True
        return False

    async def show_pending(self) -> None:
        """Open the transcript, where the open questions stand in full."""
        transcript = self.transcript()
        await transcript.write()
        if not await self.show_document(transcript.uri):
            self.notify("window/showMessage", {"type": 3, "message": f"Open questions stand in {transcript.path}"})

    async def show_diff(self, proposal: Proposal) -> None:
        """Open a proposal as a diff document."""
        if self.client.show_document:
            path = await asyncio.to_thread(_write_diff, proposal)
            await self.show_document(path.as_uri())

    def _prompts_changed(self) -> None:
        self.transcript().refresh()
        if self.client.code_lens_refresh:
            self.spawn(self._refresh_lenses())

    async def _refresh_lenses(self) -> None:
        with contextlib.suppress(ClientError):
            await self.protocol.ask("workspace/codeLens/refresh", None)

    def _prompt_resolved(self, prompt_id: str) -> None:
        if self.client.speaks.approvals or self.client.speaks.reviews:
            self.notify(protocol.RESOLVED, {"promptId": prompt_id})


def has_instructions(folder: Path) -> bool:
    """Whether the workspace holds something that is read only after trust."""
    return any((folder / name).exists() for name in (INSTRUCTIONS_NAME, NARROWING_FILE))


def _write_diff(proposal: Proposal) -> Path:
    folder = folders.state_dir() / "reviews"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = (folder / f"{proposal.path.name}-{proposal.id}.diff").resolve()
    path.write_text(proposal.diff() + "\n", "utf-8", "backslashreplace")
    return path
