"""Words of a command, expanded as bash would, as far as that can be known without running anything.

Characters travel with a mark of how they got there: typed bare, quoted, or out of an expansion. UNKNOWN stands for
a part that only running could tell, SPLIT for a sure word boundary; neither can be typed, because control
characters are refused.
"""

from __future__ import annotations

import itertools
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate.syntax import text

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN = "\x00"
SPLIT = "\x01"
_BARE, _QUOTED, _EXPANDED = 0, 1, 2
_MAX_ALTERNATIVES = 32
_MAX_BRACES = 64

Chars = list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Word:
    """One word after expansion. `text` may hold UNKNOWN parts; glob: it has a pattern that bash would expand."""

    text: str
    glob: bool = False

    @property
    def known(self) -> bool:
        """Nothing in it depends on what only running would tell."""
        return UNKNOWN not in self.text

    @property
    def shown(self) -> str:
        """The word for a reader."""
        return self.text.replace(UNKNOWN, "…")


@dataclass(slots=True)
class State:
    """What is known at one point of a script.

    folders: where the shell may be ("" for unknown); doubtful: where it is if the last `cd` failed;
    variables: name -> the values that it may have; functions: name -> body, None while it is being walked;
    files: what this line has written or fetched, path -> text, None where the text is not known. What is known of
    files is never forgotten, so forks share it.
    """

    folders: tuple[str, ...]
    home: str
    variables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    functions: dict[str, Node | None] = field(default_factory=dict)
    doubtful: tuple[str, ...] = ()
    files: dict[str, str | None] = field(default_factory=dict)

    def fork(self) -> State:
        """A copy for a subshell or a branch."""
        return State(self.folders, self.home, dict(self.variables), dict(self.functions), self.doubtful, self.files)

    def merge(self, branch: State) -> None:
        """After a branch that may or may not have run: both are possible."""
        self.folders = tuple(dict.fromkeys(self.folders + branch.folders))[:8]
        for name, values in branch.variables.items():
            old = self.variables.get(name, (UNKNOWN,))
            self.variables[name] = tuple(dict.fromkeys(old + values))[:_MAX_ALTERNATIVES]
        self.functions |= branch.functions

    def settle(self) -> None:
        """The next statement runs whether or not the last `cd` worked."""
        self.folders = tuple(dict.fromkeys(self.folders + self.doubtful))
        self.doubtful = ()

    def lookup(self, name: str) -> tuple[str, ...]:
        """The values that a parameter may have."""
        if name in self.variables:
            return self.variables[name]
        if name == "HOME":
            return (self.home,)
        if name == "PWD":
            return tuple(folder or UNKNOWN for folder in self.folders)
        if name == "IFS":
            return (" \t\n",)
        if name == "TMPDIR" and os.environ.get("TMPDIR"):
            return (os.environ["TMPDIR"],)
        if name in {"?", "#"}:
            return ("0",)
        if name in {"!", "$"}:
            return ("4242",)  # some process id of this script's own
        return (UNKNOWN,)


def expand(node: Node, state: State) -> list[Word]:
    """All words that an argument may become, alternatives included."""
    return [word for words in alternatives([node], state) for word in words]


def alternatives(nodes: list[Node], state: State) -> list[list[Word]]:
    """The words that an argument becomes, for each combination of its variables' possible values.

    An argument is one node, or several that touch.
    """
    results: list[Chars] = [[]]
    for node in nodes:
        parts = _chars(node, state)
        if len(parts) * len(results) > _MAX_ALTERNATIVES:
            parts = [[(UNKNOWN, _BARE)]]
        results = [[*r, *part] for r in results for part in parts]
    return [_words(chars, state) for chars in results]


def values(node: Node, state: State) -> tuple[str, ...]:
    """The texts that an assignment's right side may be: no splitting, no globbing."""
    if node.type == "array":
        items = [word.text for child in node.named_children for word in expand(child, state)]
        return (SPLIT.join(items),)
    return tuple(dict.fromkeys(_tilde("".join(c for c, _ in chars), chars, state) for chars in _chars(node, state)))


# -- characters of a node


def _chars(node: Node, state: State) -> list[Chars]:
    kind = node.type
    if kind in {"raw_string", "ansi_c_string"}:
        body = text(node)
        inner = body[1:-1] if kind == "raw_string" else ansi_c(body[2:-1])
        return [[(c, _QUOTED) for c in inner]]
    if kind in {"string", "translated_string"}:
        return _string(node, state)
    if kind in {"simple_expansion", "expansion"}:
        return [[(c, _EXPANDED) for c in value] for value in _expansion(node, state)]
    if kind in {"command_substitution", "process_substitution"}:
        return [[(c, _EXPANDED) for c in value] for value in _substituted(node, state)]
    if kind == "arithmetic_expansion":
        return [[("0", _QUOTED)]]
    if kind in {"concatenation", "command_name"} and node.child_count:
        return _joined(node, state, _BARE)
    if kind == "ERROR" or node.is_missing:
        return [[(UNKNOWN, _QUOTED)]]
    return [_unescaped(text(node))]


def _joined(node: Node, state: State, mark: int) -> list[Chars]:
    """The children's characters one after another; source between them is literal."""
    results: list[Chars] = [[]]
    source, at = node.text or b"", node.start_byte
    for child in node.children:
        gap = source[at - node.start_byte : child.start_byte - node.start_byte].decode("utf-8", "replace")
        parts = _chars(child, state)
        if len(parts) * len(results) > _MAX_ALTERNATIVES:
            parts = [[(UNKNOWN, mark)]]
        results = [[*r, *((c, mark) for c in gap), *part] for r in results for part in parts]
        at = child.end_byte
    return results


def _string(node: Node, state: State) -> list[Chars]:
    """A double-quoted string: everything quoted, and only some backslashes count."""
    results: list[Chars] = [[]]
    opening = next((c for c in node.children if c.type == "string"), None)
    if opening is not None and node.type == "translated_string":
        return _string(opening, state)
    source, start = node.text or b"", node.start_byte
    at = node.start_byte + 1
    for child in [*node.children, None]:
        if child is not None and child.type in {'"', "string_content"} | {"$"}:
            continue
        end = child.start_byte if child is not None else node.end_byte - 1
        literal = source[at - start : end - start].decode("utf-8", "replace")
        literal = re.sub(r"\\([\"\\$`\n])", lambda m: "" if m[1] == "\n" else m[1], literal)
        results = [[*r, *((c, _QUOTED) for c in literal)] for r in results]
        if child is not None:
            parts = _chars(child, state)
            if len(parts) * len(results) > _MAX_ALTERNATIVES:
                parts = [[(UNKNOWN, _QUOTED)]]
            results = [[*r, *((c, _EXPANDED if c == SPLIT else _QUOTED) for c, _ in p)] for r in results for p in parts]
            at = child.end_byte
    return results


def _unescaped(source: str) -> Chars:
    out: Chars = []
    at = 0
    while at < len(source):
        if source[at] == "\\" and at + 1 < len(source):
            if source[at + 1] != "\n":
                out.append((source[at + 1], _QUOTED))
            at += 2
        else:
            out.append((source[at], _BARE))
            at += 1
    return out


_SIMPLE = re.compile(r"\$\{?([A-Za-z_]\w*|[0-9@*#?$!_-])(\[[@*]\])?\}?")
_DEFAULT = re.compile(r"\$\{([A-Za-z_]\w*)(?::?[-])(.*)\}", re.DOTALL)


def _expansion(node: Node, state: State) -> tuple[str, ...]:
    source = text(node)
    simple = _SIMPLE.fullmatch(source)
    if simple:
        return state.lookup(simple[1])
    default = _DEFAULT.fullmatch(source)
    if default:
        inner = [c for c in node.named_children if c.type not in {"variable_name", "comment"}]
        fallback = tuple(v for c in inner for v in values(c, state)) or (default[2],)
        return state.lookup(default[1]) + fallback
    return (UNKNOWN,)


def _substituted(node: Node, state: State) -> tuple[str, ...]:
    """`$(pwd)`, `$(mktemp)` and `$(echo constant)` are known; other substitutions are not."""
    inner = [c for c in node.named_children if c.type != "comment"]
    if node.type == "process_substitution" or len(inner) != 1 or inner[0].type != "command":
        return (UNKNOWN,)
    words = [expand(c, state) for c in inner[0].named_children]
    argv = [word.text for group in words for word in group]
    if argv == ["pwd"]:
        return state.lookup("PWD")
    if argv[:1] == ["echo"] and not any(word.glob for group in words for word in group):
        return (" ".join(argv[1:]),)
    if argv[:1] == ["mktemp"] and not any("/" in word or word.startswith(("-p", "--tmpdir")) for word in argv[1:]):
        return (str(Path(tempfile.gettempdir(), "made-by-mktemp")),)
    return (UNKNOWN,)


_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_NAMED = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def ansi_c(body: str) -> str:
    """The text of $'...'."""

    def one(match: re.Match[str]) -> str:
        for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
            if match[group]:
                code = int(match[group], base)
                return chr(code) if 0 < code < 0x110000 else ""
        if match[5]:
            return chr(ord(match[5]) & 0x1F)
        return _ANSI_NAMED.get(match[6], match[6])

    return _ANSI.sub(one, body)


# -- words of characters


def _words(chars: Chars, state: State) -> list[Word]:
    words: list[Word] = []
    for one in _braces(chars):
        words += _split(one, state)
    return words


def _split(chars: Chars, state: State) -> list[Word]:
    """Split where an unquoted expansion holds blanks."""
    groups: list[Chars] = [[]]
    separators = "".join(state.lookup("IFS")).replace(UNKNOWN, " \t\n")
    for char, mark in chars:
        if char == SPLIT or (mark == _EXPANDED and char in separators):
            if groups[-1]:
                groups.append([])
        else:
            groups[-1].append((char, mark))
    if not groups[-1] and len(groups) > 1:
        groups.pop()
    if groups == [[]] and any(mark == _EXPANDED for _, mark in chars):
        return []
    return [_word(group, state) for group in groups]


def _word(chars: Chars, state: State) -> Word:
    body = "".join(c for c, _ in chars)
    bare = "".join("x" if mark == _QUOTED else c for c, mark in chars)
    glob = bool(re.search(r"[*?\[]|[!@+]\(", bare))
    return Word(_tilde(body, chars, state), glob)


def _tilde(body: str, chars: Chars, state: State) -> str:
    if not chars or chars[0] != ("~", _BARE):
        return body
    prefix, slash, rest = body.partition("/")
    if prefix == "~":
        return state.home + slash + rest
    if prefix == "~+":
        return (state.folders[0] or UNKNOWN) + slash + rest
    if prefix == "~-":
        return UNKNOWN + slash + rest
    known = os.path.expanduser(prefix)  # noqa: PTH111 - Path.expanduser raises for unknown users
    return (known if known != prefix else f"/home/{prefix[1:]}") + slash + rest


def _braces(chars: Chars) -> list[Chars]:
    """Brace expansion: {a,b} and {1..3}, nested ones too."""
    start, commas, end = _brace(chars)
    if end < 0:
        return [chars]
    before, after = chars[:start], chars[end + 1 :]
    body = chars[start + 1 : end]
    if commas:
        cuts = [start, *commas, end]
        parts = [chars[a + 1 : b] for a, b in itertools.pairwise(cuts)]
    else:
        parts = [[(c, _BARE) for c in item] for item in _sequence("".join(c for c, _ in body))]
    results = [one for part in parts for one in _braces([*before, *part, *after])]
    return results if len(results) <= _MAX_BRACES else [[*before, (UNKNOWN, _BARE), *after]]


def _brace(chars: Chars) -> tuple[int, list[int], int]:
    """The first brace that expands: its start, its commas, its end; end -1 when there is none."""
    for start, pair in enumerate(chars):
        if pair != ("{", _BARE) or (start and chars[start - 1] == ("$", _BARE)):
            continue
        depth, commas = 0, []
        for at in range(start, len(chars)):
            if chars[at] == ("{", _BARE):
                depth += 1
            elif chars[at] == (",", _BARE) and depth == 1:
                commas.append(at)
            elif chars[at] == ("}", _BARE):
                depth -= 1
                if depth == 0:
                    if commas or _sequence("".join(c for c, _ in chars[start + 1 : at])):
                        return start, commas, at
                    break
    return -1, [], -1


def _sequence(body: str) -> list[str]:
    match = re.fullmatch(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?", body)
    if match:
        first, last, step = int(match[1]), int(match[2]), abs(int(match[3] or 1)) or 1
        if abs(last - first) // step > _MAX_BRACES:
            return [match[1], match[2]]
        return [str(n) for n in (range(first, last + 1, step) if first <= last else range(first, last - 1, -step))]
    match = re.fullmatch(r"([A-Za-z])\.\.([A-Za-z])", body)
    if match:
        first, last = ord(match[1]), ord(match[2])
        return [chr(n) for n in (range(first, last + 1) if first <= last else range(first, last - 1, -1))]
    return []
