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
        page = await child().extract(fetched.body, fetched.url, codec)
        title, text = page.title, page.text
    else:
        text = await asyncio.to_thread(decoding.decode, fetched.body, codec)
    text = (await asyncio.to_thread(clean, text)).strip()
    if not text:
        raise WebError("The page has no text; it may be built by scripts, which are not run. Use another page.")
    return WebPage(fetched.url, " ".join(clean(title).split()), text, fetched.truncated)
