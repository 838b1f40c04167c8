"""Every message of our protocol, field by field. Lines and characters count from 0, in the agreed position encoding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.protocol import Field, Record

SCOPES = '"once"|"session"|"workspace"|"user"'

RECORDS: dict[str, Record] = {
    "Position": {
        "line": Field("integer", "From 0."),
        "character": Field("integer", "From 0, in the position encoding of `initialize`."),
    },
    "Range": {
        "start": Field("Position", "The first place."),
        "end": Field("Position", "The place after the last."),
    },
    "Problem": {
        "uri": Field("string", "The document; left out: that of the context.", optional=True),
        "range": Field("Range", "Where it is.", optional=True),
        "severity": Field("integer", "1 error, 2 warning, 3 information, 4 hint.", optional=True),
        "message": Field("string", "What is wrong."),
        "source": Field("string", "Who says so, e.g. a linter.", optional=True),
        "code": Field("any", "The problem's code.", optional=True),
    },
    "Context": {
        "uri": Field("string", "The active document.", optional=True),
        "languageId": Field("string", "Its language.", optional=True),
        "encoding": Field("string", "The encoding of its file, where the client knows it.", optional=True),
        "selection": Field("Range", "What is selected in it.", optional=True),
        "visibleRange": Field("Range", "What the user sees of it.", optional=True),
        "openFiles": Field("string[]", "URIs of all open documents.", optional=True),
        "unsaved": Field("string[]", "URIs of open documents with unsaved changes.", optional=True),
        "diagnostics": Field("Problem[]", "Problems that any language server reported.", optional=True),
    },
    "Item": {
        "callId": Field("string", "The call's id, as in its events."),
        "tool": Field("string", "The tool's name."),
        "kind": Field("string", "read, edit, search, execute, fetch, think or other."),
        "header": Field("string", "One line that says what it will do."),
        "preview": Field("string", "All of what it will do. Show all of it; never cut it."),
        "needsApproval": Field("boolean", "It waits for the user; else it is shown and does not block."),
        "edits": Field("boolean", "It is decided by the review of its file."),
        "error": Field("string|null", "Why it will not run, whatever the user says."),
        "reasons": Field("string[]", "Why the user is asked, beyond the tool's own default."),
        "notes": Field("string[]", "What the user should see before deciding."),
        "approvedBecause": Field("string|null", "Why no question is asked."),
        "parentCallId": Field("string|null", "The task or plan call of the sub-agent that makes it."),
        "always": Field("string|null", "What an answer for more than once would allow; null: not offered."),
        "grantable": Field("string[]", "For a task: the tools that an approval may grant to its sub-agent."),
        "locations": Field("Location[]", "Files that it reads or changes."),
    },
    "Location": {
        "path": Field("string", "Absolute path."),
        "line": Field("integer|null", "From 1."),
    },
    "Hunk": {
        "start": Field("integer", "First line of the base text that it replaces, from 0."),
        "end": Field("integer", "Line after the last that it replaces; equal to start for an insertion."),
        "newStart": Field("integer", "Its first line in the new text, with every hunk accepted."),
        "old": Field("string[]", "The lines that go, with their line ends."),
        "new": Field("string[]", "The lines that come, with their line ends."),
    },
    "FileChange": {
        "promptId": Field("string", "The question's id; each file is a question of its own."),
        "uri": Field("string", "The document, as the client names it where it is open."),
        "path": Field("string", "Its real path."),
        "display": Field("string", "Its name for the user."),
        "version": Field("integer|null", "Version of the open document that the base text was taken from."),
        "isNew": Field("boolean", "The file does not exist yet."),
        "baseText": Field("string", "The text that the change was made on. Apply only if the buffer still has it."),
        "newText": Field("string", "The text if everything is accepted."),
        "hunks": Field("Hunk[]", "The places that change; any of them can be accepted alone."),
        "eol": Field("string", "Line end of the file: LF, CRLF or CR as characters."),
        "encoding": Field("string", "Encoding of the file."),
        "save": Field("boolean", "Save the document after the change: it has no unsaved changes now."),
        "callIds": Field("string[]", "The calls that made the change."),
        "reasons": Field("string[]", "Why the user is asked in every mode."),
        "notes": Field("string[]", "What the user should see before deciding."),
    },
    "FileAnswer": {
        "promptId": Field("string", "The question that is answered."),
        "decision": Field('"accept"|"partial"|"reject"', "partial: some hunks, or a text that the user edited."),
        "hunks": Field("integer[]", "For partial: indexes of the accepted hunks.", optional=True),
        "text": Field(
            "string", "The text that the document has now, or is to get. For a rejection left out.", optional=True
        ),
        "appliedBy": Field(
            '"client"|"server"|"none"',
            "client: the client has changed its buffer; server: the server is to write the file, which is not open; "
            "none: rejected. Left out: server, or none for a rejection.",
            optional=True,
        ),
        "feedback": Field("string", "The user's words for the model.", optional=True),
    },
    "Prompt": {
        "promptId": Field("string", "The question's id."),
        "sessionId": Field("string", "The session that asks."),
        "kind": Field('"tool"|"edit"|"plan"|"continue"|"trust"', "What it is about."),
        "title": Field("string", "One line."),
        "text": Field("string", "All of it: the command, the diff, the plan."),
        "decisions": Field("string[]", "The answers that it takes; no yes comes first."),
        "callId": Field("string|null", "The tool call that it is about."),
        "uri": Field("string|null", "The file that it is about."),
        "always": Field("string|null", "What an answer for more than once would allow."),
    },
}


@dataclass(frozen=True, slots=True)
class Message:
    """One method. result: None for a notification."""

    method: str
    sender: Literal["server", "client"]
    needs: str
    """Which of updates, approvals and reviews a client says to get it."""
    about: str
    params: Record
    result: Record | None = field(default=None)


_PROMPT = {
    "promptId": Field("string", "The question's id, for turnstone.answer and turnstone/resolved."),
    "sessionId": Field("string", "The session that asks."),
}
_FEEDBACK = Field("string", "The user's words for the model, with either answer.", optional=True)

MESSAGES: tuple[Message, ...] = (
    Message(
        protocol.UPDATE,
        "server",
        "updates",
        "What happens, in order. At most one message in 30 ms; neighbouring pieces of text are joined. Each event has "
        "a number that grows by one over all sessions of the connection; after a gap, ask `turnstone.state` with the "
        "last number that was seen.",
        {"events": Field("Event[]", "One or more events; see Events.")},
    ),
    Message(
        protocol.REQUEST_APPROVAL,
        "server",
        "approvals",
        "A question that a person answers with yes or no. It may stay open for as long as the person likes. Offer no "
        "default, never put a yes first, and ignore keys that the user was typing elsewhere. Null, or "
        "anything but `allow`, is a no; an error is no answer, and the question stays open.",
        {
            **_PROMPT,
            "kind": Field('"tool"|"continue"|"trust"', "A call, a limit that was reached, or trust in the workspace."),
            "title": Field("string", "One line."),
            "text": Field("string", "The whole question. Show all of it."),
            "item": Field("Item|null", "For tool: the call."),
            "batch": Field("Item[]", "For tool: all calls of the same reply of the model, for context."),
            "scopes": Field("string[]", "For how long a yes can hold; only `once` where always is not offered."),
        },
        {
            "decision": Field('"allow"|"deny"', "The answer."),
            "scope": Field(SCOPES, "How long a yes holds. Left out: once.", optional=True),
            "grant": Field("string[]", "For a task: tools that its sub-agent may use unasked.", optional=True),
            "feedback": _FEEDBACK,
        },
    ),
    Message(
        protocol.REVIEW_EDITS,
        "server",
        "reviews",
        "Changes of files for the user to accept, whole or by hunk, to edit, or to reject. Nothing is changed before. "
        "A client changes documents that it has open itself, as one undo step, after it has compared its buffer with "
        "`baseText`; the server then compares the synced text with `text`. Files that are not open are left to the "
        "server. A preview must not send didOpen. Files without an answer are rejected.",
        {"sessionId": _PROMPT["sessionId"], "files": Field("FileChange[]", "One for each file.")},
        {"files": Field("FileAnswer[]", "One for each file, in any order."), "feedback": _FEEDBACK},
    ),
    Message(
        protocol.REVIEW_PLAN,
        "server",
        "approvals",
        "A finished plan for the user to accept, annotate or reject.",
        {
            **_PROMPT,
            "callId": Field("string", "The plan call."),
            "uri": Field("string", "The plan's file."),
            "text": Field("string", "The plan, in Markdown."),
        },
        {
            "decision": Field('"accept"|"annotate"|"reject"', "The answer."),
            "feedback": Field("string", "The annotations, or the reason.", optional=True),
        },
    ),
    Message(
        protocol.RESOLVED,
        "server",
        "approvals or reviews",
        "A question is settled: answered, here or elsewhere, or withdrawn. Close it; an answer to it is ignored now.",
        {"promptId": Field("string", "The question.")},
    ),
    Message(
        protocol.APPLY_EDIT,
        "server",
        "reviews",
        "Change an open document without a question: the user has agreed already (a mode, an undo). Apply all of it as "
        "one undo step if the buffer has `baseText`, else nothing.",
        {
            "uri": Field("string", "The document."),
            "version": Field("integer", "The version that the base text was taken from."),
            "baseText": Field("string", "The text that must be there."),
            "newText": Field("string", "The text that is to be there."),
            "hunks": Field("Hunk[]", "The places that change."),
            "label": Field("string", "What to call it, e.g. in an undo list."),
        },
        {
            "applied": Field("boolean", "It was done. The server compares the synced text all the same."),
            "reason": Field("string", "Why not.", optional=True),
        },
    ),
    Message(
        protocol.SAVE_DOCUMENT,
        "server",
        "reviews",
        "Save a document that had no unsaved changes before one of ours.",
        {"uri": Field("string", "The document.")},
        {"saved": Field("boolean", "It was done.")},
    ),
    Message(
        protocol.CONTEXT,
        "client",
        "",
        "Where the user is. Send it, debounced, when that changes; the newest is used for the next request that brings "
        "no context of its own.",
        {**RECORDS["Context"]},
    ),
)
