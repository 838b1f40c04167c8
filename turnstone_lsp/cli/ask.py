"""`turnstone-lsp ask`: one request to the agent, in the terminal."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from turnstone_lsp.cli import runtime
from turnstone_lsp.cli.console import Console
from turnstone_lsp.cli.jsonl import JsonUI
from turnstone_lsp.cli.terminal import TerminalUI
from turnstone_lsp.errors import ConfigError

if TYPE_CHECKING:
    import argparse

    from turnstone_lsp.agent.session import Session
    from turnstone_lsp.agent.ui import SessionUI
    from turnstone_lsp.memory.store import Store

_CODES = {"completed": 0, "failed": 1, "limit": 4, "cancelled": 130}
_STDIN_LIMIT = 200_000


def run(options: argparse.Namespace) -> int:
    """Ask; returns the exit code of `cli.main.EXIT_CODES`."""
    return runtime.run(lambda stop: _ask(options, stop))


def _request(options: argparse.Namespace) -> str:
    text = " ".join(options.text).strip()
    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read(_STDIN_LIMIT + 1)
    if len(piped) > _STDIN_LIMIT:
        raise ConfigError(f"stdin holds more than {_STDIN_LIMIT:,} characters; put it into a file and name the file.")
    if not text and not piped.strip():
        raise ConfigError('Nothing was asked. Try: turnstone-lsp ask "what does this project do?"')
    if not text:
        return piped
    return f"{text}\n\n<stdin>\n{piped}\n</stdin>" if piped.strip() else text


async def _ask(options: argparse.Namespace, stop: asyncio.Event) -> int:
    settings = runtime.settings_from(options)
    folder = runtime.folder_of(options)
    request = await asyncio.to_thread(_request, options)
    console = Console(interactive=False if options.json else None)
    ui: SessionUI = JsonUI() if options.json else TerminalUI(console)
    async with runtime.engine(settings) as engine:
        session = await engine.open_session(
            workspace=runtime.workspace_at(folder, settings),
            ui=ui,
            session_id=await _session_id(engine.store, options, str(folder)),
            trusted=await runtime.trust(engine.store, folder, options, console),
            auto_approve=options.yes,
        )
        return await _turn(session, request, stop)


async def _session_id(store: Store, options: argparse.Namespace, folder: str) -> str | None:
    if options.session != "last":
        return options.session or None
    known = await store.sessions(folder)
    if not known:
        raise ConfigError(f"There is no earlier session in {folder}; leave out --session.")
    return known[0].id


async def _turn(session: Session, request: str, stop: asyncio.Event) -> int:
    turn = session.start(request)
    waiting = asyncio.create_task(turn.wait())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if stop.is_set():
        await session.stop()
    result = await waiting
    if result.stop_reason == "completed" and session.denied_in_turn:
        return 3
    return _CODES[result.stop_reason]
