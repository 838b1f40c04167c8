"""The demo's model: fixed replies from a small HTTP server on loopback that speaks the OpenAI protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BROKEN = '''\
"""Small statistics."""


def mean(values):
    return sum(values) / len(values)


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
'''

TEST = """\
import unittest

from stats import mean, median


class StatsTest(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 3]), 2)

    def test_median_of_an_odd_number(self):
        self.assertEqual(median([3, 1, 2]), 2)

    def test_median_of_an_even_number(self):
        self.assertEqual(median([4, 1, 2, 3]), 2.5)


if __name__ == "__main__":
    unittest.main()
"""

_TEST_COMMAND = "python3 -m unittest -q test_stats"

REPLIES: list[dict[str, Any]] = [
    {
        "text": "I will look at the code and run its tests.",
        "calls": [("search", {"query": "def median"}), ("read_file", {"path": "stats.py"})],
    },
    {"text": "", "calls": [("bash", {"command": _TEST_COMMAND})]},
    {
        "text": "An even number of values needs the mean of the two in the middle.",
        "calls": [
            (
                "edit_file",
                {
                    "path": "stats.py",
                    "old_string": "    return ordered[len(ordered) // 2]\n",
                    "new_string": "    middle = len(ordered) // 2\n"
                    "    if len(ordered) % 2:\n"
                    "        return ordered[middle]\n"
                    "    return mean(ordered[middle - 1 : middle + 1])\n",
                },
            )
        ],
    },
    {"text": "", "calls": [("bash", {"command": _TEST_COMMAND})]},
    {
        "text": "Fixed: `median` took the upper of the two middle values when their number is even; it now takes their "
        "mean (stats.py:8). All three tests pass.",
        "calls": [],
    },
]


def _chunks(reply: dict[str, Any], turn: int) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word + " "} for word in reply["text"].split(" ") if word]
    for index, (name, arguments) in enumerate(reply["calls"]):
        function = {"name": name, "arguments": json.dumps(arguments)}
        deltas.append(
            {"tool_calls": [{"index": index, "id": f"demo-{turn}-{index}", "type": "function", "function": function}]}
        )
    base = {"id": "demo", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    events = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    finish = "tool_calls" if reply["calls"] else "stop"
    return [*events, {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]


def _answer(method: str, path: str, body: bytes) -> tuple[str, list[bytes]]:
    """(content type, parts) of one request's answer."""
    if method == "GET":
        listing = {"object": "list", "data": [{"id": "scripted", "object": "model", "max_model_len": 32768}]}
        return "application/json", [json.dumps(listing).encode()]
    turn = sum(m["role"] == "assistant" for m in json.loads(body)["messages"])
    reply = REPLIES[min(turn, len(REPLIES) - 1)]
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in _chunks(reply, turn)]
    del path
    return "text/event-stream", [*events, b"data: [DONE]\n\n"]


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, path, _ = head.split(" ", 2)
    fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
    body = await reader.readexactly(int(fields.get("content-length", 0)))
    kind, parts = _answer(method, path, body)
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode())
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0.01)  # a model takes its time; the demo shows text as it comes
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


@contextlib.asynccontextmanager
async def scripted_model() -> AsyncIterator[str]:
    """Serve on a free loopback port; gives the base URL."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/v1"
