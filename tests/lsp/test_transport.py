"""Framing and writing: whatever the client does with its end, the event loop goes on."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnstone_lsp.lsp import transport
from turnstone_lsp.lsp.transport import Writer, read_messages

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES = [bytes([i % 251]) * (i * 977 % 70_000) for i in range(200)]


def _read_all(descriptor: int, wanted: int, into: list[bytes]) -> None:
    while wanted:
        data = os.read(descriptor, min(wanted, 65536))
        into.append(data)
        wanted -= len(data)


@pytest.mark.parametrize("kind", ["pipe", "socket", "non-blocking socket", "file"])
def test_everything_arrives_in_order_though_the_client_is_slow(kind: str, tmp_path: Path) -> None:
    whole = b"".join(MESSAGES)
    if kind == "pipe":
        reading, writing = os.pipe()
    elif kind == "file":
        path = f"{tmp_path}/out"
        writing = os.open(path, os.O_WRONLY | os.O_CREAT)
        reading = os.open(path, os.O_RDONLY)
    else:
        one, other = socket.socketpair()
        other.setblocking(kind == "socket")
        reading, writing = one.detach(), other.detach()
    writer = Writer(writing, lambda: pytest.fail("nothing broke"))
    for message in MESSAGES:
        writer.write(message)
    if kind == "file":
        writer.close()
    got: list[bytes] = []
    reader = threading.Thread(target=_read_all, args=(reading, len(whole), got))
    reader.start()
    reader.join(30)
    writer.close()
    assert b"".join(got) == whole
    assert writer.backlog == 0
    os.close(reading)
    os.close(writing)


async def test_a_client_that_does_not_read_does_not_block_the_loop() -> None:
    """Trap: see test_stock_pygls.py."""
    reading, writing = os.pipe()
    writer = Writer(writing, lambda: None)
    for _ in range(64):
        writer.write(b"y" * 65536)
    await asyncio.sleep(0)  # we are here: nothing blocked
    assert writer.backlog > 60 * 65536
    os.close(reading)
    writer.close()
    os.close(writing)


async def test_a_client_that_never_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_BACKLOG", 1 << 20)
    reading, writing = os.pipe()
    broken: list[bool] = []
    writer = Writer(writing, lambda: broken.append(True))
    for _ in range(40):
        writer.write(b"y" * 65536)
    assert broken == [True]
    os.close(reading)
    writer.close()
    os.close(writing)


def test_a_client_that_is_gone_is_noticed() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    broken: list[bool] = []
    writer = Writer(writing, lambda: broken.append(True))
    writer.write(b"x")
    writer.write(b"x")
    assert broken == [True]
    writer.close()
    os.close(writing)


async def _read(data: bytes, cuts: list[int]) -> list[bytes]:
    """Read what comes in these pieces through a pipe."""
    reading, writing = os.pipe()
    got: list[bytes] = []
    with os.fdopen(reading, "rb", buffering=0) as stream:
        task = asyncio.create_task(read_messages(got.append, stream))
        at = 0
        for cut in sorted({c % (len(data) + 1) for c in cuts} | {len(data)}):
            os.write(writing, data[at:cut])
            at = cut
            await asyncio.sleep(0)
        os.close(writing)
        await asyncio.wait_for(task, 30)
    return got


@given(
    bodies=st.lists(st.binary(min_size=0, max_size=200), max_size=6), cuts=st.lists(st.integers(0, 2000), max_size=8)
)
def test_frames_are_read_however_they_are_cut(bodies: list[bytes], cuts: list[int]) -> None:
    data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    assert asyncio.run(_read(data, cuts)) == bodies


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (b"Content-Type: x\r\nCONTENT-length:2\r\n\r\nab", [b"ab"]),
        (b"Content-Length: 2\n\nab", [b"ab"]),
        (b"\r\n\r\nContent-Length: 2\r\n\r\nab", [b"ab"]),
        (b"Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\na", [b"", b"a"]),
        (b"Content-Length: 5\r\n\r\nab", []),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nab", []),
        (b"Content-Length: -1\r\n\r\nab", []),
        (b"x" * 200_000, []),
        (b"", []),
    ],
)
async def test_odd_headers(data: bytes, got: list[bytes]) -> None:
    assert await asyncio.wait_for(_whole(data), 30) == got


async def _whole(data: bytes) -> list[bytes]:
    reading, writing = os.pipe()
    sender = threading.Thread(target=lambda: (_quietly(writing, data), os.close(writing)))
    sender.start()
    got: list[bytes] = []
    with os.fdopen(reading, "rb", buffering=0) as stream:
        await read_messages(got.append, stream)
    sender.join(30)
    return got


def _quietly(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except BrokenPipeError:
        pass


def test_input_from_a_file_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"Content-Length: 2\r\n\r\nab" * 3)
    got: list[bytes] = []
    with path.open("rb") as stream:
        asyncio.run(asyncio.wait_for(read_messages(got.append, stream), 30))
    assert got == [b"ab"] * 3
