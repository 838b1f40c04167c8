"""The model client on a scripted server: what its tests share."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from turnstone_lsp.agent.failures import Failure
from turnstone_lsp.agent.model import Model, Reply, TextPiece
from turnstone_lsp.config.settings import ModelSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from model_server import StubServer

HELLO = [{"role": "user", "content": "hello"}]
TOOLS = [
    {"type": "function", "function": {"name": n, "parameters": {"type": "object", "properties": {}}}}
    for n in ("bash", "read_file", "recall")
]
LS = {"name": "bash", "arguments": {"command": "ls"}}
READ = {"name": "read_file", "arguments": {"path": "a"}}


@contextlib.asynccontextmanager
async def client(stub: StubServer, **options: Any) -> AsyncIterator[Model]:
    options = {"name": "stub-model", "base_url": stub.base_url, "max_retries": 3, **options}
    model = Model(ModelSettings(**options))
    try:
        yield model
    finally:
        await model.close()


async def ask(stub: StubServer, tools: Any = TOOLS, messages: Any = HELLO, **options: Any) -> tuple[Reply, list[Any]]:
    """(reply, the pieces before it)."""
    async with client(stub, **options) as model:
        pieces = [piece async for piece in model.stream(messages, tools)]
    assert isinstance(pieces[-1], Reply)
    return pieces[-1], pieces[:-1]


async def fails(stub: StubServer, **options: Any) -> Failure:
    with pytest.raises(Failure) as failed:
        await ask(stub, **options)
    return failed.value


def made(reply: Reply) -> list[tuple[str, Any]]:
    return [(c.name, json.loads(c.arguments or "{}")) for c in reply.tool_calls]


def text_of(pieces: list[Any]) -> str:
    return "".join(p.text for p in pieces if isinstance(p, TextPiece))


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def fragment(index: int | None = None, call_id: str | None = None, name: str | None = None, args: Any = None) -> Any:
    function = {k: v for k, v in (("name", name), ("arguments", args)) if v is not None}
    made = {k: v for k, v in (("index", index), ("id", call_id)) if v is not None}
    return chunk({"tool_calls": [{**made, "function": function}]})
