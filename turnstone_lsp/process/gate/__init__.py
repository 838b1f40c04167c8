"""The command gate: what a bash command line would do, read from its syntax tree before it runs.

Three answers, block > ask > ok (C-09 to C-15). The gate is a seat belt: it stops accidents and lazy injections and
says plainly what is doubtful. The boundary is the user's approval. It runs nothing and never blocks for long; what
is too long, too deep, unreadable or only known when it runs is asked about.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate.verdict import Findings, Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

log = logging.getLogger(__name__)

__all__ = ["Level", "Verdict", "judge"]


def judge(command: str, cwd: Path | None = None, roots: Iterable[Path] = (), *, home: Path | None = None) -> Verdict:
    """The verdict on one command line as bash would run it in `cwd` (default: the process's own).

    roots: the workspace's folders, by default `cwd` alone; home: the user's home folder, by default the real one.
    Reads the file system to resolve links, and changes nothing.
    """
    from turnstone_lsp.process.gate.places import surroundings
    from turnstone_lsp.process.gate.syntax import refuse
    from turnstone_lsp.process.gate.walk import Walk
    from turnstone_lsp.process.gate.words import State

    found = Findings()
    around = surroundings(cwd, tuple(roots), home)
    if not refuse(command, found):
        try:
            Walk(found, around).root(command, State((around.cwd,), around.home))
        except RecursionError:
            found.ask("it is too deep to be examined")
        except Exception:
            log.exception("judging a command failed")
            found.ask("it could not be examined (an internal error; see the log)")
    if not found.commands and not found.blocks:
        found.plain = False
    return found.verdict()
