"""Every test has its own state and configuration folders, and no key of the person who runs it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pathlib import Path


# The same cases on every run in CI, so that a red run is about the change; fresh ones on every run by hand.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("hand", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "hand")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own state folder."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "TAVILY_", "TURNSTONE_")):
            monkeypatch.delenv(name)
    folder = tmp_path / "state"
    monkeypatch.setenv("TURNSTONE_STATE_DIR", str(folder))
    monkeypatch.setenv("TURNSTONE_CONFIG", str(tmp_path / "config" / "config.toml"))
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty folder to work in."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder
