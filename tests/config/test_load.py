"""Settings: order of the layers, errors that name the setting, and what a workspace can never set (C-01, C-05, C-06)."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from turnstone_lsp.config import Settings
from turnstone_lsp.config.explain import explain, secrets
from turnstone_lsp.config.help import HELP
from turnstone_lsp.config.load import HARMLESS, load, narrow, read_narrowing
from turnstone_lsp.config.settings import Rule
from turnstone_lsp.errors import ConfigError

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def write(file: Path, text: str, mode: int = 0o600) -> Path:
    file.write_text(text, "utf-8")
    file.chmod(mode)
    return file


def test_without_anything_the_defaults_hold(file: Path) -> None:
    loaded = load(environ={}, file=file)
    assert loaded.settings == Settings()
    assert (loaded.sources, loaded.warnings) == ({}, ())


def test_later_layers_win_and_each_value_knows_where_it_was_set(file: Path) -> None:
    """Design: defaults < user TOML < environment < initializationOptions / workspace/configuration."""
    write(file, 'mode = "plan"\n[model]\nname = "a"\nbase_url = "http://a/v1"\ntemperature = 1\n[limits]\nrounds = 5\n')
    loaded = load(
        environ={"OPENAI_MODEL": "b", "OPENAI_BASE_URL": "http://b/v1", "TURNSTONE_LIMITS_ROUNDS": "7"},
        file=file,
        options={"model": {"baseUrl": "http://c/v1"}, "logLevel": "debug"},
        workspace={"logLevel": "warning"},
    )
    got = loaded.settings
    assert (got.mode, got.model.name, got.model.base_url, got.model.temperature) == ("plan", "b", "http://c/v1", 1.0)
    assert (got.limits.rounds, got.log_level) == (7, "warning")
    assert loaded.sources == {
        "mode": str(file),
        "model.temperature": str(file),
        "model.name": "environment OPENAI_MODEL",
        "limits.rounds": "environment TURNSTONE_LIMITS_ROUNDS",
        "model.base_url": "the editor's initializationOptions",
        "log_level": "the editor's workspace settings",
    }
    assert any("OPENAI_MODEL in the environment overrides 'model.name'" in w for w in loaded.warnings)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mod = 'ask'", "no setting 'mod'; did you mean 'mode'"),
        ("[model]\nnam = 'x'", "no setting 'model.nam'; did you mean 'model.name'"),
        ("temperature = 1", "did you mean 'model.temperature'"),
        ("[zzzz]\nx = 1", "see docs/configuration.md"),
        ("mode = 'yolo'", "'mode' must be one of ask, edit, plan, auto, not text"),
        ("model = 'gpt'", "'model' must be a table of settings, not text"),
        ("[limits]\nrounds = 'ten'", "'limits.rounds' must be a whole number, not text"),
        ("[limits]\nrounds = true", "'limits.rounds' must be a whole number, not true or false"),
        ("[limits]\nrounds = 0", "'limits.rounds' must be from 1 to"),
        ("[tools]\nbash_timeout = -1", "'tools.bash_timeout' must be from 1"),
        ("[model.headers]\nx = 1", "'model.headers' must be a table of texts"),
        ("[edits]\nsave_after_accept = 'yes'", "must be true or false, not text"),
        ("rules = 3", "write \\[\\[rules\\]\\]"),
        ("[[rules]]\ntool = 'bash'", "'decision' must be deny, ask or allow"),
        ("[[rules]]\ndecision = 'deny'\ncomand = 'rm'", "no setting 'comand'; did you mean 'command'"),
        ("[[rules]]\ndecision = 'deny'\npath = 3", "a rule's 'path' must be text"),
        ("mode = ", "is not valid TOML"),
    ],
)
def test_what_cannot_be_used_names_the_setting_and_the_file(file: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        load(environ={}, file=write(file, text))
    assert str(file) in str(caught.value)


def test_errors_never_show_a_value(file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(environ={}, file=write(file, f"mode = '{KEY}'"))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_c06_a_file_that_others_can_write_is_refused(file: Path, mode: int) -> None:
    with pytest.raises(ConfigError, match=r"can be written by others.*chmod go-w"):
        load(environ={}, file=write(file, "mode = 'auto'", mode))


def test_c06_a_file_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(file, "mode = 'auto'")
    if os.geteuid() == 0:
        os.chown(file, 65534, -1)
    else:  # only root can give a file away: be somebody else instead
        monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    with pytest.raises(ConfigError, match="belongs to another user"):
        load(environ={}, file=file)


def test_a_key_in_a_readable_file_is_warned_about(file: Path) -> None:
    loaded = load(environ={}, file=write(file, f"[model]\napi_key = '{KEY}'", 0o644))
    assert "chmod 600" in loaded.warnings[0]
    assert load(environ={}, file=write(file, f"[model]\napi_key = '{KEY}'")).warnings == ()


def test_c06_workspace_settings_cannot_move_keys_endpoints_modes_or_rules(file: Path) -> None:
    """Design, Plain clients: `workspace/configuration` may set a short, listed set of harmless things."""
    hostile: dict[str, Any] = {
        "mode": "auto",
        "model": {"baseUrl": "http://evil/v1", "apiKey": "x", "headers": {"a": "b"}, "proxy": "http://evil"},
        "tools": {"tavilyBaseUrl": "http://evil"},
        "rules": [{"decision": "allow"}],
        "edits": {"saveAfterAccept": False},
        "log_level": None,
    } | {"log_level": "error"}
    for table in (hostile, {"turnstone": hostile}):
        loaded = load(environ={}, file=file, workspace=table)
        assert loaded.settings.model == Settings().model
        assert (loaded.settings.mode, loaded.settings.rules, loaded.settings.tools) == ("ask", (), Settings().tools)
        assert (loaded.settings.edits.save_after_accept, loaded.settings.log_level) == (False, "error")
        ignored = " ".join(loaded.warnings)
        assert all(name in ignored for name in ("'mode'", "'model.base_url'", "'model.api_key'", "'rules'"))
    assert {"log_level", "edits.save_after_accept", "edits.encodings", "tools.bash_timeout"} == HARMLESS


def test_c05_nothing_is_read_from_the_workspace(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for name in (".env", "config.toml", ".turnstone.toml", "turnstone.toml"):
        (project / name).write_text("OPENAI_BASE_URL=http://evil\nmode = 'auto'\n")
    monkeypatch.chdir(project)
    assert load(environ={}, file=file).settings == Settings()


def test_unknown_names_from_an_editor_are_warnings(file: Path) -> None:
    loaded = load(environ={}, file=file, options={"modle": {"name": "x"}, "mode": "edit"})
    assert loaded.settings.mode == "edit"
    assert "did you mean" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("variable", "text", "why"),
    [
        ("TURNSTONE_MODE", "yolo", "environment TURNSTONE_MODE: 'mode' must be one of"),
        ("TURNSTONE_LIMITS_ROUNDS", "many", "must be a whole number"),
        ("TURNSTONE_EDITS_SAVE_AFTER_ACCEPT", "maybe", "must be true or false"),
    ],
)
def test_bad_variables_are_named(file: Path, variable: str, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        load(environ={variable: text}, file=file)


def test_variables_of_every_kind(file: Path) -> None:
    environ = {
        "TURNSTONE_MODEL_TEMPERATURE": "0.5",
        "TURNSTONE_MODEL_MAX_TOKENS": "100",
        "TURNSTONE_EDITS_SAVE_AFTER_ACCEPT": "no",
        "TURNSTONE_LIMITS_MINUTES": "5",
        "OPENAI_MODEL": "a",
        "TURNSTONE_MODEL": "b",
        "OPENAI_API_KEY": "",
        "TURNSTONE_SOMETHING_ELSE": "x",
    }
    got = load(environ=environ, file=file).settings
    assert (got.model.temperature, got.model.max_tokens, got.edits.save_after_accept) == (0.5, 100, False)
    assert (got.limits.minutes, got.model.name, got.model.api_key) == (5.0, "b", "")


def test_rules_of_all_layers_add_up(file: Path) -> None:
    write(
        file, '[[rules]]\ndecision = "deny"\ntool = "bash"\n[[rules]]\ndecision = "allow"\ncommand = "git status *"\n'
    )
    loaded = load(environ={}, file=file, options={"rules": [{"decision": "ask", "path": "docs/**"}]})
    assert loaded.settings.rules == (
        Rule("deny", tool="bash"),
        Rule("allow", command="git status *"),
        Rule("ask", path="docs/**"),
    )


def test_c01_a_projects_file_can_only_narrow(tmp_path: Path) -> None:
    assert read_narrowing(tmp_path) is None
    (tmp_path / ".turnstone.toml").write_text(
        'mode = "auto"\n[model]\nbase_url = "http://evil"\n'
        '[[rules]]\ndecision = "allow"\n[[rules]]\ndecision = "deny"\npath = "secrets/**"\n'
    )
    table = read_narrowing(tmp_path)
    assert table is not None
    narrowed, warnings = narrow(Settings(rules=(Rule("allow", tool="bash"),)), table)
    assert narrowed == Settings(rules=(Rule("allow", tool="bash"), Rule("deny", path="secrets/**")))
    assert len(warnings) == 3
    with pytest.raises(ConfigError, match="must be deny, ask or allow"):
        narrow(Settings(), {"rules": [{"decision": "denny"}]})
    (tmp_path / ".turnstone.toml").unlink()
    (tmp_path / ".turnstone.toml").symlink_to("/etc/hostname")
    with pytest.raises(ConfigError, match="not a regular file"):
        read_narrowing(tmp_path)


def test_explain_shows_every_setting_and_never_a_key(file: Path) -> None:
    """C-23: known key values are redacted."""
    write(file, f"[model]\napi_key = '{KEY}'\nproxy = 'http://me:{KEY}@proxy:1'\nheaders = {{ auth = '{KEY}' }}")
    loaded = load(environ={"TAVILY_API_KEY": KEY + "t"}, file=file)
    lines = explain(loaded)
    text = "\n".join(f"{e.name} = {e.value} ({e.source}): {e.help}" for e in lines)
    assert KEY not in text
    assert KEY not in repr(loaded.settings.tools) + repr(loaded.settings).replace(loaded.settings.model.proxy, "")
    assert f"model.api_key = set (24 characters) ({file})" in text
    assert "model.proxy = http://***@proxy:1" in text
    assert {e.name for e in lines} == set(HELP)
    assert all(e.help for e in lines)
    assert set(secrets(loaded.settings)) == {KEY, KEY + "t"}


def test_the_documentation_is_in_step_with_the_settings() -> None:
    root = Path(__file__).parents[2]
    spec = importlib.util.spec_from_file_location("configuration", root / "scripts" / "configuration.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    again = "run scripts/configuration.py"
    assert (root / "docs" / "configuration.md").read_text("utf-8") == module.markdown(), again
    assert (root / "turnstone_lsp" / "config" / "help.py").read_text("utf-8") == module.module(), again
