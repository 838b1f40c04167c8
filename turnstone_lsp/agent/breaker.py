"""The loop breaker: the same calls with the same results, over and over, end the turn."""

from __future__ import annotations

import hashlib
import json
from collections import Counter


class LoopBreaker:
    """Counts identical (tool, arguments, result) triples of one turn."""

    WARN_AT = 2
    STOP_AT = 3

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def note(self, name: str, arguments: object, result: str) -> int:
        """Count one finished call; returns how often just this has now happened."""
        text = json.dumps([name, arguments, result], sort_keys=True, default=str)
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self._seen[key] += 1
        return self._seen[key]

    def reset(self) -> None:
        """A file was changed: what was read before may be read again."""
        self._seen.clear()


def warning(count: int) -> str:
    """What the model reads under a repeated result, or ""."""
    if count < LoopBreaker.WARN_AT:
        return ""
    return (
        f"\n\n[This same call has now given this same result {count} times. "
        "Do something else, or say what is in the way.]"
    )
