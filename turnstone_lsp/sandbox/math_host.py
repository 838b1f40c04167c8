"""The math host: the model's Python, computed in a held child."""

from __future__ import annotations

from dataclasses import dataclass

from turnstone_lsp.sandbox.host import Host

_SIGNALS = {
    9: "it was killed (out of memory?)",
    11: "it crashed",
    24: "its processor time was up",
    31: "it was not allowed",
}


@dataclass(frozen=True, slots=True)
class MathOutcome:
    """What a call gave. level: the sandbox level that was in force."""

    output: str
    ok: bool
    level: str


class MathHost:
    """Runs code in the sandbox. Starts on first use."""

    def __init__(self) -> None:
        self._host = Host("math")

    async def probe(self) -> str:
        """The level of this system, by self-test: L4 (strongest) to L1 (none). Starts the host."""
        return await self._host.start()

    async def run(self, code: str, timeout: float) -> MathOutcome:
        """Run code for at most `timeout` seconds. Raises ToolError when there is no host."""
        answer = await self._host.call({"code": code}, timeout)
        output, how = str(answer["output"]), answer["how"]
        note = {
            "timeout": f"[stopped after {timeout:.0f} s; what was printed until then stands above]",
            "flood": "[stopped: more than 64 KiB of output]",
            "cancelled": "[cancelled]",
            "killed": f"[stopped: {_SIGNALS.get(int(answer['signal']), 'it was killed')}]",
        }.get(how, "")
        text = "\n".join(part for part in (output.rstrip("\n"), note) if part)
        return MathOutcome(text, how == "ok", self._host.level)

    async def close(self) -> None:
        """End the host."""
        await self._host.close()
