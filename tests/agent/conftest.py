"""A scripted model for the tests of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from model_server import StubServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer({"replies": [{"text": "hi"}]}) as server:
        yield server
