"""Lines and positions against naive models that walk character by character."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from turnstone_lsp.workspace.text import LineTable, Units, chop, count_lines, from_index, split_lines, to_index

# every character that some splitter takes for a line end, and widths 1 to 4 bytes, 1 and 2 UTF-16 units
texts = st.text(st.sampled_from("ab \t\n\r\x0b\x0c\x1c\x85\u2028é€😀\ufeff"), max_size=40)
units = st.sampled_from(["utf-8", "utf-16", "utf-32"])


def naive_lines(text: str) -> list[str]:
    lines, current, index = [], "", 0
    while index < len(text):
        end = "\r\n" if text.startswith("\r\n", index) else text[index]
        index += len(end)
        current += end
        if end in ("\n", "\r", "\r\n"):
            lines.append(current)
            current = ""
    return [*lines, current]


def width(text: str, unit: Units) -> int:
    return {"utf-8": len(text.encode()), "utf-16": len(text.encode("utf-16-le")) // 2, "utf-32": len(text)}[unit]


@given(texts)
def test_lines_end_only_where_lsp_says(text: str) -> None:
    table = LineTable(text)
    assert split_lines(text) == naive_lines(text) == [table.line(n) for n in range(len(table))]
    assert [chop(line) for line in split_lines(text)] == re.split(r"\r\n|\r|\n", text)
    assert count_lines(text) == len([line for line in naive_lines(text) if line])


@given(texts, units)
def test_every_offset_comes_back_from_its_position(text: str, unit: Units) -> None:
    table = LineTable(text)
    for offset in range(len(text) + 1):
        line, character = table.position(offset, unit)
        start = sum(map(len, naive_lines(text)[:line]))
        assert character == width(text[start:offset], unit)
        # an offset inside a line's end has no position of its own: it goes back to the end of the content
        assert table.offset(line, character, unit) == min(offset, start + len(chop(table.line(line))))


@given(texts, st.integers(0, 50), st.integers(0, 50), units)
def test_positions_beyond_the_text_mean_its_nearest_end(text: str, line: int, character: int, unit: Units) -> None:
    offset = LineTable(text).offset(line, character, unit)
    lines = naive_lines(text)
    if line >= len(lines):
        assert offset == len(text)
    else:
        start = sum(map(len, lines[:line]))
        assert start <= offset <= start + len(chop(lines[line]))


def test_a_position_inside_a_character_means_before_it() -> None:
    assert to_index("a😀b", 2, "utf-16") == 1
    assert to_index("aéb", 2, "utf-8") == 1
    assert from_index("a😀b", 2, "utf-16") == 3
