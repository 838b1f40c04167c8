"""Proposals: pending changes of files. Nothing of them is on disk or in a buffer before the user says so."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from turnstone_lsp.workspace import hunks, uris

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from turnstone_lsp.workspace.hunks import Change, Hunk
    from turnstone_lsp.workspace.snapshot import Snapshot


@dataclass(frozen=True)
class Step:
    """What one call adds to a proposal.

    edit: the range of the text before this call, and its replacement; about: what the model is told once the change is
    in the file ("matched by indentation"); must_ask, notes: as in Proposal; line: the line, from 1, of the edit.
    """

    call_id: str
    edit: Change
    about: str = ""
    must_ask: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    line: int = 1


@dataclass(frozen=True)
class Proposal:
    """The change of one file by all calls of one batch: one review.

    path: the real path; display: how it is shown; base: the text that the change is made on and the approval is bound
    to; steps: one for each call, each on top of the one before.
    """

    id: str
    path: Path
    display: str
    base: Snapshot
    steps: tuple[Step, ...] = ()

    @property
    def uri(self) -> str:
        """The file's URI."""
        return uris.from_path(self.path)

    @property
    def call_ids(self) -> tuple[str, ...]:
        """The calls that made it, in order."""
        return tuple(step.call_id for step in self.steps)

    @property
    def must_ask(self) -> tuple[str, ...]:
        """Why the user is asked about it in every mode."""
        return tuple(dict.fromkeys(reason for step in self.steps for reason in step.must_ask))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should see before deciding."""
        return tuple(dict.fromkeys(note for step in self.steps for note in step.notes))

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What changes in the base, by characters."""
        changes: tuple[Change, ...] = ()
        for step in self.steps:
            changes = hunks.compose(self.base.text, changes, replace(step.edit, calls=frozenset({step.call_id})))
        return changes

    @cached_property
    def result(self) -> str:
        """The text when all of it is accepted."""
        return hunks.apply_changes(self.base.text, self.changes)

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """What changes in the base, by lines. Empty for an empty new file."""
        first = self.steps[0]
        start = hunks.line_start(self.base.text, first.edit.start) if first.line > 1 else 0
        return hunks.hunks_of(self.base.text, self.changes, (start, first.line - 1))

    def with_hunks(self, accepted: Collection[int]) -> str:
        """The text with some of the hunks, by index. All of them give `result`, none the base."""
        if len(set(accepted)) == len(self.hunks):
            return self.result
        return hunks.apply_hunks(self.base.text, self.hunks, accepted)

    def diff(self) -> str:
        """The whole change as a unified diff, never cut."""
        old = self.display if self.base.exists else "/dev/null"
        return hunks.unified(self.base.text, self.hunks, old, self.display) or f"+++ {self.display} (empty)"

    def hunk_diff(self, index: int) -> str:
        """One hunk as a unified diff."""
        return hunks.unified(self.base.text, [self.hunks[index]], self.display, self.display)

    @property
    def counts(self) -> tuple[int, int]:
        """(lines added, lines removed)."""
        return sum(len(h.new) for h in self.hunks), sum(len(h.old) for h in self.hunks)

    def line_now(self, line: int) -> int:
        """Where a line of the base (1-based) is in the result: what a call that counts in the base means."""
        moved = sum(len(h.new) - len(h.old) for h in self.hunks if h.end <= line - 1)
        return line + moved

    def step_alone(self, call_id: str) -> Proposal:
        """One call's own change, on top of the calls before it: what its preview shows."""
        if len(self.steps) == 1:
            return self
        index = self.call_ids.index(call_id)
        before = replace(self, steps=self.steps[:index])
        base = self.base if index == 0 else replace(self.base, text=before.result, exists=True)
        return replace(self, base=base, steps=(self.steps[index],))


@dataclass(slots=True)
class Staging:
    """The changes of one batch: one proposal for each file, each later call on top of the earlier ones."""

    _proposals: dict[Path, Proposal] = field(default_factory=dict)

    def current(self, path: Path) -> Proposal | None:
        """What is pending for a file."""
        return self._proposals.get(path)

    def stage(self, base: Snapshot, display: str, step: Step) -> Proposal:
        """Add one call's change, which is made on `current(path).result`, or on the base if nothing is pending.

        Returns the file's whole proposal.
        """
        pending = self._proposals.get(base.path) or Proposal(secrets.token_hex(6), base.path, display, base)
        whole = self._proposals[base.path] = replace(pending, steps=(*pending.steps, step))
        return whole

    def drop(self, call_id: str) -> None:
        """Take back the newest call's change: it was denied before anyone was asked."""
        for path, proposal in tuple(self._proposals.items()):
            if proposal.call_ids[-1] == call_id:
                if len(proposal.steps) > 1:
                    self._proposals[path] = replace(proposal, steps=proposal.steps[:-1])
                else:
                    del self._proposals[path]

    def done(self, proposal: Proposal) -> None:
        """A proposal was decided: its texts need not be kept."""
        if self._proposals.get(proposal.path) is proposal:
            del self._proposals[proposal.path]

    def proposals(self) -> list[Proposal]:
        """The pending changes, in the order in which their files were first named."""
        return list(self._proposals.values())
