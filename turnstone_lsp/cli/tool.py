"""`turnstone-lsp tool`: one tool, or a stream of calls, through the pipeline that a model's calls go through."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.model import ToolCall
from turnstone_lsp.cli import runtime
from turnstone_lsp.cli.console import Console, line_queue
from turnstone_lsp.cli.jsonl import JsonUI, print_line
from turnstone_lsp.cli.terminal import TerminalUI
from turnstone_lsp.errors import ConfigError
from turnstone_lsp.process.text import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from turnstone_lsp.agent.pipeline import Outcome
    from turnstone_lsp.agent.session import ToolSession
    from turnstone_lsp.agent.ui import SessionUI


def run(options: argparse.Namespace) -> int:
    """Run the call or calls; 0 when all worked, 1 when one failed, 3 when one was denied."""
    if options.stdin == bool(options.name):
        raise ConfigError("Name a tool (turnstone-lsp tool read_file README.md), or give --stdin, not both.")
    return runtime.run(lambda stop: _tool(options, stop))


async def _tool(options: argparse.Namespace, stop: asyncio.Event) -> int:
    settings = runtime.settings_from(options)
    folder = runtime.folder_of(options)
    lines = options.stdin or options.json
    console = Console(interactive=False if lines else None)
    ui: SessionUI = JsonUI(silent=True) if lines else TerminalUI(console)
    async with runtime.engine(settings) as engine:
        session = await engine.open_tools(
            workspace=runtime.workspace_at(folder, settings), ui=ui, trusted=True, auto_approve=options.yes
        )
        work = asyncio.create_task(_calls(options, session))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
            return 130
        return work.result()


async def _calls(options: argparse.Namespace, session: ToolSession) -> int:
    worst = 0
    if not options.stdin:
        outcome = await session.call(ToolCall("call-1", options.name, options.arguments or ""))
        _print(options, outcome)
        return _code(outcome)
    number = 0
    async for line in _stdin_lines():
        number += 1
        if not line.strip():
            continue
        try:
            name, arguments = _parse(line)
        except ValueError as error:
            print_line(_record("", str(error), ok=False, denied=False, level=None))
            worst = worst or 1
            continue
        outcome = await session.call(ToolCall(f"call-{number}", name, arguments))
        print_line(_result(outcome))
        worst = max(worst, _code(outcome))
    return worst


async def _stdin_lines() -> AsyncIterator[str]:
    lines = line_queue(sys.stdin)
    while (line := await lines.get()) is not None:
        yield line


def _parse(line: str) -> tuple[str, str]:
    """(name, arguments as a model would send them). Raises ValueError with a sentence."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ValueError(f'This line is not JSON ({error}); send {{"name": ..., "arguments": ...}}.') from None
    if not isinstance(record, dict) or not isinstance(record.get("name"), str):
        raise ValueError(  # noqa: TRY004 - one kind of error for whatever is wrong with a line
            'A line is a JSON object {"name": ..., "arguments": ...}; "name" is missing.'
        )
    arguments = record.get("arguments", {})
    return record["name"], arguments if isinstance(arguments, str) else json.dumps(arguments)


def _code(outcome: Outcome) -> int:
    return 3 if outcome.denied else 0 if outcome.status == "completed" else 1


def _record(name: str, text: str, *, ok: bool, denied: bool, level: str | None) -> dict[str, Any]:
    return {"name": name, "ok": ok, "denied": denied, "error": None if ok else text, "text": text, "level": level}


def _result(outcome: Outcome) -> dict[str, Any]:
    ok = outcome.status == "completed"
    return _record(outcome.call.name, outcome.text, ok=ok, denied=outcome.denied, level=outcome.level)


def _print(options: argparse.Namespace, outcome: Outcome) -> None:
    if options.json:
        print_line(_result(outcome))
        return
    stream = sys.stdout if outcome.status == "completed" else sys.stderr
    print(visible(outcome.text, keep="\n\t"), file=stream)
