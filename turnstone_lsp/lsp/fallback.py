"""Questions to every LSP client that does not speak our protocol.

A call is asked about in a box. A change of an open document goes to the editor's own preview where it has one;
elsewhere its hunks are decided by code lenses and code actions in the document, by a box, or both; the diff is opened
where the client can open documents. Whatever cannot be shown waits in the transcript, where it can be answered too.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.ui import Answers, Decision, FileReview, Item
from turnstone_lsp.lsp.dialog import INSTANT_SECONDS, Dialog
from turnstone_lsp.lsp.reviews import accepted, read_back, rejected
from turnstone_lsp.tools.context import PlanReview
from turnstone_lsp.workspace.uris import from_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turnstone_lsp.lsp.desk import Desk
    from turnstone_lsp.lsp.prompts import Prompt, PromptKind
    from turnstone_lsp.workspace.documents import OpenDocument
    from turnstone_lsp.workspace.proposals import Proposal

log = logging.getLogger(__name__)

_REFUSED_SECONDS = 0.5
"""How long a preview that was not applied may take to show that it was applied in part after all."""
_APPLIED_SECONDS = 2.0
"""How long one that was applied may take to arrive as the synced text."""
_REST_SECONDS = 0.3
"""How long a text must stay the same to count as what the editor made of a preview."""


class PlainUI:
    """One session's questions in plain LSP."""

    def __init__(self, desk: Desk, session_id: str, dialog: Dialog) -> None:
        self._desk = desk
        self._session_id = session_id
        self._dialog = dialog

    async def approve(self, items: Sequence[Item], batch: Sequence[Item], answers: Answers) -> None:
        """Ask about calls, one box after the other; all of them stand in the transcript at once."""
        del batch
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(self._approve(item, answers))

    async def _approve(self, item: Item, answers: Answers) -> None:
        about = "\n".join([item.preview, *(f"! {text}" for text in (*item.reasons, *item.notes))])
        no = {"Deny": Decision(approved=False)}
        yes: dict[str, Decision] = {}
        if item.always:
            yes[f"Always in this session: {item.always}"] = Decision(approved=True, scope="session")
        yes["Allow once"] = Decision(approved=True)
        with self._desk.prompts.open("tool", self._session_id, item.header, about, item=item) as prompt:
            answers.decisions[item.call_id] = await self._ask(prompt, about, no, yes)

    async def review(self, proposals: Sequence[Proposal], answers: Answers) -> None:
        """Ask about files."""
        async with asyncio.TaskGroup() as group:
            for proposal in proposals:
                group.create_task(self._review(proposal, answers))

    async def _review(self, proposal: Proposal, answers: Answers) -> None:
        document = self._desk.documents.get(proposal.path)
        refusal = self._desk.editor.can_apply() if document is not None else None
        if refusal is not None:
            answers.reviews[proposal.id] = rejected(
                proposal, f"{proposal.display} is open in the editor, and {refusal}"
            )
            return
        title = f"{'Change' if proposal.base.exists else 'Create'} {proposal.display}"
        text = "\n".join([proposal.diff(), *(f"! {note}" for note in (*proposal.must_ask, *proposal.notes))])
        uri = document.uri if document else proposal.uri
        with self._desk.prompts.open("edit", self._session_id, title, text, proposal=proposal, uri=uri) as prompt:
            answers.reviews[proposal.id] = await self._decide(proposal, document, prompt)

    async def _decide(self, proposal: Proposal, document: OpenDocument | None, prompt: Prompt) -> FileReview:
        if document is not None and self._desk.connection.client.can_confirm_edits:
            previewed = await self._preview(proposal, document, prompt)
            if previewed is not None:
                return previewed
        shown = await self._desk.show_changes(proposal)
        no, yes = {"Reject": rejected(proposal)}, {"Accept": accepted(proposal)}
        review: FileReview = await self._ask(prompt, prompt.text, no, yes, shown=shown)
        return review

    async def _preview(self, proposal: Proposal, document: OpenDocument, prompt: Prompt) -> FileReview | None:
        """The editor's own preview. None when it showed none, and the question is still to be asked."""
        label = f"turnstone: {proposal.display}"
        sending = asyncio.ensure_future(self._desk.editor.preview(document, proposal.base.text, proposal.result, label))
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            await asyncio.wait({sending, prompt.answer}, return_when=asyncio.FIRST_COMPLETED)
            if prompt.answer.done():
                review: FileReview = prompt.answer.result()
                return review
            reason = sending.result()
        finally:
            sending.cancel()
        at_once = loop.time() - started < INSTANT_SECONDS
        patience = _APPLIED_SECONDS if reason is None else _REFUSED_SECONDS
        text = await self._text_after(document, proposal, patience)
        if text == proposal.base.text and reason is not None and at_once:
            log.info("the editor did not preview %s: %s", proposal.display, reason)
            return None
        return read_back(proposal, text, applied=reason is None)

    async def _text_after(self, document: OpenDocument, proposal: Proposal, patience: float) -> str:
        """The synced text when all of the change is in it, or some of it and it has come to rest, or time is up."""
        loop = asyncio.get_running_loop()
        last, since = proposal.base.text, loop.time()
        end = since + patience
        while True:
            now = self._desk.documents.by_uri(document.uri)
            text = now.text if now is not None else document.text
            if text != last:
                last, since = text, loop.time()
            rested = text != proposal.base.text and loop.time() - since >= _REST_SECONDS
            if text == proposal.result or rested or loop.time() >= max(end, since + _REST_SECONDS):
                return text
            await asyncio.sleep(0.02)

    async def review_plan(self, path: Path, text: str, call_id: str) -> PlanReview:
        """Ask about a plan. Annotations come as feedback, by the transcript or `turnstone.answer`."""
        del call_id
        uri = from_path(path)
        no, yes = {"Reject": PlanReview("reject")}, {"Accept": PlanReview("accept")}
        with self._desk.prompts.open("plan", self._session_id, f"Plan {path.name}", text, uri=uri) as prompt:
            shown = await self._desk.connection.show_document(uri)
            review: PlanReview = await self._ask(prompt, text, no, yes, shown=shown)
            return review

    async def yes_or_no(self, kind: PromptKind, question: str) -> bool:
        """Ask whether to go on, or to trust."""
        words = {"trust": ("Do not trust", "Trust")}
        no, yes = words.get(kind, ("Stop", "Go on"))
        with self._desk.prompts.open(kind, self._session_id, question, question) as prompt:
            return bool(await self._ask(prompt, question, {no: False}, {yes: True}, patient=kind != "trust"))

    async def _ask(
        self,
        prompt: Prompt,
        text: str,
        no: dict[str, Any],
        yes: dict[str, Any],
        *,
        shown: bool = False,
        patient: bool = True,
    ) -> Any:
        async def show() -> None:
            await self._desk.show_pending(self._session_id)

        return await self._dialog.ask(prompt, text, no, yes, show=show, shown=shown, patient=patient)
