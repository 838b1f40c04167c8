"""The HTML child: pages of strangers are parsed where a hostile one can do no harm, and for five seconds at most."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Literal

from turnstone_lsp.errors import ToolError
from turnstone_lsp.sandbox.host import Host

SECONDS = 5.0
_CAP = 4 * 1024 * 1024
_FALLBACK_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class Page:
    """A page as text. via: how it was read."""

    title: str
    text: str
    via: Literal["readability", "body", "fallback"]


class HtmlChild:
    """Turns HTML into text. Starts on first use."""

    def __init__(self) -> None:
        self._host = Host("html")

    async def extract(self, html: bytes, url: str = "", charset: str | None = None) -> Page:
        """The page's title and text. Never raises: what cannot be parsed in time goes through a plain stripper."""
        del url
        request = {"data": base64.b64encode(html).decode("ascii"), "charset": charset, "cap": _CAP}
        try:
            answer = await self._host.call(request, SECONDS)
            if answer["how"] == "ok":
                found = json.loads(answer["output"])
                return Page(str(found["title"]), str(found["text"]), found["via"])
        except (ToolError, ValueError, KeyError):
            pass
        return await asyncio.to_thread(stripped, html, charset)

    async def close(self) -> None:
        """End the child."""
        await self._host.close()


class _Stripper(HTMLParser):
    """Text outside tags, scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.title = ""
        self._within: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        if tag in ("script", "style", "title"):
            self._within.append(tag)
        self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        if not self._within:
            self.parts.append(data)
        elif self._within[-1] == "title":
            self.title += data


def stripped(html: bytes, charset: str | None) -> Page:
    """The first part of a page through a plain stripper."""
    parser = _Stripper()
    parser.feed(html[:_FALLBACK_BYTES].decode(charset or "utf-8", "replace"))
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    return Page(" ".join(parser.title.split()), "\n".join(line for line in lines if line), "fallback")
