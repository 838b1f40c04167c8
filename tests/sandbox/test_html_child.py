"""What the HTML child does with any markup and any bytes, here in this process (issue 6, item 5: fuzzing)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnstone_lsp.sandbox import html_child

_PIECES = [
    *"<>/&;'\"= \n",
    "<p>",
    "</p>",
    "<a href=",
    "<!--",
    "-->",
    "<script>",
    "</script>",
    "&#x",
    "<pre>",
    "<table>",
    "<td>",
]
_MARKUP = st.lists(st.sampled_from(_PIECES) | st.text(max_size=5), max_size=60).map("".join)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_MARKUP)
def test_any_markup_gives_text_without_our_marks(markup: str) -> None:
    for title, shown in (html_child._extract(markup)[:2], html_child._strip(markup)):
        assert "\0" not in shown or "\0" in markup
        assert "\1" not in shown or "\1" in markup
        assert isinstance(title, str)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=30).map(str.encode), st.text(max_size=12))
def test_any_bytes_and_any_label_decode(data: bytes, label: str) -> None:
    assert isinstance(html_child.decode(data, label), str)


def test_a_tag_that_the_cut_went_through_is_no_text() -> None:
    assert html_child._strip("<title>T</title>one<p>two <a href='x") == ("T", "one\ntwo")


@pytest.mark.parametrize("label", ["idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "utf-7"])
def test_a_codec_that_is_no_charset_is_nothing(label: str) -> None:
    """Found by the fuzzer: some of Python's own codecs fail although told to replace, and a page may name them."""
    assert html_child.decode("naïve \\x41".encode(), label) == "naïve \\x41"
    assert html_child.decode(f"<meta charset={label}>".encode() + b"\x80\\x41", "").endswith("\ufffd\\x41")
