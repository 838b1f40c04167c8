"""The commands about conversations: new, list, resume, rename, fork, delete, export."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from turnstone_lsp.lsp.edge import RefusedError

if TYPE_CHECKING:
    from turnstone_lsp.lsp.app import App

Arguments = dict[str, Any]


async def new(app: App, arguments: Arguments) -> Any:
    """turnstone.newSession"""
    del arguments
    return (await app.new_conversation()).session.state()


async def listed(app: App, arguments: Arguments) -> Any:
    """turnstone.listSessions"""
    store = (await app.engine()).store
    here = None if arguments.get("all") else str((await app.workspace()).roots.key)
    return [dataclasses.asdict(info) for info in await store.sessions(here)]


async def resume(app: App, arguments: Arguments) -> Any:
    """turnstone.resumeSession"""
    from turnstone_lsp.lsp.transcript_text import conversation_of

    session = (await app.resume(arguments["sessionId"])).session
    # What was said since it was opened belongs to it too.
    messages = await (await app.engine()).store.load(session.id)
    return {**session.state(), "conversation": conversation_of(messages)}


async def rename(app: App, arguments: Arguments) -> Any:
    """turnstone.renameSession"""
    ident = _named(app, arguments, "turnstone.renameSession")
    info = await (await app.engine()).store.rename(ident, arguments["title"])
    session = app.session_of(ident)
    if session is not None:
        session.title = info.title
    return {"title": info.title}


async def fork(app: App, arguments: Arguments) -> Any:
    """turnstone.forkSession"""
    from turnstone_lsp.memory.sessions import new_id

    info = await (await app.engine()).store.fork(_named(app, arguments, "turnstone.forkSession"), new_id())
    return await resume(app, {"sessionId": info.id})


async def delete(app: App, arguments: Arguments) -> None:
    """turnstone.deleteSession"""
    ident = arguments["sessionId"]
    await app.forget(ident)
    await (await app.engine()).store.delete(ident)


async def export(app: App, arguments: Arguments) -> str:
    """turnstone.exportSession"""
    ident = _named(app, arguments, "turnstone.exportSession")
    return await (await app.engine()).store.export(ident, arguments.get("format", "markdown"))


def _named(app: App, arguments: Arguments, command: str) -> str:
    """The named session's id, or the current one's. Raises RefusedError when there is neither."""
    ident = arguments.get("sessionId") or (app.current.session.id if app.current else None)
    if ident is None:
        raise RefusedError(f"{command}: there is no current session; name one by 'sessionId'.")
    return str(ident)
