"""What a request can carry out of the machine, and to whom (C-16, C-17)."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from turnstone_lsp.web.urls import CheckedUrl

_LONG_QUERY = 256
_LONG_PATH = 512
_LONG_LABEL = 40
_TOKEN = re.compile(r"[A-Za-z0-9+/_=-]{24,}")
_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_RANDOM_BITS = 4.2
"""Bits a character; words joined by dashes stay below, base64 of anything lies above."""


def doubts(url: CheckedUrl) -> tuple[str, ...]:
    """Why a URL could be a message rather than an address; empty for most."""
    parts = urlsplit(url.url)
    found = []
    if len(parts.query) > _LONG_QUERY or len(parts.path) > _LONG_PATH:
        found.append("the URL is long enough to carry data out")
    if looks_encoded(unquote(parts.query)) or _random(parts.path.replace("/", " ")):
        found.append("the URL holds what looks like encoded data or a key")
    if any(len(label) > _LONG_LABEL for label in url.host.split(".")):
        found.append("the host name is long enough to carry data out")
    return tuple(found)


def looks_encoded(text: str) -> bool:
    """Whether the text holds a long run of hex digits or of random-looking letters and digits."""
    return bool(_HEX.search(text)) or _random(text)


def _random(text: str) -> bool:
    return any(
        re.search(r"[0-9]", token) and re.search(r"[A-Z]", token) and _bits(token) >= _RANDOM_BITS
        for token in _TOKEN.findall(text)
    )


def _bits(token: str) -> float:
    """Shannon entropy in bits a character."""
    return -sum(n / len(token) * math.log2(n / len(token)) for n in Counter(token).values())
