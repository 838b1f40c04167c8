"""Puts an engine together for a command: settings, store, workspace, trust."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.engine import Engine
from turnstone_lsp.config import folders
from turnstone_lsp.config.load import load
from turnstone_lsp.errors import ConfigError
from turnstone_lsp.memory.store import Store
from turnstone_lsp.workspace import pending
from turnstone_lsp.workspace.documents import OpenDocuments
from turnstone_lsp.workspace.editor import NoEditor
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.view import Workspace

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable, Coroutine

    from turnstone_lsp.cli.console import Console
    from turnstone_lsp.config.settings import Settings

log = logging.getLogger(__name__)


def settings_from(options: argparse.Namespace) -> Settings:
    """The user's settings with this command's options on top. Raises ConfigError."""
    model = {"name": getattr(options, "model", None), "base_url": getattr(options, "base_url", None)}
    given: dict[str, Any] = {"model": {k: v for k, v in model.items() if v}}
    if getattr(options, "mode", None):
        given["mode"] = options.mode
    loaded = load(options=given)
    for warning in loaded.warnings:
        print(f"turnstone-lsp: {warning}", file=sys.stderr)
    return loaded.settings


def folder_of(options: argparse.Namespace) -> Path:
    """The folder to work in. Raises ConfigError when it is none."""
    folder = Path(options.cwd or Path.cwd())
    if not folder.is_dir():
        raise ConfigError(f"--cwd: {folder} is not a folder.")
    return folder.resolve()


@contextlib.asynccontextmanager
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    """An engine that is closed at the end, its children with it. First, what a killed process left is put right."""
    for done in await asyncio.to_thread(pending.repair):
        log.warning("after an interrupted write: %s", done)
    store = Store(folders.database())
    made = Engine(settings, store)
    try:
        yield made
    finally:
        await made.close()


def workspace_at(folder: Path, settings: Settings) -> Workspace:
    """The files below `folder`, with no editor."""
    return Workspace(Roots([folder]), OpenDocuments(), NoEditor(), settings.edits)


async def trust(store: Store, folder: Path, options: argparse.Namespace, console: Console) -> bool:
    """Whether the folder's instructions may be read: --yes, --trust, an earlier answer, or the user's answer now."""
    if options.yes or options.trust or await store.trusted(folder):
        return True
    if not console.interactive or options.json:
        return False
    console.note(f"{folder} has not been trusted yet. Trusted, its AGENTS.md is read as instructions.")
    said = await console.ask("Trust it? y / n: ")
    trusted = said is not None and said.strip().lower() in ("y", "yes")
    if trusted:
        await store.trust(folder)
    return trusted


def run(main: Callable[[asyncio.Event], Coroutine[Any, Any, int]]) -> int:
    """Run a command's coroutine. Ctrl-C and SIGTERM set the event first; a second Ctrl-C ends the process at once."""

    async def start() -> int:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def on_signal() -> None:
            if stop.is_set():
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                signal.raise_signal(signal.SIGINT)
            stop.set()

        with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its loop
            loop.add_signal_handler(signal.SIGINT, on_signal)
            loop.add_signal_handler(signal.SIGTERM, on_signal)
        return await main(stop)

    return asyncio.run(start())
