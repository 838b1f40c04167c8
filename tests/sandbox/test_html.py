"""The HTML child: pages to text, in time whatever the page is (B4.8, B4.9 of the security report; faults of parsers)."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from turnstone_lsp.sandbox import html
from turnstone_lsp.sandbox.html import HtmlChild

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.asyncio(loop_scope="module")

SENTENCE = (
    "The quick answer to the question is that the parser reads forty-two tokens in a row, and no more than that. "
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def child() -> AsyncIterator[HtmlChild]:
    made = HtmlChild()
    yield made
    await made.close()


def page(body: str, head: str = "<title>The title</title>") -> bytes:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()


async def text(child: HtmlChild, body: str) -> str:
    return (await child.extract(page(body))).text


async def test_an_article_is_told_from_what_is_around_it(child: HtmlChild) -> None:
    menu = "<div class=sidebar>" + "".join(f"<a href=/x{n}>Menu {n}</a> " for n in range(30)) + "</div>"
    article = "<article>" + f"<p>{SENTENCE * 3}</p>" * 6 + "</article>"
    found = await child.extract(page(f"<nav>Home</nav>{menu}{article}<footer>Imprint</footer>"))
    assert (found.via, found.title) == ("readability", "The title")
    assert found.text.count("forty-two") == 18
    assert "Menu 7" not in found.text
    assert "Imprint" not in found.text


async def test_a_page_that_is_no_article_is_read_whole(child: HtmlChild) -> None:
    rows = "".join(f"<tr><td>name {n}</td><td>value {n}</td></tr>" for n in range(40))
    found = await child.extract(page(f"<h1>Options</h1><table>{rows}</table><p>Short.</p>"))
    assert found.via == "body"
    assert found.text.split("\n") == ["Options", *(f"name {n} | value {n}" for n in range(40)), "Short."]


async def test_blocks_are_apart_and_inline_text_is_not(child: HtmlChild) -> None:
    shown = await text(child, "<h2>A</h2><p>b<b>o</b>ld <i>x</i></p><ul><li>one<li>two</ul>c<br>d<div>e</div>f")
    assert shown.split("\n") == ["A", "bold x", "one", "two", "c", "d", "e", "f"]


async def test_code_keeps_its_lines_and_blanks(child: HtmlChild) -> None:
    assert "def f():\n    return 1\n\nx = f()" in await text(
        child, "<p>see</p><pre><code>def f():\n    return <b>1</b>\n\nx = f()</code></pre>"
    )


async def test_scripts_styles_and_what_is_hidden_are_dropped(child: HtmlChild) -> None:
    hidden = ["<script>evil()</script>", "<style>p{x:evil}</style>", "<noscript>evil</noscript>", "<!-- evil -->"]
    hidden += ["<template>evil</template>", "<svg><text>evil</text></svg>", "<p hidden>evil</p>", "<?evil?>"]
    hidden += ["<p style='color:red; DISPLAY : none'>evil</p>", "<span style='visibility:hidden'>evil</span>"]
    hidden += ["<iframe srcdoc='evil'>evil</iframe>", "<textarea>evil</textarea>", "<select><option>evil</select>"]
    shown = await text(child, "<p>before</p>" + "<p>between</p>".join(hidden) + "<p>after</p>")
    assert "evil" not in shown
    assert shown.startswith("before")
    assert shown.endswith("after")
    assert shown.count("between") == len(hidden) - 1


async def test_links_and_images_leave_only_their_words(child: HtmlChild) -> None:
    """C-19: nothing that a client could render or follow comes from a page's markup."""
    shown = await text(
        child, "<p>See <a href='https://evil.example/?q=1'>the docs</a><img src=//evil.example/i alt=evil>.</p>"
    )
    assert shown == "See the docs."


@pytest.mark.parametrize(
    ("data", "charset", "shown"),
    [
        ("<p>naïve 日本</p>".encode(), None, "naïve 日本"),
        ("<p>naïve 日本</p>".encode(), "utf-8", "naïve 日本"),
        ("<p>naïve</p>".encode("latin-1"), "iso-8859-1", "naïve"),
        ("<p>“quoted”</p>".encode("cp1252"), "iso-8859-1", "“quoted”"),
        ("<p>日本語</p>".encode("shift_jis"), "shift_jis", "日本語"),
        ("<meta charset=shift_jis><p>日本語</p>".encode("shift_jis"), None, "日本語"),
        ("<meta http-equiv=x content='text/html; charset=euc-jp'><p>日本語</p>".encode("euc-jp"), None, "日本語"),
        ("<meta charset=latin-1><p>日本</p>".encode("utf-8-sig"), None, "日本"),
        ("<p>日本</p>".encode("utf-16"), None, "日本"),
        ("<meta charset=utf-16><p>naïve</p>".encode(), "", "naïve"),
        ("<p>naïve</p>".encode("latin-1"), None, "na�ve"),
        ("<p>plain é</p>".encode(), "zlib_codec", "plain é"),
        ("<p>plain é</p>".encode(), "no-such-charset", "plain é"),
        ("<p>plain é</p>".encode(), "rot13", "plain é"),
        ('<?xml version="1.0" encoding="utf-8"?><html><body><p>é</p></body></html>'.encode(), "utf-8", "é"),
        (b"", None, ""),
        (b"\0\0\0", None, "���"),
        (b"just text", None, "just text"),
        (b"<p>a\0b</p><p>c</p>", None, "a�b\nc"),
    ],
)
async def test_bytes_become_text_by_their_charset(
    child: HtmlChild, data: bytes, charset: str | None, shown: str
) -> None:
    """By byte order mark, header, meta element, UTF-8, in this order; a label that names no text codec is nothing."""
    found = (await child.extract(data, "https://x.example/", charset)).text
    assert found.replace("\ufffd", "�") == shown


HOSTILE = {
    "20,000 attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(20_000)) + b">word</p>",
    "100,000 attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b">word</p>",
    "200,000 sibling links": b"word " + b"<a href=x>x</a>" * 200_000,
    "300,000 line breaks": b"word" + b"<br>" * 300_000,
    "100,000 nested blocks": b"word" + b"<div>" * 100_000,
    "unclosed comment": b"word<!--" + b"-" * 1_000_000,
    "unclosed tags": b"word" + b"<a " * 300_000,
    "angle brackets": b"word" + b"<" * 1_000_000,
    "closing angle brackets": b"word" + b"</" * 300_000,
    "declarations": b"word" + b"<!" * 300_000,
    "entities": b"word" + b"&amp" * 300_000,
    "quotes": b"word<a x='" + b"'\"" * 300_000,
    "one word": b"word" * 500_000,
    "spaces": b"word" + b" " * 2_000_000,
    "tables": b"word" + b"<table><tr><td>" * 20_000,
}


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_page_is_read_or_given_up_in_time(child: HtmlChild, name: str) -> None:
    """Five seconds of the parser and as long of the stripper at most; ten times that here."""
    began = time.monotonic()
    found = await child.extract(HOSTILE[name])
    assert time.monotonic() - began < 100
    assert found.via != "fallback" or "a1=" not in found.text
    assert "word" in found.text or name.endswith("attributes")
    assert (await child.extract(b"<p>next</p>")).text == "next"


async def test_a_page_that_takes_too_long_goes_through_the_stripper(
    child: HtmlChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html, "SECONDS", 2.0)
    markup = b"<title>T</title><script>evil()</script><p>one</p><p>two <b>three</b></p>"
    found = await child.extract(markup + HOSTILE["100,000 attributes"])
    assert (found.via, found.title) == ("fallback", "T")
    assert found.text.startswith("one\ntwo three")
    assert "evil" not in found.text


async def test_the_server_parses_nothing_itself() -> None:
    """Neither lxml nor html.parser, whose own quadratic cases would hold the server up."""
    source = inspect.getsource(html)
    assert "HTMLParser" not in source
    assert "lxml." not in source


async def test_the_child_is_confined_like_a_math_call(child: HtmlChild) -> None:
    await child.extract(b"<p>x</p>")
    assert child._host.level == "L4"


@pytest.mark.parametrize("level", ["L3", "L2", "L1"])
async def test_pages_are_read_at_every_level(level: html.Level) -> None:
    """Without a sandbox too: the parser then still runs apart, limited in time and memory."""
    made = HtmlChild(level)
    try:
        assert (await made.extract(page(f"<article><p>{SENTENCE * 9}</p></article>"))).text.count("forty-two") == 9
        assert made._host.level == level
    finally:
        await made.close()
