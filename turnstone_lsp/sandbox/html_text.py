"""From a parsed page to plain text: blocks apart, links and images gone, code as it stands."""

from __future__ import annotations

from typing import Any

_BLOCK_NAMES = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer
h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tbody tfoot thead tr ul
"""
_DROPPED_NAMES = """
script style noscript template iframe frame frameset object embed applet svg canvas img picture audio video source
track map area button input select option textarea datalist head title meta link dialog
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
DROPPED = frozenset(_DROPPED_NAMES.split())
_FURNITURE = frozenset(["nav", "footer"])
"""Parts of a whole page that are not its content."""


def visible_text(root: Any, *, whole: bool) -> str:
    """The text of an lxml element. whole: it is a page rather than its main part. Recursion-free: pages nest deep."""
    out = _Lines()
    dropped = DROPPED | _FURNITURE if whole else DROPPED
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, leaving = stack.pop()
        if leaving:
            out.leave(node.tag)
        elif not isinstance(node.tag, str) or node.tag in dropped or _hidden(node):
            pass
        else:
            out.enter(node.tag)
            out.add(node.text)
            stack.append((node, True))
            stack.extend(_children_backwards(node))
            continue
        if node is not root:
            out.add(node.tail)
    return out.text()


def _children_backwards(node: Any) -> list[tuple[Any, bool]]:
    return [(child, False) for child in node.iterchildren(reversed=True)]


def _hidden(node: Any) -> bool:
    """What a reader would not see, a model should not read."""
    if node.get("hidden") is not None:
        return True
    style = "".join((node.get("style") or "")[:1000].lower().split())
    return "display:none" in style or "visibility:hidden" in style


class _Lines:
    """Collects text into lines, one for each block: spaces folded except in preformatted text."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._line: list[str] = []
        self._preformatted = 0

    def enter(self, tag: str) -> None:
        if tag == "br":
            self._line.append("\n" if self._preformatted else _NEW_LINE)
        elif tag in {"td", "th"}:
            self._line.append(_NEW_CELL)
        elif tag in _BLOCKS:
            self._break()
            self._preformatted += tag == "pre"

    def leave(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._break()
            self._preformatted -= tag == "pre"

    def add(self, text: str | None) -> None:
        if text:
            self._line.append(text)

    def _break(self) -> None:
        text = "".join(self._line)
        self._line.clear()
        if not self._preformatted:
            self._done.extend(folded for line in text.split(_NEW_LINE) if (folded := _folded(line)))
        elif text.strip():
            self._done.extend(line.rstrip() for line in text.strip("\n").split("\n"))

    def text(self) -> str:
        self._break()
        return "\n".join(self._done)


_NEW_LINE, _NEW_CELL = "\0", "\1"
"""Marks that cannot stand in a parsed page."""


def _folded(line: str) -> str:
    """Spaces folded; cells of a table kept apart."""
    cells = (" ".join(cell.split()) for cell in line.split(_NEW_CELL))
    return " | ".join(cell for cell in cells if cell)
