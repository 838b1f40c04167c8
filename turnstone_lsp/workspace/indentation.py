"""The indentation tier: whole lines that agree but for their indents, under one one-to-one map of indents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_INDENT = re.compile(r"[ \t]*")
_UNITS = (4, 2, 8, 3)


def find(text: str, old: str, new: str) -> list[tuple[int, int, str, str]]:
    """Places (start, end, old, new with the file's indents) in a text whose line ends are LF.

    None where another block with the same first and last line stands elsewhere: the block meant may have drifted.
    """
    ends_line = old.endswith("\n")
    wanted = old.removesuffix("\n").split("\n")
    bare = [line.strip(" \t") for line in wanted]
    if not any(bare):
        return []
    lines = text.removesuffix("\n").split("\n")
    stripped = [line.strip(" \t") for line in lines]
    starts = [i for i, line in enumerate(stripped[: len(lines) - len(bare) + 1]) if line == bare[0]]
    last = len(bare) - 1
    twins = [i for i in starts if stripped[i + last] == bare[last]]
    places = [i for i in twins if stripped[i : i + len(bare)] == bare]
    if len(places) == 1 and len(twins) > 1:
        return []
    found = []
    for place in places:
        moved = _moved(wanted, lines[place : place + len(bare)], new)
        if moved is not None:
            start = sum(len(line) + 1 for line in lines[:place])
            end = start + sum(len(line) + 1 for line in lines[place : place + len(bare)])
            at_end = end > len(text)  # the file has no final line end
            end -= 0 if ends_line and not at_end else 1
            found.append((start, end, old, moved.removesuffix("\n") if at_end else moved))
    return found


def _moved(wanted: list[str], own: list[str], new: str) -> str | None:
    """`new` with its indents mapped as the old lines' are; None when there is no such map, or not for all of it."""
    mapping: dict[str, str] = {}
    for theirs, ours in zip(wanted, own, strict=True):
        if not theirs.strip():
            continue
        have, want = _indent(theirs), _indent(ours)
        if mapping.setdefault(have, want) != want:
            return None
    if len(set(mapping.values())) != len(mapping):
        return None
    rule = _rule(mapping)
    out = []
    for line in new.split("\n"):
        indent = _indent(line)
        if not line.strip():
            out.append(line)
            continue
        mapped = mapping.get(indent) if indent in mapping else rule(indent) if rule else None
        if mapped is None:
            return None
        out.append(mapped + line[len(indent) :])
    return "\n".join(out)


def _indent(line: str) -> str:
    found = _INDENT.match(line)
    return found.group() if found else ""


def _rule(mapping: dict[str, str]) -> Callable[[str], str | None] | None:
    """The simplest rule that gives the whole map: it also says what becomes of indents that are new."""
    for rule in _candidates(mapping):
        if all(rule(have) == want for have, want in mapping.items()):
            return rule
    return None


def _candidates(mapping: dict[str, str]) -> list[Callable[[str], str | None]]:
    have, want = min(mapping.items(), key=lambda item: len(item[0]))
    rules: list[Callable[[str], str | None]] = []
    if want.endswith(have):
        prefix = want[: len(want) - len(have)]
        rules.append(lambda indent: prefix + indent)
    if have.endswith(want):
        dropped = have[: len(have) - len(want)]
        rules.append(lambda indent: indent.removeprefix(dropped) if indent.startswith(dropped) else None)
    for unit in _UNITS:
        rules.append(lambda indent, unit=unit: _to_tabs(indent, unit))
        rules.append(lambda indent, unit=unit: indent.replace("\t", " " * unit))
    for unit in _UNITS:  # another unit and another depth
        for convert in (lambda i, u=unit: _to_tabs(i, u), lambda i, u=unit: i.replace("\t", " " * u)):
            base = convert(have)
            if want.endswith(base):
                prefix = want[: len(want) - len(base)]
                rules.append(lambda indent, c=convert, p=prefix: p + c(indent))
            elif base.endswith(want):
                dropped = base[: len(base) - len(want)]
                rules.append(
                    lambda indent, c=convert, d=dropped: c(indent).removeprefix(d) if c(indent).startswith(d) else None
                )
    for theirs in _UNITS:
        for ours in _UNITS:
            if theirs != ours:
                rules.append(lambda indent, a=theirs, b=ours: _rescaled(indent, a, b))
    return rules


def _to_tabs(indent: str, unit: int) -> str:
    width = indent.count(" ") + unit * indent.count("\t")
    return "\t" * (width // unit) + " " * (width % unit)


def _rescaled(indent: str, theirs: int, ours: int) -> str | None:
    if "\t" in indent or len(indent) % theirs:
        return None
    return " " * (len(indent) // theirs * ours)
