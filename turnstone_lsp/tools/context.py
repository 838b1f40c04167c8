"""ToolContext: what a tool may ask of the session that runs it. `agent` implements it, so imports run one way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.config import Settings
    from turnstone_lsp.memory.store import Store
    from turnstone_lsp.sandbox.html import HtmlChild
    from turnstone_lsp.sandbox.math_host import MathHost
    from turnstone_lsp.tools.base import Call
    from turnstone_lsp.workspace.view import Workspace

AgentKind = Literal["task", "plan"]


@dataclass(frozen=True, slots=True)
class PlanReview:
    """The user's answer at the plan's review gate."""

    decision: Literal["accept", "reject", "annotate"]
    feedback: str = ""


class ToolContext(Protocol):
    """The session behind a call. One per session; sub-agents have their own."""

    @property
    def session_id(self) -> str:
        """The id of the top-level session, also for its sub-agents."""
        ...

    @property
    def call_id(self) -> str:
        """The id of the call that this context was handed to (what a staged change belongs to)."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        ...

    @property
    def workspace(self) -> Workspace:
        """Files as the editor sees them, and this batch's staged changes."""
        ...

    @property
    def store(self) -> Store:
        """Memories and past conversations."""
        ...

    @property
    def math(self) -> MathHost:
        """The math host, started on first use."""
        ...

    @property
    def html(self) -> HtmlChild:
        """The child process that turns HTML into text."""
        ...

    @property
    def tainted(self) -> bool:
        """Text of strangers (a web page) has entered the conversation (C-16, C-22)."""
        ...

    @property
    def cwd(self) -> Path:
        """The session's working folder, fixed when the session began."""
        ...

    async def complete(self, *, system: str, prompt: str) -> str:
        """One model call without tools (web_fetch's answer). Raises ModelError."""
        ...

    async def run_agent(self, kind: AgentKind, prompt: str, call: Call) -> str:
        """Run a sub-agent to its end and return its final text. Its calls pass the same gate, shown under `call`."""
        ...

    async def review_plan(self, path: Path, text: str, call: Call) -> PlanReview:
        """Show a finished plan to the user and wait for accept, reject or annotate."""
        ...
