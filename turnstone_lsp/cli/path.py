"""`turnstone-lsp path`: where things are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.config import folders

if TYPE_CHECKING:
    import argparse

_PACKAGE = Path(__file__).resolve().parent.parent


def shipped(in_wheel: str, in_checkout: str) -> Path:
    """A folder shipped with the package: inside it in a wheel, beside it in a checkout."""
    inside = _PACKAGE / "_data" / in_wheel
    return inside if inside.is_dir() else _PACKAGE.parent / in_checkout


def run(options: argparse.Namespace) -> int:
    """Print one path."""
    found = {
        "neovim": lambda: shipped("neovim", "editors/neovim"),
        "tools": lambda: shipped("tools", "tools"),
        "config": folders.config_file,
        "state": folders.state_dir,
    }[options.what]()
    print(found)
    return 0
