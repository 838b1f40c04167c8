from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnstone_lsp.memory.database import Database
from turnstone_lsp.memory.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "private" / "turnstone.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    opened = Store(path)
    yield opened
    opened.close()


@pytest.fixture
def db(path: Path) -> Iterator[Database]:
    opened = Database(path)
    yield opened
    opened.close()
