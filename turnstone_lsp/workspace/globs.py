"""Globs over paths inside a workspace: * ? [a-z] [!a] {a,b} {1..9} within a name, ** across folders."""

from __future__ import annotations

import re
from functools import cache

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^]/]*\]|.", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_ALTERNATIVES = 1000


def matches(glob: str, relative: str) -> bool:
    """True when the relative path (with "/") matches the glob as a whole.

    A glob without "/" matches the name in any folder, as in .gitignore and .editorconfig.
    """
    return any(pattern.fullmatch(relative) for pattern in _compile(glob))


@cache
def _compile(glob: str) -> tuple[re.Pattern[str], ...]:
    anywhere = "" if "/" in glob else "(?:.*/)?"
    return tuple(re.compile(anywhere + _translate(plain), re.DOTALL) for plain in _expand(glob.strip("/")))


def _expand(glob: str) -> list[str]:
    """The globs without braces that one with braces stands for."""
    done: list[str] = []
    todo = [glob]
    while todo and len(done) < _MOST_ALTERNATIVES:
        current = todo.pop()
        found = _BRACES.search(current)
        if found is None:
            done.append(current)
            continue
        todo += [current[: found.start()] + part + current[found.end() :] for part in _alternatives(found[1])]
    return done


def _alternatives(inside: str) -> list[str]:
    span = re.fullmatch(r"([+-]?\d+)\.\.([+-]?\d+)", inside)
    if span:
        first, last = sorted((int(span[1]), int(span[2])))
        return [str(n) for n in range(first, min(last, first + _MOST_ALTERNATIVES) + 1)]
    return inside.split(",")


def _translate(glob: str) -> str:
    return "".join(map(_piece, _TOKEN.findall(glob)))


def _piece(token: str) -> str:
    fixed = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(token)
    if fixed is not None:
        return fixed
    if len(token) > 2 and token[0] == "[":
        negated = token[1] in "!^"
        body = "".join("-" if c == "-" else re.escape(c) for c in token[1 + negated : -1])
        return f"[^/{body}]" if negated else f"[{body}]"
    return re.escape(token)
