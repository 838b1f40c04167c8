"""Fetch one public page: the redirect loop, its limits, and the kinds of answer that are text."""

from __future__ import annotations

import asyncio
import contextlib
import http
import re
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp import __version__
from turnstone_lsp.web import urls
from turnstone_lsp.web.decoding import Inflater
from turnstone_lsp.web.errors import RefusedError, WebError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

    from turnstone_lsp.web.transport import GuardedTransport
    from turnstone_lsp.web.urls import CheckedUrl

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "User-Agent": f"turnstone-lsp/{__version__}",
    "Accept": "text/html, text/plain, application/json, application/xml;q=0.9, text/*;q=0.8",
    "Accept-Encoding": "gzip, deflate",
    "Accept-Language": "en, *;q=0.5",
    "Connection": "close",
}
_TEXT_TYPES = re.compile(
    r"text/[\w.+-]+|application/(?:[\w.+-]+\+)?(?:json|xml)"
    r"|application/(?:x-)?(?:ndjson|javascript|ecmascript|yaml|toml|sh|sql|graphql|xhtml)"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the user's time and memory one page may take. Times in seconds, sizes in bytes."""

    connect: float = 5.0
    read: float = 5.0
    """Longest wait for the next piece of the answer."""
    total: float = 20.0
    """For everything together: a server that sends a byte now and then never trips `read`."""
    wire: int = 2_000_000
    inflated: int = 2_000_000
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer with text in it."""

    url: str
    """Where it came from in the end."""
    media_type: str
    """Lower case, without parameters; empty when the server named none."""
    charset: str
    """As the server named it; empty when it did not."""
    body: bytes
    truncated: bool
    """The body was longer than the limits and is cut."""


async def fetch(
    url: str,
    *,
    transport: GuardedTransport | None = None,
    limits: Limits | None = None,
    may_follow: Callable[[CheckedUrl, CheckedUrl], bool] = lambda _from, _to: True,
) -> Fetched:
    """Fetch a URL and follow its redirects, each checked like the first.

    may_follow: asked for every redirect that passed the checks; where it says no, ElsewhereError is raised.
    Raises RefusedError and WebError; TimeoutError never leaves here.
    """
    limits = limits or Limits()
    transport = transport or await open_transport()
    try:
        async with asyncio.timeout(limits.total):
            return await _follow(urls.check(url), transport, limits, may_follow)
    except TimeoutError:
        raise WebError(
            f"The server did not answer in full within {limits.total:g} s. Try again or another page."
        ) from None


async def open_transport(proxy: str = "") -> GuardedTransport:
    """The transport to the real internet, or to a proxy. Its libraries are imported off the event loop."""
    return await asyncio.to_thread(_import_and_open, proxy)


def _import_and_open(proxy: str) -> GuardedTransport:
    import httpcore

    from turnstone_lsp.web.transport import GuardedTransport

    asyncio.run(httpcore.AnyIOBackend().sleep(0))  # imports what it needs under a running loop: this thread's
    return GuardedTransport(proxy=proxy)


class ElsewhereError(WebError):
    """The page redirects to a place that the caller did not agree to; `url` is where."""

    def __init__(self, url: str) -> None:
        super().__init__(f"The page redirects to {url}")
        self.url = url


async def _follow(
    target: CheckedUrl,
    transport: GuardedTransport,
    limits: Limits,
    may_follow: Callable[[CheckedUrl, CheckedUrl], bool],
) -> Fetched:
    for _ in range(limits.redirects + 1):
        with _phrases():
            response = await transport.handle_async_request(_request(target, limits))
            try:
                location = _location(response)
                if location is None:
                    return await _read(response, target, limits)
            finally:
                await response.aclose()
        following = urls.redirected(target, location)
        if not may_follow(target, following):
            raise ElsewhereError(following.url)
        target = following
    raise RefusedError(f"The page redirects more than {limits.redirects} times, which is not followed further.")


def _request(target: CheckedUrl, limits: Limits) -> httpx.Request:
    import httpx

    patience = {"connect": limits.connect, "read": limits.read, "write": limits.read, "pool": limits.connect}
    return httpx.Request("GET", target.url, headers=_HEADERS, extensions={"timeout": patience})


def _location(response: httpx.Response) -> bytes | None:
    """The one Location of a redirect; None for an answer that is none. Refresh, Link and early hints are not read."""
    if response.status_code not in _REDIRECTS:
        return None
    found = {value for name, value in response.headers.raw if name.lower() == b"location"}
    if len(found) != 1:
        raise RefusedError("The page redirects without saying where, or to several places.")
    return found.pop()


async def _read(response: httpx.Response, target: CheckedUrl, limits: Limits) -> Fetched:
    _check_status(response.status_code)
    media_type, charset = _content_type(response)
    inflater = Inflater(_encoding(response), limits.inflated)
    wire = 0
    async for part in response.aiter_raw():
        kept = part[: limits.wire - wire]
        wire += len(kept)
        inflater.feed(kept)
        if inflater.full or len(kept) < len(part):
            break
    else:
        inflater.finish()
        return Fetched(target.url, media_type, charset, bytes(inflater.data), truncated=False)
    return Fetched(target.url, media_type, charset, bytes(inflater.data), truncated=True)


def _check_status(status: int) -> None:
    if 200 <= status < 300:
        return
    try:
        name = f"{status} ({http.HTTPStatus(status).phrase})"
    except ValueError:
        name = str(status)
    what = {
        401: "It wants a login, which web_fetch does not have.",
        403: "It does not serve this page to programs or without a login.",
        404: "Check the URL, or find the page with web_search.",
        429: "It is asked too often; wait, or use another page.",
    }.get(status, "Try again later or use another page." if status >= 500 else "Use another page.")
    raise WebError(f"The server answered {name} instead of a page. {what}")


def _content_type(response: httpx.Response) -> tuple[str, str]:
    """Media type and charset as named; raises WebError for what is not text. No type at all is taken for text."""
    value = response.headers.get("content-type", "")
    media_type, _, parameters = value.partition(";")
    media_type = media_type.strip().lower()
    if media_type and not _TEXT_TYPES.fullmatch(media_type):
        shown = media_type if re.fullmatch(r"[\w.+-]+/[\w.+-]+", media_type) else "an unknown type"
        raise WebError(f"The URL leads to {shown[:80]}, not to text. Only HTML, text, JSON and XML are read.")
    named = re.search(r"charset\s*=\s*[\"']?([^\s\"';,]+)", parameters, re.IGNORECASE)
    return media_type, named[1] if named else ""


def _encoding(response: httpx.Response) -> str:
    """The one content encoding: "" or one that was offered."""
    names = [n.strip().lower() for n in response.headers.get("content-encoding", "").split(",") if n.strip()]
    names = [n.removeprefix("x-") for n in names if n != "identity"]
    if len(names) > 1 or not set(names) <= {"gzip", "deflate"}:
        raise WebError("The server compresses the page in a way that was not asked for. Use another page.")
    return names[0] if names else ""


@contextlib.contextmanager
def _phrases() -> Iterator[None]:
    """Every way in which a connection fails, as one of a few sentences."""
    import httpx

    try:
        yield
    except httpx.TimeoutException:
        raise WebError("The server did not answer in time. Try again or use another page.") from None
    except (httpx.NetworkError, httpx.ProxyError) as error:
        raise WebError(_connection_failure(error)) from None
    except httpx.ProtocolError:
        raise WebError(
            "The server's answer is not valid HTTP, or ended early. Try again or use another page."
        ) from None


def _connection_failure(error: BaseException | None) -> str:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"The server's certificate is not valid ({error.verify_message}). The page is not read."
        if isinstance(error, ssl.SSLError):
            return "No secure connection to the server could be made. Check the URL, or use another page."
        error = error.__cause__ or error.__context__
    return "The server could not be reached, or broke off. Check the URL, or try again later."
