"""How a confined child turns a page into text: readability for its main part, lxml for the walk."""

from __future__ import annotations

import codecs
import json
import os
import re
from html.parser import HTMLParser
from typing import Any

from turnstone_lsp.sandbox.html_text import visible_text

_MAIN_SHARE = 1 / 2
"""Share of the page's text that its main part must have to stand for the page; else too much would be lost."""
_SHORT = 2000
"""Characters of text up to which a page is read whole: little is gained by leaving some of it out."""
_HEAD_BYTES = 2048
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s{0,9}=\s{0,9}["']?\s{0,9}([\w.:-]{1,40})""", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_NO_CHARSETS = frozenset(["idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"])
"""Python's own codecs that no page is written in; the first three fail instead of replacing what they cannot read."""
_STRIPPED_BYTES = 200_000
_INLINE_NAMES = "a abbr b bdi bdo cite code em i kbd mark q s samp small span strong sub sup time u var"
_INLINE = frozenset(_INLINE_NAMES.split())
_SKIPPED = frozenset(["script", "style", "noscript", "template", "svg"])
_LARGEST_TEXT = 1_000_000
"""Characters of text that are handed on."""


def prepare() -> None:
    """Import what a call needs and use it once."""
    _extract("<html><head><title>t</title></head><body><article><p>warm, and up</p></article></body></html>")


def run(header: dict[str, Any], body: bytes) -> bool:
    """Write {"title", "text", "via"} as JSON. header: "charset" (a hint or ""), "plain" (only strip tags)."""
    plain = bool(header.get("plain"))
    source = decode(body[:_STRIPPED_BYTES] if plain else body, str(header.get("charset") or ""))
    title, text, via = (*_strip(source), "fallback") if plain else _extract(source)
    answer = {"title": " ".join(title.split())[:1000], "text": text[:_LARGEST_TEXT], "via": via}
    data = memoryview(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
    while data:
        data = data[os.write(1, data) :]
    return True


def decode(body: bytes, charset: str) -> str:
    """The page as text: by its byte order mark, the hint, its own meta element, or UTF-8; never fails."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    declared = _META_CHARSET.search(body[:_HEAD_BYTES])
    own = _text_codec(declared[1].decode("ascii", "replace")) if declared else ""
    if own.startswith(("utf-16", "utf-32")):
        own = ""  # it could be read, so it is not that; HTML says to take UTF-8
    return body.decode(_text_codec(charset) or own or "utf-8", "replace")


def _text_codec(label: str) -> str:
    """The name of a codec that makes text of bytes, or "". latin-1 means windows-1252, as in browsers."""
    try:
        found = codecs.lookup(label.strip()) if label.strip() else None
    except (LookupError, ValueError):
        return ""
    if found is None or not found._is_text_encoding:  # noqa: SLF001 - there is no public way to ask
        return ""
    if found.name in _NO_CHARSETS:
        return ""
    return "cp1252" if found.name in {"iso8859-1", "ascii"} else found.name


def _extract(source: str) -> tuple[str, str, str]:
    import lxml.etree
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    data = source.encode("utf-8", "replace")
    try:
        page = lxml.html.document_fromstring(data, parser=parser, ensure_head_body=True)
    except lxml.etree.ParserError:  # nothing in it but blanks and comments
        return "", "", "body"
    title = page.findtext(".//title") or ""
    whole = visible_text(page.find("body"), whole=True)
    main = _main_part(source) if len(whole) > _SHORT else ""
    if main and len(main) >= len(whole) * _MAIN_SHARE:
        return title, main, "readability"
    return title, whole, "body"


def _main_part(source: str) -> str:
    import lxml.html
    import readability

    try:
        summary = readability.Document(source).summary(html_partial=True)
        return visible_text(lxml.html.fragment_fromstring(summary, create_parent="div"), whole=False)
    except Exception:  # noqa: BLE001 - it gives up in many ways; the whole body still serves
        return ""


def _strip(source: str) -> tuple[str, str]:
    """Title and text; a tag that the cut went through is no text."""
    whole_tags = source[: source.rfind("<")] if source.rfind("<") > source.rfind(">") else source
    stripper = _Stripper()
    stripper.feed(whole_tags)
    stripper.close()
    lines = (" ".join(line.split()) for line in "".join(stripper.text).split("\n"))
    return "".join(stripper.title), "\n".join(line for line in lines if line)


class _Stripper(HTMLParser):
    """Text outside tags, scripts and styles, every other tag's text on a line of its own."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.title: list[str] = []
        self._within: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        if tag in _SKIPPED or tag == "title":
            self._within.append(tag)
        if tag not in _INLINE:
            self.text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._within and self._within[-1] == tag:
            self._within.pop()
        if tag not in _INLINE:
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._within:
            self.text.append(data)
        elif self._within == ["title"]:
            self.title.append(data)
