"""The commands: arguments checked, one function each. Every client reaches them by workspace/executeCommand."""

from __future__ import annotations

import asyncio
import dataclasses
import difflib
from typing import TYPE_CHECKING, Any

from turnstone_lsp.errors import TurnstoneError
from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.protocol import field
from turnstone_lsp.lsp.sync import context_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from turnstone_lsp.lsp.app import App

Arguments = dict[str, Any]
Handler = "Callable[[App, Arguments], Awaitable[Any]]"

_KNOWN: dict[str, frozenset[str]] = {
    "turnstone.ask": frozenset({"text", "sessionId", "uri", "range", "context", "diagnostics", "wait"}),
    "turnstone.stop": frozenset({"sessionId"}),
    "turnstone.listSessions": frozenset({"all"}),
    "turnstone.resumeSession": frozenset({"sessionId"}),
    "turnstone.renameSession": frozenset({"sessionId", "title"}),
    "turnstone.forkSession": frozenset({"sessionId"}),
    "turnstone.deleteSession": frozenset({"sessionId"}),
    "turnstone.exportSession": frozenset({"sessionId", "format"}),
    "turnstone.undoTurn": frozenset({"turnId"}),
    "turnstone.redoTurn": frozenset({"turnId"}),
    "turnstone.turnDiff": frozenset({"turnId"}),
    "turnstone.setMode": frozenset({"mode"}),
    "turnstone.state": frozenset({"since"}),
    "turnstone.answer": frozenset({"promptId", "decision", "feedback", "hunks", "hunk", "scope", "text", "grant"}),
    "turnstone.memories": frozenset({"action", "key", "value"}),
    "turnstone.setModel": frozenset({"model"}),
    "turnstone.openTranscript": frozenset({"uri", "range"}),
    "turnstone.send": frozenset({"uri", "range"}),
}


def check(command: str, arguments: object) -> Arguments:
    """The one object that a command takes. Raises TurnstoneError naming what is wrong."""
    given = list(arguments) if isinstance(arguments, (list, tuple)) else []
    if len(given) > 1 or (given and not isinstance(given[0], dict)):
        raise TurnstoneError(f"{command} takes one object: {protocol.COMMANDS[command]}.")
    found: Arguments = given[0] if given else {}
    known = _KNOWN.get(command, frozenset())
    for name in found:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"it takes {protocol.COMMANDS[command]}."
            raise TurnstoneError(f"{command}: unknown argument '{name}'; {hint}")
    return found


def _text(command: str, arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise TurnstoneError(f"{command}: '{name}' must be a text that is not empty.")
    return value


async def run(app: App, command: str, arguments: object, token: Any = None) -> Any:
    """Run a command. Raises TurnstoneError with a whole sentence."""
    if command not in protocol.COMMANDS:
        near = difflib.get_close_matches(command, protocol.COMMANDS, 1)
        raise TurnstoneError(f"There is no command '{command}'." + (f" Did you mean '{near[0]}'?" if near else ""))
    found = check(command, arguments)
    if command == "turnstone.ask":
        return await ask(app, found, token)
    return await _HANDLERS[command](app, found)


async def ask(app: App, arguments: Arguments, token: Any) -> Any:
    """Begin a turn; with `wait`, its final text. Cancelling a waiting request stops the turn."""
    text = _text("turnstone.ask", arguments, "text")
    about = arguments.get("context") if isinstance(arguments.get("context"), dict) else arguments
    context = context_of(about or {}, app.documents) or app.context
    waiting = arguments.get("wait") is True
    turn = await app.start(text, field(arguments, "sessionId", str), context, token if waiting else None)
    if not waiting:
        return {"sessionId": turn.session_id, "turnId": turn.id}
    try:
        result = await turn.wait()
    except asyncio.CancelledError:
        await app.stop()
        raise
    if result.stop_reason != "completed":
        raise TurnstoneError(result.message or f"The turn ended: {result.stop_reason}.")
    return {"sessionId": turn.session_id, "turnId": turn.id, "text": result.text, "stopReason": result.stop_reason}


async def _stop(app: App, arguments: Arguments) -> None:
    del arguments
    await app.stop()


async def _new(app: App, arguments: Arguments) -> Any:
    del arguments
    return {"sessionId": (await app.session(new=True)).id}


async def _list(app: App, arguments: Arguments) -> Any:
    engine = await app.engine()
    here = None if arguments.get("all") is True else str((await app.workspace()).roots.key)
    return [dataclasses.asdict(info) for info in await engine.store.sessions(here)]


async def _resume(app: App, arguments: Arguments) -> Any:
    session = await app.session(_text("turnstone.resumeSession", arguments, "sessionId"))
    return session.state()


async def _rename(app: App, arguments: Arguments) -> Any:
    ident = _text("turnstone.renameSession", arguments, "sessionId")
    info = await (await app.engine()).store.rename(ident, _text("turnstone.renameSession", arguments, "title"))
    return {"title": info.title}


async def _fork(app: App, arguments: Arguments) -> Any:
    from turnstone_lsp.memory.sessions import new_id

    ident = _text("turnstone.forkSession", arguments, "sessionId")
    return {"sessionId": (await (await app.engine()).store.fork(ident, new_id())).id}


async def _delete(app: App, arguments: Arguments) -> None:
    ident = _text("turnstone.deleteSession", arguments, "sessionId")
    if ident == app.session_id:
        await app.session(new=True)
    await (await app.engine()).store.delete(ident)


async def _export(app: App, arguments: Arguments) -> str:
    ident = field(arguments, "sessionId", str) or app.session_id
    form = arguments.get("format", "markdown")
    if form not in ("markdown", "json"):
        raise TurnstoneError(f"turnstone.exportSession: format is markdown or json, not {form!r}.")
    return await (await app.engine()).store.export(ident, form)


async def _undo(app: App, arguments: Arguments) -> str:
    return await (await app.session()).undo_turn(field(arguments, "turnId", str))


async def _redo(app: App, arguments: Arguments) -> str:
    return await (await app.session()).redo_turn(field(arguments, "turnId", str))


async def _diff(app: App, arguments: Arguments) -> str:
    return await (await app.session()).turn_diff(field(arguments, "turnId", str))


async def _set_mode(app: App, arguments: Arguments) -> Any:
    session = await app.session()
    session.set_mode(_text("turnstone.setMode", arguments, "mode"))
    return session.state()


async def _state(app: App, arguments: Arguments) -> Any:
    session = app.current
    state = session.state() if session else {"sessionId": "", "state": "idle"}
    state |= {"version": protocol.VERSION, "seq": app.stream.seq, "transcript": app.transcript().uri}
    state["prompts"] = [p.describe() for p in app.prompts]
    since = field(arguments, "since", int)
    if since is not None:
        state["events"] = [e for e in app.stream.sent if e["seq"] > since]
        oldest = app.stream.sent[0]["seq"] if app.stream.sent else app.stream.seq + 1
        state["complete"] = since + 1 >= oldest
    return state


async def _pending(app: App, arguments: Arguments) -> Any:
    del arguments
    return [p.describe() for p in app.prompts]


async def _answer(app: App, arguments: Arguments) -> Any:
    given = dict(arguments)
    ident, decision = _text("turnstone.answer", given, "promptId"), _text("turnstone.answer", given, "decision")
    hunk = field(given, "hunk", int)
    if hunk is not None:
        return {"resolved": app.prompts.decide_hunk(ident, hunk, accept=decision == "accept")}
    given.pop("promptId")
    given.pop("decision")
    return {"resolved": app.prompts.answer(ident, decision, **given)}


async def _memories(app: App, arguments: Arguments) -> Any:
    store = (await app.engine()).store
    workspace = str((await app.workspace()).roots.key)
    action = arguments.get("action", "list")
    if action == "set":
        key, value = (_text("turnstone.memories", arguments, name) for name in ("key", "value"))
        await store.remember(key, value)
    elif action == "delete":
        key = _text("turnstone.memories", arguments, "key")
        if await store.forget(key, workspace) is None:
            raise TurnstoneError(f"There is no memory '{key}'.")
    elif action != "list":
        raise TurnstoneError(f"turnstone.memories: action is list, set or delete, not {action!r}.")
    return [dataclasses.asdict(memory) for memory in await store.memories(workspace)]


async def _models(app: App, arguments: Arguments) -> Any:
    del arguments
    model = (await app.engine()).model
    names = await model.models()
    return {"model": model.name, "models": names}


async def _set_model(app: App, arguments: Arguments) -> Any:
    name = _text("turnstone.setModel", arguments, "model")
    (await app.engine()).model.use(name)
    return {"model": name}


async def _open_transcript(app: App, arguments: Arguments) -> Any:
    await app.session()
    transcript = app.transcript()
    context = context_of(arguments, app.documents)
    await transcript.write()
    if context is not None and context.selection is not None:
        chosen = context.selection
        await transcript.add_to_prompt(f"About {context.path}:{chosen.start_line}-{chosen.end_line}: ")
    await app.show_document(transcript.uri, focus=True)
    return {"uri": transcript.uri}


async def _send(app: App, arguments: Arguments) -> Any:
    uri = _text("turnstone.send", arguments, "uri")
    document = app.documents.by_uri(uri)
    transcript = app.transcript()
    if document is None or document.path != transcript.path:
        raise TurnstoneError("turnstone.send is for the transcript; open it with turnstone.openTranscript.")
    context = context_of(arguments, app.documents)
    chosen = context.selection.text if context and context.selection else ""
    text = chosen.strip() or transcript.prompt_of(document.text)
    if not text:
        raise TurnstoneError("The prompt section is empty; write your question below its line first.")
    turn = await app.start(text, None, app.context)
    if not chosen.strip():
        await transcript.clear_prompt()
    return {"sessionId": turn.session_id, "turnId": turn.id}


async def _trust(app: App, arguments: Arguments) -> None:
    del arguments
    await app.trust()


_HANDLERS: dict[str, Callable[[App, Arguments], Awaitable[Any]]] = {
    "turnstone.stop": _stop,
    "turnstone.newSession": _new,
    "turnstone.listSessions": _list,
    "turnstone.resumeSession": _resume,
    "turnstone.renameSession": _rename,
    "turnstone.forkSession": _fork,
    "turnstone.deleteSession": _delete,
    "turnstone.exportSession": _export,
    "turnstone.undoTurn": _undo,
    "turnstone.redoTurn": _redo,
    "turnstone.turnDiff": _diff,
    "turnstone.setMode": _set_mode,
    "turnstone.state": _state,
    "turnstone.pending": _pending,
    "turnstone.answer": _answer,
    "turnstone.memories": _memories,
    "turnstone.models": _models,
    "turnstone.setModel": _set_model,
    "turnstone.openTranscript": _open_transcript,
    "turnstone.send": _send,
    "turnstone.trust": _trust,
}
