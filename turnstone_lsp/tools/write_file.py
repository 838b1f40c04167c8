"""write_file: a whole file, new or in place of another, as a proposal that the user reviews."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools.base import Call, Location, Plan, Result, Subject
from turnstone_lsp.tools.proposing import Draft, pending_text, propose
from turnstone_lsp.workspace import checks, linediff
from turnstone_lsp.workspace.hunks import Change, lines_of
from turnstone_lsp.workspace.text import chop

if TYPE_CHECKING:
    from turnstone_lsp.tools.context import ToolContext
    from turnstone_lsp.workspace.paths import Target
    from turnstone_lsp.workspace.snapshot import Snapshot

_EOL = re.compile(r"\r\n|\n|\r")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Args:
    """content: the whole file."""

    path: str
    content: str = field(metadata={"empty": True})


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Stage the new content. An existing file keeps its encoding, BOM, line endings and mode."""
    workspace = ctx.workspace
    target = await workspace.resolve(args.path, write=True)
    await asyncio.to_thread(_check_place, target)
    pending = workspace.staging.current(target.path)
    base, text = await pending_text(ctx, target)
    content = await asyncio.to_thread(_as_file_has_it, args.content, text, base)
    if (base.exists or pending) and content == text:
        return _nothing_to_do(target)
    doubts: tuple[str, ...] = ()
    if base.exists and not pending:
        stale = await asyncio.to_thread(workspace.reads.stale, base)
        doubts = (f"the file exists and would be replaced as a whole, though {_user(stale)}",) if stale else ()
    draft = Draft(
        tool="write_file",
        target=target,
        base=base,
        text=text,
        change=Change(0, len(text), content),
        must_ask=(*doubts, *checks.shrinks(text, content)),
    )
    return await propose(ctx, draft)


def _user(stale: str) -> str:
    """The reason without what it tells the model to do."""
    return stale.split(";", 1)[0]


def _check_place(target: Target) -> None:
    """Raise ToolError when no file can be at the path."""
    if target.path.is_dir():
        raise ToolError(f"write_file: {target.display} is a folder. Give the path of a file in it.")
    above = next((parent for parent in target.path.parents if os.path.lexists(parent)), None)
    if above is not None and not above.is_dir():
        raise ToolError(f"write_file: {target.display} cannot be made: {above} is a file, not a folder.")


def _as_file_has_it(content: str, text: str, base: Snapshot) -> str:
    """The content with the file's line ends, and without a BOM of its own where the file's is kept."""
    if base.exists or base.format.bom:
        content = content.removeprefix(_BOM)
    eol = base.format.eol
    if base.exists and len(set(_EOL.findall(text))) > 1:
        return _with_own_ends(content, text, eol)
    if not base.exists and eol == "\n":
        return content
    if eol == "\n":
        return content.replace("\r\n", "\n")
    return _EOL.sub(lambda _: eol, content)


def _with_own_ends(content: str, text: str, eol: str) -> str:
    """A file with mixed line ends: lines that stay or are changed keep theirs, further ones take the most frequent."""
    own, new = lines_of(text), lines_of(content)
    bare_own, bare_new = [chop(line) for line in own], [chop(line) for line in new]
    pieces: list[str] = []
    i = 0
    for i1, i2, j1, j2 in [*linediff.differences(bare_own, bare_new), (len(own), len(own), len(new), len(new))]:
        pieces += own[i:i1]
        ends = [line[len(bare) :] for line, bare in zip(own[i1:i2], bare_own[i1:i2], strict=True)]
        pieces += [bare + end for bare, end in zip_longest(bare_new[j1:j2], ends[: j2 - j1], fillvalue="")]
        i = i2
    ended = [line if chop(line) != line else line + eol for line in pieces]
    if new and chop(new[-1]) == new[-1]:
        ended[-1] = chop(ended[-1])
    return "".join(ended)


def _nothing_to_do(target: Target) -> Plan:
    text = f"{target.display} has exactly this content already; there was nothing to do."

    async def execute(call: Call) -> Result:
        del call
        return Result(text)

    return Plan(
        header=f"write_file: {target.shown} (no change)",
        preview=text,
        needs_approval=False,
        execute=execute,
        kind="edit",
        subject=Subject("path", str(target.path)),
        locations=(Location(target.path),),
    )
