"""Questions to a client of our protocol. Each can be answered by `turnstone.answer` too; the first counts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.ui import Answers, Decision, FileReview, Item
from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.edge import ClientError, RefusedError
from turnstone_lsp.lsp.editor import PERSON_SECONDS
from turnstone_lsp.lsp.encoding import change_json, item_json
from turnstone_lsp.lsp.prompts import value_of
from turnstone_lsp.lsp.reviews import rejected
from turnstone_lsp.process.text import safe_markdown, visible
from turnstone_lsp.tools.context import PlanReview
from turnstone_lsp.workspace.uris import from_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from turnstone_lsp.lsp.desk import Desk
    from turnstone_lsp.lsp.prompts import Prompt, PromptKind
    from turnstone_lsp.workspace.proposals import Proposal

log = logging.getLogger(__name__)

_ALL_SCOPES = ["once", "session", "workspace", "user"]


class RichUI:
    """One session's questions as requests of our protocol."""

    def __init__(self, desk: Desk, session_id: str) -> None:
        self._desk = desk
        self._session_id = session_id

    async def approve(self, items: Sequence[Item], batch: Sequence[Item], answers: Answers) -> None:
        """Ask about calls, side by side."""
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(self._approve(item, batch, answers))

    async def _approve(self, item: Item, batch: Sequence[Item], answers: Answers) -> None:
        with self._desk.prompts.open("tool", self._session_id, item.header, item.preview, item=item) as prompt:
            more = {"item": item_json(item), "batch": [item_json(i) for i in batch]}
            scopes = _ALL_SCOPES if item.always else _ALL_SCOPES[:1]
            params = self._question(prompt, **more, scopes=scopes)
            answers.decisions[item.call_id] = await self._ask(
                prompt, protocol.REQUEST_APPROVAL, params, Decision(approved=False)
            )

    async def review(self, proposals: Sequence[Proposal], answers: Answers) -> None:
        """Ask about files: one request, and a question of its own for each."""
        with contextlib.ExitStack() as stack:
            prompts = [
                stack.enter_context(
                    self._desk.prompts.open(
                        "edit", self._session_id, f"Change {p.display}", p.diff(), proposal=p, uri=p.uri
                    )
                )
                for p in proposals
            ]
            save = self._desk.save_after_accept
            pairs = list(zip(prompts, proposals, strict=True))
            files = [change_json(prompt.id, p, self._desk.documents, save=save) for prompt, p in pairs]

            def read(answer: dict[str, Any]) -> None:
                for prompt, proposal in pairs:
                    if not prompt.answer.done():
                        prompt.resolve(_file_review(prompt, proposal, answer))

            params = {"sessionId": self._session_id, "files": files}
            with self._request(protocol.REVIEW_EDITS, params, read):
                for prompt, proposal in pairs:
                    answers.reviews[proposal.id] = await prompt.answer

    async def review_plan(self, path: Path, text: str, call_id: str) -> PlanReview:
        """Ask about a plan."""
        uri = from_path(path)
        with self._desk.prompts.open("plan", self._session_id, f"Plan {path.name}", text, uri=uri) as prompt:
            params = {
                "promptId": prompt.id,
                "sessionId": self._session_id,
                "callId": call_id,
                "uri": uri,
                "text": safe_markdown(text),
            }
            review: PlanReview = await self._ask(prompt, protocol.REVIEW_PLAN, params, PlanReview("reject"))
            return review

    async def yes_or_no(self, kind: PromptKind, question: str) -> bool:
        """Ask whether to go on, or to trust."""
        with self._desk.prompts.open(kind, self._session_id, question, question) as prompt:
            params = self._question(prompt, item=None, batch=[], scopes=_ALL_SCOPES[:1])
            return bool(await self._ask(prompt, protocol.REQUEST_APPROVAL, params, negative=False))

    def _question(self, prompt: Prompt, **more: Any) -> dict[str, Any]:
        return {
            "promptId": prompt.id,
            "sessionId": self._session_id,
            "kind": prompt.kind,
            "title": visible(prompt.title),
            "text": visible(prompt.text, keep="\n\t"),
            **more,
        }

    async def _ask(self, prompt: Prompt, method: str, params: dict[str, Any], negative: Any) -> Any:
        """The request's answer or the one of `turnstone.answer`, whichever is first."""
        with self._request(method, params, lambda answer: prompt.resolve(_value(prompt, answer, negative))):
            return await prompt.answer

    @contextlib.contextmanager
    def _request(self, method: str, params: dict[str, Any], read: Callable[[dict[str, Any]], object]) -> Iterator[None]:
        """Keep a request open while the body waits; it is withdrawn at the end.

        `read` gets what the client answered, {} for null. A client that fails to ask has not said no for its user:
        the questions stay open in the transcript.
        """
        self._desk.stream.flush()
        task = self._desk.connection.spawn(self._send(method, params, read))
        try:
            yield
        finally:
            task.cancel()

    async def _send(self, method: str, params: dict[str, Any], read: Callable[[dict[str, Any]], object]) -> None:
        try:
            answer = await self._desk.connection.ask(method, params, seconds=PERSON_SECONDS)
        except ClientError as error:
            log.warning("%s: %s", method, error)
            await self._desk.show_pending(self._session_id)
            return
        read(answer if isinstance(answer, dict) else {})


def _value(prompt: Prompt, answer: dict[str, Any], negative: Any) -> Any:
    """A client's answer; what cannot be understood is a no."""
    try:
        return value_of(prompt, str(answer.get("decision") or ""), answer)
    except RefusedError as error:
        log.warning("an answer to %s was taken for a no: %s", prompt.id, error)
        return negative


def _file_review(prompt: Prompt, proposal: Proposal, answer: dict[str, Any]) -> FileReview:
    """One file's part of an answer; what is missing is a rejection."""
    feedback = answer.get("feedback")
    files = answer.get("files")
    for record in files if isinstance(files, list) else ():
        if isinstance(record, dict) and record.get("promptId") == prompt.id:
            given = record if record.get("feedback") else {**record, "feedback": feedback}
            review: FileReview = _value(prompt, given, rejected(proposal))
            return review
    return rejected(proposal, feedback if isinstance(feedback, str) else "")
