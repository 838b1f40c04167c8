"""The commands, one function each. Their arguments are checked against `command_table.py` before they get here."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.command_table import checked
from turnstone_lsp.lsp.edge import RefusedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from turnstone_lsp.lsp.app import App
    from turnstone_lsp.lsp.progress import Token

Arguments = dict[str, Any]


async def run(app: App, command: str, arguments: Any, token: Token | None = None) -> Any:
    """Run a command; its plain JSON result. Raises TurnstoneError with a whole sentence."""
    found = checked(command, arguments)
    if command == "turnstone.ask":
        return await _ask(app, found, token)
    return await _HANDLERS[command](app, found)


async def _ask(app: App, arguments: Arguments, token: Token | None) -> Any:
    """Begin a turn. A caller that waits stops the turn by cancelling its request."""
    text = arguments["text"]
    if not text.strip():
        raise RefusedError("turnstone.ask: 'text' is empty; say what is to be done.")
    short: Arguments = {name: arguments[name] for name in ("uri", "range", "diagnostics") if name in arguments}
    waiting = arguments.get("wait") is True
    conversation, turn = await app.start(
        text, arguments.get("sessionId"), arguments.get("context") or short, token if waiting else None
    )
    if not waiting:
        return {"sessionId": turn.session_id, "turnId": turn.id}
    try:
        result = await conversation.finished(turn)
    except asyncio.CancelledError:
        await app.stop(turn.session_id)
        raise
    if result.stop_reason != "completed":
        raise TurnstoneError(result.message or f"The turn ended: {result.stop_reason}.")
    return result.text


async def _stop(app: App, arguments: Arguments) -> Any:
    return {"stopped": await app.stop(arguments.get("sessionId"))}


async def _set_mode(app: App, arguments: Arguments) -> Any:
    conversation = await app.conversation(arguments.get("sessionId"))
    conversation.session.set_mode(arguments["mode"])
    return conversation.session.state()


async def _undo(app: App, arguments: Arguments) -> str:
    conversation = await app.conversation(arguments.get("sessionId"))
    done = await conversation.session.undo_turn(arguments.get("turnId"))
    conversation.note(done)
    return done


async def _redo(app: App, arguments: Arguments) -> str:
    conversation = await app.conversation(arguments.get("sessionId"))
    done = await conversation.session.redo_turn(arguments.get("turnId"))
    conversation.note(done)
    return done


async def _turn_diff(app: App, arguments: Arguments) -> str:
    conversation = await app.conversation(arguments.get("sessionId"))
    diff = await conversation.session.turn_diff(arguments.get("turnId"))
    await app.desk.show_text(f"turn-{conversation.session.id}.diff", diff + "\n")
    return diff


async def _state(app: App, arguments: Arguments) -> Any:
    """Answers without an engine too, so that it can be asked at any time."""
    ident = arguments.get("sessionId")
    session = app.session_of(ident)
    if session is None and ident is not None:
        raise RefusedError(f"turnstone.state: session {ident} is not open; turnstone.resumeSession opens it.")
    state: Arguments = session.state() if session else {"sessionId": None, "state": "idle", "turnId": None}
    state |= {"version": protocol.VERSION, "seq": app.desk.stream.seq, "prompts": await _pending(app, arguments)}
    if session is not None:
        state["model"] = (await app.engine()).model.name
        state["transcript"] = app.desk.transcript(session.id).uri
    if (since := arguments.get("since")) is not None:
        app.desk.stream.flush()
        state["seq"] = app.desk.stream.seq
        state["events"], state["complete"] = app.desk.stream.since(since)
    return state


async def _pending(app: App, arguments: Arguments) -> Any:
    ident = arguments.get("sessionId")
    return [p.describe() for p in (app.desk.prompts if ident is None else app.desk.prompts.of(ident))]


async def _answer(app: App, arguments: Arguments) -> Any:
    return {"resolved": app.desk.prompts.answer(arguments["promptId"], arguments["decision"], arguments)}


async def _show_changes(app: App, arguments: Arguments) -> None:
    prompt = app.desk.prompts.get(arguments["promptId"])
    if prompt is None or prompt.proposal is None:
        raise RefusedError(f"turnstone.showChanges: no pending change has the id {arguments['promptId']}.")
    if not await app.desk.show_changes(prompt.proposal):
        await app.desk.show_pending(prompt.session_id)


async def _memories(app: App, arguments: Arguments) -> Any:
    store = (await app.engine()).store
    workspace = str((await app.workspace()).roots.key)
    action = arguments.get("action", "list")
    needed = {"set": ("key", "value"), "delete": ("key",), "list": ()}[action]
    for name in needed:
        if not arguments.get(name):
            raise RefusedError(f"turnstone.memories: to {action} a memory, give its '{name}'.")
    if action == "set":
        await store.remember(arguments["key"], arguments["value"])
    elif action == "delete" and await store.forget(arguments["key"], workspace) is None:
        raise TurnstoneError(f"There is no memory '{arguments['key']}'; turnstone.memories lists them.")
    return [dataclasses.asdict(memory) for memory in await store.memories(workspace)]


async def _models(app: App, arguments: Arguments) -> Any:
    del arguments
    model = (await app.engine()).model
    names = await model.models()
    return {"model": model.name, "models": names}


async def _set_model(app: App, arguments: Arguments) -> Any:
    (await app.engine()).model.use(arguments["model"])
    return {"model": arguments["model"]}


async def _trust(app: App, arguments: Arguments) -> None:
    await app.trust(trusted=arguments.get("trusted", True))


async def _open_transcript(app: App, arguments: Arguments) -> Any:
    """Open it where the user can write; a place that the question is about is put into the prompt section."""
    conversation = await app.conversation(arguments.get("sessionId"))
    transcript = app.desk.transcript(conversation.session.id)
    context = app.editor_context(arguments) if arguments.get("uri") else None
    if context is not None and context.path:
        chosen = context.selection
        lines = f":{chosen.start_line}-{chosen.end_line}" if chosen else ""
        await transcript.add_to_prompt(f"About {context.path}{lines}: ")
    else:
        await transcript.write()
    if not await app.connection.show_document(transcript.uri, focus=True):
        app.connection.show_message(f"Write your question at the end of {transcript.path}")
    return {"uri": transcript.uri}


async def _send(app: App, arguments: Arguments) -> Any:
    """Ask, or answer, with what the user wrote into the transcript."""
    document = app.desk.documents.by_uri(arguments["uri"])
    transcript = app.desk.transcript_at(document.path) if document else app.desk.transcript_of(arguments["uri"])
    if transcript is None:
        raise RefusedError("turnstone.send sends a transcript's prompt; turnstone.openTranscript opens one.")
    context = app.editor_context({"uri": arguments["uri"], "range": arguments.get("range")})
    selected = context.selection.text.strip() if context and context.selection else ""
    text = selected or await transcript.prompt()
    if not text:
        raise RefusedError("The prompt section is empty; write below its line first, or select what is to be sent.")
    answer: Any
    if prompt_id := arguments.get("promptId"):
        decision = arguments.get("decision") or "deny"
        answer = {"resolved": app.desk.prompts.answer(prompt_id, decision, {"feedback": text})}
    else:
        conversation, turn = await app.start(text, transcript.session_id)
        answer = {"sessionId": conversation.session.id, "turnId": turn.id}
    if not selected:
        await transcript.clear_prompt()
    return answer


def _handlers() -> dict[str, Callable[[App, Arguments], Awaitable[Any]]]:
    from turnstone_lsp.lsp import session_commands as sessions

    return {
        "turnstone.stop": _stop,
        "turnstone.newSession": sessions.new,
        "turnstone.listSessions": sessions.listed,
        "turnstone.resumeSession": sessions.resume,
        "turnstone.renameSession": sessions.rename,
        "turnstone.forkSession": sessions.fork,
        "turnstone.deleteSession": sessions.delete,
        "turnstone.exportSession": sessions.export,
        "turnstone.undoTurn": _undo,
        "turnstone.redoTurn": _redo,
        "turnstone.turnDiff": _turn_diff,
        "turnstone.setMode": _set_mode,
        "turnstone.state": _state,
        "turnstone.pending": _pending,
        "turnstone.answer": _answer,
        "turnstone.showChanges": _show_changes,
        "turnstone.memories": _memories,
        "turnstone.models": _models,
        "turnstone.setModel": _set_model,
        "turnstone.trust": _trust,
        "turnstone.openTranscript": _open_transcript,
        "turnstone.send": _send,
    }


_HANDLERS = _handlers()
