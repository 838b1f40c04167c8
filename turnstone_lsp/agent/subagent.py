"""Sub-agents: the same loop with its own conversation, tools and read log; its calls pass the session's gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnstone_lsp.agent.context import AgentContext
from turnstone_lsp.agent.history import History
from turnstone_lsp.agent.loop import AgentLoop
from turnstone_lsp.agent.prompt import find_instructions, system_prompt

if TYPE_CHECKING:
    from turnstone_lsp.tools.base import Call
    from turnstone_lsp.tools.context import AgentKind


async def run(parent: AgentContext, kind: AgentKind, prompt: str, call: Call, granted: frozenset[str]) -> str:
    """Run one sub-agent to its end and return its last words. Raises what ends its loop (ModelError, LimitError).

    It shares the session's documents, locks, journal, budget and user; what it has read is its own.
    """
    ctx = AgentContext(
        parent.services,
        parent.scope,
        parent.workspace.child(),
        kind=kind,
        parent=call.id,
        budget=parent.budget,
        granted=granted,
        durable=parent.durable,
    )
    roots = parent.workspace.roots.paths
    instructions = find_instructions(parent.cwd, roots, trusted=parent.scope.trusted)
    system = system_prompt(kind, cwd=parent.cwd, roots=roots, instructions=instructions)
    history = History(parent.conversation_store, parent.session_id, [], thread=call.id)
    history.begin_turn(parent.turn_id)
    await history.add({"role": "system", "content": system})
    await history.add({"role": "user", "content": prompt})
    return await AgentLoop(ctx, history).run()
