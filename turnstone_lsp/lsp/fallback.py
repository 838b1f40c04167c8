"""SessionUI for every LSP client without our protocol: questions by showMessageRequest, edits as previews.

The first answer on offer is always harmless. No answer is ever taken for a yes; where the client cannot ask, the
question stays open in the transcript and is answered there, by code actions or by `turnstone.answer`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.ui import Answers, Decision, FileReview, Item
from turnstone_lsp.lsp.edge import ClientError
from turnstone_lsp.process.text import visible
from turnstone_lsp.tools.context import PlanReview
from turnstone_lsp.workspace import hunks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turnstone_lsp.agent.events import Event
    from turnstone_lsp.lsp.app import App
    from turnstone_lsp.lsp.prompts import Prompt
    from turnstone_lsp.workspace.proposals import Proposal

log = logging.getLogger(__name__)

DETAILS = "Show details"
_INSTANT_SECONDS = 0.05
"""A null that comes faster than this was not given by a person (faults.md 83)."""
_MESSAGE_LIMIT = 400


class PlainUI:
    """Questions and previews in plain LSP."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._showing = asyncio.Lock()
        """One question on the screen at a time."""

    def emit(self, event: Event) -> None:
        """See SessionUI. Progress and transcript are the App's."""

    async def approve_tools(self, items: Sequence[Item], proposals: Sequence[Proposal]) -> Answers:
        """See SessionUI."""
        answers = Answers()
        async with asyncio.TaskGroup() as group:
            for item in items:
                if item.needs_approval and not item.edits:
                    group.create_task(self._approve(item, answers))
            for proposal in proposals:
                group.create_task(self._review(proposal, answers))
        return answers

    async def _approve(self, item: Item, answers: Answers) -> None:
        about = "\n".join([item.preview, *(f"! {text}" for text in (*item.reasons, *item.notes))])
        with self._app.prompts.open("approval", item.header, about, always=item.always) as prompt:
            choices: dict[str, Any] = {"Deny": Decision(approved=False)}
            if item.always:
                choices[f"Always in this session: {item.always}"] = Decision(approved=True, scope="session")
            choices["Allow once"] = Decision(approved=True)
            answers.decisions[item.call_id] = await self._ask(prompt, about, choices, Decision(approved=False))

    async def _review(self, proposal: Proposal, answers: Answers) -> None:
        rejected = FileReview(frozenset(), proposal.base.text, "none")
        document = self._app.documents.get(proposal.path)
        if document is not None and (refusal := self._app.editor.can_apply()) is not None:
            text = f"{proposal.display} is open in the editor, and {refusal}"
            answers.reviews[proposal.id] = FileReview(frozenset(), proposal.base.text, "none", text)
            return
        with self._app.prompts.open("edits", f"Edit {proposal.display}", proposal.diff(), proposal=proposal) as prompt:
            if document is not None and self._app.client.can_confirm_edits:
                await self._preview(proposal, prompt)
            if not prompt.answer.done():
                await self._app.show_diff(proposal)
                added, removed = proposal.counts
                about = f"{proposal.display}: +{added} -{removed} lines"
                everything = FileReview(frozenset(range(len(proposal.hunks))), proposal.result)
                choices = {"Reject": rejected, "Accept": everything}
                prompt.resolve(await self._ask(prompt, about, choices, rejected))
            answers.reviews[proposal.id] = prompt.answer.result()

    async def _preview(self, proposal: Proposal, prompt: Prompt) -> None:
        """The editor's own preview: whatever it answers, the text says what the user confirmed."""
        document = self._app.documents.get(proposal.path)
        if document is None:
            return
        label = f"turnstone: {proposal.display}"
        sending = asyncio.ensure_future(self._app.editor.preview(document, proposal.base.text, proposal.result, label))
        try:
            await asyncio.wait({sending, prompt.answer}, return_when=asyncio.FIRST_COMPLETED)
            if prompt.answer.done():
                return
            await asyncio.sleep(0.2)  # the change notification may follow the answer
            reason = sending.result()
            now = self._app.documents.by_uri(document.uri)
            text = now.text if now is not None else proposal.base.text
            if text == proposal.base.text and reason is not None:
                log.info("the editor showed no preview of %s: %s", proposal.display, reason)
            prompt.resolve(read_back(proposal, text))
        finally:
            sending.cancel()

    async def review_plan(self, path: Path, text: str, call_id: str) -> PlanReview:
        """See SessionUI. Annotations come by `turnstone.answer`, or as edits of the plan file itself."""
        del call_id
        with self._app.prompts.open("plan", f"Plan {path.name}", text) as prompt:
            await self._app.show_document(path.as_uri())
            choices = {"Reject": PlanReview("reject"), "Accept": PlanReview("accept")}
            answer: PlanReview = await self._ask(prompt, f"The plan is in {path.name}.", choices, PlanReview("reject"))
            return answer

    async def ask_continue(self, question: str) -> bool:
        """See SessionUI."""
        return await self._yes_or_no("continue", question, "Go on", "Stop")

    async def ask_trust(self, question: str) -> bool:
        """Whether the workspace is trusted. A client that cannot ask does not hold up the turn: it is not."""
        with self._app.prompts.open("trust", question, question) as prompt:
            chosen = await self._message(question, [DETAILS, "Do not trust", "Trust"])
            return chosen == "Trust" or (prompt.answer.done() and bool(prompt.answer.result()))

    async def _yes_or_no(self, kind: Any, question: str, yes: str, no: str) -> bool:
        with self._app.prompts.open(kind, question, question) as prompt:
            return bool(await self._ask(prompt, question, {no: False, yes: True}, dismissed=False))

    async def _ask(self, prompt: Prompt, text: str, choices: dict[str, Any], dismissed: Any) -> Any:
        """The value of the chosen action, or what `turnstone.answer` gave meanwhile; `dismissed` for a closed box."""
        asking = asyncio.ensure_future(self._buttons(prompt, text, choices, dismissed))
        try:
            await asyncio.wait({asking, prompt.answer}, return_when=asyncio.FIRST_COMPLETED)
            if prompt.answer.done():
                return prompt.answer.result()
            return asking.result()
        finally:
            asking.cancel()

    async def _buttons(self, prompt: Prompt, text: str, choices: dict[str, Any], dismissed: Any) -> Any:
        async with self._showing:
            while True:
                chosen = await self._message(f"{prompt.title}\n{text}", [DETAILS, *choices])
                if chosen == DETAILS:
                    await self._app.show_pending()
                    continue
                if chosen in choices:
                    return choices[chosen]
                if chosen == "":
                    return dismissed
                break
        await self._app.show_pending()  # this client cannot ask: the question waits in the transcript
        return await asyncio.shield(prompt.answer)

    async def _message(self, text: str, actions: list[str]) -> str | None:
        """The title of the chosen action; "" when the user closed the question; None when the client cannot ask."""
        shown = visible(text, keep="\n\t")
        if len(shown) > _MESSAGE_LIMIT:
            shown = shown[:_MESSAGE_LIMIT] + f"\n… ('{DETAILS}' has all of it)"
        params = {"type": 3, "message": shown, "actions": [{"title": title} for title in actions]}
        started = asyncio.get_running_loop().time()
        try:
            answer = await self._app.protocol.ask("window/showMessageRequest", params, seconds=None)
        except ClientError as error:
            log.info("the client cannot ask: %s", error)
            return None
        if answer is None:
            quick = asyncio.get_running_loop().time() - started < _INSTANT_SECONDS
            return None if quick else ""
        title = answer.get("title") if isinstance(answer, dict) else None
        return title if isinstance(title, str) and title in actions else ""


def read_back(proposal: Proposal, text: str) -> FileReview:
    """What a preview came to, read from the text alone."""
    if text == proposal.base.text:
        return FileReview(frozenset(), text, "none")
    if text == proposal.result:
        return FileReview(frozenset(range(len(proposal.hunks))), text, "client")
    now = {(h.start, h.end, h.new) for h in hunks.between(proposal.base.text, text)}
    chosen = frozenset(i for i, h in enumerate(proposal.hunks) if (h.start, h.end, h.new) in now)
    with contextlib.suppress(ValueError):
        if proposal.with_hunks(chosen) == text:
            return FileReview(chosen, text, "client")
    return FileReview(None, text, "client")
