"""man: a manual page as plain text. The page name can never be an option, a path or a command."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process import supervisor
from turnstone_lsp.process.environment import find_program, probe_env
from turnstone_lsp.process.text import clean
from turnstone_lsp.tools.base import Call, Plan, Result

if TYPE_CHECKING:
    from turnstone_lsp.tools.context import ToolContext

_PAGE = re.compile(r"[A-Za-z0-9_.+:\[][A-Za-z0-9_.+:\[\]@-]*")
"""No slash, for man prints any file whose path it is given, `--` or not; no leading dash."""
_SECTION = re.compile(r"[0-9nl][a-z]*")
_WITH_SECTION = re.compile(
    r"(?P<page>[^\s()]+)\s*\((?P<section>[0-9nl][a-z]*)\)|(?P<first>[0-9][a-z]*)\s+(?P<name>[^\s()]+)"
)
_ENVIRONMENT = {"MANWIDTH": "80", "MANOPT": "--no-hyphenation --no-justification", "GROFF_NO_SGR": "1"}
_TIMEOUT = 30.0
_MINIMIZED = "system has been minimized"
_INSTALL = (
    "on Debian and Ubuntu 'apt install man-db manpages', on Fedora 'dnf install man-db man-pages', "
    "on Alpine 'apk add mandoc man-pages'"
)


@dataclass(frozen=True, slots=True)
class Args:
    """Arguments of man."""

    page: str
    section: str | None = None


async def prepare(args: Args, ctx: ToolContext) -> Plan:
    """Check the names; "printf(3)" and "3 printf" name a section too."""
    page, section = _names(args)
    roots = ctx.workspace.roots.paths

    async def execute(call: Call) -> Result:
        del call
        program = find_program("man", roots)
        if program is None:
            raise ToolError(f"man is not installed here. Install it ({_INSTALL}), or use bash with '{page} --help'.")
        return Result(await _read(program, page, section))

    shown = f"{page}({section})" if section else page
    return Plan(header=f"man {shown}", preview=shown, needs_approval=False, execute=execute, kind="read")


def _names(args: Args) -> tuple[str, str | None]:
    page, section = args.page.strip(), (args.section or "").strip() or None
    combined = _WITH_SECTION.fullmatch(page)
    if combined:
        page = combined["page"] or combined["name"]
        section = section or combined["section"] or combined["first"]
    if not _PAGE.fullmatch(page):
        raise ToolError(
            f"man: argument 'page' must be the name of a manual page such as grep or printf, not {args.page[:60]!r}; "
            "it cannot be an option, a path or a command line."
        )
    if section is not None and not _SECTION.fullmatch(section):
        raise ToolError(f"man: argument 'section' must be a manual section such as 1, 3 or 3p, not {section[:40]!r}.")
    return page, section


async def _read(program: str, page: str, section: str | None) -> str:
    words = [section, page] if section else [page]
    found = await _man(program, "-P", "cat", "--", *words)
    text = clean(found.stdout.decode("utf-8", "replace")).strip("\n")
    if _MINIMIZED in text or _MINIMIZED in found.stderr.decode("utf-8", "replace"):
        raise ToolError(
            "The manual pages were left out of this system image; run 'unminimize' and install them "
            f"({_INSTALL}), or use bash with '{page} --help'."
        )
    if found.timed_out:
        raise ToolError(f"man did not answer within {_TIMEOUT:g} s; use bash with '{page} --help'.")
    if found.exit_code == 0 and text:
        return text
    raise ToolError(await _missing(program, page, section, found.stderr.decode("utf-8", "replace")))


async def _missing(program: str, page: str, section: str | None, said: str) -> str:
    """Why there is no page, and what to do."""
    sections = await _sections(program, page)
    if section and sections:
        return (
            f"There is no manual page '{page}' in section {section}; there is one in section {', '.join(sections)}. "
            "Call man with that section, or without one."
        )
    where = f" in section {section}" if section else ""
    other = clean(said).strip().splitlines()
    reason = f" (man says: {other[-1]})" if other and "no manual entry" not in other[-1].lower() else ""
    return (
        f"There is no manual page '{page}'{where} on this system{reason}. Check the name, try bash with "
        f"'{page} --help', or install the package with its documentation (system calls and C functions: manpages-dev)."
    )


async def _sections(program: str, page: str) -> list[str]:
    """The sections that have a page of this name."""
    listed = await _man(program, "-a", "-w", "--", page)
    names = (Path(line).name for line in listed.stdout.decode("utf-8", "replace").splitlines())
    pattern = re.compile(rf"{re.escape(page)}\.([0-9nl][a-z]*)(?:\.\w+)?", re.IGNORECASE)
    return sorted({match[1] for name in names if (match := pattern.fullmatch(name))})


async def _man(program: str, *arguments: str) -> supervisor.Captured:
    return await supervisor.capture([program, *arguments], cwd=Path("/"), env=probe_env(_ENVIRONMENT), timeout=_TIMEOUT)
