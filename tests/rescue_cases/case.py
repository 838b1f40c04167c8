"""One raw output and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

NAMES = [
    "bash", "read_file", "search", "math", "write_file", "edit_file", "man", "web_fetch", "web_search", "task", "plan",
    "remember", "recall", "forget",
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """name: what it shows; text: as the model wrote it; the rest: what comes of it."""

    name: str
    text: str
    content: str = ""
    reasoning: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)


def call(name: str, /, raw: str | None = None, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments if raw is None else raw}


def bash(command: str) -> dict[str, Any]:
    return call("bash", command=command)


LS = bash("ls -la")
READ = call("read_file", path="src/app.py")
READ_PART = call("read_file", path="src/app.py", offset=10, limit=5)
