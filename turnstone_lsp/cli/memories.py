"""`turnstone-lsp memories`: what the agent remembers, for the user to read and correct."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.cli.jsonl import print_line
from turnstone_lsp.errors import ConfigError
from turnstone_lsp.memory.store import Store
from turnstone_lsp.process.text import visible

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """List, set or delete."""
    if options.action == "set" and not (options.key and options.value):
        raise ConfigError("Give a key and a value: turnstone-lsp memories set KEY VALUE.")
    if options.action == "delete" and not options.key:
        raise ConfigError("Which memory? turnstone-lsp memories delete KEY.")
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    store = Store()
    workspace = str(Path.cwd())
    try:
        if options.action == "set":
            await store.remember(options.key, options.value)
        elif options.action == "delete":
            if await store.forget(options.key, workspace) is None:
                raise ConfigError(f"There is no memory '{options.key}'; `turnstone-lsp memories` lists them.")
        else:
            for memory in await store.memories(workspace):
                print_line(asdict(memory)) if options.json else print(visible(f"{memory.key}: {memory.value}"))
    finally:
        store.close()
    return 0
