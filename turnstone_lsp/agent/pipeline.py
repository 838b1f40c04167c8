"""Prepare -> approve -> execute: what happens to the tool calls of one model reply.

prepare   every call in order: arguments, checks, preview, the policy's verdict; nothing is changed
approve   one batch to the user, if anything in it needs an answer
execute   file changes first, then the rest, at most four at a time; results in call order, one for every call
"""

from __future__ import annotations

import asyncio
import difflib
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.arguments_repair import parse_arguments
from turnstone_lsp.agent.capping import cap
from turnstone_lsp.agent.events import CallStatus, StateChanged, ToolCallUpdate, ToolOutput
from turnstone_lsp.agent.ui import Answers, Decision, FileReview, Item
from turnstone_lsp.errors import ToolError, TurnstoneError
from turnstone_lsp.tools import arguments as tool_arguments
from turnstone_lsp.tools import registry
from turnstone_lsp.tools.base import Plan, Result
from turnstone_lsp.workspace.applying import apply_review

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from turnstone_lsp.agent.context import AgentContext
    from turnstone_lsp.agent.model import ToolCall
    from turnstone_lsp.agent.policy import Verdict
    from turnstone_lsp.workspace.proposals import Proposal

log = logging.getLogger(__name__)

PARALLEL_CALLS = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call came to: the text that the model reads, and whether it ran and worked."""

    call: ToolCall
    arguments: dict[str, Any]
    text: str
    status: CallStatus
    level: str | None = None

    @property
    def denied(self) -> bool:
        """The call did not run because someone or some rule said no."""
        return self.status == "cancelled"


@dataclass(frozen=True, slots=True)
class Prepared:
    """One call after phase one. `refusal` is set when it will not run whatever the user says."""

    call: ToolCall
    arguments: dict[str, Any]
    item: Item
    plan: Plan | None = None
    refusal: str | None = None


class _RunningCall:
    """What `execute` sees of its call."""

    def __init__(self, call_id: str, ctx: AgentContext) -> None:
        self._id = call_id
        self._ctx = ctx
        self.open = True

    @property
    def id(self) -> str:
        return self._id

    def output(self, text: str) -> None:
        if self.open and text:
            self._ctx.emit(ToolOutput(self._id, text))


class Pipeline:
    """Runs the batches of one agent."""

    def __init__(self, ctx: AgentContext, save: Callable[[Outcome], Awaitable[None]]) -> None:
        self._ctx = ctx
        self._save = save

    async def run(self, calls: Sequence[ToolCall]) -> list[Outcome]:
        """Take one reply's calls through all three phases. Never raises for a call's own fault."""
        self._ctx.workspace.begin_batch()
        prepared = [await self._prepare(call) for call in calls]
        proposals = self._ctx.workspace.staging.proposals()
        answers = await self._approve(prepared, proposals)
        return await self._execute(prepared, proposals, answers)

    # -- prepare

    async def _prepare(self, call: ToolCall) -> Prepared:
        arguments: dict[str, Any] = {}
        try:
            arguments, plan = await self._plan(call)
        except TurnstoneError as error:
            return self._refused(call, arguments, str(error))
        except Exception as error:
            log.exception("preparing %s failed", call.name)
            return self._refused(call, arguments, f"{call.name}: internal error while preparing: {error}")
        verdict = await self._ctx.decide(call.name, plan)
        item = self._item(call, plan, verdict)
        if verdict.kind == "deny":
            self._ctx.workspace.staging.drop(call.id)
            refusal = f"{call.name} was not run: {'; '.join(verdict.reasons) or 'denied by a rule'}."
            item = replace(item, needs_approval=False, error=refusal)
            self._show(call, arguments, item, "cancelled", refusal)
            return Prepared(call, arguments, item, plan, refusal)
        self._show(call, arguments, item, "pending")
        return Prepared(call, arguments, item, plan)

    async def _plan(self, call: ToolCall) -> tuple[dict[str, Any], Plan]:
        if not self._ctx.has_tool(call.name):
            offered = self._ctx.tool_names
            near = difflib.get_close_matches(call.name, offered, 1, 0.5)
            hint = f"Did you mean '{near[0]}'? " if near else ""
            raise ToolError(f"There is no tool '{call.name}' here. {hint}The tools are: {', '.join(offered)}.")
        key = registry.PRIMARY_KEY_MAP[call.name]
        arguments = parse_arguments(call.arguments, call.name, key, length_cut=call.cut)
        module = registry.implementation(call.name)
        parsed = tool_arguments.parse(call.name, module.Args, arguments)
        plan = await module.prepare(parsed, self._ctx.for_call(call.id))
        return arguments, plan

    def _refused(self, call: ToolCall, arguments: dict[str, Any], text: str) -> Prepared:
        item = Item(
            call.id, call.name, call.name, "", needs_approval=False, error=text, parent_call_id=self._ctx.parent
        )
        self._show(call, arguments, item, "failed", text)
        return Prepared(call, arguments, item, None, text)

    def _item(self, call: ToolCall, plan: Plan, verdict: Verdict) -> Item:
        return Item(
            call_id=call.id,
            func_name=call.name,
            header=plan.header,
            preview=plan.preview,
            needs_approval=verdict.kind == "ask",
            kind=plan.kind,
            subject=plan.subject,
            locations=plan.locations,
            reasons=tuple(verdict.reasons),
            notes=plan.notes,
            approved_because=verdict.because if verdict.kind == "allow" else None,
            edits=plan.edits,
            parent_call_id=self._ctx.parent,
            always=verdict.always,
        )

    # -- approve

    async def _approve(self, prepared: Sequence[Prepared], proposals: Sequence[Proposal]) -> Answers:
        asked = {p.call.id for p in prepared if p.item.needs_approval}
        if not asked:
            return Answers()
        to_review = [p for p in proposals if asked.intersection(p.call_ids)]
        self._ctx.emit_top(StateChanged("requires_action"))
        with self._ctx.clock.paused():
            answers = await self._ctx.ui.approve_tools([p.item for p in prepared], to_review)
        self._ctx.emit_top(StateChanged("running"))
        for p in prepared:
            decision = answers.decisions.get(p.call.id)
            if p.item.needs_approval and decision and decision.approved and p.plan:
                await self._ctx.remember(p.call, p.plan, decision)
        return answers

    # -- execute

    async def _execute(
        self, prepared: Sequence[Prepared], proposals: Sequence[Proposal], answers: Answers
    ) -> list[Outcome]:
        done: dict[str, Outcome] = {}
        for proposal in proposals:
            mine = [p for p in prepared if p.call.id in proposal.call_ids]
            for outcome in await self._apply(proposal, mine, answers):
                done[outcome.call.id] = await self._finish(outcome)
        rest = [p for p in prepared if p.call.id not in done]
        if len(rest) == 1:
            outcomes = [await self._run_one(rest[0], answers)]
        else:
            slots = asyncio.Semaphore(PARALLEL_CALLS)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._run_in(slots, p, answers)) for p in rest]
            outcomes = [task.result() for task in tasks]
        done.update({outcome.call.id: outcome for outcome in outcomes})
        return [done[p.call.id] for p in prepared]

    async def _run_in(self, slots: asyncio.Semaphore, prepared: Prepared, answers: Answers) -> Outcome:
        async with slots:
            return await self._run_one(prepared, answers)

    async def _run_one(self, prepared: Prepared, answers: Answers) -> Outcome:
        outcome = await self._outcome(prepared, answers)
        return await self._finish(outcome)

    async def _outcome(self, prepared: Prepared, answers: Answers) -> Outcome:
        call, plan = prepared.call, prepared.plan
        decision = answers.decisions.get(call.id) or Decision(approved=not prepared.item.needs_approval)
        if prepared.refusal is not None or plan is None:
            status: CallStatus = "cancelled" if plan else "failed"
            return Outcome(call, prepared.arguments, prepared.refusal or "", status)
        if not decision.approved:
            return Outcome(call, prepared.arguments, denial(decision.feedback), "cancelled")
        result = await self._call(prepared, plan, decision)
        text = await asyncio.to_thread(cap, result.text, self._ctx.settings.tools.output_limit, call.id)
        return Outcome(
            call,
            prepared.arguments,
            text + approval_note(decision.feedback),
            "completed" if result.ok else "failed",
            result.level,
        )

    async def _call(self, prepared: Prepared, plan: Plan, decision: Decision) -> Result:
        running = _RunningCall(prepared.call.id, self._ctx)
        self._show(prepared.call, prepared.arguments, prepared.item, "in_progress")
        try:
            with self._ctx.granting(prepared.call.id, decision.grant):
                result = await plan.execute(running)
            await self._ctx.note_changed(result.changed)
        except TurnstoneError as error:
            return Result(str(error), ok=False)
        except Exception as error:
            log.exception("%s failed", prepared.call.name)
            return Result(f"{prepared.call.name}: internal error: {type(error).__name__}: {error}", ok=False)
        finally:
            running.open = False
        return result

    async def _apply(self, proposal: Proposal, mine: Sequence[Prepared], answers: Answers) -> list[Outcome]:
        asked = any(p.item.needs_approval for p in mine)
        whole = FileReview(frozenset(range(len(proposal.hunks))), proposal.result)
        nothing = FileReview(frozenset(), proposal.base.text, "none")
        review = answers.reviews.get(proposal.id, nothing) if asked else whole
        for p in mine:
            self._show(p.call, p.arguments, p.item, "in_progress")
        try:
            report = await apply_review(
                self._ctx.workspace,
                proposal,
                review.text,
                accepted=review.accepted,
                applied_by=review.applied_by,
                feedback=review.feedback,
                journal=self._ctx.journal if self._ctx.durable else None,
                turn=self._ctx.turn_id,
            )
        except TurnstoneError as error:
            return [Outcome(p.call, p.arguments, str(error), "failed") for p in mine]
        except Exception as error:
            log.exception("applying the change of %s failed", proposal.path)
            text = f"The change of {proposal.path} failed with an internal error: {error}. Read the file again."
            return [Outcome(p.call, p.arguments, text, "failed") for p in mine]
        rejected = review.applied_by == "none"
        status: CallStatus = "cancelled" if rejected else "completed" if report.ok else "failed"
        return [Outcome(p.call, p.arguments, report.text_for(p.call.id), status) for p in mine]

    async def _finish(self, outcome: Outcome) -> Outcome:
        """Store the result before anyone acts on it, then show it."""
        outcome = self._ctx.judge_loop(outcome)
        await self._save(outcome)
        self._ctx.emit(
            ToolCallUpdate(
                outcome.call.id,
                outcome.call.name,
                outcome.status,
                arguments=outcome.arguments,
                parent_call_id=self._ctx.parent,
                result=outcome.text,
                level=outcome.level,
            )
        )
        return outcome

    def _show(
        self, call: ToolCall, arguments: dict[str, Any], item: Item, status: CallStatus, result: str | None = None
    ) -> None:
        self._ctx.emit(
            ToolCallUpdate(
                call.id,
                call.name,
                status,
                kind=item.kind,
                header=item.header,
                preview=item.preview,
                arguments=arguments,
                locations=item.locations,
                parent_call_id=self._ctx.parent,
                result=result,
                approved_because=item.approved_because,
            )
        )


def denial(feedback: str) -> str:
    """What the model reads when the user said no."""
    said = f" The user said: {feedback}" if feedback else " Do not try it again; ask or find another way."
    return "The user denied this call; it was not run." + said


def approval_note(feedback: str) -> str:
    """What the model reads below the result when the user approved with words."""
    return f"\n\n[The user approved this call and said: {feedback}]" if feedback else ""
