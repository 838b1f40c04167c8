"""Thirteen classes of calls, made from real edits: eight that a model meant well, five that must never be applied."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.workspace import hunks
from turnstone_lsp.workspace.linediff import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sources import Pair

HARMLESS = (
    "exact",
    "trailing blanks",
    "CRLF file",
    "dedented by the model",
    "tabs for spaces",
    "pasted line numbers",
    "typographic marks",
    "final newline",
)
HARMFUL = ("stale line", "inserted line", "invented middle", "ambiguous", "renamed identifier")
_LONGEST = 30
"""Lines of an edit up to which it is used."""
_WORD = re.compile(r"[A-Za-z_]\w{3,}")


@dataclass(frozen=True, slots=True)
class Edit:
    """One hunk of a real change, with one to three lines of context, that stands once in its file.

    text: the file; start, end: the block in it; old, new: the block before and after.
    """

    language: str
    name: str
    text: str
    start: int
    end: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Case:
    """A call, and the text that it should give; None where it must be refused.

    start: where the block that was meant begins in `text`; size: its length there.
    """

    kind: str
    edit: Edit
    text: str
    old: str
    new: str
    expected: str | None
    start: int
    size: int


def edits_of(pair: Pair, rng: random.Random) -> Iterator[Edit]:
    """The edits of one file, each on the text before."""
    lines = hunks.lines_of(pair.before)
    for hunk in hunks.between(pair.before, pair.after):
        if max(len(hunk.old), len(hunk.new)) > _LONGEST:
            continue
        first, last = max(0, hunk.start - rng.randint(1, 3)), min(len(lines), hunk.end + rng.randint(1, 3))
        above, below = "".join(lines[first : hunk.start]), "".join(lines[hunk.end : last])
        old, new = above + "".join(hunk.old) + below, above + "".join(hunk.new) + below
        start = len("".join(lines[:first]))
        if old.endswith("\n") and new.endswith("\n") and old.strip() and pair.before.count(old.rstrip("\n")) == 1:
            yield Edit(pair.language, pair.name, pair.before, start, start + len(old), old, new)


def cases_of(edit: Edit, rng: random.Random) -> Iterator[Case]:
    """Every class that the edit lends itself to."""
    for make in _MAKERS.values():
        case = make(edit, rng)
        if case is not None:
            yield case


def _case(kind: str, edit: Edit, old: str, new: str, *, block: str | None = None, result: str | None = None) -> Case:
    """The call on the edit's file; with `block`, that stands in the file instead of the edit's own."""
    own, there = edit.old if block is None else block, edit.new if result is None else result
    before, after = edit.text[: edit.start], edit.text[edit.end :]
    return Case(kind, edit, before + own + after, old, new, before + there + after, edit.start, len(own))


def _exact(edit: Edit, rng: random.Random) -> Case:
    cut = rng.random() < 0.5 and edit.old[:-1].strip() and edit.new[:-1] != edit.old[:-1]
    return _case("exact", edit, edit.old[:-1] if cut else edit.old, edit.new[:-1] if cut else edit.new)


def _trailing(edit: Edit, rng: random.Random) -> Case | None:
    """Blanks at the ends of the model's lines that stay, or of the file's, which then keep them."""
    old, new = hunks.lines_of(edit.old), hunks.lines_of(edit.new)
    ends = [rng.choice(["", " ", "  ", "\t"]) for _ in old]
    if not any(ends):
        ends[0] = " "
    blanked = [line[:-1] + end + "\n" for line, end in zip(old, ends, strict=True)]
    result: list[str] = []
    at = 0
    for i1, i2, j1, j2 in differences(old, new):
        result += [*blanked[at:i1], *new[j1:j2]]
        at = i2
    result += blanked[at:]
    if "".join(blanked) in edit.text:
        return None
    if rng.random() < 0.5:
        return _case("trailing blanks", edit, "".join(blanked), "".join(result))
    return _case("trailing blanks", edit, edit.old, edit.new, block="".join(blanked), result="".join(result))


def _crlf(edit: Edit, rng: random.Random) -> Case:
    del rng
    case = _case("CRLF file", edit, edit.old, edit.new)
    assert case.expected is not None
    start = case.start + edit.text.count("\n", 0, edit.start)
    size = case.size + edit.old.count("\n")
    text, expected = (t.replace("\n", "\r\n") for t in (case.text, case.expected))
    return Case(case.kind, edit, text, case.old, case.new, expected, start, size)


def _indents(*texts: str) -> set[str]:
    return {line[: len(line) - len(line.lstrip(" \t"))] for text in texts for line in text.splitlines() if line.strip()}


def _dedented(edit: Edit, rng: random.Random) -> Case | None:
    del rng
    indents = sorted(_indents(edit.old, edit.new), key=len)
    common = indents[0]
    if not common or not all(indent.startswith(common) for indent in indents):
        return None
    old, new = (
        "".join(line.removeprefix(common) if line.strip() else line for line in hunks.lines_of(text))
        for text in (edit.old, edit.new)
    )
    return None if old in edit.text else _case("dedented by the model", edit, old, new)


def _tabs(edit: Edit, rng: random.Random) -> Case | None:
    """Tabs where the file has blanks, or the other way round."""
    del rng
    indents = _indents(edit.text)
    spaces = sorted(len(indent) for indent in indents if indent and not indent.strip(" "))
    unit = 2 if spaces and spaces[0] == 2 else 4

    def swapped(text: str) -> str:
        out = []
        for line in hunks.lines_of(text):
            body = line.lstrip(" \t") if line.strip() else line
            indent = line[: len(line) - len(body)]
            if "\t" in indent:
                out.append(indent.replace("\t", "    ") + body)
            else:
                out.append("\t" * (len(indent) // unit) + " " * (len(indent) % unit) + body)
        return "".join(out)

    old = swapped(edit.old)
    return None if old in edit.text else _case("tabs for spaces", edit, old, swapped(edit.new))


def _numbers(edit: Edit, rng: random.Random) -> Case:
    first = edit.text.count("\n", 0, edit.start) + 1
    form = rng.choice(["{:>5}\t{}", "{:>5}\t{}", "{}: {}", "{:>4} | {}", "{}|{}"])

    def numbered(text: str) -> str:
        return "".join(form.format(first + n, line) for n, line in enumerate(hunks.lines_of(text)))

    new = numbered(edit.new) if rng.random() < 0.5 else edit.new
    return _case("pasted line numbers", edit, numbered(edit.old), new)


def _typographic(edit: Edit, rng: random.Random) -> Case | None:
    del rng

    def fancy(text: str) -> str:
        text = re.sub(r'"([^"\n]*)"', "\u201c\\1\u201d", text).replace('"', "\u201d")
        text = re.sub(r"'([^'\n]*)'", "\u2018\\1\u2019", text).replace("'", "\u2019")
        return text.replace(" - ", " \u2013 ")

    if not edit.text.isascii() or not edit.new.isascii():
        return None  # the file's own marks would be swapped too
    old = fancy(edit.old)
    return None if old == edit.old else _case("typographic marks", edit, old, fancy(edit.new))


def _final(edit: Edit, rng: random.Random) -> Case:
    """The block ends the file, which has no final newline; the model sends one."""
    del rng
    text, expected = edit.text[: edit.start] + edit.old[:-1], edit.text[: edit.start] + edit.new[:-1]
    return Case("final newline", edit, text, edit.old, edit.new, expected, edit.start, len(edit.old) - 1)


def _refused(kind: str, edit: Edit, old: str, new: str, block: str) -> Case | None:
    case = _case(kind, edit, old, new, block=block)
    if old.rstrip("\n") in case.text or old == new:
        return None
    return Case(kind, edit, case.text, old, new, None, case.start, case.size)


def _other(word: str) -> str:
    return f"q{word[::-1]}Z"


def _with_line(block: str, rng: random.Random, change: Callable[[str], str]) -> str | None:
    lines = hunks.lines_of(block)
    usable = [index for index, line in enumerate(lines) if _WORD.search(line)]
    if not usable:
        return None
    at = rng.choice(usable)
    lines[at] = change(lines[at])
    return "".join(lines)


def _swap(line: str) -> str:
    return _WORD.sub(lambda match: _other(match[0]), line, count=1)


def _stale(edit: Edit, rng: random.Random) -> Case | None:
    block = _with_line(edit.old, rng, _swap)
    return block and _refused("stale line", edit, edit.old, edit.new, block)


def _inserted(edit: Edit, rng: random.Random) -> Case | None:
    lines = hunks.lines_of(edit.old)
    at = rng.randint(1, len(lines) - 1) if len(lines) > 1 else None
    if at is None:
        return None
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    block = "".join([*lines[:at], f"{indent}the_users_own_line(1)\n", *lines[at:]])
    return _refused("inserted line", edit, edit.old, edit.new, block)


def _invented(edit: Edit, rng: random.Random) -> Case | None:
    lines = hunks.lines_of(edit.old)
    if len(lines) < 3 or not any(line.strip() for line in lines[1:-1]):
        return None
    at = rng.choice([index for index in range(1, len(lines) - 1) if lines[index].strip()])
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at] = f"{indent}something_that_a_model_made_up = {rng.randint(1, 99)}\n"
    return _refused("invented middle", edit, "".join(lines), edit.new, edit.old)


def _ambiguous(edit: Edit, rng: random.Random) -> Case | None:
    del rng
    text = edit.text + ("" if edit.text.endswith("\n") else "\n") + "\n" + edit.old
    return Case("ambiguous", edit, text, edit.old, edit.new, None, edit.start, len(edit.old))


def _renamed(edit: Edit, rng: random.Random) -> Case | None:
    """The user renamed something in the whole file."""
    words = sorted(set(_WORD.findall(edit.old)))
    if not words:
        return None
    word = rng.choice(words)
    pattern = re.compile(rf"\b{word}\b")
    text = pattern.sub(_other(word), edit.text)
    if edit.old.rstrip("\n") in text:
        return None
    return Case(
        "renamed identifier",
        edit,
        text,
        edit.old,
        edit.new,
        None,
        len(pattern.sub(_other(word), edit.text[: edit.start])),
        0,
    )


_MAKERS: dict[str, Callable[[Edit, random.Random], Case | None]] = {
    "exact": _exact,
    "trailing blanks": _trailing,
    "CRLF file": _crlf,
    "dedented by the model": _dedented,
    "tabs for spaces": _tabs,
    "pasted line numbers": _numbers,
    "typographic marks": _typographic,
    "final newline": _final,
    "stale line": _stale,
    "inserted line": _inserted,
    "invented middle": _invented,
    "ambiguous": _ambiguous,
    "renamed identifier": _renamed,
}


def build(pairs: Iterable[Pair], per_language: int, seed: int) -> list[Case]:
    """Cases of at most so many edits of each language, at most five of one file."""
    rng = random.Random(seed)
    found: dict[str, list[Edit]] = {}
    for pair in pairs:
        edits = list(edits_of(pair, rng))
        found.setdefault(pair.language, []).extend(rng.sample(edits, min(5, len(edits))))
    cases: list[Case] = []
    for edits in found.values():
        for edit in rng.sample(edits, min(per_language, len(edits))):
            cases += cases_of(edit, rng)
    return cases
