"""SessionUI on a terminal: live text, diffs in colour, y / n / always / feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnstone_lsp.agent.events import (
    Event,
    MessageDone,
    Notice,
    ReasoningDelta,
    StateChanged,
    TextDelta,
    ToolCallUpdate,
    ToolOutput,
)
from turnstone_lsp.agent.ui import Answers, Decision, FileReview, Item
from turnstone_lsp.process.text import visible
from turnstone_lsp.tools.context import PlanReview

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turnstone_lsp.cli.console import Console
    from turnstone_lsp.workspace.proposals import Proposal

_YES = frozenset({"y", "yes"})
_NO = frozenset({"", "n", "no"})
_ALWAYS = frozenset({"a", "always"})
NOBODY = "Nobody can be asked here; run it with --yes to approve everything that no rule forbids."


class TerminalUI:
    """Shows a turn on a terminal and asks there. Without a terminal every question is answered no."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._midline = False

    # -- events

    def emit(self, event: Event) -> None:
        """See SessionUI."""
        match event:
            case TextDelta(text=text):
                self._write(visible(text, keep="\n\t"))
            case MessageDone(discarded=True):
                self._line(self._console.style("[what stands above was cut off and is void]", "yellow"))
            case MessageDone():
                self._end_line()
            case ReasoningDelta():
                pass
            case ToolCallUpdate():
                self._tool(event)
            case ToolOutput(text=text):
                self._line(
                    self._console.style("  " + visible(text.rstrip("\n"), keep="\n\t").replace("\n", "\n  "), "dim")
                )
            case Notice(text=text, level=level):
                self._line(self._console.style(text, "yellow" if level != "info" else "dim"))
            case StateChanged(state="idle", message=message) if message:
                self._line(self._console.style(message, "red"))
            case _:
                pass

    def _tool(self, event: ToolCallUpdate) -> None:
        mark = "  " if event.parent_call_id else ""
        if event.status == "pending":
            why = f"  ({event.approved_because})" if event.approved_because else ""
            self._line(self._console.style(f"{mark}● {visible(event.header)}{why}", "cyan"))
        elif event.status in ("failed", "cancelled") and event.result:
            self._line(self._console.style(f"{mark}✗ {visible(event.result, keep=chr(10))}", "red"))

    def _write(self, text: str) -> None:
        self._console.answer(text)
        self._midline = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._midline:
            self._console.answer("\n")
            self._midline = False

    def _line(self, text: str) -> None:
        self._end_line()
        self._console.note(text)

    # -- questions

    async def approve_tools(self, items: Sequence[Item], proposals: Sequence[Proposal]) -> Answers:
        """See SessionUI."""
        answers = Answers()
        if not self._console.interactive:
            for item in items:
                answers.decisions[item.call_id] = Decision(approved=not item.needs_approval, feedback=NOBODY)
            for proposal in proposals:
                answers.reviews[proposal.id] = FileReview(frozenset(), proposal.base.text, "none", NOBODY)
            return answers
        for item in items:
            if item.needs_approval and not item.edits:
                answers.decisions[item.call_id] = await self._ask_item(item)
        for proposal in proposals:
            answers.reviews[proposal.id] = await self._ask_proposal(proposal)
        return answers

    async def _ask_item(self, item: Item) -> Decision:
        self._line(self._console.style(visible(item.header), "bold"))
        self._console.note(visible(item.preview, keep="\n\t"))
        for reason in (*item.reasons, *item.notes):
            self._console.note(self._console.style(f"! {visible(reason)}", "yellow"))
        always = f" / a = always in this session ({visible(item.always)})" if item.always else ""
        said = await self._console.ask(f"Run it? y / n{always} / or type what to do instead: ")
        if said is None:
            return Decision(approved=False, feedback=NOBODY)
        word, _, rest = said.strip().partition(" ")
        if word.rstrip(",").lower() in _YES:
            return Decision(approved=True, feedback=rest.strip())
        if item.always and said.strip().lower() in _ALWAYS:
            return Decision(approved=True, scope="session")
        return Decision(approved=False, feedback="" if said.strip().lower() in _NO else _without_no(said))

    async def _ask_proposal(self, proposal: Proposal) -> FileReview:
        self._end_line()
        self._console.diff(visible(proposal.diff(), keep="\n\t"))
        for note in (*proposal.must_ask, *proposal.notes):
            self._console.note(self._console.style(f"! {visible(note)}", "yellow"))
        count = len(proposal.hunks)
        some = " / s = choose hunks" if count > 1 else ""
        said = await self._console.ask(
            f"Apply to {visible(str(proposal.path))}? y / n{some} / or type what to do instead: "
        )
        if said is None:
            return FileReview(frozenset(), proposal.base.text, "none", NOBODY)
        word, _, rest = said.strip().partition(" ")
        if word.rstrip(",").lower() in _YES:
            return FileReview(frozenset(range(count)), proposal.result, feedback=rest.strip())
        if some and word.lower() == "s":
            return await self._ask_hunks(proposal)
        feedback = "" if said.strip().lower() in _NO else _without_no(said)
        return FileReview(frozenset(), proposal.base.text, "none", feedback)

    async def _ask_hunks(self, proposal: Proposal) -> FileReview:
        accepted = set()
        for index in range(len(proposal.hunks)):
            self._console.diff(visible(proposal.hunk_diff(index), keep="\n\t"))
            said = await self._console.ask(f"Hunk {index + 1} of {len(proposal.hunks)}: y / n: ")
            if said is not None and said.strip().lower() in _YES:
                accepted.add(index)
        chosen = frozenset(accepted)
        return FileReview(chosen, proposal.with_hunks(chosen), "server" if chosen else "none")

    async def review_plan(self, path: Path, text: str, call_id: str) -> PlanReview:
        """See SessionUI."""
        del call_id
        self._line(visible(text, keep="\n\t"))
        said = await self._console.ask(f"The plan is in {path}. y = accept / n = reject / or type your annotations: ")
        if said is None:
            return PlanReview("reject", NOBODY)
        word, _, rest = said.strip().partition(" ")
        if word.rstrip(",").lower() in _YES:
            return PlanReview("accept", rest.strip())
        if word.rstrip(",").lower() in ("n", "no", ""):
            return PlanReview("reject", rest.strip())
        return PlanReview("annotate", said.strip())

    async def ask_continue(self, question: str) -> bool:
        """See SessionUI."""
        self._end_line()
        said = await self._console.ask(f"{question} y / n: ")
        return said is not None and said.strip().lower() in _YES


def _without_no(said: str) -> str:
    """Take the no away: of "n, use the other file" stays "use the other file"."""
    word, _, rest = said.strip().partition(" ")
    return rest.strip() if word.rstrip(",").lower() in ("n", "no") else said.strip()
