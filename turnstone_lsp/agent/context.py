"""AgentContext: what one agent (the session's own, or a sub-agent) has to work with. Implements tools' ToolContext."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent import policy
from turnstone_lsp.agent.assembly import new_call_id
from turnstone_lsp.agent.breaker import LoopBreaker, warning
from turnstone_lsp.agent.events import StateChanged, ToolOutput
from turnstone_lsp.agent.limits import Budget
from turnstone_lsp.tools import registry
from turnstone_lsp.tools.context import PlanReview
from turnstone_lsp.workspace.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from turnstone_lsp.agent.always import Approvals
    from turnstone_lsp.agent.events import Event
    from turnstone_lsp.agent.limits import Clock
    from turnstone_lsp.agent.model import Model, ToolCall
    from turnstone_lsp.agent.pipeline import Outcome
    from turnstone_lsp.agent.prompt import AgentKind
    from turnstone_lsp.agent.ui import Decision, SessionUI
    from turnstone_lsp.config.settings import Mode, Settings
    from turnstone_lsp.memory.store import Store
    from turnstone_lsp.sandbox.html import HtmlChild
    from turnstone_lsp.sandbox.math_host import MathHost
    from turnstone_lsp.tools.base import Call, Plan
    from turnstone_lsp.tools.context import AgentKind as SubAgentKind
    from turnstone_lsp.workspace.view import Workspace

_SETS = {"main": registry.TOOLS, "task": registry.TASK_AGENT_TOOLS, "plan": registry.AGENT_TOOLS}
_TAINTING = frozenset({"web_fetch", "web_search"})
"""Tools whose results bring text of strangers into the conversation (C-16, C-22)."""


class Services:
    """What all sessions of this process share. The sandboxed children start on first use."""

    def __init__(self, settings: Settings, store: Store, model: Model) -> None:
        self.settings = settings
        self.store = store
        self.model = model

    @cached_property
    def math(self) -> MathHost:
        """The math host."""
        from turnstone_lsp.sandbox.math_host import MathHost

        return MathHost()

    @cached_property
    def html(self) -> HtmlChild:
        """The child that turns HTML into text."""
        from turnstone_lsp.sandbox.html import HtmlChild

        return HtmlChild()

    async def close(self) -> None:
        """End the children that were started, and the connections."""
        for name in ("math", "html"):
            if (child := self.__dict__.get(name)) is not None:
                await child.close()
        await self.model.close()


@dataclass(slots=True)
class Scope:
    """What the agents of one session share."""

    session_id: str
    cwd: Path
    ui: SessionUI
    approvals: Approvals
    """What the user allowed with "always"."""
    mode: Mode = "ask"
    trusted: bool = False
    auto_approve: bool = False
    turn_id: str = ""
    tainted: bool = False
    """Text of strangers has entered the conversation."""
    call_ids: set[str] = field(default_factory=set)

    def claim(self, call_id: str) -> str:
        """The id for a call: the model's own if it is free in this session, else a new one."""
        if not call_id or call_id in self.call_ids:
            call_id = new_call_id()
        self.call_ids.add(call_id)
        return call_id


class AgentContext:
    """One agent's view of its session. `for_call` gives a tool the same view with its call's id."""

    def __init__(
        self,
        services: Services,
        scope: Scope,
        workspace: Workspace,
        *,
        kind: AgentKind = "main",
        parent: str | None = None,
        budget: Budget | None = None,
        granted: frozenset[str] = frozenset(),
        durable: bool = True,
    ) -> None:
        self.services = services
        self.scope = scope
        self.workspace = workspace
        self.kind = kind
        self.parent = parent
        self.budget = budget or Budget(services.settings.limits)
        self.breaker = LoopBreaker()
        self.stuck: str | None = None
        self.denied = False
        """A call of this turn was denied."""
        self.call_id = ""
        self.durable = durable
        self._granted = granted
        self._grants_of_tasks: dict[str, frozenset[str]] = {}

    # -- ToolContext

    @property
    def session_id(self) -> str:
        """See ToolContext."""
        return self.scope.session_id

    @property
    def settings(self) -> Settings:
        """See ToolContext."""
        return self.services.settings

    @property
    def store(self) -> Store:
        """See ToolContext."""
        return self.services.store

    @property
    def math(self) -> MathHost:
        """See ToolContext."""
        return self.services.math

    @property
    def html(self) -> HtmlChild:
        """See ToolContext."""
        return self.services.html

    @property
    def cwd(self) -> Path:
        """See ToolContext."""
        return self.scope.cwd

    @property
    def tainted(self) -> bool:
        """See ToolContext."""
        return self.scope.tainted

    async def complete(self, *, system: str, prompt: str) -> str:
        """See ToolContext."""
        model = self.services.settings.model
        return await self.services.model.complete(system=system, prompt=prompt, model=model.fetch_model or None)

    async def run_agent(self, kind: SubAgentKind, prompt: str, call: Call) -> str:
        """See ToolContext."""
        from turnstone_lsp.agent import subagent

        granted = self._grants_of_tasks.get(call.id, frozenset())
        return await subagent.run(self, kind, prompt, call, granted)

    async def review_plan(self, path: Path, text: str, call: Call) -> PlanReview:
        """See ToolContext. Without a user (auto_approve) the plan is accepted, as every question is."""
        if self.scope.auto_approve:
            return PlanReview("accept")
        self.emit_top(StateChanged("requires_action"))
        with self.clock.paused():
            review = await self.ui.review_plan(path, text, call.id)
        self.emit_top(StateChanged("running"))
        return review

    # -- for the pipeline and the loop

    @property
    def ui(self) -> SessionUI:
        """The session's front end."""
        return self.scope.ui

    @property
    def turn_id(self) -> str:
        """The turn that runs."""
        return self.scope.turn_id

    @property
    def journal(self) -> Journal:
        """The session's journal of file changes."""
        return Journal(self.session_id, self.settings.edits)

    @property
    def clock(self) -> Clock:
        """The turn's clock."""
        return self.budget.clock

    @property
    def model_name(self) -> str | None:
        """Another model than the session's, for a sub-agent whose role has one. Code decides this, never the model."""
        return self.settings.model.task_model or None if self.parent is not None else None

    @property
    def conversation_store(self) -> Store | None:
        """Where conversations of this session are kept; None for single tool calls."""
        return self.store if self.durable else None

    def begin_turn(self, budget: Budget) -> None:
        """A new turn: fresh limits, nothing seen, nothing denied."""
        self.budget = budget
        self.breaker = LoopBreaker()
        self.stuck = None
        self.denied = False

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The schemas that this agent's model is given. web_search is offered only with a key."""
        searching = bool(self.settings.tools.tavily_api_key)
        return [t for t in _SETS[self.kind] if searching or t["function"]["name"] != "web_search"]

    @property
    def tool_names(self) -> list[str]:
        """The names of those tools."""
        return [t["function"]["name"] for t in self.tools]

    def has_tool(self, name: str) -> bool:
        """Whether a tool belongs to this agent's set, offered or not: web_search itself says which key it lacks."""
        return any(t["function"]["name"] == name for t in _SETS[self.kind])

    def for_call(self, call_id: str) -> AgentContext:
        """The same view, handed to one call."""
        view = copy.copy(self)
        view.call_id = call_id
        return view

    def emit(self, event: Event) -> None:
        """Send one event to the front end."""
        self.ui.emit(event)

    def emit_output(self, text: str) -> None:
        """Show a sub-agent's words under the call that started it."""
        if self.parent is not None:
            self.emit(ToolOutput(self.parent, text))

    def emit_top(self, event: Event) -> None:
        """Send an event of the turn itself."""
        self.ui.emit(event)

    async def decide(self, name: str, plan: Plan) -> policy.Verdict:
        """The policy's answer to one prepared call."""
        return policy.decide(
            plan,
            name,
            mode=self.scope.mode,
            rules=self.settings.rules,
            grants=await self.scope.approvals.current(),
            auto_approve=self.scope.auto_approve,
            roots=self.workspace.roots.paths,
            trusted=self.scope.trusted,
            sub_agent=self.parent is not None,
            granted=self._granted,
            tainted=self.scope.tainted,
        )

    async def remember(self, call: ToolCall, plan: Plan, decision: Decision) -> None:
        """Keep an "always" for as long as its scope says."""
        await self.scope.approvals.remember(call.name, plan, decision.scope)

    @contextlib.contextmanager
    def granting(self, call_id: str, tools: frozenset[str]) -> Iterator[None]:
        """While a task runs, its sub-agent may use these tools without a question."""
        self._grants_of_tasks[call_id] = tools
        try:
            yield
        finally:
            del self._grants_of_tasks[call_id]

    async def note_changed(self, paths: Sequence[Path]) -> None:
        """Files that a command changed behind the editor: listed by undo as not undoable."""
        if paths:
            await asyncio.to_thread(self.journal.note_bash, self.turn_id, list(paths))

    def judge_loop(self, outcome: Outcome) -> Outcome:
        """Warn the model about a repeated call; after the third time the turn ends."""
        name = outcome.call.name
        self.denied |= outcome.denied
        if outcome.status == "completed" and name in _TAINTING:
            self.scope.tainted = True
        if outcome.status == "completed" and name in ("edit_file", "write_file", "bash", "task"):
            self.breaker.reset()
        count = self.breaker.note(name, outcome.arguments or outcome.call.arguments, outcome.text)
        if count >= LoopBreaker.STOP_AT:
            self.stuck = f"{name} was called {count} times with the same arguments and the same result."
        return replace(outcome, text=outcome.text + warning(count))
