"""Commands of ours, run as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from model_server import StubServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def run(project: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `turnstone-lsp ...` in the project, without a terminal."""

    def go(*argv: str, stdin: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "turnstone_lsp", *argv],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=project,
            env={**os.environ, **(env or {})},
            timeout=90,
            check=False,
        )

    return go


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., StubServer]]:
    """Start a scripted model that the environment points to."""
    servers: list[StubServer] = []

    def start(*replies: dict[str, Any], **scenario: Any) -> StubServer:
        server = StubServer({"replies": list(replies), **scenario}, keep_requests=True)
        servers.append(server.__enter__())
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "test-key")
        monkeypatch.setenv("OPENAI_MODEL", "stub-model")
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)
