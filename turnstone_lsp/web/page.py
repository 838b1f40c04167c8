"""From a fetched answer to text: HTML by the sandboxed child, everything else that is text as it stands."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.process.text import clean
from turnstone_lsp.web import decoding
from turnstone_lsp.web.errors import WebError

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.sandbox.html import HtmlChild
    from turnstone_lsp.web.fetch import Fetched


@dataclass(frozen=True, slots=True)
class WebPage:
    """The text of a page, free of control and hidden characters. Still a stranger's words."""

    url: str
    title: str
    text: str
    truncated: bool
    """The page was longer than what is fetched."""


async def read_page(fetched: Fetched, child: Callable[[], HtmlChild]) -> WebPage:
    """The text of a fetched page; `child` is called for HTML only. Raises WebError when there is no text."""
    codec = decoding.charset(fetched.body, fetched.charset, fetched.media_type)
    if decoding.is_binary(fetched.body, codec):
        raise WebError("The URL leads to binary data, not to text. Only HTML, text, JSON and XML are read.")
    title = ""
    if decoding.is_html(fetched.body, fetched.media_type):
        title, text = await _from_html(fetched, child(), codec)
    else:
        text = await asyncio.to_thread(decoding.decode, fetched.body, codec)
    text = (await asyncio.to_thread(clean, text)).strip()
    if not text:
        raise WebError("The page has no text; it may be built by scripts, which are not run. Use another page.")
    return WebPage(fetched.url, " ".join(clean(title).split()), text, fetched.truncated)


async def _from_html(fetched: Fetched, child: HtmlChild, codec: str) -> tuple[str, str]:
    """Title and text. Where the parser gives up on depth, and so finds nothing, the plain stripper still may."""
    from turnstone_lsp.sandbox.html import stripped

    page = await child.extract(fetched.body, fetched.url, codec)
    if not page.text.strip():
        page = await asyncio.to_thread(stripped, fetched.body, codec)
    return page.title, page.text
