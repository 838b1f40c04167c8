"""Every command, its arguments and its result. A command takes one object; a bare string is its first argument."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from turnstone_lsp.lsp.edge import RefusedError
from turnstone_lsp.lsp.messages import RECORDS, SCOPES
from turnstone_lsp.lsp.protocol import Field, Record, misfit_of_record, nearest


@dataclass(frozen=True, slots=True)
class Command:
    """One command. result: what it answers, in words."""

    about: str
    result: str
    arguments: Record = field(default_factory=dict)


def _session(about: str) -> Field:
    return Field("string", about, optional=True)


_CURRENT = _session("The session; left out: the current one.")
_TURN = Field("string", "The turn; left out: the last one that changed files.", optional=True)

COMMANDS: dict[str, Command] = {
    "turnstone.ask": Command(
        "Begin a turn, or, while one runs, say something more to it.",
        "`{sessionId, turnId}` at once; with `wait` the final text when the turn has ended, or an error.",
        {
            "text": Field("string", "The request."),
            "sessionId": _CURRENT,
            "context": Field("Context", "Where the user is; left out: the last turnstone/context.", optional=True),
            "uri": Field("string", "Short for a context with this document.", optional=True),
            "range": Field("Range", "Short for a context with this selection.", optional=True),
            "diagnostics": Field("Problem[]", "Short for a context with these problems.", optional=True),
            "wait": Field(
                "boolean", "Answer when the turn has ended. Cancelling the request stops the turn.", optional=True
            ),
        },
    ),
    "turnstone.stop": Command(
        "End the running turn: its questions are withdrawn, its request is aborted, its processes are ended.",
        "`{stopped}`: how many turns ran.",
        {"sessionId": _session("Only this session; left out: every session of this connection.")},
    ),
    "turnstone.newSession": Command("Begin a new conversation and make it the current one.", "Its state."),
    "turnstone.listSessions": Command(
        "The conversations of this workspace, the newest first.",
        "`[{id, title, workspace, model, parent, messages, created, updated}]`",
        {"all": Field("boolean", "Those of all workspaces.", optional=True)},
    ),
    "turnstone.resumeSession": Command(
        "Go on with an earlier conversation and make it the current one.",
        "Its state, with `conversation`: `[{role, text}]`.",
        {"sessionId": Field("string", "The session.")},
    ),
    "turnstone.renameSession": Command(
        "Give a conversation another title.",
        "`{title}`",
        {"title": Field("string", "The title."), "sessionId": _CURRENT},
    ),
    "turnstone.forkSession": Command(
        "Copy a conversation into a new one, which becomes the current one.", "Its state.", {"sessionId": _CURRENT}
    ),
    "turnstone.deleteSession": Command(
        "Delete a conversation and all that belongs to it.", "null", {"sessionId": Field("string", "The session.")}
    ),
    "turnstone.exportSession": Command(
        "A whole conversation as a document.",
        "The text.",
        {"sessionId": _CURRENT, "format": Field('"markdown"|"json"', "Left out: markdown.", optional=True)},
    ),
    "turnstone.undoTurn": Command(
        "Take back what a turn wrote to files.", "What was done, as text.", {"turnId": _TURN, "sessionId": _CURRENT}
    ),
    "turnstone.redoTurn": Command(
        "Put back what undo took.", "What was done, as text.", {"turnId": _TURN, "sessionId": _CURRENT}
    ),
    "turnstone.turnDiff": Command(
        "All that a turn changed, as one unified diff; opened where the client can open documents.",
        "The diff, as text.",
        {"turnId": _TURN, "sessionId": _CURRENT},
    ),
    "turnstone.setMode": Command(
        "Change what runs without a question.",
        "The session's state.",
        {"mode": Field('"ask"|"edit"|"plan"|"auto"', "ask: every effect is asked for."), "sessionId": _CURRENT},
    ),
    "turnstone.models": Command("The models of the endpoint.", "`{model, models}`"),
    "turnstone.setModel": Command(
        "Answer with another model from now on.", "`{model}`", {"model": Field("string", "Its name.")}
    ),
    "turnstone.state": Command(
        "What there is to show, and what a client has missed.",
        "`{sessionId, title, mode, cwd, trusted, turnId, state, instructions, messages, model, version, seq, "
        "transcript, prompts}`; with `since` also `events`, and `complete`: false when older ones are gone and the "
        "client had better ask for the conversation by turnstone.resumeSession.",
        {"sessionId": _CURRENT, "since": Field("integer", "Number of the last event that was seen.", optional=True)},
    ),
    "turnstone.pending": Command("The open questions.", "`Prompt[]`", {"sessionId": _session("Only this session's.")}),
    "turnstone.answer": Command(
        "Answer an open question from anywhere. The first answer counts; later ones, by a button, are ignored.",
        "`{resolved}`: false when the question was not open any more.",
        {
            "promptId": Field("string", "The question."),
            "decision": Field(
                "string",
                "tool, continue, trust: allow, deny. edit: accept, partial, reject. plan: accept, annotate, reject.",
            ),
            "feedback": Field("string", "The user's words for the model.", optional=True),
            "scope": Field(SCOPES, "For allow: how long it holds.", optional=True),
            "grant": Field("string[]", "For a task: tools that its sub-agent may use unasked.", optional=True),
            "hunks": Field("integer[]", "For partial: the accepted hunks.", optional=True),
            "hunk": Field("integer", "Decide this hunk alone; the rest stays open.", optional=True),
            "rest": Field("boolean", "Decide every hunk that was not decided alone.", optional=True),
            "text": Field("string", "For partial: the text that the file is to get.", optional=True),
        },
    ),
    "turnstone.memories": Command(
        "What the agent remembers here; set or delete one.",
        "All memories after it: `[{key, value, ...}]`",
        {
            "action": Field('"list"|"set"|"delete"', "Left out: list.", optional=True),
            "key": Field("string", "For set and delete.", optional=True),
            "value": Field("string", "For set.", optional=True),
        },
    ),
    "turnstone.trust": Command(
        "Trust the workspace: its AGENTS.md is read as instructions, modes and rules hold in it.",
        "null",
        {"trusted": Field("boolean", "false takes it back.", optional=True)},
    ),
    "turnstone.openTranscript": Command(
        "Open the transcript, from which a client without any plugin asks and answers.",
        "`{uri}`",
        {
            "uri": Field("string", "A document that the next question will be about.", optional=True),
            "range": Field("Range", "The place in it.", optional=True),
            "sessionId": _CURRENT,
        },
    ),
    "turnstone.showChanges": Command(
        "Open a pending change of a file as a diff.",
        "null",
        {"promptId": Field("string", "The question.")},
    ),
    "turnstone.send": Command(
        "Send the transcript's prompt section; with a selection, the selection.",
        "`{sessionId, turnId}`",
        {
            "uri": Field("string", "The transcript."),
            "range": Field("Range", "The selection.", optional=True),
            "promptId": Field("string", "Answer this question with the text as feedback instead.", optional=True),
            "decision": Field("string", "The answer to that question.", optional=True),
        },
    ),
}


def checked(name: str, given: Any) -> dict[str, Any]:
    """The arguments of a command as one object. Raises RefusedError, naming what is wrong and what was meant."""
    command = COMMANDS.get(name)
    if command is None:
        raise RefusedError(f"There is no command '{name}'; {nearest(name, COMMANDS)}")
    values = list(given or ())
    if len(values) == 1 and isinstance(values[0], str) and command.arguments:
        values = [{next(iter(command.arguments)): values[0]}]
    if len(values) > 1 or (values and not isinstance(values[0], dict | None)):
        raise RefusedError(f"{name} takes one object with {', '.join(command.arguments) or 'nothing'}.")
    found: dict[str, Any] = dict(values[0] or {}) if values else {}
    for argument in found:
        if argument not in command.arguments:
            raise RefusedError(f"{name}: unknown argument '{argument}'; {nearest(argument, command.arguments)}")
    why = misfit_of_record(found, command.arguments, RECORDS)
    if why is not None:
        raise RefusedError(f"{name} {why}" if why.startswith("needs") else f"{name}: {why}.")
    return {argument: value for argument, value in found.items() if value is not None}
