"""Our own methods and the shapes of their parameters, versioned. `docs/protocol.md` describes them; a test compares.

A client that speaks this protocol says so in its capabilities::

    "experimental": {"turnstone": {"version": 1, "updates": true, "approvals": true, "reviews": true}}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnstone_lsp.agent.ui import Item
    from turnstone_lsp.workspace.documents import OpenDocuments
    from turnstone_lsp.workspace.proposals import Proposal

VERSION = 1

# server -> client
UPDATE = "turnstone/update"
REQUEST_APPROVAL = "turnstone/requestApproval"
REVIEW_EDITS = "turnstone/reviewEdits"
REVIEW_PLAN = "turnstone/reviewPlan"
ASK_CONTINUE = "turnstone/askContinue"
RESOLVED = "turnstone/resolved"
SAVE = "turnstone/save"
# client -> server
CONTEXT = "turnstone/context"

COMMANDS = {
    "turnstone.ask": "{text, sessionId?, uri?, range?, context?, wait?} -> {sessionId, turnId}; with wait the final text",
    "turnstone.stop": "{sessionId?} -> null; ends the running turn",
    "turnstone.newSession": "{} -> {sessionId}",
    "turnstone.listSessions": "{all?} -> [{id, title, workspace, messages, created, updated}]",
    "turnstone.resumeSession": "{sessionId} -> state",
    "turnstone.renameSession": "{sessionId, title} -> {title}",
    "turnstone.forkSession": "{sessionId} -> {sessionId}",
    "turnstone.deleteSession": "{sessionId} -> null",
    "turnstone.exportSession": "{sessionId?, format?} -> text",
    "turnstone.undoTurn": "{turnId?} -> text; takes back what a turn wrote",
    "turnstone.redoTurn": "{turnId?} -> text",
    "turnstone.turnDiff": "{turnId?} -> text; a unified diff, also opened where the client can",
    "turnstone.setMode": "{mode} -> state",
    "turnstone.state": "{since?} -> state; with since, the events after that sequence number",
    "turnstone.pending": "{} -> [prompt]; open questions",
    "turnstone.answer": "{promptId, decision, feedback?, hunks?, scope?, text?} -> {resolved}",
    "turnstone.memories": "{action?, key?, value?} -> [{key, value, ...}]",
    "turnstone.models": "{} -> {model, models}",
    "turnstone.setModel": "{model} -> {model}",
    "turnstone.openTranscript": "{uri?, range?} -> {uri}; opens the transcript, where a client without a plugin asks",
    "turnstone.send": "{uri, range?} -> {sessionId, turnId}; sends the transcript's prompt section",
    "turnstone.trust": "{} -> null; trusts the workspace",
}
"""Command -> arguments (one object) and result."""


@dataclass(frozen=True, slots=True)
class Speaks:
    """What a client says that it understands."""

    updates: bool = False
    approvals: bool = False
    reviews: bool = False

    @classmethod
    def of(cls, experimental: object) -> Speaks:
        """From the client's `experimental` capabilities. Another version counts as not spoken."""
        said = experimental.get("turnstone") if isinstance(experimental, dict) else None
        if not isinstance(said, dict) or said.get("version") != VERSION:
            return cls()
        return cls(bool(said.get("updates")), bool(said.get("approvals")), bool(said.get("reviews")))


def item_json(item: Item) -> dict[str, Any]:
    """One call of a batch, as a client shows it."""
    return {
        "callId": item.call_id,
        "tool": item.func_name,
        "header": item.header,
        "preview": item.preview,
        "kind": item.kind,
        "needsApproval": item.needs_approval,
        "error": item.error,
        "reasons": list(item.reasons),
        "notes": list(item.notes),
        "approvedBecause": item.approved_because,
        "parentCallId": item.parent_call_id,
        "always": item.always,
        "locations": [{"path": str(at.path), "line": at.line} for at in item.locations],
    }


def proposal_json(proposal: Proposal, documents: OpenDocuments) -> dict[str, Any]:
    """One file's change, as a client reviews it. Lines are 0-based; line texts keep their ends."""
    document = documents.get(proposal.path)
    return {
        "proposalId": proposal.id,
        "uri": document.uri if document else proposal.uri,
        "path": str(proposal.path),
        "display": proposal.display,
        "version": document.version if document else None,
        "isOpen": document is not None,
        "isNew": not proposal.base.exists,
        "base": proposal.base.text,
        "result": proposal.result,
        "eol": proposal.base.format.eol,
        "encoding": proposal.base.format.encoding,
        "hunks": [
            {
                "index": index,
                "start": hunk.start,
                "end": hunk.end,
                "newStart": hunk.new_start,
                "old": list(hunk.old),
                "new": list(hunk.new),
            }
            for index, hunk in enumerate(proposal.hunks)
        ],
        "callIds": list(proposal.call_ids),
        "reasons": list(proposal.must_ask),
        "notes": list(proposal.notes),
    }


def field(params: Mapping[str, Any], name: str, kind: type, default: Any = None) -> Any:
    """A field of a client's object if it is of its kind, else the default: clients err, and must not crash us."""
    value = params.get(name)
    return value if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) else default
