"""Where settings come from: defaults < the user's TOML file < the environment < the editor's initializationOptions.

Nothing here reads from a workspace, but for `read_narrowing`, which the caller uses after trust was given and which
can only forbid (C-05, C-06). `workspace/configuration` may set HARMLESS settings alone, because editors merge files
of the workspace into it.
"""

from __future__ import annotations

import os
import stat
import tomllib
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from turnstone_lsp.config import folders, values
from turnstone_lsp.config.settings import Rule, Settings
from turnstone_lsp.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HARMLESS = frozenset({"log_level", "edits.save_after_accept", "edits.encodings", "tools.bash_timeout"})
"""What `workspace/configuration` may set: none of it moves a key, an endpoint, a program, a mode or a rule."""

ENVIRONMENT = {
    "OPENAI_API_KEY": "model.api_key",
    "OPENAI_BASE_URL": "model.base_url",
    "OPENAI_MODEL": "model.name",
    "TAVILY_API_KEY": "tools.tavily_api_key",
    "TURNSTONE_MODEL": "model.name",
    "TURNSTONE_BASE_URL": "model.base_url",
    "TURNSTONE_API_KEY": "model.api_key",
}
"""Environment variable -> setting; a later one wins. Beside them, TURNSTONE_ and the setting's name in capitals
(TURNSTONE_MODE, TURNSTONE_LIMITS_ROUNDS) set any setting that is a text, a number or true/false."""

NARROWING_FILE = ".turnstone.toml"
"""A file of this name in a trusted workspace may hold deny and ask rules, and nothing else."""
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force, where each one that is no default was set, and what the user should know."""

    settings: Settings = field(default_factory=Settings)
    sources: dict[str, str] = field(default_factory=dict)
    """Dotted name -> a file, "environment NAME", "the editor" or "the editor's workspace settings"."""
    warnings: tuple[str, ...] = ()


class _Layers:
    """Settings by dotted name, as the layers are laid one over the other."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.rules: list[Rule] = []
        self.warnings: list[str] = []

    def put(self, name: str, value: Any, source: str) -> None:
        self.values[name] = value
        self.sources[name] = source

    def table(self, table: Mapping[str, Any], source: str, *, strict: bool) -> None:
        """Lay a table. Unknown names: with `strict` a ConfigError, else a warning."""
        for name, value in values.flatten(table, source):
            if name == "rules":
                if not isinstance(value, list):
                    raise ConfigError(f"{source}: 'rules' must be a list of tables; write [[rules]].")
                self.rules += [values.check_rule(rule, source) for rule in value]
                self.sources["rules"] = source
            elif name in values.types_of_settings():
                self.put(name, values.check(name, value, source), source)
            elif strict:
                raise ConfigError(values.unknown(name, source))
            else:
                self.warnings.append(values.unknown(name, source))

    def settings(self) -> Settings:
        default = Settings()
        parts: dict[str, Any] = {"rules": tuple(self.rules)}
        for part in fields(Settings):
            section = getattr(default, part.name)
            if part.name in self.values:
                parts[part.name] = self.values[part.name]
            elif is_dataclass(section) and not isinstance(section, type):
                given = {n.partition(".")[2]: v for n, v in self.values.items() if n.startswith(part.name + ".")}
                parts[part.name] = replace(section, **given)
        return Settings(**parts)


def load(
    *,
    options: Mapping[str, Any] | None = None,
    workspace: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] = os.environ,
    file: Path | None = None,
) -> Loaded:
    """The settings in force. Blocks for reading one small file.

    options: the client's initializationOptions, or the settings that the editor marks as the user's own;
    workspace: the answer to `workspace/configuration`; file: the user's TOML (default `folders.config_file()`).
    Raises ConfigError for a file or value that cannot be used, naming the setting and where it was set.
    """
    layers = _Layers()
    path = file or folders.config_file()
    if (table := read_user_file(path, layers.warnings)) is not None:
        layers.table(table, str(path), strict=True)
    _environment(layers, environ)
    if options:
        layers.table(_unwrapped(options), "the editor's initializationOptions", strict=False)
    if workspace:
        _workspace(layers, _unwrapped(workspace))
    return Loaded(layers.settings(), layers.sources, tuple(layers.warnings))


def read_user_file(path: Path, warnings: list[str]) -> dict[str, Any] | None:
    """The user's TOML file as a table; None when there is none.

    Raises ConfigError for one that somebody else could have written (C-06) or that is no TOML.
    """
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); check its permissions.") from error
    with os.fdopen(fd, "rb") as opened:
        _check_owner(path, os.fstat(opened.fileno()))
        data = opened.read(_MAX_BYTES)
        table = _toml(data, path)
        readable = os.name == "posix" and os.fstat(opened.fileno()).st_mode & 0o077
    if readable and any("key" in name for name, _ in values.flatten(table, str(path))):
        warnings.append(f"{path} holds a key and others can read it; run: chmod 600 '{path}'")
    return table


def _check_owner(path: Path, info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise ConfigError(f"{path} is not a regular file; put the settings in a plain file.")
    if os.name != "posix":
        return
    if info.st_uid not in {os.geteuid(), 0}:
        raise ConfigError(f"{path} belongs to another user, who could change your settings; make it yours: chown.")
    if info.st_mode & 0o022:
        raise ConfigError(f"{path} can be written by others, who could change your settings; run: chmod go-w '{path}'")


def _toml(data: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}. Mend that place and try again.") from error


def _environment(layers: _Layers, environ: Mapping[str, str]) -> None:
    names = ENVIRONMENT | {
        "TURNSTONE_" + name.replace(".", "_").upper(): name
        for name, hint in values.types_of_settings().items()
        if not str(hint).startswith("dict")
    }
    for variable, name in names.items():
        text = environ.get(variable, "")
        if not text:
            continue
        value = values.parse_text(name, text, f"environment {variable}")
        before = layers.sources.get(name, "")
        if before and not before.startswith("environment") and layers.values[name] != value:
            layers.warnings.append(f"{variable} in the environment overrides '{name}' from {before}.")
        layers.put(name, value, f"environment {variable}")


def _workspace(layers: _Layers, table: Mapping[str, Any]) -> None:
    source = "the editor's workspace settings"
    for name, value in values.flatten(table, source):
        if name in HARMLESS:
            layers.put(name, values.check(name, value, source), source)
        elif value not in (None, "", [], {}):
            layers.warnings.append(
                f"'{name}' in {source} is ignored, because a project can set those; "
                f"set it in {folders.config_file()} or in the editor's user settings."
            )


def _unwrapped(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table inside {"turnstone": {...}}, as some editors send it."""
    inner = table.get("turnstone")
    return inner if isinstance(inner, dict) and len(table) == 1 else table


def read_narrowing(root: Path) -> dict[str, Any] | None:
    """The table of a workspace's NARROWING_FILE; None when there is none. Only for a trusted workspace.

    Raises ConfigError for one that cannot be read: a rule that forbids must not get lost.
    """
    path = root / NARROWING_FILE
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise ConfigError(f"{path} is not a regular file; put the rules in a plain file.")
        with path.open("rb") as opened:
            return _toml(opened.read(_MAX_BYTES), path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); check its permissions.") from error


def narrow(settings: Settings, table: Mapping[str, Any], where: str = NARROWING_FILE) -> tuple[Settings, list[str]]:
    """The settings with a workspace's deny and ask rules added, and warnings for whatever else it holds (C-01)."""
    warnings = [
        f"{where}: '{name}' is ignored; a project's file may hold deny and ask rules only."
        for name in table
        if name != "rules"
    ]
    given = table.get("rules", [])
    if not isinstance(given, list):
        raise ConfigError(f"{where}: 'rules' must be a list of tables; write [[rules]].")
    rules = [values.check_rule(rule, where) for rule in given]
    if any(rule.decision == "allow" for rule in rules):
        warnings.append(f"{where}: allow rules are ignored; a project cannot allow anything.")
    kept = tuple(rule for rule in rules if rule.decision != "allow")
    return replace(settings, rules=settings.rules + kept), warnings
