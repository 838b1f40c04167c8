"""Open questions: each can be answered from anywhere (a button, `turnstone.answer`, a code action); the first counts."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from turnstone_lsp.agent.ui import Decision, FileReview
from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.tools.context import PlanReview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from turnstone_lsp.workspace.proposals import Proposal

PromptKind = Literal["approval", "edits", "plan", "continue", "trust"]

DECISIONS: dict[PromptKind, tuple[str, ...]] = {
    "approval": ("allow", "deny"),
    "edits": ("accept", "partial", "reject"),
    "plan": ("accept", "annotate", "reject"),
    "continue": ("allow", "deny"),
    "trust": ("allow", "deny"),
}


@dataclass(slots=True)
class Prompt:
    """One open question. `answer` is resolved with the value that its asker waits for."""

    kind: PromptKind
    title: str
    text: str
    answer: asyncio.Future[Any]
    proposal: Proposal | None = None
    always: str | None = None
    chosen: dict[int, bool] = field(default_factory=dict)
    """Hunks decided one by one so far."""
    id: str = field(default_factory=lambda: f"p-{secrets.token_hex(4)}")

    def describe(self) -> dict[str, Any]:
        """For `turnstone.pending`."""
        shown = {"promptId": self.id, "kind": self.kind, "title": self.title, "text": self.text}
        return {**shown, "decisions": list(DECISIONS[self.kind]), "always": self.always}

    def resolve(self, value: Any) -> bool:
        """Answer it; False when it was answered before."""
        if self.answer.done():
            return False
        self.answer.set_result(value)
        return True


class Prompts:
    """All open questions of a client. `on_change` is called when one opens or closes."""

    def __init__(self, on_change: Callable[[], None], on_resolved: Callable[[str], None]) -> None:
        self._open: dict[str, Prompt] = {}
        self._on_change = on_change
        self._on_resolved = on_resolved

    def __iter__(self) -> Iterator[Prompt]:
        return iter(list(self._open.values()))

    def open(
        self, kind: PromptKind, title: str, text: str, *, proposal: Proposal | None = None, always: str | None = None
    ) -> AbstractContextManager[Prompt]:
        """Keep a question open for as long as the body runs."""
        from contextlib import contextmanager

        @contextmanager
        def held() -> Iterator[Prompt]:
            prompt = Prompt(kind, title, text, asyncio.get_running_loop().create_future(), proposal, always)
            self._open[prompt.id] = prompt
            self._on_change()
            try:
                yield prompt
            finally:
                del self._open[prompt.id]
                prompt.answer.cancel()
                self._on_resolved(prompt.id)
                self._on_change()

        return held()

    def for_path(self, path: object) -> list[Prompt]:
        """Reviews of one file."""
        return [p for p in self if p.proposal is not None and p.proposal.path == path]

    def answer(self, prompt_id: str, decision: str, **given: Any) -> bool:
        """Answer a question by its id; False when it is not open any more. Raises TurnstoneError for a wrong decision.

        given: feedback, scope, hunks (accepted indexes), text (an edited result).
        """
        prompt = self._open.get(prompt_id)
        if prompt is None:
            return False
        allowed = DECISIONS[prompt.kind]
        if decision not in allowed:
            raise TurnstoneError(f"'{decision}' is no answer to {prompt_id}; it takes {', '.join(allowed)}.")
        return prompt.resolve(_value(prompt, decision, given))

    def decide_hunk(self, prompt_id: str, index: int, *, accept: bool) -> bool:
        """Decide one hunk; the question is answered when all are decided."""
        prompt = self._open.get(prompt_id)
        if prompt is None or prompt.proposal is None or not 0 <= index < len(prompt.proposal.hunks):
            return False
        prompt.chosen[index] = accept
        if len(prompt.chosen) == len(prompt.proposal.hunks):
            chosen = [i for i, yes in prompt.chosen.items() if yes]
            return self.answer(prompt_id, "partial", hunks=chosen)
        self._on_change()
        return True


def _value(prompt: Prompt, decision: str, given: dict[str, Any]) -> Any:
    feedback = str(given.get("feedback") or "")
    if prompt.kind == "plan":
        word: Literal["accept", "reject", "annotate"] = decision  # type: ignore[assignment]  # checked by the caller
        return PlanReview(word, feedback)
    if prompt.kind in ("continue", "trust"):
        return decision == "allow"
    if prompt.kind == "approval":
        scope = given.get("scope") if given.get("scope") in ("session", "workspace", "user") else "once"
        return Decision(decision == "allow", feedback, scope, frozenset(given.get("grant") or ()))
    return review_of(prompt.proposal, decision, given, feedback)


def review_of(proposal: Proposal | None, decision: str, given: dict[str, Any], feedback: str) -> FileReview:
    """A review from a decision: accept all, some hunks or an edited text, or reject."""
    if proposal is None:
        raise TurnstoneError("This question is about no file.")
    everything = frozenset(range(len(proposal.hunks)))
    applied = given.get("appliedBy")
    applied_by: Literal["client", "server"] = "client" if applied == "client" else "server"
    if decision == "accept":
        return FileReview(everything, proposal.result, applied_by, feedback)
    if decision == "reject":
        return FileReview(frozenset(), proposal.base.text, "none", feedback)
    if isinstance(given.get("text"), str):
        text = given["text"]
        hunks = given.get("hunks")
        chosen = frozenset(hunks) & everything if isinstance(hunks, list) else None
        if chosen is not None and proposal.with_hunks(chosen) != text:
            chosen = None
        return FileReview(chosen, text, applied_by if text != proposal.base.text else "none", feedback)
    chosen = frozenset(i for i in given.get("hunks") or () if isinstance(i, int)) & everything
    return FileReview(chosen, proposal.with_hunks(chosen), applied_by if chosen else "none", feedback)
