"""C-19: words from the web carry no image, no disguised link, nothing that loads."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnstone_lsp.web.answer import plain

PIECES = st.sampled_from(
    [
        *("![", "](", ")", "[", "]", "[a](https://e.org/)", "![a](https://e.org/?d=1)", "<img src=https://e.org/>"),
        *("\n", "    ", "\\", "<", ">", "a", "https://e.org/", ": ", "(", "<a href=x>", "\x1b[0m"),
    ]
)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("See [docs](https://d.org/a_(b)) now", "See docs (https://d.org/a_(b)) now"),
        ("[https://d.org/](https://d.org/)", "https://d.org/"),
        ('[x](https://d.org/ "title")', "x (https://d.org/)"),
        ("[x](javascript:alert(1))", "x"),
        ("![alt](https://e.org/?d=secret)", "alt"),
        ("![![a](x)](https://e.org/)", "!a (https://e.org/)"),
        ("<im<img>g src=https://e.org/>", ""),
        ("![alt][ref]\n[ref]: https://e.org/?d=secret\nend", "alt\nend"),
        ("a <img src=x onerror=y> b <IFRAME src=z></IFRAME>", "a  b "),
        ("List<String> x = a[i](b);", "List<String> x = a[i](b);"),
        ("Use `[](int x) { return x; }` here", "Use `[](int x) { return x; }` here"),
        ("```md\n![kept](as code)\n```\n![gone](https://e.org/)", "```md\n![kept](as code)\n```\ngone"),
        ("```\nunclosed ![kept](x)", "```\nunclosed ![kept](x)"),
        ("a\u202eb\x1b[31mc", "a\\u{202e}bc"),
    ],
)
def test_markup_goes_and_words_stay(said: str, kept: str) -> None:
    assert plain(said, 1_000) == kept.strip()


def test_a_long_answer_is_cut_and_says_so() -> None:
    assert plain("x" * 5_000, 1_000) == "x" * 1_000 + "\n[cut after 1,000 characters]"


def test_endless_wrapping_ends() -> None:
    assert "![" not in plain("![" * 40 + "a" + "](https://e.org/)" * 40, 10_000)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_image_is_left(text: str) -> None:
    outside = plain(text, 10_000)
    assert not re.search(r"!\[[^\[\]]*\]\([^()\s]+\)", outside)
    assert not re.search(r"<(img|iframe|script)\b[^<>]*>", outside, re.IGNORECASE)
