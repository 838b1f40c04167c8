"""write_file: a whole file, new or in place of another, as a proposal that the user reviews."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools.proposing import propose
from turnstone_lsp.workspace.text import count_lines

if TYPE_CHECKING:
    from turnstone_lsp.tools.base import Plan
    from turnstone_lsp.tools.context import ToolContext
    from turnstone_lsp.workspace.snapshot import Snapshot

_EOL = re.compile(r"\r\n|\n|\r")
_PLACEHOLDER = re.compile(
    r"^[ \t]*(?:#|//|/\*|<!--|--|;|%|\"\"\"|\.\.\.|…|\[|\()?[ \t]*(?:\.\.\.|…)?[ \t]*"
    r"(?:(?:the )?(?:rest|remainder|remaining)\b.{0,40}\b(?:code|file|content|function|method|class|implementation|unchanged|same)"
    r"|(?:existing|previous|original|other|same) (?:code|content|methods?|functions?|imports?|implementation)\b"
    r".{0,40}(?:\.\.\.|…|here|unchanged|as before|remains?|above|below|continues?)"
    r"|(?:unchanged|omitted|snip(?:ped)?|truncated)\b.{0,20}(?:code|lines|content|\.\.\.|…|$))",
    re.IGNORECASE | re.MULTILINE,
)
_SHRINK_LINES = 20
_SHRINK_TO = 0.5


@dataclass(frozen=True, slots=True)
class Args:
    """content: the whole file."""

    path: str
    content: str = field(metadata={"empty": True})


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Stage the new content. An existing file keeps its encoding, BOM, line endings and mode."""
    workspace = ctx.workspace
    target = await workspace.resolve(args.path, write=True)
    base = await workspace.snapshot(target.path)
    pending = workspace.staging.current(target.path)
    text = pending.result if pending else base.text
    content = _with_eol(args.content, base)
    if base.exists and content == text:
        raise ToolError(f"write_file: {target.display} has exactly this content already; there is nothing to do.")
    return propose(
        ctx,
        "write_file",
        target,
        base,
        content,
        must_ask=_doubts(workspace.reads.stale(base) if base.exists and not pending else None),
        notes=tuple(_warnings(text, content)) if base.exists else tuple(_placeholders("", content)),
    )


def _with_eol(content: str, base: Snapshot) -> str:
    """Line ends as the file has them; a new file, and one with mixed ends, takes the content as it is given."""
    if not base.exists and base.format.eol == "\n":
        return content
    return _EOL.sub(lambda _: base.format.eol, content)


def _doubts(stale: str | None) -> tuple[str, ...]:
    return (f"the file exists and would be replaced as a whole, though {stale}",) if stale else ()


def _warnings(old: str, new: str) -> list[str]:
    notes = list(_placeholders(old, new))
    before, after = count_lines(old), count_lines(new)
    if before >= _SHRINK_LINES and after < before * _SHRINK_TO:
        notes.append(f"the file shrinks from {before} to {after} lines")
    return notes


def _placeholders(old: str, new: str) -> list[str]:
    """Lines that stand for text that was left out, and are new."""
    found = [m.group().strip() for m in _PLACEHOLDER.finditer(new) if m.group() not in old]
    return [f"the new text seems to leave something out: {line[:80]!r}" for line in found[:3]]
