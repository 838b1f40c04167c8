"""Code actions and code lenses: asking about a place, deciding pending hunks and open questions where they stand.

They work in any LSP client without a plugin. None of them changes anything by itself: each runs a command. What is
first in a row is harmless.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.transcript_text import heading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnstone_lsp.lsp.app import App
    from turnstone_lsp.lsp.prompts import Prompt
    from turnstone_lsp.lsp.transcript import Transcript
    from turnstone_lsp.workspace.documents import OpenDocument
    from turnstone_lsp.workspace.hunks import Hunk

KIND_ASK = "turnstone"
KIND_REVIEW = "turnstone.review"
KINDS = [types.CodeActionKind.QuickFix, KIND_ASK, KIND_REVIEW]

_QUESTIONS = {
    "Explain": "Explain the selected code.",
    "Write tests": "Write tests for the selected code, in the style of this project's tests, and run them.",
}
_WORDS = {
    "tool": (("Deny", "deny"), ("Allow once", "allow")),
    "edit": (("Reject all", "reject"), ("Accept all", "accept")),
    "plan": (("Reject the plan", "reject"), ("Accept the plan", "accept")),
    "continue": (("Stop", "deny"), ("Go on", "allow")),
    "trust": (("Do not trust", "deny"), ("Trust", "allow")),
}
"""Question kind -> (title, decision), the harmless one first."""


def code_actions(app: App, params: types.CodeActionParams) -> list[types.CodeAction]:
    """What can be done at a place."""
    document = app.desk.documents.by_uri(params.text_document.uri)
    transcript = app.desk.transcript_at(document.path) if document else None
    if transcript is not None:
        found = list(_in_transcript(app, transcript, params))
    else:
        found = [*(_on_hunks(app, document, params.range) if document else ()), *_questions(app, params)]
    only = params.context.only
    return [a for a in found if not only or any(_below(str(getattr(a.kind, "value", a.kind)), k) for k in only)]


def _below(kind: str, wanted: types.CodeActionKind | str) -> bool:
    name = str(getattr(wanted, "value", wanted))
    return not name or kind == name or kind.startswith(name + ".")


def _questions(app: App, params: types.CodeActionParams) -> Iterator[types.CodeAction]:
    """Asking about a selection or a problem."""
    where = {"uri": params.text_document.uri, "range": _range(params.range)}
    for problem in params.context.diagnostics:
        record: dict[str, Any] = {"message": problem.message, "range": _range(problem.range)}
        record |= {"severity": int(problem.severity)} if problem.severity else {}
        record |= {"source": problem.source} if problem.source else {}
        ask = {"text": f"Fix this problem: {problem.message}", **where, "diagnostics": [record]}
        yield _action(f"Fix this problem: {problem.message[:60]}", "turnstone.ask", ask, types.CodeActionKind.QuickFix)
    own_prompt = app.connection.client.speaks.updates
    yield _action("Ask turnstone", protocol.CLIENT_ASK if own_prompt else "turnstone.openTranscript", where)
    if params.range.start != params.range.end:
        for title, text in _QUESTIONS.items():
            yield _action(title, "turnstone.ask", {"text": text, **where})


def _in_transcript(app: App, transcript: Transcript, params: types.CodeActionParams) -> Iterator[types.CodeAction]:
    """Asking and answering from the transcript."""
    where = {"uri": params.text_document.uri, "range": _range(params.range)}
    yield _action("Send to turnstone", "turnstone.send", where)
    for prompt in app.desk.prompts.of(transcript.session_id):
        yield from _answers(prompt)
        no = "annotate" if prompt.kind == "plan" else _WORDS[prompt.kind][0][1]
        title = "Annotate the plan" if prompt.kind == "plan" else _WORDS[prompt.kind][0][0]
        send = {**where, "promptId": prompt.id, "decision": no}
        yield _action(f"{title}, with the text of the prompt section as reason ({prompt.id})", "turnstone.send", send)
    session = {"sessionId": transcript.session_id}
    current = app.session_of(transcript.session_id)
    if current is not None and current.turn is not None:
        yield _action("Stop turnstone", "turnstone.stop", session)
    else:
        yield _action("Undo the last turn", "turnstone.undoTurn", session)
        yield _action("Begin a new session", "turnstone.newSession", {})


def _answers(prompt: Prompt) -> Iterator[types.CodeAction]:
    for title, decision in _WORDS[prompt.kind]:
        yield _action(
            f"{title} ({prompt.id}: {prompt.title[:60]})", "turnstone.answer", _answer(prompt, decision), KIND_REVIEW
        )
    if prompt.always:
        always = {**_answer(prompt, "allow"), "scope": "session"}
        yield _action(f"Always in this session: {prompt.always} ({prompt.id})", "turnstone.answer", always, KIND_REVIEW)


def _answer(prompt: Prompt, decision: str) -> dict[str, Any]:
    return {"promptId": prompt.id, "decision": decision}


def _action(
    title: str, command: str, argument: dict[str, Any], kind: types.CodeActionKind | str = KIND_ASK
) -> types.CodeAction:
    run = types.Command(title=title, command=command, arguments=[argument])
    return types.CodeAction(title=title, kind=kind, command=run)


def _range(span: types.Range) -> dict[str, Any]:
    return {
        "start": {"line": span.start.line, "character": span.start.character},
        "end": {"line": span.end.line, "character": span.end.character},
    }


# -- pending hunks


def _pending(app: App, document: OpenDocument) -> Iterator[tuple[Prompt, list[tuple[int, Hunk]]]]:
    """The reviews of a document with the hunks that are not decided yet.

    A document that is not the base any more has none: its lines are not where the hunks say (faults.md 56).
    """
    for prompt in app.desk.prompts.for_path(document.path):
        if prompt.proposal is not None and prompt.proposal.base.text == document.text:
            hunks = list(enumerate(prompt.proposal.hunks))
            yield prompt, [(index, hunk) for index, hunk in hunks if index not in prompt.chosen]


def _choices(prompt: Prompt, index: int, hunk: Hunk) -> list[tuple[str, str, dict[str, Any]]]:
    """(title, command, argument) of what can be done with a hunk."""
    answer, ident = "turnstone.answer", prompt.id
    return [
        (f"Show changes (+{len(hunk.new)} -{len(hunk.old)})", "turnstone.showChanges", {"promptId": ident}),
        ("Reject", answer, {"promptId": ident, "decision": "reject", "hunk": index}),
        ("Accept", answer, {"promptId": ident, "decision": "accept", "hunk": index}),
        ("Reject all", answer, {"promptId": ident, "decision": "reject", "rest": True}),
        ("Accept all", answer, {"promptId": ident, "decision": "accept", "rest": True}),
    ]


def _on_hunks(app: App, document: OpenDocument, span: types.Range) -> Iterator[types.CodeAction]:
    for prompt, hunks in _pending(app, document):
        for index, hunk in hunks:
            if hunk.start <= span.end.line and span.start.line <= max(hunk.start, hunk.end - 1):
                yield from (_action(*choice, KIND_REVIEW) for choice in _choices(prompt, index, hunk))


def code_lenses(app: App, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Decisions above each pending hunk, and above each open question of a transcript."""
    document = app.desk.documents.by_uri(params.text_document.uri)
    if document is None:
        return []
    transcript = app.desk.transcript_at(document.path)
    if transcript is not None:
        return list(_on_questions(app, transcript, document))
    last = max(0, len(document.table) - 1)
    return [
        _lens(min(hunk.start, last), title, command, argument)
        for prompt, hunks in _pending(app, document)
        for index, hunk in hunks
        for title, command, argument in _choices(prompt, index, hunk)
    ]


def _on_questions(app: App, transcript: Transcript, document: OpenDocument) -> Iterator[types.CodeLens]:
    lines = document.text.split("\n")
    for prompt in app.desk.prompts.of(transcript.session_id):
        if (head := heading(prompt)) in lines:
            at = len(lines) - 1 - lines[::-1].index(head)
            for title, decision in _WORDS[prompt.kind]:
                yield _lens(at, title, "turnstone.answer", _answer(prompt, decision))


def _lens(line: int, title: str, command: str, argument: dict[str, Any]) -> types.CodeLens:
    place = types.Position(line=line, character=0)
    run = types.Command(title=title, command=command, arguments=[argument])
    return types.CodeLens(range=types.Range(start=place, end=place), command=run)
