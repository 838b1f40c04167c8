"""Proposals: pending changes of files. Nothing of them is on disk or in a buffer before the user says so."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from turnstone_lsp.workspace import hunks

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from turnstone_lsp.workspace.hunks import Hunk
    from turnstone_lsp.workspace.snapshot import Snapshot


@dataclass(frozen=True)
class Step:
    """What one call adds to a proposal. about: for the model, once applied ("line 12, matched by indentation")."""

    call_id: str
    about: str
    before: str
    after: str


@dataclass(frozen=True)
class Proposal:
    """The change of one file by all calls of one batch: one review.

    base: the text that it was made on, to which the approval is bound; result: the text if all of it is accepted;
    must_ask: why it is asked about in every mode; notes: what the user should see before deciding.
    """

    id: str
    path: Path
    display: str
    base: Snapshot
    result: str
    steps: tuple[Step, ...] = ()
    must_ask: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def uri(self) -> str:
        """The file's URI."""
        return self.path.as_uri()

    @property
    def call_ids(self) -> tuple[str, ...]:
        """The calls that made it, in order."""
        return tuple(step.call_id for step in self.steps)

    @cached_property
    def base_lines(self) -> list[str]:
        """The base as lines with their ends."""
        return hunks.lines_of(self.base.text)

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """The places that change."""
        return hunks.between(self.base_lines, hunks.lines_of(self.result))

    def with_hunks(self, accepted: Collection[int]) -> str:
        """The text with some of the hunks. All of them give `result`, none the base."""
        return hunks.apply(self.base_lines, self.hunks, accepted)

    def diff(self) -> str:
        """The whole change as a unified diff."""
        old = self.display if self.base.exists else "/dev/null"
        return hunks.unified(self.base_lines, self.hunks, old, self.display)

    def hunk_diff(self, index: int) -> str:
        """One hunk as a unified diff."""
        return hunks.unified(self.base_lines, [self.hunks[index]], self.display, self.display)

    @property
    def counts(self) -> tuple[int, int]:
        """(lines added, lines removed)"""
        return sum(len(h.new) for h in self.hunks), sum(len(h.old) for h in self.hunks)


@dataclass(slots=True)
class Staging:
    """The changes of one batch, one proposal for each file, each later call on top of the earlier ones."""

    _proposals: dict[Path, Proposal] = field(default_factory=dict)

    def current(self, path: Path) -> Proposal | None:
        """What is pending for a file."""
        return self._proposals.get(path)

    def stage(
        self,
        base: Snapshot,
        display: str,
        result: str,
        *,
        call_id: str,
        about: str,
        must_ask: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> Proposal:
        """Add one call's change. `base` counts only for the first call on the file. Returns that call's own change."""
        before = self._proposals.get(base.path)
        text = before.result if before else base.text
        step = Step(call_id, about, text, result)
        old = before or Proposal(secrets.token_hex(6), base.path, display, base, base.text)
        whole = replace(
            old,
            result=result,
            steps=(*old.steps, step),
            must_ask=tuple(dict.fromkeys((*old.must_ask, *must_ask))),
            notes=tuple(dict.fromkeys((*old.notes, *notes))),
        )
        self._proposals[base.path] = whole
        return replace(whole, base=replace(whole.base, text=text), steps=(step,))

    def drop(self, call_id: str) -> None:
        """Take back the newest call's change: it was denied before anyone was asked."""
        for path, proposal in self._proposals.items():
            if proposal.steps[-1].call_id != call_id:
                continue
            rest = proposal.steps[:-1]
            if rest:
                self._proposals[path] = replace(proposal, result=proposal.steps[-1].before, steps=rest)
            else:
                del self._proposals[path]
            return

    def proposals(self) -> list[Proposal]:
        """The pending changes, in the order in which their files were first named."""
        return list(self._proposals.values())
