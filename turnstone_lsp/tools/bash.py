"""bash: a command in the session's folder, read by the gate before, supervised while it runs."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process import supervisor
from turnstone_lsp.process.environment import child_env, find_program, known_secrets
from turnstone_lsp.process.gate import judge
from turnstone_lsp.process.text import redact, visible
from turnstone_lsp.tools.base import Call, Location, Plan, Result, Subject
from turnstone_lsp.tools.changes import Watch

if TYPE_CHECKING:
    from turnstone_lsp.process.gate import Verdict
    from turnstone_lsp.process.supervisor import Outcome
    from turnstone_lsp.tools.context import ToolContext

_HEADER_LENGTH = 100
_ROOM_FOR_NOTES = 1_500
_LEAST_OUTPUT = 2_000
_SHELL = ("--norc", "--noprofile", "-o", "pipefail", "-c")
"""No start-up files, so that the command which runs is the command that was read; a pipe fails with any part of it."""
_ANSWERS = (0, 1)
"""1 is how grep, diff and test say no; other exit codes mean that the command failed."""


@dataclass(frozen=True, slots=True)
class Args:
    """Arguments of bash."""

    command: str


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Read the command: what it would do, and what is doubtful about it. Runs nothing."""
    command = args.command
    verdict = await asyncio.to_thread(judge, command, ctx.cwd, ctx.workspace.roots.paths)
    unsaved = _unsaved(ctx)
    notes = (f"It does not see unsaved changes in {', '.join(unsaved)}.",) if unsaved else ()

    async def execute(call: Call) -> Result:
        return await _run(command, ctx, call)

    return Plan(
        header=_header(command),
        preview=visible(command, keep="\n\t"),
        needs_approval=True,
        execute=execute,
        kind="execute",
        subject=_subject(command, verdict),
        locations=tuple(Location(path) for path in verdict.paths),
        must_ask=verdict.reasons if verdict.verdict == "ask" else (),
        block=f"bash: this command is never run: {verdict.why}" if verdict.verdict == "block" else None,
        notes=notes,
    )


def _header(command: str) -> str:
    first, *more = command.strip().split("\n")
    first = visible(first)
    cut = len(first) > _HEADER_LENGTH or bool(more)
    return f"bash: {first[:_HEADER_LENGTH]}{' …' if cut else ''}"


def _subject(command: str, verdict: Verdict) -> Subject:
    """What rules match, and what an "always" would store: an argv prefix common to all commands, or the exact line."""
    commands = verdict.commands if verdict.plain else ()
    pattern = None
    if verdict.verdict == "ok":
        prefix = verdict.prefixes[0] if verdict.plain and verdict.prefixes else ()
        shared = bool(prefix) and all(argv[: len(prefix)] == prefix for argv in commands)
        pattern = f"{' '.join(prefix)} *" if shared and _simple(prefix) else command
    return Subject("command", command, commands, pattern, verdict.commands)


def _simple(words: tuple[str, ...]) -> bool:
    """Words that read the same with and without quotes."""
    return all(word and not set(word) & set(" \t\n'\"\\$`*?[]{}()<>|&;#~!") for word in words)


def _unsaved(ctx: ToolContext) -> list[str]:
    documents = [d for d in ctx.workspace.documents if d.dirty]
    return [ctx.workspace.roots.display(d.path) if d.path else d.name for d in documents]


async def _run(command: str, ctx: ToolContext, call: Call) -> Result:
    roots = ctx.workspace.roots.paths
    bash = find_program("bash", roots)
    if bash is None:
        raise ToolError(
            "bash: no bash was found on PATH; install it, and start the editor from an environment with it."
        )
    secrets = known_secrets(ctx.settings)
    watch = await asyncio.to_thread(Watch, roots, tuple(ctx.workspace.reads))
    outcome = await supervisor.run(
        [bash, *_SHELL, command],
        cwd=ctx.cwd,
        env=child_env(secrets=secrets, roots=roots),
        timeout=ctx.settings.tools.bash_timeout,
        on_output=call.output,
        transform=lambda text: redact(text, secrets),
        keep=max(ctx.settings.tools.output_limit - _ROOM_FOR_NOTES, _LEAST_OUTPUT),
        name=f"bash-{call.id}",
        owner=ctx.session_id,
    )
    changed = await asyncio.to_thread(watch.changed)
    lines = [outcome.output.rstrip("\n") or "(no output)"] if outcome.binary is None else []
    lines += [f"[{note}]" for note in _notes(outcome, ctx)]
    ok = not outcome.ended and outcome.exit_code in _ANSWERS
    return Result(redact("\n".join(lines), secrets), ok=ok, changed=changed)


def _notes(outcome: Outcome, ctx: ToolContext) -> list[str]:
    notes = []
    if outcome.binary:
        kind = outcome.binary
        notes.append(f"binary output ({kind}, {outcome.bytes_seen:,} bytes) is not shown; redirect it into a file")
    notes.append(_ending(outcome, ctx.settings.tools.bash_timeout))
    if outcome.background:
        named = ", ".join(f"{p.pid} ({visible(p.command)[:80]})" for p in outcome.background[:10])
        notes.append(f"still running in the background, until turnstone ends: {named}; kill PID ends one sooner")
        notes.append(f"its further output goes to {outcome.path} (read_file)")
    unsaved = _unsaved(ctx)
    if unsaved:
        notes.append(f"the command saw the files on disk, without the unsaved changes in {', '.join(unsaved)}")
    return notes


def _ending(outcome: Outcome, timeout: float) -> str:
    unknown = "what it had done by then is not known; check before you run it again"
    if outcome.ended == "timeout":
        return f"timed out after {timeout:g} s and was ended with all its processes; {unknown}"
    if outcome.ended == "output":
        return f"ended because it wrote more than {outcome.bytes_seen // 2**20:,} MB; {unknown}"
    if outcome.signal is not None:
        return f"ended by signal {_signal_name(outcome.signal)}"
    code = outcome.exit_code
    if code is not None and code > 128 and code - 128 in set(signal.Signals):
        name = _signal_name(code - 128)
        why = "; a later command of the pipe had read enough" if name == "SIGPIPE" else ""
        return f"exit code {code} ({name}{why})"
    return f"exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
