"""What children get of our environment (C-23), and which programs we start (C-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnstone_lsp.config.settings import ModelSettings, Settings, ToolSettings
from turnstone_lsp.process.environment import child_env, find_program, is_secret_name, known_secrets

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY", "OPENAI_BASE_URL", "TAVILY_API_KEY", "TURNSTONE_CONFIG", "ANTHROPIC_API_KEY", "GEMINI_API_KEY",
        "GOOGLE_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "OPENROUTER_API_KEY", "AZURE_OPENAI_API_KEY", "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN", "DEEPSEEK_API_KEY", "XAI_API_KEY", "TOGETHER_API_KEY", "COHERE_API_KEY",
        "ANTHROPIC_AUTH_TOKEN", "openai_api_key",
    ],
)  # fmt: skip
def test_provider_keys_are_removed(name: str) -> None:
    assert is_secret_name(name)
    assert name not in child_env(base={name: "value"})


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "GITHUB_TOKEN", "DATABASE_URL", "STRIPE_API_KEY", "GOOGLE_CLOUD_PROJECT", "KEY"]
)
def test_what_a_project_needs_stays(name: str) -> None:
    assert child_env(base={name: "value"})[name] == "value"


def test_a_copy_of_a_key_under_another_name_goes_too() -> None:
    env = child_env(base={"A": "x sk-12345678 y", "B": "b"}, secrets=["sk-12345678"])
    assert "A" not in env
    assert env["B"] == "b"


def test_loader_variables_that_point_into_the_workspace_go(tmp_path: Path) -> None:
    base = {"LD_PRELOAD": f"{tmp_path}/x.so", "LD_LIBRARY_PATH": "/opt/lib", "DYLD_INSERT_LIBRARIES": "x.dylib"}
    env = child_env(base=base, roots=[tmp_path])
    assert "LD_PRELOAD" not in env
    assert "DYLD_INSERT_LIBRARIES" not in env
    assert env["LD_LIBRARY_PATH"] == "/opt/lib"


@pytest.mark.parametrize(
    "name", ["BASH_ENV", "ENV", "BASH_FUNC_ls%%", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS"]
)
def test_shell_hooks_go(name: str) -> None:
    assert name not in child_env(base={name: "value"})


def test_known_secrets_come_from_settings_and_environment() -> None:
    settings = Settings(
        model=ModelSettings(
            api_key="sk-settings", headers={"Authorization": "Bearer header-secret", "X-Team": "blue-team"}
        ),
        tools=ToolSettings(tavily_api_key="tvly-settings"),
    )
    environ = {"OPENAI_API_KEY": "sk-environment", "GROQ_API_KEY": "short", "PATH": "/usr/bin:/bin"}
    assert set(known_secrets(settings, environ)) == {"sk-settings", "header-secret", "tvly-settings", "sk-environment"}
    assert known_secrets(None, {}) == ()


def test_programs_of_the_workspace_are_never_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-14: executables by absolute path, found outside the workspace."""
    for folder in ("inside", "outside"):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "prog"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "inside")
    monkeypatch.setenv("PATH", f"inside:.:{tmp_path}/link:{tmp_path}/inside:{tmp_path}/outside")
    monkeypatch.chdir(tmp_path)
    assert find_program("prog", [tmp_path / "inside"]) == str(tmp_path / "outside" / "prog")
    assert find_program("prog", [tmp_path]) is None
    assert find_program("no-such-program") is None
