"""`turnstone-lsp sessions`: conversations, here or everywhere."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.cli.jsonl import print_line
from turnstone_lsp.errors import ConfigError
from turnstone_lsp.memory.sessions import new_id
from turnstone_lsp.memory.store import Store
from turnstone_lsp.process.text import visible

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """List, show, export, rename, fork or delete."""
    if options.action != "list" and not options.id:
        raise ConfigError(f"Which session? turnstone-lsp sessions {options.action} ID; `sessions list` shows the ids.")
    return asyncio.run(_run(options))


async def _run(options: argparse.Namespace) -> int:
    store = Store()
    try:
        match options.action:
            case "list":
                await _list(store, options)
            case "show" | "export":
                text = await store.export(options.id, "json" if options.json else "markdown")
                sys.stdout.write(visible(text, keep="\n\t"))
            case "rename":
                print((await store.rename(options.id, options.title or "")).title)
            case "fork":
                print((await store.fork(options.id, new_id())).id)
            case "delete":
                await store.delete(options.id)
    finally:
        store.close()
    return 0


async def _list(store: Store, options: argparse.Namespace) -> None:
    here = None if options.all else str(Path.cwd())
    for info in await store.sessions(here):
        if options.json:
            print_line(asdict(info))
        else:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.updated))
            print(f"{info.id}  {when}  {info.messages:5d}  {visible(info.title or '(untitled)')}")
