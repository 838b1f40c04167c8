"""A scripted model that the server finds, and the clients that talk to the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from model_server import StubServer
from scripted import DONE

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    """Answers "All is done." until it is given another script."""
    with StubServer({"replies": [DONE]}, keep_requests=True) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_MODEL", "stub-model")
        yield server
