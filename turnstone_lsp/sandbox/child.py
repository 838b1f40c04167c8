"""What a forked child does before it runs anything: the layers, in this order. Any that fails ends the call."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.sandbox import kernel, landlock, limits, seccomp

if TYPE_CHECKING:
    from turnstone_lsp.sandbox.levels import Level

RULES_FD, STATUS_FD = 3, 4
"""Where a child has its Landlock rules and the pipe on which it says that all layers hold. The host keeps both numbers
occupied, so that no descriptor of its own is ever in the way.
"""
_FIRST_CLOSED = 5
CONFINED = b"+"


@dataclass(frozen=True, slots=True)
class Confinement:
    """The layers that every child gets. rules: the Landlock rule set as a descriptor, at L3 and L4."""

    level: Level
    rules: int | None = None

    @classmethod
    def build(cls, level: Level, readable: list[str]) -> Confinement:
        """The layers of a level. Raises OSError when the kernel does not give them."""
        rules = landlock.ruleset(readable) if level in ("L3", "L4") else None
        if level != "L1":
            seccomp.program(kernel.machine(), 0, files=rules is not None)  # assembled here and not in every call
        return cls(level, rules)


def confine(
    confinement: Confinement, *, null: int, output: int, status: int, parent: int, seconds: int, memory: int
) -> None:
    """Give up everything but `output`, as stdout and stderr. Raises OSError when a promised layer does not hold."""
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    if confinement.rules is not None:
        os.dup2(confinement.rules, RULES_FD)
    os.dup2(status, STATUS_FD)
    os.closerange(_FIRST_CLOSED, os.sysconf("SC_OPEN_MAX"))
    os.setsid()
    if kernel.machine():
        kernel.die_with_parent(parent)
        limits.no_new_privileges()
    limits.limit(seconds, memory)
    if confinement.rules is not None:
        landlock.restrict(RULES_FD)
    os.close(RULES_FD)
    if confinement.level != "L1":
        seccomp.restrict(files=confinement.rules is not None)
    os.write(STATUS_FD, CONFINED)
    os.close(STATUS_FD)
