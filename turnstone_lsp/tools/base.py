"""What a tool is: a pure `prepare` that says what a call would do, and an `execute` that does just that.

A tool module holds three names::

    Args                      a frozen dataclass; its fields are the JSON parameters
    async prepare(args, ctx)  -> Plan; reads, never writes, runs or sends; raises ToolError
    (the Plan's `execute`)    async (Call) -> Result; does what the preview showed; raises ToolError
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

Kind = Literal["read", "edit", "search", "execute", "fetch", "think", "other"]
"""Tool kinds of the Agent Client Protocol."""

SubjectKind = Literal["tool", "command", "path", "host"]


class Call(Protocol):
    """The running call, as `execute` sees it."""

    @property
    def id(self) -> str:
        """The call's id, unique in its session."""
        ...

    def output(self, text: str) -> None:
        """Show a piece of output as it is produced. Cheap; never blocks."""
        ...


@dataclass(frozen=True, slots=True)
class Result:
    """What a call gave: the text that the model reads."""

    text: str
    ok: bool = True
    level: str | None = None
    """The sandbox level that was in force (math), by name: L4 ... L1."""
    changed: tuple[Path, ...] = ()
    """Files that this call is known to have changed on disk behind the editor (bash)."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place that a call reads or changes; `line` is 1-based."""

    path: Path
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What a permission rule or an "always" is about.

    kind "command": text is the whole command line, prefixes the argv of each simple command of it, at any depth; empty
    when the line cannot be read in full (dynamic, redirected, with assignments), and then no rule permits it; known
    the argv of those that can be read, also then, for the rules that forbid;
    kind "path": text is the real path; kind "host": text is the A-label host name, or "host/owner" where anyone can
    publish; kind "tool": the tool itself.
    """

    kind: SubjectKind
    text: str
    prefixes: tuple[tuple[str, ...], ...] = ()
    pattern: str | None = None
    """The widest pattern that an "always" for this call may store, as shown to the user; None: no always."""
    known: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A call checked and ready to show: what it will do, and how to do it.

    `needs_approval` is the tool's own default. `must_ask` holds the reasons, if any, for which the user is asked
    even in a mode or by a rule that would allow the call (protected names, a file never read, a doubtful command).
    `block` is a reason for which the call never runs, in any mode.
    """

    header: str
    preview: str
    needs_approval: bool
    execute: Callable[[Call], Awaitable[Result]]
    kind: Kind = "other"
    subject: Subject | None = None
    locations: tuple[Location, ...] = ()
    must_ask: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Things the user should see before deciding (unsaved documents that bash does not see, a shrinking file)."""
    block: str | None = None
    edits: bool = False
    """The call staged a file change: it is approved as part of the batch's review, not as a question of its own."""
    extra: dict[str, object] = field(default_factory=dict)
