"""From text to a syntax tree: one real parser of bash, and what is refused before it (C-10, C-15, C-18)."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from turnstone_lsp.process.text import is_visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

    from turnstone_lsp.process.gate.verdict import Findings

MAX_CHARS = 60_000
MAX_DEPTH = 200
MAX_NODES = 20_000
_PADDING = re.compile(r"[ \t]{100,}|\n(?:[ \t]*\n){20,}")
_LIKE_SLASHES = "\u2044\u2215\u29f8\uff0f\u2571"
_JOINERS = "\u200c\u200d\ufe0f"


@cache
def parser() -> Parser:
    """The tree-sitter parser of bash; loaded on first use."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(source: bytes) -> Node:
    """The root node of a script."""
    return parser().parse(source).root_node


def refuse(command: str, found: Findings) -> bool:
    """Findings for text that is not even parsed. True when there is nothing more to look at."""
    if not command.strip():
        found.ask("the command is empty")
        return True
    if len(command) > MAX_CHARS:
        found.ask(f"the command is longer than {MAX_CHARS:,} characters and was not examined")
        return True
    blanks = {c for c in command if c != " " and unicodedata.category(c) == "Zs"}
    if blanks:
        found.ask(f"it holds blanks that are none to bash ({', '.join(sorted(f'U+{ord(c):04X}' for c in blanks))})")
    slashes = [c for c in command if c in _LIKE_SLASHES]
    if slashes:
        found.ask("it holds characters that look like a slash and are none")
    hidden = sorted({f"U+{ord(c):04X}" for c in command if c not in "\n\t" and c not in blanks and not _shown(c)})
    if hidden:
        found.block(f"it holds control or invisible characters ({', '.join(hidden[:5])})")
    joined = [i for i, c in enumerate(command) if c in _JOINERS and (i == 0 or command[i - 1].isascii())]
    if joined:
        found.block("it holds invisible joining characters")
    if _PADDING.search(command):
        found.ask("a long run of blanks could push a part of it out of sight")
    return bool(hidden)


def _shown(char: str) -> bool:
    return char in _JOINERS or is_visible(char)


def too_big(root: Node) -> bool:
    """True for trees too deep or too large to judge."""
    depth = nodes = 0
    cursor = root.walk()
    while True:
        nodes += 1
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            return True
        if cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False
            depth -= 1


def text(node: Node) -> str:
    """The source of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def substitutions(node: Node) -> Iterator[Node]:
    """The outermost command and process substitutions at or below a node."""
    if node.type in {"command_substitution", "process_substitution"}:
        yield node
        return
    for child in node.children:
        yield from substitutions(child)


def within(node: Node, *kinds: str) -> Iterator[Node]:
    """All nodes of some kinds at or below a node."""
    if node.type in kinds:
        yield node
    for child in node.children:
        yield from within(child, *kinds)
