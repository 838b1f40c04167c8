"""Conversation: one session as its user sees it. Events go to every view, questions to the front end that fits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from turnstone_lsp.agent.events import Event, Notice, StateChanged
from turnstone_lsp.agent.ui import Answers
from turnstone_lsp.lsp.fallback import PlainUI
from turnstone_lsp.lsp.progress import Token, TurnProgress
from turnstone_lsp.lsp.transcript_text import conversation_of
from turnstone_lsp.lsp.ui import RichUI

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from pathlib import Path
    from typing import Any

    from turnstone_lsp.agent.prompt import EditorContext
    from turnstone_lsp.agent.session import Session
    from turnstone_lsp.agent.turns import Turn, TurnResult
    from turnstone_lsp.agent.ui import Item
    from turnstone_lsp.lsp.desk import Desk
    from turnstone_lsp.lsp.prompts import PromptKind
    from turnstone_lsp.tools.context import PlanReview
    from turnstone_lsp.workspace.proposals import Proposal


_OPENING_SECONDS = 0.5
"""How long a turn that has ended waits for the client to agree to the progress that was to show it."""


class Conversation:
    """Implements SessionUI for one session, whatever the client speaks."""

    session: Session
    """Set by the App as soon as the engine has opened it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._progress: dict[str, TurnProgress] = {}
        self._following: dict[str, asyncio.Task[None]] = {}

    def bind(self, session: Session, messages: Iterable[dict[str, Any]] = ()) -> None:
        """Take the session that the engine opened with this as its front end."""
        self.session = session
        self._plain = PlainUI(self._desk, session.id, self._desk.dialog)
        self._rich = RichUI(self._desk, session.id)
        self._transcript = self._desk.transcript(session.id)
        self.earlier = conversation_of(messages)
        if self.earlier:
            self._transcript.resume(self.earlier)

    # -- turns

    def start(
        self, text: str, context: EditorContext | None, token: Token | None, first: Callable[[], Awaitable[None]] | None
    ) -> Turn:
        """Begin a turn, or say more to the running one. Raises TurnstoneError."""
        turn = self.session.start(text, context, first=first)
        if turn.id not in self._progress:
            progress = self._progress[turn.id] = TurnProgress(self._desk.connection, token)
            task = self._following[turn.id] = self._desk.connection.spawn(self._follow(turn, progress))
            task.add_done_callback(lambda _: self._following.pop(turn.id))
        return turn

    async def _follow(self, turn: Turn, progress: TurnProgress) -> None:
        opening = asyncio.create_task(progress.begin())
        result = await turn.wait()
        await asyncio.wait({opening}, timeout=_OPENING_SECONDS)
        opening.cancel()
        del self._progress[turn.id]
        progress.end(result.message or result.stop_reason)
        self._desk.stream.flush()

    async def finished(self, turn: Turn) -> TurnResult:
        """The turn's end, when the client has been told all of it."""
        if turn.id in self._following:
            await asyncio.shield(self._following[turn.id])
        return await turn.wait()

    def has_token(self, token: Token) -> bool:
        """A turn of this session reports under that token."""
        return any(progress.token == token for progress in self._progress.values())

    # -- SessionUI

    def emit(self, event: Event) -> None:
        """See SessionUI."""
        if self._desk.connection.client.speaks.updates:
            self._desk.stream.emit(self.session.id, event)
        for progress in self._progress.values():
            progress.take(event)
        self._transcript.take(event)

    async def approve_tools(self, items: Sequence[Item], proposals: Sequence[Proposal]) -> Answers:
        """See SessionUI. Calls and files of a batch are asked about side by side."""
        speaks = self._desk.connection.client.speaks
        asking = [item for item in items if item.needs_approval and not item.edits]
        answers = Answers()
        async with asyncio.TaskGroup() as group:
            if asking:
                front = self._rich if speaks.approvals else self._plain
                group.create_task(front.approve(asking, items, answers))
            if proposals:
                front = self._rich if speaks.reviews else self._plain
                group.create_task(front.review(proposals, answers))
        return answers

    async def review_plan(self, path: Path, text: str, call_id: str) -> PlanReview:
        """See SessionUI."""
        return await self._front.review_plan(path, text, call_id)

    async def ask_continue(self, question: str) -> bool:
        """See SessionUI."""
        return await self.yes_or_no("continue", question)

    async def yes_or_no(self, kind: PromptKind, question: str) -> bool:
        """Ask something that is no call; the turn waits."""
        self.emit(StateChanged("requires_action"))
        answer = await self._front.yes_or_no(kind, question)
        self.emit(StateChanged("running"))
        return answer

    def note(self, text: str) -> None:
        """Tell the user something in the conversation."""
        self.emit(Notice(text))

    @property
    def _front(self) -> RichUI | PlainUI:
        return self._rich if self._desk.connection.client.speaks.approvals else self._plain
