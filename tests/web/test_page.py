"""From bytes to text: charsets, kinds of text, HTML by the sandboxed child."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnstone_lsp.sandbox.html import HtmlChild
from turnstone_lsp.web import decoding
from turnstone_lsp.web.errors import WebError
from turnstone_lsp.web.fetch import Fetched
from turnstone_lsp.web.page import WebPage, read_page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

URL = "https://docs.public-site.dev/"


@pytest.fixture
async def child() -> AsyncIterator[HtmlChild]:
    made = HtmlChild()
    yield made
    await made.close()


def no_child() -> HtmlChild:
    raise AssertionError("only HTML needs the child")


async def read(
    body: bytes, media_type: str = "text/plain", charset: str = "", child: HtmlChild | None = None
) -> WebPage:
    fetched = Fetched(URL, media_type, charset, body, truncated=False)
    return await read_page(fetched, (lambda: child) if child else no_child)


async def test_html_becomes_text_without_scripts_and_styles(child: HtmlChild) -> None:
    """'strips HTML to plain text'; upstream fault 77: 'script and style text in the page -> noise -> drop';
    upstream behaviour 69: 'blocks separated'"""
    html = (
        "<!doctype html><html><head><title> The\n title </title><style>p{color:red}</style></head><body>"
        "<script>alert('x')</script><h1>Heading</h1><p>First &amp; second.</p><p>T\u00fcr\u202e</p>"
        "<template>hidden</template><ol><li>one</li><li>two</li></ol>" + "<p>A long text, with commas, too.</p>" * 20
    ).encode()
    page = await read(html, "text/html", "utf-8", child)
    assert page.title == "The title"
    assert page.text.split("\n")[:3] == ["Heading", "First & second.", "T\u00fcr\\u{202e}"]
    assert "one\ntwo" in page.text
    assert "alert" not in page.text
    assert "color" not in page.text


@pytest.mark.parametrize(
    ("body", "media_type", "charset"),
    [
        ("<p>Größe 日本</p>".encode("shift_jis", "ignore"), "text/html", "Shift_JIS"),
        ("<meta charset=windows-1251><p>Привет</p>".encode("cp1251"), "text/html", ""),
        (
            '<meta http-equiv=Content-Type content="text/html; charset=EUC-JP"><p>日本</p>'.encode("euc_jp"),
            "text/html",
            "",
        ),
        ("\ufeff<p>Größe</p>".encode("utf-16-le"), "text/html", "latin-1"),
        (
            '<?xml version="1.0" encoding="iso-8859-1"?><html><p>Größe</p></html>'.encode("latin-1"),
            "application/xhtml+xml",
            "",
        ),
        ("<html><p>Größe</p></html>".encode(), "", ""),
    ],
)
async def test_charsets_of_html(body: bytes, media_type: str, charset: str, child: HtmlChild) -> None:
    page = await read(body, media_type, charset, child)
    assert any(word in page.text for word in ("Größe", "日本", "Привет"))
    assert "\ufffd" not in page.text
    assert "<p>" not in page.text


@pytest.mark.parametrize(
    "label", ["zlib_codec", "rot13", "idna", "unicode_escape", "punycode", "nonsense", "utf-7", "hex"]
)
async def test_only_text_codecs_are_looked_up(label: str) -> None:
    page = await read("Gr\u00f6\u00dfe".encode(), charset=label)
    assert page.text == "Gr\u00f6\u00dfe"


def test_every_listed_codec_exists() -> None:
    for codec in decoding._CODECS:
        assert isinstance(decoding.decode(b"text", codec), str)


async def test_json_and_xml_are_text_as_they_stand() -> None:
    assert (await read(b'{"a": [1, 2]}', "application/json")).text == '{"a": [1, 2]}'
    xml = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    assert (await read(xml, "application/xml")).text == xml.decode()


async def test_control_and_hidden_characters_do_not_reach_the_model() -> None:
    """C-18"""
    page = await read("a\x1b]52;c;aGk=\x07b \U000e0041 c\x08d".encode())
    assert page.text == "ab \\u{e0041} d"


@pytest.mark.parametrize(("body", "says"), [(b"\x7fELF\0\0", "binary"), (b"", "no text"), (b" \n\t", "no text")])
async def test_what_is_no_text_is_an_error(body: bytes, says: str) -> None:
    with pytest.raises(WebError, match=says):
        await read(body)


async def test_a_page_of_scripts_says_why_it_is_empty(child: HtmlChild) -> None:
    with pytest.raises(WebError, match="scripts"):
        await read(b"<html><body><script>render()</script></body></html>", "text/html", "", child)


@pytest.mark.parametrize(
    "html",
    [b"<div>" * 30_000 + b"deep" + b"</div>" * 30_000, b"<p " + b"a=1 " * 3_000 + b">deep</p>", b"deep<<<>><p <p></"],
    ids=["nested", "attributes", "broken"],
)
async def test_hostile_html_ends_in_text(html: bytes, child: HtmlChild) -> None:
    assert "deep" in (await read(html, "text/html", "", child)).text
