r"""A parsed pattern in each engine's own notation.

The engines see lines that end in \n. Our lines end in \r\n and \r too, so ^, $ and . are written to know about \r.
Bytes that are not UTF-8 match no character in any of them: that is ripgrep's rule, and the Python engine decodes them
to lone surrogates, which `.` and negated classes leave out.
"""

from __future__ import annotations

import re

from turnstone_lsp.workspace.searching.dialect import Any, Assertion, Char, Choice, Class, Node, Repeat, Sequence

_ESCAPED_BYTES = "\udc80-\udcff"
_MOST_FOR_GREP = 20


def counting(node: Node) -> str:
    r"""For ripgrep's first look: `ripgrep`, or more.

    A line that begins after a lone CR is none for its ^. So that no file with such lines is missed, a pattern with ^
    matches them all; whoever shows the file looks for lone CRs and searches it again as a text.
    """
    rendered = ripgrep(node)
    return rf"(?:{rendered})|\r(?-u:[^\n])" if "(?:^)" in rendered else rendered


def ripgrep(node: Node) -> str:
    """For `rg` without --crlf, in its default Unicode mode."""
    match node:
        case Char(char):
            return _rust_char(char)
        case Any():
            return r"[^\r\n]"
        case Class(ranges, negated):
            body = "".join(
                _rust_char(chr(a)) if a == b else f"{_rust_char(chr(a))}-{_rust_char(chr(b))}" for a, b in ranges
            )
            return rf"[^\r\n{body}]" if negated else f"[{body}]"
        case Assertion(kind):
            return {"^": "(?:^)", "$": r"(?:\r|$)", "b": r"(?-u:\b)", "B": r"(?-u:\B)"}[kind]
        case Repeat(inner, least, most):
            return f"(?:{ripgrep(inner)}){_counts(least, most)}"
        case Sequence(nodes):
            return "".join(map(ripgrep, _starts_first(nodes)))
        case Choice(options):
            return f"(?:{'|'.join(map(ripgrep, options))})"


def _starts_first(nodes: tuple[Node, ...]) -> list[Node]:
    r"""The nodes with ^ before other places beside it: ripgrep 13 passes over lines for \b^, not for ^\b."""
    ordered: list[Node] = []
    for node in nodes:
        at = len(ordered)
        while node == Assertion("^") and at and isinstance(ordered[at - 1], Assertion):
            at -= 1
        ordered.insert(at, node)
    return ordered


def _rust_char(char: str) -> str:
    return char if char.isalnum() or char in "_ " else rf"\x{{{ord(char):x}}}"


def python(node: Node) -> str:
    r"""For `re` with MULTILINE, on text whose lines all end in \n and whose stray bytes are lone surrogates."""
    match node:
        case Char(char):
            return re.escape(char)
        case Any():
            return rf"[^\n{_ESCAPED_BYTES}]"
        case Class(ranges, negated):
            body = "".join(
                re.escape(chr(a)) if a == b else f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in ranges
            )
            return rf"[^\n{_ESCAPED_BYTES}{body}]" if negated else f"[{body}]"
        case Assertion(kind):
            return {"^": "^", "$": "$", "b": r"(?a:\b)", "B": r"(?a:\B)"}[kind]
        case Repeat(inner, least, most):
            return f"(?:{python(inner)}){_counts(least, most)}"
        case Sequence(nodes):
            return "".join(map(python, nodes))
        case Choice(options):
            return f"(?:{'|'.join(map(python, options))})"


def grep(node: Node) -> str:
    """For `grep -aE` in a UTF-8 locale: matches at least every line that the pattern matches.

    It chooses the files that are then searched by `re`, so places are left out and rare classes widened.
    """
    match node:
        case Char(char):
            return "\\" + char if char in r"\.[]{}()*+?|^$" else char
        case Any():
            return "."
        case Class(ranges, negated):
            plain = not negated and all(chr(end).isalnum() or chr(end) in "_ " for pair in ranges for end in pair)
            return f"[{''.join(chr(a) if a == b else f'{chr(a)}-{chr(b)}' for a, b in ranges)}]" if plain else "."
        case Assertion():
            return ""
        case Repeat(inner, least, most):
            wide = max(least, most or 0) > _MOST_FOR_GREP
            return f"({grep(inner)}){('+' if least else '*') if wide else _counts(least, most)}"
        case Sequence(nodes):
            return "".join(map(grep, nodes))
        case Choice(options):
            return f"({'|'.join(map(grep, options))})"


def _counts(least: int, most: int | None) -> str:
    simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    if (least, most) in simple:
        return simple[least, most]
    if least == most:
        return f"{{{least}}}"
    return f"{{{least},{'' if most is None else most}}}"
