"""The HTML child: pages of strangers are parsed where a hostile one can do no harm, and for five seconds at most."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from turnstone_lsp.errors import ToolError
from turnstone_lsp.sandbox.host import choose

if TYPE_CHECKING:
    from turnstone_lsp.sandbox.levels import Level

SECONDS = 5.0
LIBRARIES = ("lxml", "readability", "chardet", "cssselect", "lxml_html_clean")
_CAP = 8 * 1024 * 1024
"""Bytes of an answer; the child sends at most a million characters."""
Via = Literal["readability", "body", "fallback"]


@dataclass(frozen=True, slots=True)
class Page:
    """A page as plain text. via: its main part, its whole body, or its first 200 kB with the tags stripped."""

    title: str
    text: str
    via: Via


class HtmlChild:
    """Turns HTML into text. Starts on first use."""

    def __init__(self, highest: Level = "L4") -> None:
        self._host = choose("html", LIBRARIES, highest)

    async def extract(self, html: bytes, url: str = "", charset: str | None = None) -> Page:
        """The page's title and text. What lxml cannot parse in time goes through a plain stripper, as confined.

        charset: the label of the HTTP header. Raises ToolError when neither gives an answer.
        """
        del url
        try:
            page = await self._ask(html, charset, plain=False)
        except ToolError:  # the host itself fell; the next call starts another
            page = None
        if page is None or not page.text.strip():  # lxml finds nothing where it gives up on depth
            page = await self._ask(html, charset, plain=True) or page
        if page is None:
            raise ToolError(f"The page could not be turned into text within {SECONDS:g} s; it may be hostile.")
        return page

    async def _ask(self, html: bytes, charset: str | None, *, plain: bool) -> Page | None:
        header = {"charset": charset or "", "plain": plain}
        answer = await self._host.call(html, timeout=SECONDS, cap=_CAP, header=header)
        if answer.how != "ok":
            return None
        try:
            found = json.loads(answer.output)
            via: Via = next(via for via in get_args(Via) if via == found["via"])
            return Page(str(found["title"]), str(found["text"]), via)
        except (ValueError, KeyError, TypeError, StopIteration):  # what parsed the page is not to be trusted
            return None

    async def close(self) -> None:
        """End the child."""
        await self._host.close()
