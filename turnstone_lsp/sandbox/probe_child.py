"""The task that does nothing: a host of it tells the level of this system without importing libraries."""

from __future__ import annotations


def prepare() -> None:
    """Nothing to import."""


def run(header: dict[str, object], body: bytes) -> bool:
    """Nothing to run."""
    del header, body
    return False
