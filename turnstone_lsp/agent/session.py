"""Session: one conversation of one user in one workspace, and the turns it takes."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.events import StateChanged, StopReason, UserMessage
from turnstone_lsp.agent.limits import Budget
from turnstone_lsp.agent.loop import AgentLoop, LimitError
from turnstone_lsp.agent.pipeline import Pipeline
from turnstone_lsp.agent.prompt import find_instructions, system_prompt, user_message
from turnstone_lsp.agent.turns import Turn, TurnResult
from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.memory.memories import prompt_text
from turnstone_lsp.memory.sessions import title_of
from turnstone_lsp.workspace import undoing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from turnstone_lsp.agent.context import AgentContext
    from turnstone_lsp.agent.history import History
    from turnstone_lsp.agent.model import ToolCall
    from turnstone_lsp.agent.pipeline import Outcome
    from turnstone_lsp.agent.prompt import EditorContext
    from turnstone_lsp.config.settings import Mode

log = logging.getLogger(__name__)

MODES: tuple[Mode, ...] = ("ask", "edit", "plan", "auto")


class Session:
    """The conversation. Made by the Engine; at most one turn runs at a time."""

    def __init__(self, ctx: AgentContext, history: History, title: str = "") -> None:
        self._ctx = ctx
        self._history = history
        self._turn: Turn | None = None
        self._loop: AgentLoop | None = None
        self._instructions: tuple[Path, ...] = ()
        self.title = title
        self.denied_in_turn = False

    @property
    def id(self) -> str:
        """The session's id, also in its plan file's name."""
        return self._ctx.session_id

    @property
    def mode(self) -> Mode:
        """What runs without a question."""
        return self._ctx.scope.mode

    @property
    def turn(self) -> Turn | None:
        """The turn that runs, if one does."""
        return self._turn if self._turn and self._turn.running else None

    def start(
        self,
        text: str,
        context: EditorContext | None = None,
        *,
        first: Callable[[], Awaitable[None]] | None = None,
    ) -> Turn:
        """Begin a turn and return at once. While one runs, the text steers it and that turn is returned.

        first: what the turn does before anything else (a front end asks for trust there). Raises TurnstoneError when
        there is nothing to ask.
        """
        if not text.strip():
            raise TurnstoneError("Nothing was asked: the text is empty.")
        message = {"role": "user", "content": user_message(text, context)}
        if (running := self.turn) and self._loop:
            self._loop.steer(message)
            self._ctx.emit(UserMessage(f"{running.id}-steer", text))
            return running
        turn = Turn(self.id)
        self._turn = turn
        self._loop = AgentLoop(self._ctx, self._history)
        turn.run(self._run(turn, self._loop, text, message, first))
        return turn

    async def stop(self) -> None:
        """End the running turn: prompts close, the request is aborted, children are killed. Idempotent."""
        if (turn := self.turn) is not None:
            turn.cancel()
            await turn.wait()

    def set_mode(self, mode: str) -> None:
        """Change what runs without a question, from the next call on. Raises TurnstoneError for an unknown mode."""
        if mode not in MODES:
            raise TurnstoneError(f"There is no mode '{mode}'; the modes are {', '.join(MODES)}.")
        self._ctx.scope.mode = mode

    def set_trusted(self, *, trusted: bool = True) -> None:
        """The user trusts the workspace, or does not any more. Its instructions are read when a session begins."""
        self._ctx.scope.trusted = trusted

    async def undo_turn(self, turn_id: str | None = None) -> str:
        """Take back what a turn (default: the last one that changed files) wrote. Returns what was done."""
        self._refuse_while_running("undo")
        return await undoing.undo(self._ctx.workspace, self._ctx.journal, turn_id)

    async def redo_turn(self, turn_id: str | None = None) -> str:
        """Put back what undo took. Returns what was done."""
        self._refuse_while_running("redo")
        return await undoing.redo(self._ctx.workspace, self._ctx.journal, turn_id)

    async def turn_diff(self, turn_id: str | None = None) -> str:
        """All that a turn (default: the last one) changed, as one unified diff."""
        return await undoing.diff(self._ctx.workspace, self._ctx.journal, turn_id)

    def state(self) -> dict[str, Any]:
        """What a front end shows about the session."""
        turn = self.turn
        return {
            "sessionId": self.id,
            "title": self.title,
            "mode": self.mode,
            "cwd": str(self._ctx.cwd),
            "trusted": self._ctx.scope.trusted,
            "turnId": turn.id if turn else None,
            "state": "running" if turn else "idle",
            "instructions": [str(path) for path in self._instructions],
            "messages": len(self._history.messages),
        }

    def _refuse_while_running(self, what: str) -> None:
        if self.turn is not None:
            raise TurnstoneError(f"A turn is running; stop it before {what}.")

    async def _run(
        self,
        turn: Turn,
        loop: AgentLoop,
        text: str,
        message: dict[str, Any],
        first: Callable[[], Awaitable[None]] | None,
    ) -> TurnResult:
        """The turn's work, and its one final state."""
        ctx = self._ctx
        ctx.scope.turn_id = turn.id
        ctx.begin_turn(Budget(ctx.settings.limits))
        ctx.emit(StateChanged("running"))
        try:
            if first is not None:
                await first()
            ctx.emit(UserMessage(f"{turn.id}-user", text))
            self._history.begin_turn(turn.id)
            if not self._history.messages:
                await self._begin(text)
            await self._note_changes(message)
            await self._history.add(message)
            result = TurnResult("completed", await loop.run())
        except asyncio.CancelledError:
            result = TurnResult("cancelled")
        except LimitError as error:
            result = TurnResult("limit", message=str(error))
        except TurnstoneError as error:
            result = TurnResult("failed", message=str(error))
        except Exception as error:
            log.exception("turn %s failed", turn.id)
            result = TurnResult("failed", message=f"Internal error: {type(error).__name__}: {error}. See the log.")
        return await self._end(result)

    async def _begin(self, text: str) -> None:
        """The first turn: the session enters the store with its system prompt, which then stays as it is."""
        ctx = self._ctx
        workspace = str(ctx.workspace.roots.key)
        await ctx.store.create(self.id, workspace)
        self.title = title_of(text)
        roots = ctx.workspace.roots.paths
        found = await asyncio.to_thread(find_instructions, ctx.cwd, roots, trusted=ctx.scope.trusted)
        self._instructions = tuple(i.path for i in found)
        memories = prompt_text(await ctx.store.memories(workspace))
        system = system_prompt("main", cwd=ctx.cwd, roots=roots, instructions=found, memories=memories)
        await self._history.add({"role": "system", "content": system})

    async def _end(self, result: TurnResult) -> TurnResult:
        self._loop = None
        self.denied_in_turn = self._ctx.denied
        if result.stop_reason != "completed":
            await self._history.reload()
        reason: StopReason = result.stop_reason
        self._ctx.emit(StateChanged("idle", reason, result.message))
        return result

    async def _note_changes(self, message: dict[str, Any]) -> None:
        """Tell the model at the turn's start which files that it has read were changed since (faults.md 39)."""
        changed = await self._ctx.workspace.changed_since_read()
        if changed:
            names = ", ".join(str(p) for p in changed[:20])
            message["content"] += (
                f"\n\n[Changed since you read them: {names}. Read them again before you rely on them.]"
            )


class ToolSession:
    """A session without a model: single calls through the same pipeline (`turnstone-lsp tool`)."""

    def __init__(self, ctx: AgentContext) -> None:
        self._ctx = ctx
        self._pipeline = Pipeline(ctx, _forget)

    async def call(self, call: ToolCall) -> Outcome:
        """Prepare, approve and execute one call."""
        return (await self._pipeline.run([call]))[0]


async def _forget(outcome: Outcome) -> None:
    """Nothing is kept: there is no conversation."""
    del outcome
