"""read_file: numbered lines of a text file, the editor's unsaved text first."""

from __future__ import annotations

import asyncio
import difflib
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools.base import Call, Location, Plan, Result, Subject
from turnstone_lsp.workspace import codec, opening, slices
from turnstone_lsp.workspace.slices import Window
from turnstone_lsp.workspace.snapshot import Snapshot, TextFormat
from turnstone_lsp.workspace.view import unreadable

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.tools.context import ToolContext
    from turnstone_lsp.workspace.paths import Target
    from turnstone_lsp.workspace.slices import Slice
    from turnstone_lsp.workspace.view import Workspace

_WHOLE_UP_TO = 4 * 1024 * 1024
"""Bytes up to which a file is read whole, so that its text has a fingerprint and its lines a count."""
_NOTES = 600
"""Characters of the output limit kept free for what stands under the lines."""
_LEAST = 400
_END_NAMES = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


@dataclass(frozen=True, slots=True)
class Args:
    """Arguments of read_file."""

    path: str
    offset: int = 1
    limit: int | None = None


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Check that there is a file to read."""
    if args.offset < 1:
        raise ToolError("read_file: argument 'offset' is a line number and begins at 1.")
    if args.limit is not None and args.limit < 1:
        raise ToolError("read_file: argument 'limit' must be 1 or more; omit it for the whole file.")
    workspace = ctx.workspace
    target = await workspace.resolve(args.path)
    if workspace.documents.get(target.path) is None:
        await asyncio.to_thread(_check, target)
    window = Window(args.offset, args.limit, max(ctx.settings.tools.output_limit - _NOTES, _LEAST))

    async def execute(call: Call) -> Result:
        del call
        return Result(await _read(workspace, target, window))

    return Plan(
        header=f"Read {target.shown}",
        preview=f"{target.shown}{_range(args)}",
        needs_approval=False,
        execute=execute,
        kind="read",
        subject=Subject("path", str(target.path), pattern=str(target.path)),
        locations=(Location(target.path, args.offset),),
        must_ask=target.reasons(write=False),
    )


def _range(args: Args) -> str:
    if args.limit is not None:
        return f", lines {args.offset}-{args.offset + args.limit - 1}"
    return f", from line {args.offset}" if args.offset > 1 else ""


def _check(target: Target) -> None:
    """Raise ToolError when there is no regular file at the path."""
    try:
        mode = target.path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ToolError(f"read_file: {target.display} does not exist.{_nearest(target.path)}") from None
    except OSError as error:
        raise unreadable(target.display, error) from None
    if stat.S_ISDIR(mode):
        raise ToolError(f"read_file: {target.display} is a folder. Give a file in it, or find one with search.")
    if not stat.S_ISREG(mode):
        raise ToolError(f"read_file: {target.display} is {opening.kind_name(mode)}, not a file with text.")


def _nearest(path: Path) -> str:
    """What there is instead of a path that does not exist."""
    folder = path.parent
    if not folder.is_dir():
        while not folder.is_dir():
            folder = folder.parent
        return f" Of its folders, {folder} is the last that does."
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return ""
    folded = {name.casefold(): name for name in names}
    near = [folded[n] for n in difflib.get_close_matches(path.name.casefold(), folded, 3, 0.6)]
    return f" Did you mean {' or '.join(near)}?" if near else " Find its place with search, or list the folder."


async def _read(workspace: Workspace, target: Target, window: Window) -> str:
    path = target.path
    if workspace.documents.get(path) is None:
        found = await asyncio.to_thread(_from_disk, workspace, target, window)
        if not isinstance(found, Snapshot):
            workspace.reads.note_part(path, found.fingerprint, found.slice.shown())
            return _render(target, found.slice, found.form, None, [])
        snapshot = found
    else:
        snapshot = await workspace.snapshot(path)
    if not snapshot.exists:
        raise ToolError(f"read_file: {target.display} does not exist any more.")
    part, total = await asyncio.to_thread(slices.of_text, snapshot.text, window)
    if not part.lines and total:
        raise _beyond(target, window.first, total)
    if len(part.lines) == total:
        workspace.reads.note(snapshot)
    else:
        workspace.reads.note_part(path, snapshot.fingerprint, part.shown())
    document = workspace.documents.get(path)
    unsaved = ["This is unsaved text from the editor."] if document and document.dirty else []
    return _render(target, part, snapshot.format, total, unsaved)


def _from_disk(workspace: Workspace, target: Target, window: Window) -> Snapshot | slices.DiskSlice:
    """The whole of a small file; the asked lines of a large one, or of one whose lines can be counted in bytes."""
    declared = workspace.declared_encoding(target.path)
    try:
        with opening.open_verified(target.path) as descriptor:
            large = os.fstat(descriptor).st_size > _WHOLE_UP_TO
            encoding, _ = codec.find_format(os.pread(descriptor, 4096, 0), declared)
            if large and slices.streams(encoding):
                found = slices.of_file(descriptor, target.display, declared, window)
                if found.total is not None:
                    raise _beyond(target, window.first, found.total)
                return found
    except OSError as error:
        raise unreadable(target.display, error) from None
    return workspace.disk_snapshot(target.path)


def _beyond(target: Target, offset: int, total: int) -> ToolError:
    return ToolError(f"read_file: offset {offset:,} is beyond the end: {target.display} has {total:,} lines.")


def _render(target: Target, part: Slice, form: TextFormat, total: int | None, notes: list[str]) -> str:
    if not part.lines:
        return f"[{target.display} is empty.]"
    lines = []
    for index, line in enumerate(part.lines):
        cut = part.left_out.get(index)
        lines.append(f"{part.first + index:>5}\t{line}{f' [... {cut:,} more characters]' if cut else ''}")
    notes = [*notes, *_oddities(part, form, total)]
    if part.more:
        of = f" of {total:,}" if total is not None else ""
        why = "the output limit was reached" if part.full else "more follow"
        notes.append(f"Lines {part.first}-{part.last}{of}; {why}. Go on with offset={part.last + 1}.")
    return "\n".join(lines + [f"[{note}]" for note in notes])


def _oddities(part: Slice, form: TextFormat, total: int | None) -> list[str]:
    """What the numbered lines do not show of the file."""
    notes = []
    if len(part.ends) > 1:
        notes.append(
            f"Line endings are mixed ({', '.join(sorted(_END_NAMES[e] for e in part.ends))}); edits keep them."
        )
    elif part.ends and part.ends != {"\n"}:
        notes.append(f"Line endings are {_END_NAMES[form.eol]}; edits keep them, write plain new lines.")
    if form.encoding != "utf-8" or form.bom:
        notes.append(f"Encoding {form.encoding}{' with a byte-order mark' if form.bom else ''}; edits keep it.")
    if not part.final_end and not part.more and (total is None or part.last == total):
        notes.append("No newline at the end of the file.")
    return notes
