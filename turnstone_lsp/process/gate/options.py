"""The tables of `programs.toml`, as the rules ask for them."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("programs.toml").read_text("utf-8"))


@cache
def _reasons(table: str) -> dict[str, str]:
    return {name: why for why, names in _tables()[table].items() for name in names.split()}


@lru_cache(512)
def _reason(table: str, name: str) -> str | None:
    reasons = _reasons(table)
    return reasons.get(name) or next((why for p, why in reasons.items() if fnmatch.fnmatchcase(name, p)), None)


def blocked(name: str) -> str | None:
    """Why a program never runs."""
    return _reason("blocked", name)


def asked(name: str) -> str | None:
    """Why a program is asked about whatever its arguments."""
    return _reason("asked", name)


def asked_unless(name: str, first: str) -> str | None:
    """Why a program is asked about with this first word."""
    if first in _tables()["read_only"].get(name, "").split():
        return None
    return _reason("asked_unless", name)


def subcommand(name: str, operands: list[str]) -> str | None:
    """Why a program is asked about with these operands."""
    for why, text in _tables()["subcommands"].get(name, {}).items():
        known = re.split(r",\s*", text.strip())
        if any(" ".join(operands[:count]) in known for count in (1, 2) if operands):
            return str(why)
    return None


def executes(name: str) -> tuple[str, tuple[str, ...]]:
    """Letters and long names of the options by which a program runs another or loads code."""
    entry = _tables()["executes"].get(name, {})
    return entry.get("short", ""), tuple(entry.get("long", "").split())


@cache
def names(kind: str) -> frozenset[str]:
    """A list of names: "variables" (shell patterns), "readers", "two_words"."""
    return frozenset(_tables()["names"][kind].split())


@lru_cache(512)
def decides(variable: str) -> bool:
    """True for an environment variable by which something else runs than a command's words say."""
    return any(fnmatch.fnmatchcase(variable, pattern) for pattern in names("variables"))
