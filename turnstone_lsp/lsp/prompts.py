"""Open questions. Each can be answered from anywhere: a button, a lens, `turnstone.answer`. The first counts."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from turnstone_lsp.agent.ui import Decision
from turnstone_lsp.lsp.edge import RefusedError
from turnstone_lsp.lsp.reviews import review_of
from turnstone_lsp.process.text import visible
from turnstone_lsp.tools.context import PlanReview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from turnstone_lsp.agent.ui import Item
    from turnstone_lsp.workspace.proposals import Proposal

PromptKind = Literal["tool", "edit", "plan", "continue", "trust"]

DECISIONS: dict[PromptKind, tuple[str, ...]] = {
    "tool": ("deny", "allow"),
    "edit": ("reject", "accept", "partial"),
    "plan": ("reject", "accept", "annotate"),
    "continue": ("deny", "allow"),
    "trust": ("deny", "allow"),
}
_YES = frozenset({"allow", "accept", "approve", "yes"})
_NO = frozenset({"deny", "reject", "decline", "no"})
_SCOPES = ("once", "session", "workspace", "user")


@dataclass(slots=True, eq=False)
class Prompt:
    """One open question. `answer` gets the value that its asker waits for."""

    kind: PromptKind
    session_id: str
    title: str
    text: str
    answer: asyncio.Future[Any]
    item: Item | None = None
    proposal: Proposal | None = None
    uri: str | None = None
    chosen: dict[int, bool] = field(default_factory=dict)
    """Hunks that were decided one by one so far."""
    id: str = field(default_factory=lambda: f"p-{secrets.token_hex(4)}")

    @property
    def always(self) -> str | None:
        """What an answer for more than once would allow."""
        return self.item.always if self.item else None

    def describe(self) -> dict[str, Any]:
        """The protocol's Prompt record."""
        return {
            "promptId": self.id,
            "sessionId": self.session_id,
            "kind": self.kind,
            "title": visible(self.title),
            "text": visible(self.text, keep="\n\t"),
            "decisions": list(DECISIONS[self.kind]),
            "callId": self.item.call_id if self.item else None,
            "uri": self.uri,
            "always": self.always,
        }

    def resolve(self, value: Any) -> bool:
        """Answer it; False when it was answered before."""
        if self.answer.done():
            return False
        self.answer.set_result(value)
        return True


class Prompts:
    """All open questions of a connection."""

    def __init__(self, on_change: Callable[[Prompt], None], on_resolved: Callable[[Prompt], None]) -> None:
        self._open: dict[str, Prompt] = {}
        self._on_change = on_change
        self._on_resolved = on_resolved

    def __iter__(self) -> Iterator[Prompt]:
        return iter(list(self._open.values()))

    def of(self, session_id: str) -> list[Prompt]:
        """A session's questions."""
        return [p for p in self if p.session_id == session_id]

    def for_path(self, path: Path | None) -> list[Prompt]:
        """Reviews of one file."""
        return [p for p in self if path is not None and p.proposal is not None and p.proposal.path == path]

    def get(self, prompt_id: str) -> Prompt | None:
        """An open question."""
        return self._open.get(prompt_id)

    @contextlib.contextmanager
    def open(
        self,
        kind: PromptKind,
        session_id: str,
        title: str,
        text: str,
        *,
        item: Item | None = None,
        proposal: Proposal | None = None,
        uri: str | None = None,
    ) -> Iterator[Prompt]:
        """Keep a question open for as long as the body runs; whatever ends the body withdraws it."""
        answer = asyncio.get_running_loop().create_future()
        prompt = Prompt(kind, session_id, title, text, answer, item, proposal, uri)
        self._open[prompt.id] = prompt
        self._on_change(prompt)
        try:
            yield prompt
        finally:
            del self._open[prompt.id]
            prompt.answer.cancel()
            self._on_resolved(prompt)
            self._on_change(prompt)

    def answer(self, prompt_id: str, decision: str, given: dict[str, Any]) -> bool:
        """Answer a question by its id; False when it is not open any more.

        given: feedback, scope, grant, hunks, hunk, rest, text, appliedBy. Raises RefusedError for what does not fit.
        """
        prompt = self._open.get(prompt_id)
        if prompt is None or prompt.answer.done():
            return False
        if "hunk" in given:
            return self._decide_hunk(prompt, given["hunk"], accept=canonical(prompt, decision) == "accept")
        if given.get("rest") is True and prompt.proposal is not None:
            return self._decide_rest(prompt, accept=canonical(prompt, decision) == "accept")
        return prompt.resolve(value_of(prompt, decision, given))

    def _decide_hunk(self, prompt: Prompt, index: int, *, accept: bool) -> bool:
        """Decide one hunk; the question is answered when all are decided."""
        count = len(prompt.proposal.hunks) if prompt.proposal else 0
        if not 0 <= index < count:
            raise RefusedError(f"'hunk': {prompt.id} has {count} hunks, counted from 0; there is no hunk {index}.")
        prompt.chosen[index] = accept
        return self._settle(prompt)

    def _decide_rest(self, prompt: Prompt, *, accept: bool) -> bool:
        """Decide every hunk that is not decided yet."""
        count = len(prompt.proposal.hunks) if prompt.proposal else 0
        if not prompt.chosen:
            return prompt.resolve(value_of(prompt, "accept" if accept else "reject", {}))
        for index in range(count):
            prompt.chosen.setdefault(index, accept)
        return self._settle(prompt)

    def _settle(self, prompt: Prompt) -> bool:
        if prompt.proposal and len(prompt.chosen) < len(prompt.proposal.hunks):
            self._on_change(prompt)
            return True
        hunks = [index for index, accepted in prompt.chosen.items() if accepted]
        return prompt.resolve(value_of(prompt, "partial", {"hunks": hunks}))


def canonical(prompt: Prompt, decision: str) -> str:
    """The decision in the words of the question's kind; a plain yes or no is understood by all."""
    word = decision.strip().lower()
    allowed = DECISIONS[prompt.kind]
    if word in _YES:
        word = "allow" if "allow" in allowed else "accept"
    elif word in _NO:
        word = allowed[0]
    if word not in allowed:
        raise RefusedError(f"'decision': '{decision}' is no answer to {prompt.id}; it takes {', '.join(allowed)}.")
    return word


def value_of(prompt: Prompt, decision: str, given: dict[str, Any]) -> Any:
    """What the asker gets for a decision: Decision, FileReview, PlanReview, or bool for continue and trust."""
    word = canonical(prompt, decision)
    feedback = given.get("feedback")
    said = feedback if isinstance(feedback, str) else ""
    match prompt.kind:
        case "plan":
            if word == "annotate" and not said.strip():
                raise RefusedError("'feedback': to annotate a plan, give the annotations as feedback.")
            return PlanReview(word, said)  # type: ignore[arg-type]  # canonical() gives the plan's own words
        case "continue" | "trust":
            return word == "allow"
        case "tool":
            return _decision(word == "allow", said, given)
        case "edit" if prompt.proposal is not None:
            return review_of(prompt.proposal, word, given, said)
    raise AssertionError(f"an edit prompt without its proposal: {prompt.id}")


def _decision(approved: bool, feedback: str, given: dict[str, Any]) -> Decision:
    scope, grant = given.get("scope"), given.get("grant")
    tools = frozenset(g for g in grant if isinstance(g, str)) if isinstance(grant, list) else frozenset()
    return Decision(approved, feedback, scope if scope in _SCOPES else "once", tools if approved else frozenset())
