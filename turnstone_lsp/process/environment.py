"""The environment of child processes: no provider keys, no pagers, no editors, no questions, no shell hooks."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turnstone_lsp.config import Settings

_OURS = ("OPENAI_", "TAVILY_", "TURNSTONE_")
_PROVIDERS = (
    "AI21|ANTHROPIC|AZURE_OPENAI|AZURE_AI|CEREBRAS|CLAUDE|CODESTRAL|COHERE|DASHSCOPE|DATABRICKS|DEEPINFRA|DEEPSEEK"
    "|FIREWORKS|GEMINI|GOOGLE|GOOGLE_AI|GROQ|HF|HUGGINGFACE|HUGGING_FACE|HUGGINGFACEHUB|HYPERBOLIC|LITELLM|LLAMA"
    "|LLM|LM_STUDIO|MINIMAX|MISTRAL|MOONSHOT|NEBIUS|NVIDIA|OLLAMA|OPENROUTER|PERPLEXITY|REPLICATE|SAMBANOVA"
    "|SILICONFLOW|TOGETHER|TOGETHERAI|VERTEX|VLLM|VOYAGE|XAI|ZAI|ZHIPU|ZHIPUAI"
)
_PROVIDER_KEY = re.compile(
    rf"(?:{_PROVIDERS})_(?:\w+_)?(?:API_?KEYS?|KEY|TOKEN|API_?TOKEN|AUTH_TOKEN|SECRET)", re.IGNORECASE
)
_SHELL_HOOKS = re.compile(
    r"BASH_ENV|ENV|BASH_FUNC_.*|PS4|PROMPT_COMMAND|SHELLOPTS|BASHOPTS|BASH_XTRACEFD|BASH_LOADABLES_PATH"
)
_LOADER = re.compile(r"(?:LD|DYLD)_.*")
_MIN_SECRET = 8
"""Shorter values are not redacted: they would blacken ordinary words."""

QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONUNBUFFERED": "1",
}
"""Nobody sits at a terminal: no pager, editor or password prompt may wait for one."""


def is_secret_name(name: str) -> bool:
    """True for a variable that holds our own settings or a model or search provider's key (C-23)."""
    return name.upper().startswith(_OURS) or bool(_PROVIDER_KEY.fullmatch(name))


def known_secrets(settings: Settings | None = None, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The key values that must never reach a child, an editor or the model: from settings and from the environment.

    Longest first, so that a key which contains another is redacted whole.
    """
    environ = os.environ if environ is None else environ
    values = {v for k, v in environ.items() if _PROVIDER_KEY.fullmatch(k) or k in {"OPENAI_API_KEY", "TAVILY_API_KEY"}}
    if settings is not None:
        values |= {settings.model.api_key, settings.tools.tavily_api_key}
        values |= {v.removeprefix("Bearer ") for k, v in settings.model.headers.items() if _sensitive_header(k)}
    return tuple(sorted((v for v in values if len(v) >= _MIN_SECRET), key=lambda v: (-len(v), v)))


def _sensitive_header(name: str) -> bool:
    return bool(re.search(r"auth|key|token|secret|cookie", name, re.IGNORECASE))


def child_env(
    *,
    secrets: Iterable[str] = (),
    roots: Iterable[Path] = (),
    extra: Mapping[str, str] | None = None,
    base: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment for a command the user approved.

    It is the server's own without provider keys (by name, and any variable that holds one of `secrets`), without
    the hooks that would make the shell run something other than the command, and without loader variables that
    point into a workspace; with pagers, editors, prompts and colours off.
    """
    secrets, roots = tuple(secrets), tuple(roots)
    env = {}
    for name, value in (os.environ if base is None else base).items():
        if is_secret_name(name) or _SHELL_HOOKS.fullmatch(name) or any(s in value for s in secrets):
            continue
        if _LOADER.fullmatch(name) and _points_into(value, roots):
            continue
        env[name] = value
    return env | QUIET | (dict(extra) if extra else {})


def probe_env(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for programs that we start on our own account (man, git, rg): only what they need."""
    keep = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    return env | QUIET | (dict(extra) if extra else {})


def find_program(name: str, roots: Iterable[Path] = ()) -> str | None:
    """The absolute path of a program on PATH, never one inside a workspace and never by a relative entry (C-14)."""
    import shutil

    real_roots = [Path(os.path.realpath(root)) for root in roots]
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not Path(folder).is_absolute():
            continue
        found = shutil.which(name, path=folder)
        if found and not any(Path(os.path.realpath(found)).is_relative_to(root) for root in real_roots):
            return found
    return None


def _points_into(value: str, roots: tuple[Path, ...]) -> bool:
    for entry in re.split(r"[:\s;]", value):
        if entry and not Path(entry).is_absolute():
            return True
        if entry and any(Path(os.path.realpath(entry)).is_relative_to(os.path.realpath(root)) for root in roots):
            return True
    return False
