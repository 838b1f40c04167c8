"""What the protocol's records say of the engine's objects. What a person approves is made visible on the way out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.events import (
    MessageDone,
    Notice,
    PlanReady,
    ReasoningDelta,
    StateChanged,
    TextDelta,
    ToolCallUpdate,
    ToolOutput,
)
from turnstone_lsp.process.text import safe_markdown, show_hidden, visible
from turnstone_lsp.tools import registry

if TYPE_CHECKING:
    from turnstone_lsp.agent.events import Event
    from turnstone_lsp.agent.ui import Item
    from turnstone_lsp.workspace.documents import OpenDocuments
    from turnstone_lsp.workspace.hunks import Hunk
    from turnstone_lsp.workspace.proposals import Proposal

_BREAKS = "\n\t"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def item_json(item: Item) -> dict[str, Any]:
    """The Item record."""
    return {
        "callId": item.call_id,
        "tool": item.func_name,
        "kind": item.kind,
        "header": visible(item.header),
        "preview": visible(item.preview, keep=_BREAKS),
        "needsApproval": item.needs_approval,
        "edits": item.edits,
        "error": item.error and visible(item.error, keep=_BREAKS),
        "reasons": [visible(r) for r in item.reasons],
        "notes": [visible(n) for n in item.notes],
        "approvedBecause": item.approved_because,
        "parentCallId": item.parent_call_id,
        "always": item.always and visible(item.always),
        "grantable": grantable() if item.func_name == "task" else [],
        "locations": [{"path": str(at.path), "line": at.line} for at in item.locations],
    }


def grantable() -> list[str]:
    """The tools of task sub-agents that ask, unless the task's approval grants them."""
    names = [tool["function"]["name"] for tool in registry.TASK_AGENT_TOOLS]
    return [name for name in names if name not in registry.AGENT_AUTO_TOOLS]


def hunk_json(hunk: Hunk) -> dict[str, Any]:
    """The Hunk record."""
    return {
        "start": hunk.start,
        "end": hunk.end,
        "newStart": hunk.new_start,
        "old": list(hunk.old),
        "new": list(hunk.new),
    }


def change_json(prompt_id: str, proposal: Proposal, documents: OpenDocuments, *, save: bool) -> dict[str, Any]:
    """The FileChange record. Its texts are exact: a client applies them. save: documents are saved when accepted."""
    document = documents.get(proposal.path)
    return {
        "promptId": prompt_id,
        "uri": document.uri if document else proposal.uri,
        "path": str(proposal.path),
        "display": visible(proposal.display),
        "version": document.version if document else None,
        "isNew": not proposal.base.exists,
        "baseText": proposal.base.text,
        "newText": proposal.result,
        "hunks": [hunk_json(hunk) for hunk in proposal.hunks],
        "eol": proposal.base.format.eol,
        "encoding": proposal.base.format.encoding,
        "save": save and document is not None and not document.dirty,
        "callIds": list(proposal.call_ids),
        "reasons": [visible(r) for r in proposal.must_ask],
        "notes": [visible(n) for n in proposal.notes],
    }


def shown(event: Event) -> Event:
    """An event as an editor may show it: nothing hidden, nothing that acts (C-18, C-19).

    Deltas lose hidden characters alone; the whole message that follows them is safe Markdown, and replaces them.
    """
    match event:
        case TextDelta() | ReasoningDelta() | ToolOutput():
            return replace(event, text=_piece(event.text))
        case MessageDone():
            return replace(event, text=safe_markdown(event.text), reasoning=safe_markdown(event.reasoning))
        case PlanReady():
            return replace(event, text=safe_markdown(event.text))
        case Notice():
            return replace(event, text=visible(event.text, keep=_BREAKS))
        case StateChanged():
            return replace(event, message=visible(event.message, keep=_BREAKS))
        case ToolCallUpdate():
            return _shown_call(event)
    return event


def _piece(text: str) -> str:
    """A piece of streamed text, cut anywhere: control characters as escapes, the same as hidden ones."""
    return show_hidden(_CONTROL.sub(lambda m: f"\\u{{{ord(m[0]):x}}}", text))


def _shown_call(event: ToolCallUpdate) -> ToolCallUpdate:
    return replace(
        event,
        header=visible(event.header),
        preview=visible(event.preview, keep=_BREAKS),
        result=None if event.result is None else show_hidden(event.result),
    )
