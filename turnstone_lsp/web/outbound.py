"""What a request can carry out of the machine, and to whom (C-16, C-17)."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from turnstone_lsp.web.urls import CheckedUrl

_BY_OWNER = """
bitbucket.org codeberg.org dev.to gist.github.com gist.githubusercontent.com git.sr.ht github.com gitlab.com
huggingface.co medium.com raw.githubusercontent.com replit.com s3.amazonaws.com storage.googleapis.com
"""
_MIXED = """
docs.google.com drive.google.com forms.gle pastebin.com script.google.com sites.google.com telegra.ph
translate.google.com web.archive.org www.reddit.com
"""
_BELOW = """
amazonaws.com azurewebsites.net blogspot.com cloudfront.net codeberg.page firebaseapp.com fly.dev github.io gitlab.io
herokuapp.com hf.space netlify.app ngrok-free.app ngrok.io notion.site onrender.com pages.dev readthedocs.io
substack.com surge.sh vercel.app web.app wordpress.com workers.dev
"""
OWNED_HOSTS = frozenset(_BY_OWNER.split())
"""Hosts on which anyone can publish, the first part of the path naming whose page it is."""
MIXED_HOSTS = frozenset(_MIXED.split())
"""Hosts that show anyone's pages and whose paths do not say whose."""
SHARED_SUFFIXES = frozenset(_BELOW.split())
"""Domains below which anyone can have a host."""
_OWNER = re.compile(r"/([A-Za-z0-9._~+-]+)(?:/|$)")
_ENCODED_SEPARATOR = re.compile(r"%2[ef]|%5c", re.IGNORECASE)
"""A server may read an encoded dot or slash as one: whose page it is cannot be said."""

_LONG_QUERY = 256
_LONG_PATH = 512
_LONG_LABEL = 40
_TOKEN = re.compile(r"[A-Za-z0-9+/_=-]{24,}")
_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_RANDOM_BITS = 4.2
"""Bits a character; words joined by dashes stay below, base64 of anything lies above."""


def place(url: CheckedUrl) -> tuple[str, bool]:
    """Whom an approval of this URL trusts, and whether one can be given in advance.

    The host; "host/owner" where anyone can publish; "host/" where it cannot be said whose page it is.
    """
    if url.host in MIXED_HOSTS:
        return f"{url.host}/", False
    if url.host not in OWNED_HOSTS:
        return url.host, True
    path = urlsplit(url.url).path
    owner = _OWNER.match(path)
    if owner is None or _ENCODED_SEPARATOR.search(path):
        return f"{url.host}/", False
    return f"{url.host}/{owner[1]}", True


def advice(host: str) -> str | None:
    """What is wrong with an allow rule for this host, if anyone can publish there; None for an ordinary one."""
    name = host.strip().removeprefix("*.").strip(".").lower()
    if name in MIXED_HOSTS:
        return f"anyone can publish on {name}, so every fetch there asks"
    if name in OWNED_HOSTS:
        return f"anyone can publish on {name}; name the owner, as in {name}/OWNER"
    return f"anyone can publish below {name}; name the whole host" if name in SHARED_SUFFIXES else None


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
