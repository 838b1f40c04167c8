r"""The dialect of patterns: POSIX extended regular expressions, read by us, so that every engine means the same.

    x  .  [abc] [^a-z] [[:alpha:]]     one character; . is any one
    ^ $  \b \B  \< \>                  line start and end; word boundary or none (\< and \> are \b)
    x* x+ x? x{2} x{2,} x{2,5}         repetition; x*? and x?? are read as x* and x?
    (x) (?:x)  x|y                     group, alternatives
    \d \w \s  \D \W \S                 digit, word character, blank, and their opposites; \t a tab
    \. \* \( ...                       the punctuation itself
    (?i) at the start                  letters in either case

\d \w \s \b and the [: :] classes are about ASCII. Inside brackets a backslash escapes, as most people expect. A pattern
is about one line, without its end. Whatever else a pattern holds is an error that names it and says what to write.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from turnstone_lsp.errors import ToolError

Range = tuple[int, int]
"""Code points from the first to the last, both included."""


@dataclass(frozen=True, slots=True)
class Char:
    """One character as it stands."""

    char: str


@dataclass(frozen=True, slots=True)
class Any:
    """Any one character."""


@dataclass(frozen=True, slots=True)
class Class:
    """One character of some ranges, or of none of them."""

    ranges: tuple[Range, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Assertion:
    r"""A place: "^", "$", "b" (word boundary) or "B" (none)."""

    kind: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """A node repeated; most: None for any number."""

    node: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Sequence:
    """Nodes one after the other; none of them matches the empty text."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any one of several."""

    options: tuple[Node, ...]


Node = Char | Any | Class | Assertion | Repeat | Sequence | Choice

_MOST_REPEATS = 1000
_LARGEST = 20_000
"""Characters and classes that a pattern may stand for with its repetitions written out."""
_DEEPEST = 50


def _ranges(chars: str) -> tuple[Range, ...]:
    return tuple((ord(c), ord(c)) for c in chars)


_DIGIT: tuple[Range, ...] = ((0x30, 0x39),)
_UPPER: tuple[Range, ...] = ((0x41, 0x5A),)
_LOWER: tuple[Range, ...] = ((0x61, 0x7A),)
_SPACE = _ranges("\t\x0b\x0c ")
_WORD = (*_DIGIT, *_UPPER, *_ranges("_"), *_LOWER)
_SHORT = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_POSIX: dict[str, tuple[Range, ...]] = {
    "alpha": _UPPER + _LOWER,
    "digit": _DIGIT,
    "alnum": _DIGIT + _UPPER + _LOWER,
    "upper": _UPPER,
    "lower": _LOWER,
    "space": _SPACE,
    "blank": _ranges("\t "),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "xdigit": (*_DIGIT, (0x41, 0x46), (0x61, 0x66)),
    "word": _WORD,
    "cntrl": ((0x01, 0x09), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x7F)),
    "print": ((0x20, 0x7E),),
    "graph": ((0x21, 0x7E),),
}
_PLACES = {"b": "b", "B": "B", "<": "b", ">": "b"}
_ELSEWHERE = {
    "A": "write ^ for the start of a line",
    "Z": "write $ for the end of a line",
    "z": "write $ for the end of a line",
    "n": "a pattern is about one line; search for a part of it that stands on one",
    "r": "line ends are no part of a line; write $ for its end",
    "x": "write the character itself",
    "u": "write the character itself",
    "p": "write the characters themselves in brackets",
    "P": "write the characters themselves in brackets",
    "Q": "put a backslash before each punctuation mark instead",
    "E": "put a backslash before each punctuation mark instead",
    "h": "write [ \\t]",
    "K": "leave it out: whole lines are shown",
    "G": "leave it out",
}
_GROUPS = {
    "?=": "a lookahead",
    "?!": "a negative lookahead",
    "?<=": "a lookbehind",
    "?<!": "a negative lookbehind",
    "?>": "an atomic group",
    "?P": "a named group",
    "?<": "a named group",
    "?#": "a comment",
    "?": "a flag",
}
_INSTEAD = {
    "a lookahead": "search for the text before it and read the lines found",
    "a negative lookahead": "search without it and leave out the lines that you do not want",
    "a lookbehind": "write what comes before as part of the pattern",
    "a negative lookbehind": "search without it and leave out the lines that you do not want",
    "a flag": "only (?i) at the start of the pattern is known",
}


def parse(pattern: str) -> Node:
    """Read a pattern. Raises ToolError that names the construct, its place, and what to write instead."""
    for char, name in (("\n", "a line break"), ("\r", "a carriage return"), ("\0", "a NUL character")):
        if char in pattern:
            raise ToolError(f"query: it holds {name}, but a pattern is about one line; search for a part of it.")
    if any("\ud800" <= c <= "\udfff" for c in pattern):
        raise ToolError("query: it holds half a character (a lone surrogate); write the whole character.")
    fold = pattern.startswith("(?i)")
    node = _Parser(pattern, 4 if fold else 0, fold=fold).whole()
    if _size(node) > _LARGEST:
        raise ToolError("query: its repetitions multiply to too large a pattern; use * or + in place of large counts.")
    return node


def _size(node: Node) -> int:
    match node:
        case Repeat(inner, least, most):
            return _size(inner) * max(most or least, 1)
        case Sequence(nodes):
            return 1 + sum(map(_size, nodes))
        case Choice(options):
            return 1 + sum(map(_size, options))
    return 1


def _cases(char: str) -> str:
    """A character with its other case, where that is one character too."""
    return "".join(sorted({char, *(c for c in (char.lower(), char.upper()) if len(c) == 1)}))


class _Parser:
    """A recursive descent over the pattern's characters."""

    def __init__(self, text: str, start: int, *, fold: bool) -> None:
        self.text = text
        self.at = start
        self.fold = fold
        self.depth = 0

    def whole(self) -> Node:
        node = self._choice()
        if self.at < len(self.text):
            raise self._error("the ) has no ( before it", r"to match it literally write \)")
        return node

    def _error(self, what: str, instead: str) -> ToolError:
        return ToolError(f"query: at character {self.at + 1} {what}; {instead}.")

    def _peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def _choice(self) -> Node:
        options = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        while (char := self._peek()) and char not in "|)":
            nodes.append(self._repeated(self._atom()))
        return nodes[0] if len(nodes) == 1 else Sequence(tuple(nodes))

    def _repeated(self, node: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return node
        if isinstance(node, Assertion):
            raise self._error("a repetition follows a place, not a character", "leave it out")
        least, most = bounds
        if self._peek() == "?" and (least == 0 and most in (None, 1)):
            self.at += 1  # lazy or greedy, the same lines match
        elif self._peek() == "?":
            raise self._error("the ? after a repetition is read differently by different tools", "leave it out")
        elif self._bounds() is not None:
            self.at -= 1
            raise self._error("a repetition follows a repetition", "put the first part in ( ), or leave one out")
        return Repeat(node, least, most)

    def _bounds(self) -> tuple[int, int | None] | None:
        """The repetition at this place, which is then passed; None when there is none."""
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        char = self._peek()
        if char in simple:
            self.at += 1
            return simple[char]
        return self._interval() if char == "{" else None

    def _interval(self) -> tuple[int, int | None] | None:
        """{2}, {2,}, {2,5} or {,5}; any other { stands for itself."""
        end = self.text.find("}", self.at)
        least, comma, most = self.text[self.at + 1 : max(end, self.at)].partition(",")
        digits = all(not part or (part.isascii() and part.isdigit()) for part in (least, most))
        if end < 0 or not digits or not (least or most):
            return None
        low, high = int(least or 0), int(most) if most else (None if comma else int(least))
        if max(low, high or 0) > _MOST_REPEATS:
            raise self._error(f"a count is over {_MOST_REPEATS}", "use * or +")
        if high is not None and high < low:
            raise self._error("the counts are in the wrong order", "write the smaller one first")
        self.at = end + 1
        return low, high

    def _atom(self) -> Node:
        char = self._peek()
        if char in "*+?":
            raise self._error(
                f"{char} has nothing to repeat", f"to match it literally write \\{char}, for anything write .*"
            )
        self.at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return self._bracket()
        if char == "\\":
            return self._escape()
        if char == ".":
            return Any()
        return Assertion(char) if char in "^$" else self._char(char)

    def _char(self, char: str) -> Node:
        if self.fold and len(cases := _cases(char)) > 1:
            return Class(_ranges(cases))
        return Char(char)

    def _group(self) -> Node:
        opened = self.at - 1
        if self._peek() == "?":
            rest = self.text[self.at :]
            if not rest.startswith("?:"):
                what = next(name for start, name in _GROUPS.items() if rest.startswith(start))
                self.at = opened
                raise self._error(f"({rest[:2]} begins {what}", _INSTEAD.get(what, "use a plain group ( )"))
            self.at += 2
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._error("groups are nested too deeply", "write a simpler pattern")
        node = self._choice()
        self.depth -= 1
        if self._peek() != ")":
            self.at = opened
            raise self._error("the ( has no ) after it", r"to match it literally write \(")
        self.at += 1
        return node

    def _escape(self) -> Node:
        char = self._peek()
        if not char:
            self.at -= 1
            raise self._error("a backslash ends the pattern", r"to match one write \\")
        self.at += 1
        if char in _PLACES:
            return Assertion(_PLACES[char])
        if char.lower() in _SHORT:
            return Class(_SHORT[char.lower()], negated=char.isupper())
        if char == "t":
            return Char("\t")
        if char in string.punctuation or char == " ":
            return self._char(char)
        self.at -= 2
        if char.isdigit():
            raise self._error(f"\\{char} is a back-reference, which is not known here", "write the text itself")
        raise self._error(f"\\{char} is not known here", _ELSEWHERE.get(char, f"write {char} alone"))

    def _bracket(self) -> Node:
        opened = self.at - 1
        negated = self._peek() == "^"
        self.at += negated
        ranges: list[Range] = []
        first = True
        while (char := self._peek()) != "]" or first:
            if not char:
                self.at = opened
                raise self._error("the [ has no ] after it", r"to match it literally write \[")
            first = False
            ranges += self._member(negated=negated)
        self.at += 1
        if self.fold:
            ranges += [r for low, high in ranges for r in _other_case(low, high)]
        return Class(_merge(ranges), negated) if ranges else Any()

    def _member(self, *, negated: bool) -> tuple[Range, ...]:
        if self.text.startswith(("[.", "[="), self.at):
            raise self._error(f"{self.text[self.at : self.at + 2]} is not known here", "write the character itself")
        if self.text.startswith("[:", self.at):
            return self._posix()
        low = self._single(negated=negated)
        if isinstance(low, tuple):
            return low
        if self._peek() != "-" or self._peek(1) in ("]", ""):
            return ((low, low),)
        self.at += 1
        high = self._single(negated=negated)
        if isinstance(high, tuple) or high < low:
            raise self._error(
                "a range in brackets runs backwards or to a class", "write its ends in order; put a plain - last"
            )
        return ((low, high),)

    def _single(self, *, negated: bool) -> int | tuple[Range, ...]:
        """One character in brackets, or the ranges of a class escape."""
        char = self._peek()
        self.at += 1
        if char != "\\":
            return ord(char)
        escaped = self._peek()
        self.at += 1
        if escaped in _SHORT:
            return _SHORT[escaped]
        if escaped == "t":
            return ord("\t")
        if escaped in ("n", "r") and negated:
            return ()  # a line holds neither, so excluding them changes nothing
        if escaped and escaped in string.punctuation:
            return ord(escaped)
        self.at -= 2
        raise self._error(
            f"\\{escaped} is not known in brackets", _ELSEWHERE.get(escaped, "write the character itself")
        )

    def _posix(self) -> tuple[Range, ...]:
        end = self.text.find(":]", self.at)
        name = self.text[self.at + 2 : end] if end > 0 else ""
        if name not in _POSIX:
            raise self._error(f"[:{name}:] is no character class", f"the classes are {', '.join(_POSIX)}")
        self.at = end + 2
        return _POSIX[name]


def _other_case(low: int, high: int) -> list[Range]:
    """The other case of the letters in a range: ASCII letters by range, others one by one where they stand alone."""
    if low == high:
        return list(_ranges(_cases(chr(low))))
    found: list[Range] = []
    for first, last, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
        start, end = max(low, first), min(high, last)
        if start <= end:
            found.append((start + shift, end + shift))
    return found


def _merge(ranges: list[Range]) -> tuple[Range, ...]:
    """Sorted ranges that neither overlap nor touch."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
