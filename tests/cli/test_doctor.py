"""`turnstone-lsp doctor`: each thing that can be set up wrong is named, with its mend."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.cli import doctor
from turnstone_lsp.config.load import load

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    import pytest
    from model_server import StubServer

    Run = Callable[..., subprocess.CompletedProcess[str]]


def write_config(text: str) -> Path:
    path = Path(os.environ["TURNSTONE_CONFIG"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


def test_all_is_well(run: Run, model: Callable[..., StubServer]) -> None:
    model({"text": "x"})
    done = run("doctor")
    assert done.returncode == 0, done.stdout
    assert "PROBLEM" not in done.stdout
    assert "stub-model" in done.stdout
    assert "level L" in done.stdout


def test_no_model(run: Run) -> None:
    done = run("doctor")
    assert done.returncode == 1
    assert "Three ways" in done.stdout


async def test_an_endpoint_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    found = await doctor._endpoint(load().settings)
    assert found.grade == "problem"
    assert "127.0.0.1:9" in found.detail


def test_a_settings_file_that_is_no_toml() -> None:
    path = write_config("[model\n")
    found = doctor._settings()[1]
    assert found.grade == "problem"
    assert str(path) in found.detail


def test_a_setting_that_does_not_exist_names_the_nearest() -> None:
    write_config('[model]\nbase_ulr = "http://localhost:1/v1"\n')
    assert "base_url" in doctor._settings()[1].detail


def test_a_setting_of_the_wrong_type() -> None:
    write_config('[tools]\nbash_timeout = "long"\n')
    assert "bash_timeout" in doctor._settings()[1].detail


def test_a_rule_for_a_tool_that_does_not_exist() -> None:
    write_config('[[rules]]\ndecision = "deny"\ntool = "bsah"\n')
    found = doctor._settings()[1]
    assert found.grade == "note"
    assert "bsah" in found.detail


def test_a_settings_file_that_others_can_write() -> None:
    """C-06"""
    write_config('mode = "auto"\n').chmod(0o666)
    found = doctor._settings()[1]
    assert found.grade == "problem"
    assert "chmod" in found.detail + found.mend


def test_a_state_folder_that_is_open_to_others(state: Path) -> None:
    state.chmod(0o755)
    found = doctor._state()
    assert found.grade == "note"
    assert "chmod 700" in found.mend


def test_a_damaged_database(state: Path) -> None:
    (state / "turnstone.db").write_bytes(b"not a database at all" * 100)
    assert doctor._database().grade == "problem"


def test_a_missing_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    found = {name: doctor._program(name, *row) for name, *row in doctor._PROGRAMS}
    assert found["bash tool"].grade == "problem"
    assert "ripgrep" in found["search tool"].mend
    assert found["man tool"].grade == "note"


def test_no_tavily_key_is_only_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor._web_search(load().settings).grade == "note"
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-x")
    assert doctor._web_search(load().settings).grade == "ok"
