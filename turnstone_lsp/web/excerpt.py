"""The part of a long page that a model can take in: its beginning, and what speaks of the question."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LARGEST_BLOCK = 2_000
"""Characters."""
GAP = "[…]"
_COST = len(f"\n\n{GAP}\n\n".encode())


def excerpt(text: str, question: str, budget: int) -> tuple[str, int]:
    """`text` in at most `budget` bytes of UTF-8, and the number of its characters that were left out.

    Paragraphs, or lines of long ones, in their order, with a mark where some are missing: a third of the budget goes
    to the beginning, the rest to those that hold the rarest words of the question, then to what follows the beginning.
    """
    if len(text.encode()) <= budget:
        return text, 0
    blocks = _blocks(text, min(_LARGEST_BLOCK, budget // 8))
    scores = _scores(blocks, question)
    relevant = sorted((i for i, score in enumerate(scores) if score), key=lambda i: (-scores[i], i))
    costs = [len(block.encode()) + _COST for block in blocks]
    room = budget - _COST
    chosen = set(_fitting(range(len(blocks)), costs, budget // 3, whole_run=True))
    for order, whole_run in ((relevant, False), (range(len(blocks)), True)):
        left = room - sum(costs[i] for i in chosen)
        chosen |= set(_fitting((i for i in order if i not in chosen), costs, left, whole_run=whole_run))
    return _join(blocks, chosen), len(text) - sum(len(blocks[i]) for i in chosen)


def _fitting(order: Iterable[int], costs: Sequence[int], room: int, *, whole_run: bool) -> list[int]:
    """Those of `order` that fit into `room` together; with `whole_run` none after the first that does not."""
    found = []
    for index in order:
        if costs[index] <= room:
            found.append(index)
            room -= costs[index]
        elif whole_run:
            break
    return found


def _blocks(text: str, length: int) -> list[str]:
    """The text in pieces of at most `length` characters, cut between paragraphs, else lines, else anywhere."""
    blocks: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        block = ""
        for line in paragraph.split("\n"):
            if block and len(block) + len(line) >= length:
                blocks.append(block)
                block = ""
            block = f"{block}\n{line}" if block else line
        blocks.append(block)
    return [block[at : at + length] for block in blocks for at in range(0, len(block), length)]


def _scores(blocks: list[str], question: str) -> list[float]:
    """How much each block speaks of the question: its words, weighted by how few blocks hold them."""
    wanted = set(_words(question))
    found = [wanted & set(_words(block)) for block in blocks]
    holders = Counter(word for words in found for word in words)
    return [sum(math.log(1 + len(blocks) / holders[word]) for word in words) for words in found]


def _words(text: str) -> list[str]:
    return re.findall(r"\w{2,}", text.casefold())


def _join(blocks: list[str], chosen: set[int]) -> str:
    parts: list[str] = []
    for index, block in enumerate(blocks):
        if index in chosen:
            parts.append(block)
        elif not parts or parts[-1] != GAP:
            parts.append(GAP)
    return "\n\n".join(parts)
