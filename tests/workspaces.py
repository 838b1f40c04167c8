"""Fixtures: a workspace over real folders, with our own configuration and state kept apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from turnstone_lsp.config.settings import EditSettings, Settings
from turnstone_lsp.tools import arguments as arguments_of
from turnstone_lsp.tools import registry
from turnstone_lsp.workspace.documents import OpenDocuments
from turnstone_lsp.workspace.editor import NoEditor
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.view import Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our configuration and state for one test; its home folder too."""
    base = tmp_path_factory.mktemp("own").resolve()
    (base / "home").mkdir()
    (base / "config").mkdir()
    (base / "config" / "config.toml").write_text('[model]\napi_key = "sk-secret"\n')
    monkeypatch.setenv("TURNSTONE_CONFIG", str(base / "config" / "config.toml"))
    monkeypatch.setenv("TURNSTONE_STATE_DIR", str(base / "state"))
    monkeypatch.setenv("HOME", str(base / "home"))
    return base


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "proj"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(Roots([root]), OpenDocuments(), NoEditor(), EditSettings())


@dataclass
class Context:
    """What read_file and search ask of the session that runs them."""

    workspace: Workspace
    settings: Settings = field(default_factory=Settings)


class Running:
    """The running call."""

    id = "call_1"

    def output(self, text: str) -> None:
        raise AssertionError(text)


async def call(name: str, context: Context, **arguments: object) -> str:
    """Parse, prepare and execute one call as the pipeline does; its text."""
    module = registry.implementation(name)
    plan = await module.prepare(arguments_of.parse(name, module.Args, arguments), context)
    assert not plan.needs_approval
    result = await plan.execute(Running())
    assert result.ok
    return str(result.text)
