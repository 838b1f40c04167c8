"""JSON from a server on this machine, without a key, a proxy or the SDK: what finds local models and asks of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

SECONDS = 1.0
_MOST_BYTES = 4_000_000


async def fetch(port: int, path: str, body: dict[str, Any] | None = None, *, host: str = "127.0.0.1") -> Any:
    """The JSON that a GET (or a POST of `body`) answers with status 200; None for anything else within a second."""
    with contextlib.suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(_request(port, path, body))
                answer = bytearray()
                while (part := await reader.read(65_536)) and len(answer) < _MOST_BYTES:
                    answer += part
            finally:
                writer.close()
        head, _, content = bytes(answer).partition(b"\r\n\r\n")
        if b" 200" in head.split(b"\r\n", 1)[0]:
            return json.loads(_unchunked(head, content))
    return None


def _request(port: int, path: str, body: dict[str, Any] | None) -> bytes:
    data = b"" if body is None else json.dumps(body).encode()
    lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.0", f"Host: 127.0.0.1:{port}", "Connection: close"]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    return "\r\n".join([*lines, "", ""]).encode() + data


def _unchunked(head: bytes, content: bytes) -> bytes:
    """Some servers send chunks though they were asked in HTTP/1.0."""
    if b"transfer-encoding: chunked" not in head.lower():
        return content
    whole, rest = b"", content
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size.split(b";")[0] or b"0", 16)
        if not length:
            break
        whole, rest = whole + rest[:length], rest[length + 2 :]
    return whole
