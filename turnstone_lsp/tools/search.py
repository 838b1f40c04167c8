"""search: an extended regular expression over files and open buffers, as path:line:text."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools.base import Call, Location, Plan, Result, Subject
from turnstone_lsp.workspace.searching import dialect, engine
from turnstone_lsp.workspace.searching.results import choose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from turnstone_lsp.tools.context import ToolContext
    from turnstone_lsp.workspace.paths import Roots, Target
    from turnstone_lsp.workspace.searching.results import Chosen, Found

_NOTES = 1500
"""Characters of the output limit kept free for what stands under the lines."""
_LEAST = 1000
_SOME = 5
_NAMED = 20
"""Files named of those whose matches are not shown."""


@dataclass(frozen=True, slots=True)
class Args:
    """Arguments of search."""

    query: str
    path: str = ""


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Read the pattern and find the place; nothing is searched yet."""
    node = dialect.parse(args.query)
    workspace = ctx.workspace
    target = await workspace.resolve(args.path) if args.path.strip() else None
    if target is not None:
        await asyncio.to_thread(_check, target)
    bases = [target.path] if target else _outermost(workspace.roots)
    where = target.shown if target else ", ".join(workspace.roots.display(base) for base in bases)
    budget = max(ctx.settings.tools.output_limit - _NOTES, _LEAST)

    async def execute(call: Call) -> Result:
        del call
        found = await engine.search(workspace, node, bases)
        return Result(_render(found, args.query, where, workspace.roots, budget))

    return Plan(
        header=f"Search {where} for {args.query}",
        preview=f"{args.query}\nin {where}",
        needs_approval=False,
        execute=execute,
        kind="search",
        subject=Subject("path", str(bases[0]), pattern=str(bases[0])),
        locations=tuple(Location(base) for base in bases),
        must_ask=target.reasons(write=False) if target else (),
    )


def _check(target: Target) -> None:
    if target.path.is_dir() or target.path.is_file():
        return
    if target.path.exists():
        raise ToolError(f"search: path {target.display} is neither a file nor a folder.")
    glob = (
        " Give a folder without wildcards; the pattern is what 'query' is for."
        if set("*?[{") & set(target.display)
        else ""
    )
    raise ToolError(f"search: path {target.display} does not exist.{glob or ' Omit it to search the whole workspace.'}")


def _outermost(roots: Roots) -> list[Path]:
    """The session's folder; with several roots, all of them, none inside another."""
    if len(roots.paths) == 1:
        return [roots.cwd]
    return [
        root for root in roots.paths if not any(root != other and root.is_relative_to(other) for other in roots.paths)
    ]


def _render(found: Found, query: str, where: str, roots: Roots, budget: int) -> str:
    def name(path: str) -> str:
        shown = roots.display(roots.cwd / path)
        return shown if shown.isprintable() else ascii(shown)

    chosen, left = choose(found, budget, name)
    lines = [
        f"{name(one.hits.path)}:{number}:{text}{f' [... {cut:,} more characters]' if cut else ''}"
        for one in chosen
        for number, text, cut in one.hits.lines[: one.shown]
    ]
    if not found.files:
        lines.append(f"No line of {where} matches {query}")
    return "\n".join(lines + [f"[{note}]" for note in (*_left_out(found, left, name), *_notes(found, name))])


def _left_out(found: Found, left: list[Chosen], name: Callable[[str], str]) -> list[str]:
    lines = found.more_lines + sum(one.hits.count - one.shown for one in left)
    if not lines:
        return []
    named = [f"{name(one.hits.path)} ({one.hits.count - one.shown:,})" for one in left[:_NAMED]]
    others = len(left) + found.more_files - len(named)
    more = f" and {others:,} more {_plural(others, 'file')}" if others else ""
    where = f"{', '.join(named)}{more}"
    return [f"{lines:,} more matching {_plural(lines, 'line')} not shown: {where}. Narrow the query or give a path."]


def _notes(found: Found, name: Callable[[str], str]) -> list[str]:
    notes = []
    if found.ignored:
        names = sorted(map(name, found.ignored_names))
        some = ", ".join(names) + (", ..." if found.ignored > len(names) else "")
        things = "files or folders" if found.ignored > 1 else "file or folder"
        notes.append(f"{found.ignored:,} git-ignored {things} not searched: {some}. Give one as path to search it.")
    if found.binary:
        files = _plural(len(found.binary), "file")
        notes.append(f"{len(found.binary):,} binary {files} matched, not shown: {_some(found.binary, name)}.")
    if found.failed:
        listed = ", ".join(f"{name(path)} ({reason})" for path, reason in sorted(found.failed)[:_SOME])
        more = f" and {len(found.failed) - _SOME:,} more" if len(found.failed) > _SOME else ""
        notes.append(f"Could not be read: {listed}{more}.")
    if found.stopped:
        notes.append(f"Incomplete: {found.stopped}.")
    return notes


def _some(paths: list[str], name: Callable[[str], str]) -> str:
    more = f" and {len(paths) - _SOME:,} more" if len(paths) > _SOME else ""
    return ", ".join(name(path) for path in sorted(paths)[:_SOME]) + more


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
