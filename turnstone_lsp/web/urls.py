"""Which URLs may be fetched: refuse, never repair (C-17).

Every lenient reading of a URL is one that two programs can disagree about. So the text must be a plain http(s) URL with
a public-looking host and an ordinary port; our own grammar, `urllib` and httpx must read the same host and port from
it; and a URL that would first have to be mended is refused with what is wrong with it. Nothing here uses the network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urljoin, urlsplit

from turnstone_lsp.process.text import is_visible
from turnstone_lsp.web import addresses
from turnstone_lsp.web.errors import RefusedError

if TYPE_CHECKING:
    from turnstone_lsp.web.addresses import Address

MAX_LENGTH = 2_048
PORTS = ("80", "443", "8080", "8443")
"""As text: `:0`, `:+80` and `:080` are not ports to be understood."""
_DEFAULT_PORTS = {"http": 80, "https": 443}

_URL = re.compile(r"(https?)://([^/?#]+)([^#]*)(?:#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::(?P<port>.*))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_DOTS = "\u3002\uff61"
"""Ideographic full stops, which IDNA reads as dots."""
_LOCAL_NAMES = frozenset(
    {"alt", "arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain"}
    | {"localhost", "onion", "private", "test"}
)
"""Last labels that never name a public host: RFC 2606, 6761, 6762, 7686, 8375, 9476, and what intranets use."""


@dataclass(frozen=True, slots=True)
class CheckedUrl:
    """A URL that passed: how it is sent, and whom it names."""

    url: str
    """What is sent, in ASCII: host as A-labels, no default port, dot segments resolved, no fragment."""
    scheme: Literal["http", "https"]
    host: str
    """A-labels or an IP literal, lower case, without brackets and without a trailing dot."""
    port: int
    address: Address | None
    """The host when it is an IP literal."""

    @property
    def unicode_host(self) -> str:
        """The host as a reader knows it; the same as `host` unless it is an internationalised name."""
        return _decode(self.host)


def check(text: str) -> CheckedUrl:
    """The URL, checked. Raises RefusedError, saying what is wrong with it."""
    _check_characters(text)
    match = _URL.fullmatch(text)
    if match is None:
        raise RefusedError(_why_no_url(text))
    authority, rest = match[2], match[3]
    if "@" in authority:
        raise RefusedError("The URL holds a user name, a password or an '@' before the host. Give it without.")
    if "%" in authority:
        raise RefusedError("The URL has a '%' in its host name. Give the plain host name.")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise RefusedError("The URL's host cannot be read. Give a full URL such as https://example.com/page.")
    scheme: Literal["http", "https"] = "https" if match[1].lower() == "https" else "http"
    host, address = _check_host(parts["host"])
    port = _check_port(parts["port"], scheme)
    _check_agreement(text, host, port)
    return CheckedUrl(_canonical(scheme, host, port, rest), scheme, host, port, address)


def _canonical(scheme: str, host: str, port: int, rest: str) -> str:
    """The URL as it is sent: dot segments resolved, letters beyond ASCII percent-encoded."""
    import httpx

    netloc = (f"[{host}]" if ":" in host else host) + ("" if port == _DEFAULT_PORTS[scheme] else f":{port}")
    return str(httpx.URL(f"{scheme}://{netloc}{rest if rest.startswith('/') else f'/{rest}'}"))


def redirected(base: CheckedUrl, location: bytes) -> CheckedUrl:
    """Where a Location header leads from `base`; checked like every URL. Raises RefusedError."""
    try:
        target = _located(base, location)
    except RefusedError as error:
        raise RefusedError(f"The page redirects to a URL that is never fetched. {error}") from None
    if base.scheme == "https" and target.scheme == "http":
        raise RefusedError("The page redirects from https to http, which is never followed.")
    return target


def _located(base: CheckedUrl, location: bytes) -> CheckedUrl:
    if not location.isascii() or location.startswith(b"///"):  # browsers read a host after ///, urllib a path
        raise RefusedError("It is not a plain URL.")
    text = location.decode("ascii")
    _check_characters(text)
    try:
        joined = text if _SCHEME.match(text) else urljoin(base.url, text)
    except ValueError:  # an unfinished bracket
        raise RefusedError("It is not a plain URL.") from None
    return check(joined)


def _check_characters(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise RefusedError(f"The URL is longer than {MAX_LENGTH:,} characters.")
    if "\\" in text or " " in text or not all(is_visible(char) for char in text):
        raise RefusedError(
            "The URL holds a blank, a backslash, a control character or an invisible character. "
            "Give the exact URL, with such characters percent-encoded."
        )


def _why_no_url(text: str) -> str:
    if re.match(r"https?:/*(?:[?#]|$)|https?:///", text, re.IGNORECASE):
        return "The URL has no host name. Give a full URL such as https://example.com/page."
    return "The URL must start with http:// or https://, followed by a host name."


def _check_port(port: str | None, scheme: str) -> int:
    if port is None:
        return _DEFAULT_PORTS[scheme]
    if port not in PORTS:
        raise RefusedError(f"The URL's port is refused; only {', '.join(PORTS)} are fetched, written just so.")
    return int(port)


def _check_host(host: str) -> tuple[str, Address | None]:
    """The host in the form that is looked up and sent, and its address when it is an IP literal."""
    if host.startswith("["):
        return _check_literal(host[1:-1])
    labels = _to_ascii(host).split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        return _check_literal(host)
    if len(labels) < 2 or labels[-1] in _LOCAL_NAMES:
        raise RefusedError("The host name is one of a local network. Only public hosts are fetched.")
    return ".".join(labels), None


def _check_literal(text: str) -> tuple[str, Address]:
    address = addresses.parse(text)
    if address is None:
        raise RefusedError("The URL's host is an IP address in an unusual spelling. Give a host name.")
    if not addresses.is_public(address):
        raise RefusedError("The URL's host is a private, internal or reserved address. Only public hosts are fetched.")
    return str(address), address


def _to_ascii(host: str) -> str:
    """The A-labels of a host name, lower case, one trailing dot removed. Raises RefusedError."""
    name = host.removesuffix(".")
    name = name.lower() if name.isascii() and "xn--" not in name.lower() else _encode(name)
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise RefusedError("The URL's host is not a valid host name. Check its spelling.")
    return name


def _encode(name: str) -> str:
    """A name with international labels as A-labels (IDNA 2008, mapped by UTS 46).

    A character that stands for plain ASCII (full-width letters and dots, ligatures, "a/c") is refused: such a name is
    written to look like another.
    """
    import unicodedata

    import idna

    for char in name:
        if not char.isascii() and (char in _DOTS or any(c.isascii() for c in unicodedata.normalize("NFKC", char))):
            raise RefusedError(
                "The host name holds a look-alike of a plain letter, digit or dot. Give it in plain letters."
            )
    try:
        encoded = idna.encode(name, uts46=True, std3_rules=True).decode("ascii")
        for label in encoded.split("."):
            idna.ulabel(label)
    except (idna.IDNAError, UnicodeError):
        raise RefusedError("The URL's host is not a valid international host name. Check its spelling.") from None
    return encoded


def _decode(host: str) -> str:
    if "xn--" not in host:
        return host
    import idna

    return idna.decode(host)


def _check_agreement(text: str, host: str, port: int) -> None:
    """Both parsers read the host and port that we read; else the text is one that programs disagree about."""
    import httpx

    try:
        first, second = urlsplit(text), httpx.URL(text)
        names = {_plain(first.hostname or ""), _plain(second.raw_host.decode("ascii"))}
        ports = {parsed.port or _DEFAULT_PORTS[parsed.scheme] for parsed in (first, second)}
    except (ValueError, KeyError, httpx.InvalidURL):
        raise RefusedError("The URL cannot be read without doubt. Check its spelling.") from None
    if names != {host} or ports != {port}:
        raise RefusedError("The URL can be read in more than one way. Check its spelling.")


def _plain(host: str) -> str:
    """One spelling for what the parsers give: A-labels, no trailing dot, IPv6 compressed."""
    address = addresses.parse(host)
    return str(address) if address else _to_ascii(host)
