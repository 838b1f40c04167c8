"""SessionUI for scripts: the event stream as JSON lines on stdout. Nobody can be asked: questions are answered no."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.ui import Answers, Decision, FileReview, Item
from turnstone_lsp.agent.wire import to_json
from turnstone_lsp.cli.terminal import NOBODY
from turnstone_lsp.tools.context import PlanReview

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turnstone_lsp.agent.events import Event
    from turnstone_lsp.workspace.proposals import Proposal


def print_line(record: dict[str, Any]) -> None:
    """One JSON object on one line of stdout, flushed."""
    sys.stdout.write(json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace").decode() + "\n")
    sys.stdout.flush()


class JsonUI:
    """Prints every event; denies every question, saying how to allow it."""

    def __init__(self, *, silent: bool = False) -> None:
        self._silent = silent

    def emit(self, event: Event) -> None:
        """See SessionUI."""
        if not self._silent:
            print_line(to_json(event))

    async def approve_tools(self, items: Sequence[Item], proposals: Sequence[Proposal]) -> Answers:
        """See SessionUI."""
        decisions = {i.call_id: Decision(approved=not i.needs_approval, feedback=NOBODY) for i in items}
        reviews = {p.id: FileReview(frozenset(), p.base.text, "none", NOBODY) for p in proposals}
        return Answers(decisions, reviews)

    async def review_plan(self, path: Path, text: str, call_id: str) -> PlanReview:
        """See SessionUI."""
        del path, text, call_id
        return PlanReview("reject", NOBODY)

    async def ask_continue(self, question: str) -> bool:
        """See SessionUI."""
        del question
        return False
