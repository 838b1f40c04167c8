"""When a turn stops to ask whether it should go on: rounds, minutes, tokens."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnstone_lsp.config.settings import LimitSettings


class Clock:
    """Seconds of a turn, without the time in which it waits for the user. Several waits may overlap."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._away = 0.0
        self._waits = 0
        self._since = 0.0

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The user is being asked: this time does not count."""
        if self._waits == 0:
            self._since = time.monotonic()
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if self._waits == 0:
                self._away += time.monotonic() - self._since

    def minutes(self) -> float:
        """Minutes that count so far."""
        return (time.monotonic() - self._start - self._away) / 60


class Budget:
    """Counts what a turn has used, its sub-agents included, and says when to ask. Each yes adds the limit once more."""

    def __init__(self, limits: LimitSettings) -> None:
        self._limits = limits
        self.clock = Clock()
        self._rounds = 0
        self._tokens = 0
        self._allowed = {"rounds": float(limits.rounds), "minutes": limits.minutes, "tokens": float(limits.tokens)}

    def spend(self, tokens: int) -> None:
        """One model request was made."""
        self._rounds += 1
        self._tokens += tokens

    @property
    def tokens(self) -> int:
        """Tokens used so far in this turn."""
        return self._tokens

    def exceeded(self) -> str | None:
        """The question to ask, when a limit is reached."""
        used = {"rounds": float(self._rounds), "minutes": self.clock.minutes(), "tokens": float(self._tokens)}
        for name, amount in used.items():
            if amount >= self._allowed[name]:
                return f"This turn has used {amount:,.0f} {name} (limits.{name} = {self._allowed[name]:,.0f}). Go on?"
        return None

    def extend(self) -> None:
        """The user said: go on."""
        for name in self._allowed:
            self._allowed[name] += float(getattr(self._limits, name))
