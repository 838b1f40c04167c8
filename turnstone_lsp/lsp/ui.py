"""SessionUI for clients that speak our protocol: the event stream, and questions as requests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.events import ReasoningDelta, TextDelta, ToolOutput
from turnstone_lsp.agent.ui import Answers, Decision, FileReview, Item
from turnstone_lsp.agent.wire import to_json
from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.prompts import review_of
from turnstone_lsp.process.text import safe_markdown
from turnstone_lsp.tools.context import PlanReview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from turnstone_lsp.agent.events import Event
    from turnstone_lsp.lsp.app import App
    from turnstone_lsp.lsp.prompts import Prompt
    from turnstone_lsp.workspace.proposals import Proposal

log = logging.getLogger(__name__)

COALESCE_SECONDS = 0.03
KEPT_EVENTS = 5_000
"""Events that are kept for a client that asks for those it missed (`turnstone.state {since}`)."""
_SLOW_CLIENT = 4 * 1024 * 1024
"""Bytes queued above which a client is given fewer, longer messages."""

_DELTAS = (TextDelta, ReasoningDelta, ToolOutput)


class UpdateStream:
    """Numbers events, joins neighbouring deltas, and sends at most one message per COALESCE_SECONDS."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._waiting: list[Event] = []
        self._timer: asyncio.TimerHandle | None = None
        self._seq = 0
        self.sent: deque[dict[str, Any]] = deque(maxlen=KEPT_EVENTS)

    @property
    def seq(self) -> int:
        """The number of the newest event that was sent."""
        return self._seq

    def emit(self, event: Event) -> None:
        """Queue one event."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(event, _DELTAS) and type(last) is type(event) and _same(last, event):
            joined = type(event)(_key(event), last.text + event.text)  # type: ignore[union-attr]  # both are deltas
            self._waiting[-1] = joined
        else:
            self._waiting.append(event)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COALESCE_SECONDS, self.flush)

    def flush(self) -> None:
        """Send what is queued."""
        self._timer = None
        if self._app.backlog > _SLOW_CLIENT:
            self._timer = asyncio.get_running_loop().call_later(10 * COALESCE_SECONDS, self.flush)
            return
        events, self._waiting = self._waiting, []
        records = []
        for event in events:
            self._seq += 1
            record = {"seq": self._seq, **to_json(event)}
            if record["type"] == "messageDone" and record.get("text"):
                record["text"] = safe_markdown(record["text"])
            records.append(record)
        self.sent.extend(records)
        if records:
            self._app.notify(protocol.UPDATE, {"sessionId": self._app.session_id, "events": records})


def _key(event: TextDelta | ReasoningDelta | ToolOutput) -> str:
    return event.call_id if isinstance(event, ToolOutput) else event.message_id


def _same(a: object, b: TextDelta | ReasoningDelta | ToolOutput) -> bool:
    return isinstance(a, _DELTAS) and _key(a) == _key(b)


class RichUI:
    """Questions as requests of our protocol; the engine cancels an await to withdraw one."""

    def __init__(self, app: App, stream: UpdateStream) -> None:
        self._app = app
        self._stream = stream

    def emit(self, event: Event) -> None:
        """See SessionUI."""
        self._stream.emit(event)

    async def approve_tools(self, items: Sequence[Item], proposals: Sequence[Proposal]) -> Answers:
        """See SessionUI. The batch's calls and its files are asked about side by side."""
        asking = [i for i in items if i.needs_approval and not i.edits]
        answers = Answers()
        async with asyncio.TaskGroup() as group:
            for item in asking:
                group.create_task(self._approve(item, items, answers))
            if proposals:
                group.create_task(self._review(proposals, answers))
        return answers

    async def _approve(self, item: Item, batch: Sequence[Item], answers: Answers) -> None:
        with self._app.prompts.open("approval", item.header, item.preview, always=item.always) as prompt:
            params = {
                "promptId": prompt.id,
                "sessionId": self._app.session_id,
                "item": protocol.item_json(item),
                "batch": [protocol.item_json(i) for i in batch],
            }
            answers.decisions[item.call_id] = await self._ask(prompt, protocol.REQUEST_APPROVAL, params, _decision)

    async def _review(self, proposals: Sequence[Proposal], answers: Answers) -> None:
        """One request names all files; each is a prompt of its own, so that any can be answered from anywhere."""
        with contextlib.ExitStack() as stack:
            prompts = [
                stack.enter_context(self._app.prompts.open("edits", f"Edit {p.display}", p.diff(), proposal=p))
                for p in proposals
            ]
            files = [
                {"promptId": prompt.id, **protocol.proposal_json(p, self._app.documents)}
                for prompt, p in zip(prompts, proposals, strict=True)
            ]

            def read(answer: dict[str, Any]) -> None:
                for prompt, proposal in zip(prompts, proposals, strict=True):
                    if not prompt.answer.done():
                        prompt.resolve(_file_review(proposal, answer))

            with self._request(protocol.REVIEW_EDITS, {"sessionId": self._app.session_id, "files": files}, read):
                for prompt, proposal in zip(prompts, proposals, strict=True):
                    answers.reviews[proposal.id] = await prompt.answer

    async def review_plan(self, path: Path, text: str, call_id: str) -> PlanReview:
        """See SessionUI."""
        with self._app.prompts.open("plan", f"Plan {path.name}", text) as prompt:
            params = {
                "promptId": prompt.id,
                "sessionId": self._app.session_id,
                "callId": call_id,
                "uri": path.as_uri(),
                "text": text,
            }
            return await self._ask(prompt, protocol.REVIEW_PLAN, params, _plan_review)

    async def ask_continue(self, question: str) -> bool:
        """See SessionUI."""
        with self._app.prompts.open("continue", question, question) as prompt:
            params = {"promptId": prompt.id, "sessionId": self._app.session_id, "question": question}
            return bool(await self._ask(prompt, protocol.ASK_CONTINUE, params, lambda a: a.get("decision") == "allow"))

    async def _ask(self, prompt: Prompt, method: str, params: dict[str, Any], read: Callable[..., Any]) -> Any:
        """Wait for the request's answer or for `turnstone.answer`, whichever comes first. An error is a no."""
        with self._request(method, params, lambda answer: prompt.resolve(read(answer))):
            return await prompt.answer

    @contextlib.contextmanager
    def _request(self, method: str, params: dict[str, Any], read: Callable[[dict[str, Any]], object]) -> Iterator[None]:
        """Ask the client while the body waits; `read` gets its answer, {} for an error. Withdrawn at the end."""
        asking = asyncio.ensure_future(self._app.ask(method, params))

        def answered(task: asyncio.Task[Any]) -> None:
            if task.cancelled():
                return
            error = task.exception()
            if error is not None:
                log.warning("%s: %s", method, error)
            answer = None if error is not None else task.result()
            read(answer if isinstance(answer, dict) else {})

        asking.add_done_callback(answered)
        try:
            yield
        finally:
            asking.cancel()


def _decision(answer: dict[str, Any]) -> Decision:
    scope = answer.get("scope") if answer.get("scope") in ("session", "workspace", "user") else "once"
    grant = answer.get("grant")
    granted = frozenset(g for g in grant if isinstance(g, str)) if isinstance(grant, list) else frozenset()
    return Decision(answer.get("decision") == "allow", protocol.field(answer, "feedback", str, ""), scope, granted)


def _plan_review(answer: dict[str, Any]) -> PlanReview:
    word = answer.get("decision")
    feedback = protocol.field(answer, "feedback", str, "")
    return PlanReview(word if word in ("accept", "annotate") else "reject", feedback)


def _file_review(proposal: Proposal, answer: dict[str, Any]) -> FileReview:
    """One file's part of a client's answer; what is missing or malformed is a rejection."""
    for record in protocol.field(answer, "files", list, []):
        if isinstance(record, dict) and record.get("proposalId") == proposal.id:
            decision = record.get("decision")
            word = decision if decision in ("accept", "partial") else "reject"
            review = review_of(proposal, word, record, protocol.field(record, "feedback", str, ""))
            if record.get("appliedBy") == "none" and word != "reject":
                return FileReview(frozenset(), proposal.base.text, "none", review.feedback)
            return review
    return FileReview(frozenset(), proposal.base.text, "none", protocol.field(answer, "feedback", str, ""))
