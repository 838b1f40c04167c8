"""A real Neovim with the plugin, a real server, a scripted model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from model_server import StubServer
from neovim_editor import DONE, Neovim

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """One editor and one server for many tests: starting them is what costs."""
    folder = tmp_path_factory.mktemp("neovim")
    (folder / "project").mkdir()
    (folder / "state").mkdir(mode=0o700)
    with StubServer({"replies": [DONE]}, keep_requests=True) as stub:
        editor = Neovim(folder, folder / "project", stub)
        editor.start()
        yield editor
        editor.close()


@pytest.fixture
def nvim(shared: Neovim) -> Neovim:
    """The shared editor with nothing open, an empty project and a new session."""
    shared.reset()
    return shared
