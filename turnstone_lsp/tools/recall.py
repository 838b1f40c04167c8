"""recall: list all memories, or search memories and past conversations for any text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.memory.export import date
from turnstone_lsp.memory.query import RECALL_HEADER
from turnstone_lsp.tools.base import Plan, Result
from turnstone_lsp.tools.memory_text import as_tool_errors, describe, shorten, workspace_of

if TYPE_CHECKING:
    from turnstone_lsp.memory.memories import Memory
    from turnstone_lsp.memory.search import Hit
    from turnstone_lsp.tools.base import Call
    from turnstone_lsp.tools.context import ToolContext

MAX_RESULTS = 50
_VALUE_CHARS = 1_000
"""Characters of a value among results; an exact key shows the whole."""
_LIST_CHARS = 24_000
"""Characters of values in a full list, above which each value is cut to _SHORT_CHARS."""
_SHORT_CHARS = 160

_WHO = {"user": "user", "assistant": "assistant", "tool": "tool output"}


@dataclass(frozen=True, slots=True)
class Args:
    """The JSON parameters."""

    query: str | None = None
    limit: int = 20


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Nothing to check: any text is a query, and a limit outside 1..50 is brought inside and said so."""
    query = (args.query or "").strip()
    limit = min(max(args.limit, 1), MAX_RESULTS)

    async def execute(_call: Call) -> Result:
        with as_tool_errors("recall"):
            if not query:
                return Result(_listing(await ctx.store.memories(workspace_of(ctx))))
            found = await ctx.store.search_memories(query, workspace_of(ctx))
            hits = await ctx.store.search(query, limit=limit, workspace=workspace_of(ctx), session=ctx.session_id)
        text = _results(query, found, hits, ctx.session_id)
        if limit != args.limit:
            text += f"\n\n(limit {args.limit} is outside 1 to {MAX_RESULTS}; {limit} was used.)"
        return Result(text)

    header = f"recall {shorten(query, 80)}" if query else "recall (all memories)"
    return Plan(header, query, needs_approval=False, execute=execute, kind="search")


def _listing(known: list[Memory]) -> str:
    if not known:
        return f"{RECALL_HEADER}no memories are saved yet. remember saves one."
    short = sum(len(m.value) for m in known) > _LIST_CHARS
    lines = [f"{RECALL_HEADER}all {len(known)} memories.", ""]
    lines += [describe(m, _SHORT_CHARS if short else len(m.value)) for m in known]
    if short:
        lines += ["", "Long values are cut; recall with a key shows the whole."]
    return "\n".join(lines)


def _results(query: str, found: list[Memory], hits: list[Hit], session: str) -> str:
    if not found and not hits:
        return (
            f"{RECALL_HEADER}nothing found for '{shorten(query, 200)}' in memories or past conversations. "
            "Try other or fewer words, or recall without a query to list all memories."
        )
    counts = f"{len(found)} memories and {len(hits)} conversation results"
    lines = [f"{RECALL_HEADER}{counts} for '{shorten(query, 200)}'."]
    if found:
        lines += ["", "Memories:"]
        exact = query.casefold()
        lines += [describe(m, len(m.value) if m.key.casefold() == exact else _VALUE_CHARS) for m in found]
    if hits:
        lines += ["", "Conversations (date, session, who: text):"]
        lines += [_hit(hit, session) for hit in hits]
    return "\n".join(lines)


def _hit(hit: Hit, session: str) -> str:
    where = "this session" if hit.session == session else f"session {hit.session}"
    title = f" '{hit.title}'" if hit.title else ""
    return f"- {date(hit.created)}, {where}{title}, {_WHO.get(hit.role, hit.role)}: {hit.snippet}"
