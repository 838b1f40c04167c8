"""The guarded transport: an httpx transport that connects to vetted public addresses only.

    transport = GuardedTransport(resolver=..., dialler=..., ssl_context=...)      # every argument has a default
    page = await fetch(url, transport=transport)                                   # turnstone_lsp.web.fetch

A host name is resolved once for a connection, every answer is vetted, and the connection goes to a vetted address, so
a name that answers differently the next time (DNS rebinding) gains nothing. The Host header, SNI and the check of the
certificate keep the name. Nothing is taken from the environment: no proxy, no .netrc; no connection is kept.

httpx offers no public argument for a network backend, so this is its transport interface over httpcore's pool.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import httpcore
import httpx

from turnstone_lsp.web import addresses, tls
from turnstone_lsp.web.errors import RefusedError, WebError
from turnstone_lsp.web.urls import check

if TYPE_CHECKING:
    import ssl

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""(host name, port) -> all its addresses as text. OSError or an empty answer: the name does not exist."""
Dialler = Callable[[str, int, float | None], Awaitable[httpcore.AsyncNetworkStream]]
"""(IP address, port, timeout in s) -> a connected stream. Raises httpcore.ConnectError, ConnectTimeout or OSError."""

RESOLVE_TIMEOUT = 5.0
MAX_DIALLED = 4
_IMPATIENT = 2.0
"""Seconds for an address when there are others to try."""

_NOT_PUBLIC = (
    "The host name does not lead to a public address: it may not exist, be internal, or the network may be down. "
    "Check the URL; private and internal addresses are never fetched."
)


async def resolve(host: str, port: int) -> Sequence[str]:
    """The system's answer for a host name."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


async def dial(address: str, port: int, timeout: float | None = None) -> httpcore.AsyncNetworkStream:
    """Connect to an IP address, and to nothing else: who answers is compared with whom was meant."""
    stream = await httpcore.AnyIOBackend().connect_tcp(address, port, timeout)
    wanted = addresses.parse(address)
    peer, own = (addresses.parse(str(stream.get_extra_info(name)[0])) for name in ("server_addr", "client_addr"))
    # A public address of this very machine leads to its own services, past its firewall.
    if peer != wanted or (peer == own and peer is not None and addresses.is_public(peer)):
        await stream.aclose()
        raise RefusedError(_NOT_PUBLIC)
    return stream


class GuardedTransport(httpx.AsyncBaseTransport):
    """See the module. With `proxy` (http:// or https://) the proxy resolves names: URLs are checked by name only."""

    def __init__(
        self,
        resolver: Resolver | None = None,
        dialler: Dialler | None = None,
        ssl_context: ssl.SSLContext | None = None,
        proxy: str = "",
    ) -> None:
        self._backend = _Backend(resolver or resolve, dialler or dial)
        self._ssl_context = ssl_context
        self._proxy = proxy

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request on a connection of its own. Raises RefusedError, WebError, httpx.TransportError."""
        check(str(request.url))
        url = request.url
        sent = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        pool = await self._pool(url.scheme)
        try:
            with _httpx_errors():
                response = await pool.handle_async_request(sent)
        except BaseException:
            await pool.aclose()
            raise
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Stream(response, pool),
            extensions=response.extensions,
        )

    async def _pool(self, scheme: str) -> httpcore.AsyncConnectionPool:
        context = self._ssl_context
        if context is None and (scheme == "https" or self._proxy):
            context = await tls.shared_context()
        options: dict[str, Any] = {"ssl_context": context, "max_keepalive_connections": 0, "http2": False}
        if not self._proxy:
            return httpcore.AsyncConnectionPool(network_backend=self._backend, **options)
        proxy = _proxy(self._proxy)
        return httpcore.AsyncHTTPProxy(
            httpcore.URL(scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target=b"/"),
            proxy_auth=proxy.raw_auth,
            proxy_ssl_context=context if proxy.url.scheme == "https" else None,
            **options,
        )


def _proxy(url: str) -> httpx.Proxy:
    try:
        proxy = httpx.Proxy(url)
    except (ValueError, httpx.InvalidURL):
        proxy = None
    if proxy is None or proxy.url.scheme not in {"http", "https"} or not proxy.url.host:
        raise WebError("The setting tools.web_proxy must be a URL that begins with http:// or https://. Ask the user.")
    return proxy


class _Backend(httpcore.AsyncNetworkBackend):
    """Turns a name into a connection with one of its vetted addresses."""

    def __init__(self, resolver: Resolver, dialler: Dialler) -> None:
        self._resolver = resolver
        self._dialler = dialler

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: object = None,
    ) -> httpcore.AsyncNetworkStream:
        """One lookup, every answer vetted, at most four of them tried in turn."""
        del local_address, socket_options
        public = await self._public_addresses(host.removesuffix("."), port)
        failure: Exception = httpcore.ConnectError("no address")
        for position, address in enumerate(public, start=1):
            patience = timeout if position == len(public) else min(timeout or _IMPATIENT, _IMPATIENT)
            try:
                return await self._dialler(address, port, patience)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            except OSError as error:
                failure = httpcore.ConnectError(str(error))
        raise failure

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: object = None
    ) -> httpcore.AsyncNetworkStream:
        """Never."""
        del path, timeout, socket_options
        raise RefusedError("Sockets of this machine are never fetched.")

    async def _public_addresses(self, host: str, port: int) -> list[str]:
        if literal := addresses.parse(host):
            found = [literal] if addresses.is_public(literal) else []
        else:
            found = await self._resolve(host, port)
        if not found:
            raise RefusedError(_NOT_PUBLIC)
        return _by_turns(found)[:MAX_DIALLED]

    async def _resolve(self, host: str, port: int) -> list[addresses.Address]:
        """All addresses of the name, or none if there are none, one is not public, or the lookup failed."""
        try:
            async with asyncio.timeout(RESOLVE_TIMEOUT):
                answers = await self._resolver(host, port)
        except (OSError, UnicodeError):  # TimeoutError is an OSError
            return []
        parsed = [addresses.parse(str(answer)) for answer in answers]
        return [a for a in dict.fromkeys(parsed) if a] if all(a and addresses.is_public(a) for a in parsed) else []


def _by_turns(found: Sequence[addresses.Address]) -> list[str]:
    """As text, IPv6 and IPv4 in turn, beginning with the kind that the resolver put first."""
    first = [a for a in found if a.version == found[0].version]
    other = [a for a in found if a.version != found[0].version]
    paired = [a for pair in zip(first, other, strict=False) for a in pair]
    rest = first[len(other) :] + other[len(first) :]
    return [str(a) for a in paired + rest]


class _Stream(httpx.AsyncByteStream):
    """A response's bytes as they come over the wire; closing it closes the connection."""

    def __init__(self, response: httpcore.Response, pool: httpcore.AsyncConnectionPool) -> None:
        self._response = response
        self._pool = pool

    async def __aiter__(self) -> AsyncIterator[bytes]:
        stream = self._response.stream
        if not isinstance(stream, AsyncIterable):
            raise WebError("The server's answer cannot be read.")
        with _httpx_errors():
            async for part in stream:
                yield part

    async def aclose(self) -> None:
        with _httpx_errors():
            await self._response.aclose()
            await self._pool.aclose()


@contextlib.contextmanager
def _httpx_errors() -> Iterator[None]:
    """Errors of httpcore as httpx's of the same name, as a caller of an httpx transport expects."""
    try:
        yield
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error
