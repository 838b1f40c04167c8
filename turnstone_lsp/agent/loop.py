"""The loop: ask the model, run its tool calls, repeat until it answers. The session and every sub-agent run this."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.events import MessageDone, Notice, ReasoningDelta, TextDelta, Usage
from turnstone_lsp.agent.model import Discarded, Reply, Retrying, TextPiece, ThoughtPiece
from turnstone_lsp.agent.pipeline import Outcome, Pipeline
from turnstone_lsp.errors import TurnstoneError

if TYPE_CHECKING:
    from turnstone_lsp.agent.context import AgentContext
    from turnstone_lsp.agent.history import History

Message = dict[str, Any]


class LimitError(TurnstoneError):
    """A limit was reached and nobody said to go on."""


class AgentLoop:
    """One agent at work on one conversation."""

    def __init__(self, ctx: AgentContext, history: History) -> None:
        self._ctx = ctx
        self._history = history
        self._pipeline = Pipeline(ctx, self._save)
        self._steering: list[Message] = []

    def steer(self, message: Message) -> None:
        """A message of the user during the turn: the model reads it before its next step."""
        self._steering.append(message)

    async def run(self) -> str:
        """Work until the model answers without a tool call. Returns the answer; raises ModelError, LimitError."""
        while True:
            await self._take_steering()
            await self._check_limits()
            reply = self._unique(await self._query())
            await self._history.add(reply.message)
            if reply.tool_calls:
                outcomes = await self._pipeline.run(reply.tool_calls)
                self._history.messages.extend(_result(outcome) for outcome in outcomes)
                if self._ctx.stuck:
                    raise LimitError(f"Stopped: {self._ctx.stuck} Tell the agent what to do differently.")
            elif reply.cut:
                raise LimitError(
                    "The answer was cut off at the model's length limit. Ask it to go on, or raise model.max_tokens."
                )
            elif not self._steering:
                return reply.text

    async def _take_steering(self) -> None:
        while self._steering:
            await self._history.add(self._steering.pop(0))

    async def _check_limits(self) -> None:
        question = self._ctx.budget.exceeded()
        if question is None:
            return
        with self._ctx.clock.paused():
            go_on = await self._ctx.ui.ask_continue(question)
        if not go_on:
            raise LimitError(
                question.removesuffix(" Go on?") + " Ask again to go on, or raise the limit in the settings."
            )
        self._ctx.budget.extend()

    async def _query(self) -> Reply:
        """One model request, streamed. Retries are the model client's; text shown before one is discarded."""
        message_id = f"msg-{secrets.token_hex(6)}"
        shown: list[str] = []
        stream = self._ctx.services.model.stream(self._history.messages, self._ctx.tools, model=self._ctx.model_name)
        async for piece in stream:
            match piece:
                case TextPiece(text):
                    shown.append(text)
                    self._emit_text(message_id, text)
                    await self._history.checkpoint(shown)
                case ThoughtPiece(text):
                    if self._ctx.parent is None:
                        self._ctx.emit(ReasoningDelta(message_id, text))
                case Discarded():
                    self._ctx.emit(MessageDone(message_id, "", discarded=True))
                    await self._history.discard()
                    message_id = f"msg-{secrets.token_hex(6)}"
                    shown.clear()
                case Retrying(reason=reason, seconds=seconds):
                    self._ctx.emit(Notice(f"{reason} Trying again in {seconds:.0f} s.", "warning"))
                case Reply():
                    self._done(message_id, piece)
                    return piece
        raise AssertionError("a model stream ends with a reply or an error")

    def _unique(self, reply: Reply) -> Reply:
        """The reply with call ids that no other call of the session has."""
        calls = tuple(replace(c, id=self._ctx.scope.claim(c.id)) for c in reply.tool_calls)
        return replace(reply, tool_calls=calls)

    def _emit_text(self, message_id: str, text: str) -> None:
        if self._ctx.parent is None:
            self._ctx.emit(TextDelta(message_id, text))
        else:
            self._ctx.emit_output(text)

    def _done(self, message_id: str, reply: Reply) -> None:
        usage = reply.usage
        self._ctx.budget.spend(usage.prompt_tokens + usage.completion_tokens)
        if self._ctx.parent is None:
            self._ctx.emit(MessageDone(message_id, reply.text, reply.reasoning))
            self._ctx.emit(
                Usage(
                    usage.prompt_tokens,
                    usage.completion_tokens,
                    self._ctx.budget.tokens,
                    self._ctx.services.model.context_window,
                    usage.estimated,
                )
            )

    async def _save(self, outcome: Outcome) -> None:
        await self._history.keep(_result(outcome))


def _result(outcome: Outcome) -> Message:
    return {"role": "tool", "tool_call_id": outcome.call.id, "content": outcome.text}
