"""A real engine on a scripted model: what the engine's tests share."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from model_server import StubServer

from turnstone_lsp.agent.engine import Engine
from turnstone_lsp.agent.events import StateChanged, ToolCallUpdate
from turnstone_lsp.agent.ui import Answers, Decision, FileReview
from turnstone_lsp.config.settings import ModelSettings, Settings, ToolSettings
from turnstone_lsp.memory.store import Store
from turnstone_lsp.tools.context import PlanReview
from turnstone_lsp.workspace.documents import OpenDocuments
from turnstone_lsp.workspace.editor import NoEditor
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.view import Workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from turnstone_lsp.agent.events import Event
    from turnstone_lsp.agent.session import Session
    from turnstone_lsp.agent.ui import Item


@dataclass
class ScriptedUser:
    """A SessionUI whose answers are given in advance; it keeps all it saw."""

    approve: Callable[[Item], Decision] = lambda _: Decision(approved=True)
    review: Callable[[Any], FileReview] = lambda p: FileReview(frozenset(range(len(p.hunks))), p.result)
    plan: PlanReview = field(default_factory=lambda: PlanReview("accept"))
    go_on: bool = False
    events: list[Event] = field(default_factory=list)
    asked: list[list[Item]] = field(default_factory=list)
    reviewed: list[Any] = field(default_factory=list)
    plans: list[tuple[str, str]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    def emit(self, event: Event) -> None:
        self.events.append(event)

    async def approve_tools(self, items: Sequence[Item], proposals: Sequence[Any]) -> Answers:
        self.asked.append(list(items))
        self.reviewed += proposals
        decisions = {i.call_id: self.approve(i) for i in items if i.needs_approval and not i.edits}
        return Answers(decisions, {p.id: self.review(p) for p in proposals})

    async def review_plan(self, path: Path, text: str, call_id: str) -> PlanReview:
        assert call_id
        self.plans.append((str(path), text))
        return self.plan

    async def ask_continue(self, question: str) -> bool:
        self.questions.append(question)
        return self.go_on

    def of(self, kind: type) -> list[Any]:
        return [e for e in self.events if isinstance(e, kind)]

    def results(self) -> dict[str, str]:
        """Call id -> the result as shown."""
        return {e.call_id: e.result for e in self.of(ToolCallUpdate) if e.result is not None}

    def final(self) -> StateChanged:
        ends = [e for e in self.of(StateChanged) if e.state == "idle"]
        assert len(ends) == 1, "a turn ends in exactly one final state"
        return ends[0]


@dataclass
class Bench:
    """An engine, its scripted model server and a project folder."""

    engine: Engine
    stub: StubServer
    project: Path
    settings: Settings

    async def session(self, user: ScriptedUser, **options: Any) -> Session:
        options.setdefault("trusted", True)
        workspace = Workspace(Roots([self.project]), OpenDocuments(), NoEditor(), self.settings.edits)
        return await self.engine.open_session(workspace=workspace, ui=user, **options)

    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the requests that the model server got, in order."""
        return [r["request"] for r in self.stub.log()]

    def tool_messages(self) -> list[str]:
        """The tool results that the model read in the last request, in order."""
        return [m["content"] for m in self.requests()[-1]["messages"] if m["role"] == "tool"]


@contextlib.asynccontextmanager
async def bench(project: Path, state: Path, replies: list[dict[str, Any]], **settings: Any) -> AsyncIterator[Bench]:
    """Run with these replies of the model: one for each request of a turn."""
    with StubServer({"replies": replies}, keep_requests=True) as stub:
        model = ModelSettings(name="stub-model", base_url=stub.base_url, max_retries=0)
        settings.setdefault("tools", ToolSettings(bash_timeout=20))
        made = Settings(model=model, **settings)
        engine = Engine(made, Store(state / "turnstone.db"))
        try:
            yield Bench(engine, stub, project, made)
        finally:
            await engine.close()


def call(name: str, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    """One scripted tool call; a string is sent exactly as it stands."""
    made = {"name": name, "arguments": arguments}
    return {**made, "id": call_id} if call_id else made


def calls(*made: dict[str, Any]) -> dict[str, Any]:
    """A reply that makes these calls."""
    return {"tool_calls": list(made)}
