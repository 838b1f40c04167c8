"""Trust in the workspace: asked for when something is at stake, kept outside of the workspace by real path.

Before it is given nothing of the workspace is read as instructions or rules, and every effect is asked for (C-05).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from turnstone_lsp.agent.prompt import INSTRUCTIONS_NAME
from turnstone_lsp.config.load import NARROWING_FILE, narrow, read_narrowing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from turnstone_lsp.config.settings import Settings
    from turnstone_lsp.memory.store import Store

ASK_SECONDS = 60.0
"""How long a turn waits for the answer before it goes on without trust: a mute client must not hold it up."""


class Trust:
    """Whether this connection's workspace is trusted. decided: None until it was looked up or asked."""

    def __init__(self, said: bool | None = None) -> None:
        self.decided = said
        """What the editor said (initializationOptions.trusted), or the user."""

    async def look_up(self, store: Store, roots: Sequence[Path], settings: Settings) -> bool | None:
        """The answer, where none needs to be asked for: given earlier, or nothing is at stake. Else None."""
        if self.decided is not None:
            return self.decided
        if await _all_trusted(store, roots) or not await _at_stake(store, roots, settings):
            return True
        return None

    async def settle(self, store: Store, roots: Sequence[Path], ask: Callable[[str], Awaitable[bool]]) -> bool:
        """Ask the user, once for this connection."""
        if self.decided is None:
            names = " and ".join(str(root) for root in roots)
            question = (
                f"Trust {names}? Its {INSTRUCTIONS_NAME} is then read as instructions, and your modes hold in it."
            )
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    trusted = await ask(question)
            except TimeoutError:
                trusted = False
            await self.decide(store, roots, trusted=trusted)
        return bool(self.decided)

    async def decide(self, store: Store, roots: Sequence[Path], *, trusted: bool) -> None:
        """The user's word; kept, unless it is a no at a question, which holds for this connection."""
        self.decided = trusted
        if trusted:
            for root in roots:
                await store.trust(root)

    async def withdraw(self, store: Store, roots: Sequence[Path]) -> None:
        """The user takes trust back."""
        self.decided = False
        for root in roots:
            await store.untrust(root)


async def _all_trusted(store: Store, roots: Sequence[Path]) -> bool:
    return all([await store.trusted(root) for root in roots])


async def _at_stake(store: Store, roots: Sequence[Path], settings: Settings) -> bool:
    """Trust would change something: files are read, or something runs unasked that asks without it."""
    if settings.mode != "ask" or any(rule.decision == "allow" for rule in settings.rules):
        return True
    if await store.grants():
        return True
    return await asyncio.to_thread(_has_files, roots)


def _has_files(roots: Sequence[Path]) -> bool:
    return any((root / name).exists() for root in roots for name in (INSTRUCTIONS_NAME, NARROWING_FILE))


def narrowed(settings: Settings, roots: Sequence[Path]) -> tuple[Settings, list[str]]:
    """The settings with the trusted workspace's deny and ask rules, and warnings. Raises ConfigError. Blocks."""
    warnings: list[str] = []
    for root in roots:
        table = read_narrowing(root)
        if table is not None:
            settings, more = narrow(settings, table, str(root / NARROWING_FILE))
            warnings += more
    return settings, warnings
