"""The math host: the model's Python, computed in a confined process of its own for each call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ToolError
from turnstone_lsp.sandbox import levels
from turnstone_lsp.sandbox.host import choose

if TYPE_CHECKING:
    from turnstone_lsp.sandbox.host import Answer
    from turnstone_lsp.sandbox.levels import Level

LIBRARIES = ("sympy", "mpmath", "numpy", "scipy")
OUTPUT_CAP = 64 * 1024
"""Bytes of output of a call."""
_SIGNALS = {
    9: "the system killed it, most likely because memory ran out",
    11: "Python crashed (segmentation fault)",
    24: "its processor time was used up",
    31: "it made a system call that the sandbox forbids",
}


@dataclass(frozen=True, slots=True)
class MathOutcome:
    """What a call gave. output: what it printed, and in brackets why it was stopped; level: the sandbox it ran in."""

    output: str
    ok: bool
    level: Level


class MathHost:
    """Runs code in the sandbox. Starts on first use."""

    def __init__(self, highest: Level = "L4") -> None:
        self._host = choose("math", LIBRARIES, highest)
        self._highest: Level = highest

    @property
    def expected(self) -> Level:
        """The level as proved by the running host, else what the kernel offers at least. Takes no time."""
        return self._host.level or min(levels.offered(), self._highest)

    async def probe(self) -> Level:
        """The level of this system, proved by trying: L4 (strongest) to L1 (none). Imports no library.

        Raises ToolError when no process can be started.
        """
        if self._host.level is not None:
            return self._host.level
        host = choose("probe", (), self._highest)
        try:
            return await host.start()
        finally:
            await host.close()

    async def run(self, code: str, timeout: float, *, unconfined: bool = True) -> MathOutcome:
        """Run code for at most `timeout` seconds. Cancelling it ends its process.

        unconfined: whether it may run where no sandbox holds (level L1). Raises ToolError when it may not, or when
        there is no host.
        """
        level = await self._host.start()
        if level == levels.NONE and not unconfined:
            raise ToolError(
                "math: the self-test of the sandbox failed, so this code was not run. "
                "Call math again: it will then ask the user first."
            )
        answer = await self._host.call(code.encode("utf-8", "surrogatepass"), timeout=timeout, cap=OUTPUT_CAP)
        output = answer.output.decode("utf-8", "replace").rstrip("\n")
        text = "\n".join(part for part in (output, _note(answer, timeout)) if part)
        return MathOutcome(text, answer.how == "ok", self._host.level or level)

    async def close(self) -> None:
        """End the host and everything in it."""
        await self._host.close()


def _note(answer: Answer, timeout: float) -> str:
    if answer.how == "timeout":
        return f"[stopped: the time limit of {timeout:g} s was reached]"
    if answer.how == "output":
        return f"[stopped: more than {OUTPUT_CAP // 1024} KiB of output; print less]"
    if answer.how == "signal":
        return f"[stopped: {_SIGNALS.get(answer.signal, f'signal {answer.signal} ended it')}]"
    if answer.how == "unconfined":
        return "[not run: a layer of the sandbox could not be set up]"
    return "[cancelled]" if answer.how == "cancelled" else ""
