"""An internet on loopback: names, public addresses and the servers behind them, with a record of all that was dialled.

`Internet` gives the guarded transport its resolver and dialler. A dialled public address is mapped to a server on
127.0.0.1; every dial of anything else fails the test that made it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gzip
import socket
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from turnstone_lsp.web import addresses
from turnstone_lsp.web.transport import GuardedTransport, dial

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Sequence

    import httpcore

PAGE = b"<!doctype html><title>A page</title><p>The answer is 42.</p>"


@dataclass
class Answer:
    """What a server says to the next request: raw HTTP by status, headers and body, or a named misbehaviour."""

    status: int = 200
    headers: dict[str, str | None] = field(default_factory=dict)
    body: bytes = PAGE
    behaviour: str = ""

    def head(self, length: int | None, **more: str) -> bytes:
        headers: dict[str, str | None] = {"Content-Type": "text/html", "Connection": "close"}
        if length is not None:
            headers["Content-Length"] = str(length)
        headers |= {**more, **self.headers}
        lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
        return "".join(f"{line}\r\n" for line in [f"HTTP/1.1 {self.status} Whatever", *lines, ""]).encode("latin-1")


@dataclass
class Request:
    """A request as a server saw it."""

    line: str
    headers: dict[str, str]
    body: str = ""


class Internet:
    """The names, the servers, and what was asked of them."""

    def __init__(self, dns: dict[str, Any], answers: Sequence[Answer] = ()) -> None:
        self.dns = dns
        self.answers = list(answers) or [Answer()]
        self.requests: list[Request] = []
        self.looked_up: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self.server_names: list[str | None] = []
        self.plain_port = 0
        self.tls_port = 0
        self._open: list[tuple[asyncio.Task[Any], asyncio.StreamWriter]] = []

    @contextlib.asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Internet]:
        servers = [await asyncio.start_server(self._serve, "127.0.0.1", 0)]
        self.plain_port = servers[0].sockets[0].getsockname()[1]
        if tls:
            tls.sni_callback = lambda _socket, name, _context: self.server_names.append(name)
            servers.append(await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls))
            self.tls_port = servers[1].sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            for server in servers:
                server.close()
            for task, writer in self._open:
                task.cancel()
                writer.transport.abort()
            await asyncio.gather(*(task for task, _ in self._open), return_exceptions=True)
            await asyncio.sleep(0)  # aborted transports close their sockets in the next round of the loop

    def transport(self, **options: Any) -> GuardedTransport:
        return GuardedTransport(resolver=self.resolve, dialler=self.dial, **options)

    async def resolve(self, host: str, port: int) -> list[str]:
        assert port
        self.looked_up.append(host)
        found = self.dns.get(host, "NXDOMAIN")
        if found == "NXDOMAIN":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if isinstance(found, dict):
            nth = self.looked_up.count(host) - 1
            return list(found["sequence"][min(nth, len(found["sequence"]) - 1)])
        return list(found)

    async def dial(self, address: str, port: int, timeout: float | None) -> httpcore.AsyncNetworkStream:
        self.dialled.append((address, port))
        assert addresses.is_public(addresses.parse(address)), f"{address} was dialled"
        return await dial("127.0.0.1", self.tls_port if port in {443, 8443} else self.plain_port, timeout)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.append((task, writer))
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *rest = text.split("\r\n")
            headers = {k.lower(): v for k, v in (h.split(": ", 1) for h in rest if h)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.requests.append(Request(line, headers, body.decode()))
            answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
            await BEHAVIOURS.get(answer.behaviour, _plain)(answer, writer)
            await writer.drain()
        writer.close()


async def _plain(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(answer.head(len(answer.body)) + answer.body)


async def _gzip(answer: Answer, writer: asyncio.StreamWriter) -> None:
    body = gzip.compress(answer.body)
    writer.write(answer.head(len(body), **{"Content-Encoding": "gzip"}) + body)


async def _deflate(answer: Answer, writer: asyncio.StreamWriter) -> None:
    body = zlib.compress(answer.body)
    writer.write(answer.head(len(body), **{"Content-Encoding": "deflate"}) + body)


async def _raw_deflate(answer: Answer, writer: asyncio.StreamWriter) -> None:
    made = zlib.compressobj(wbits=-15)
    body = made.compress(answer.body) + made.flush()
    writer.write(answer.head(len(body), **{"Content-Encoding": "deflate"}) + body)


@functools.cache
def bomb() -> bytes:
    """64 kB that inflate to 64 MiB."""
    return gzip.compress(bytes(64 << 20))


async def _gzip_bomb(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(answer.head(len(bomb()), **{"Content-Encoding": "gzip"}) + bomb())


async def _cut_gzip(answer: Answer, writer: asyncio.StreamWriter) -> None:
    body = gzip.compress(answer.body)[:-12]
    writer.write(answer.head(len(body), **{"Content-Encoding": "gzip"}) + body)


async def _endless(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(answer.head(None))
    while True:
        writer.write(b"word " * 10_000)
        await writer.drain()


async def _slow(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(answer.head(1_000))
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def _slow_headers(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: 1\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


async def _endless_1xx(answer: Answer, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: <http://127.0.0.1/>; rel=preload\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.02)


async def _huge_header(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Huge: " + b"a" * (1 << 20) + b"\r\nContent-Length: 0\r\n\r\n")


async def _many_headers(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(1_000_000):
        writer.write(b"X-%d: 1\r\n" % number)
        if number % 1_000 == 0:
            await writer.drain()


async def _short(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(answer.head(10_000) + answer.body)


async def _bad_chunk(answer: Answer, writer: asyncio.StreamWriter) -> None:
    writer.write(answer.head(None, **{"Transfer-Encoding": "chunked"}) + b"zz\r\nnonsense\r\n0\r\n\r\n")


async def _meta_refresh(answer: Answer, writer: asyncio.StreamWriter) -> None:
    answer.body = b'<meta http-equiv="refresh" content="0; url=http://127.0.0.1/">' + PAGE
    await _plain(answer, writer)


async def _xxe(answer: Answer, writer: asyncio.StreamWriter) -> None:
    answer.body = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    await _plain(answer, writer)


async def _deep_html(answer: Answer, writer: asyncio.StreamWriter) -> None:
    answer.body = b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000
    await _plain(answer, writer)


async def _silent(answer: Answer, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def _hang_up(answer: Answer, writer: asyncio.StreamWriter) -> None:
    """Close without a word."""


BEHAVIOURS = {
    "gzip": _gzip,
    "deflate": _deflate,
    "raw_deflate": _raw_deflate,
    "gzip_bomb": _gzip_bomb,
    "cut_gzip": _cut_gzip,
    "endless": _endless,
    "slow": _slow,
    "slow_headers": _slow_headers,
    "endless_1xx": _endless_1xx,
    "huge_header": _huge_header,
    "many_headers": _many_headers,
    "short": _short,
    "bad_chunk": _bad_chunk,
    "meta_refresh": _meta_refresh,
    "xxe": _xxe,
    "deep_html": _deep_html,
    "silent": _silent,
    "hang_up": _hang_up,
}
