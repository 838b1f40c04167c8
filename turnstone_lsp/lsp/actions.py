"""Code actions and code lenses: asking about a selection, mending a problem, deciding pending hunks in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lsprotocol import types

from turnstone_lsp.lsp.transcript import PROMPT_MARK

if TYPE_CHECKING:
    from turnstone_lsp.lsp.app import App
    from turnstone_lsp.lsp.prompts import Prompt
    from turnstone_lsp.workspace.documents import OpenDocument

_QUESTIONS = {
    "Explain": "Explain the selected code.",
    "Write tests": "Write tests for the selected code, in the style of this project's tests, and run them.",
}


def code_actions(app: App, params: types.CodeActionParams) -> list[types.CodeAction]:
    """What can be done at a place. Nothing here changes anything by itself: each runs a command."""
    uri = params.text_document.uri
    document = app.documents.by_uri(uri)
    if document is not None and PROMPT_MARK in document.text and document.path == app.transcript().path:
        return [_action("Send to turnstone", "turnstone.send", {"uri": uri, "range": _range(params.range)})]
    actions = [] if document is None else _hunk_actions(app, document, params.range)
    where = {"uri": uri, "range": _range(params.range)}
    for problem in params.context.diagnostics:
        record = {
            "uri": uri,
            "message": problem.message,
            "range": _range(problem.range),
            "source": problem.source or "",
        }
        ask = {"text": f"Fix this problem: {problem.message}", **where, "diagnostics": [record]}
        actions.append(
            _action(f"Fix this problem: {problem.message[:60]}", "turnstone.ask", ask, types.CodeActionKind.QuickFix)
        )
    actions.append(_action("Ask turnstone", "turnstone.openTranscript", where))
    if params.range.start != params.range.end:
        actions += [_action(title, "turnstone.ask", {"text": text, **where}) for title, text in _QUESTIONS.items()]
    return actions


def _action(
    title: str, command: str, argument: dict[str, Any], kind: types.CodeActionKind = types.CodeActionKind.Empty
) -> types.CodeAction:
    run = types.Command(title=title, command=command, arguments=[argument])
    return types.CodeAction(title=title, kind=kind, command=run)


def _range(span: types.Range) -> dict[str, Any]:
    return {
        "start": {"line": span.start.line, "character": span.start.character},
        "end": {"line": span.end.line, "character": span.end.character},
    }


def _current(prompt: Prompt, document: OpenDocument) -> bool:
    """The document still is what the proposal was made on; else its lines are not where the hunks say."""
    return prompt.proposal is not None and prompt.proposal.base.text == document.text


def _hunk_actions(app: App, document: OpenDocument, span: types.Range) -> list[types.CodeAction]:
    actions = []
    for prompt in app.prompts.for_path(document.path):
        if prompt.proposal is None or not _current(prompt, document):
            continue
        for index, hunk in enumerate(prompt.proposal.hunks):
            if hunk.start <= span.end.line and span.start.line <= max(hunk.start, hunk.end - 1):
                actions += [
                    _decide("Accept this change", prompt, "accept", index),
                    _decide("Reject this change", prompt, "reject", index),
                ]
        actions += [_decide("Accept all changes", prompt, "accept"), _decide("Reject all changes", prompt, "reject")]
    return actions


def _decide(title: str, prompt: Prompt, decision: str, hunk: int | None = None) -> types.CodeAction:
    argument: dict[str, Any] = {"promptId": prompt.id, "decision": decision}
    if hunk is not None:
        argument["hunk"] = hunk
    return _action(title, "turnstone.answer", argument)


def code_lenses(app: App, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Accept and Reject above each pending hunk, with what it would become."""
    document = app.documents.by_uri(params.text_document.uri)
    lenses: list[types.CodeLens] = []
    if document is None:
        return lenses
    for prompt in app.prompts.for_path(document.path):
        if prompt.proposal is None or not _current(prompt, document):
            continue
        for index, hunk in enumerate(prompt.proposal.hunks):
            if index in prompt.chosen:
                continue
            place = types.Position(line=hunk.start, character=0)
            size = f"-{len(hunk.old)} +{len(hunk.new)}"
            for title, decision in ((f"Accept ({size})", "accept"), ("Reject", "reject")):
                command = _decide(title, prompt, decision, index).command
                lenses.append(types.CodeLens(range=types.Range(start=place, end=place), command=command))
    return lenses
