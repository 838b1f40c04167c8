"""Our own folders, private to the user and outside every workspace."""

from __future__ import annotations

import os
from pathlib import Path


def _private(path: Path) -> Path:
    if not path.is_dir():
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def config_file() -> Path:
    """The user's TOML file; TURNSTONE_CONFIG names another."""
    named = os.environ.get("TURNSTONE_CONFIG")
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("turnstone-lsp", appauthor=False)) / "config.toml"


def state_dir() -> Path:
    """Where sessions, memories, before-images, transcripts and spooled output live; made with mode 0700.

    TURNSTONE_STATE_DIR names another.
    """
    named = os.environ.get("TURNSTONE_STATE_DIR")
    if named:
        return _private(Path(named).expanduser())
    import platformdirs

    return _private(Path(platformdirs.user_state_dir("turnstone-lsp", appauthor=False)))


def database() -> Path:
    """The SQLite file with memories and conversations."""
    return state_dir() / "turnstone.db"


def output_dir() -> Path:
    """Full texts of tool results that were too long to show; readable by read_file without a question."""
    return _private(state_dir() / "output")
