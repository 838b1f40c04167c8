"""Every setting, its default and its meaning. The string under a field is its help text, shown by `doctor` and docs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["ask", "edit", "plan", "auto"]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """[model]: which model answers, and how it is reached."""

    name: str = ""
    """Model name. Empty: OPENAI_MODEL, else the first model that the endpoint lists."""
    base_url: str = ""
    """OpenAI-compatible endpoint, e.g. http://localhost:11434/v1. Empty: OPENAI_BASE_URL, else a local server found
    on its usual port, else OpenAI when a key is set."""
    api_key: str = field(default="", repr=False)
    """Key of the endpoint. Empty: OPENAI_API_KEY. Never taken from a workspace."""
    temperature: float | None = None
    """Sampling temperature; unset: the endpoint's own."""
    max_tokens: int | None = None
    """Longest answer in tokens; unset: the endpoint's own."""
    reasoning_effort: str = ""
    """Sent as it stands when set (low, medium, high ...)."""
    context_window: int | None = None
    """Tokens that the model can see; unset: asked from the endpoint, else a table, else 32768."""
    connect_timeout: float = 10.0
    """Seconds to reach the endpoint."""
    idle_timeout: float = 120.0
    """Seconds without a stream event before the request is given up."""
    max_retries: int = 4
    """Retries after a rate limit, a server error or a lost connection."""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    """Extra HTTP headers for the endpoint."""
    proxy: str = ""
    """Proxy URL for the endpoint."""
    ca_file: str = ""
    """PEM file of a private certificate authority for the endpoint."""
    task_model: str = ""
    """Model for task and plan sub-agents; empty: the same."""
    fetch_model: str = ""
    """Model that answers from fetched pages; empty: the same."""
    compaction_model: str = ""
    """Model that summarises long conversations; empty: the same."""


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """[tools]: limits of single tools."""

    bash_timeout: float = 120.0
    """Seconds before a bash command is ended."""
    math_timeout: float = 20.0
    """Seconds before a math call is ended."""
    output_limit: int = 32_000
    """Characters of one tool result that the model sees; the rest is cut in the middle and kept in a file."""
    tavily_api_key: str = field(default="", repr=False)
    """Key for web_search. Empty: TAVILY_API_KEY; without either, web_search is not offered."""
    tavily_base_url: str = ""
    """Another Tavily endpoint; empty: Tavily's own."""
    web_proxy: str = ""
    """Proxy for web_fetch. With one, addresses are checked by name only."""


@dataclass(frozen=True, slots=True)
class EditSettings:
    """[edits]: how file changes are reviewed and written."""

    save_after_accept: bool = True
    """Save an open document after an accepted edit, if it had no unsaved changes before."""
    encodings: dict[str, str] = field(default_factory=dict)
    """Declared encodings by glob, e.g. {"legacy/**" = "latin-1"}. UTF-8 and files with a BOM need none."""
    undo_bytes: int = 512 * 1024 * 1024
    """Bytes of before-images kept for undo."""
    undo_days: int = 14
    """Days for which a turn can be undone."""


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """[limits]: when a turn stops and asks whether to go on."""

    rounds: int = 100
    """Model requests in one turn."""
    minutes: float = 60.0
    """Minutes of one turn, waiting for the user not counted."""
    tokens: int = 2_000_000
    """Tokens of one turn."""


@dataclass(frozen=True, slots=True)
class Rule:
    """[[rules]]: an answer given in advance. deny beats ask beats allow. Empty fields match everything."""

    decision: Literal["deny", "ask", "allow"]
    """deny: never runs; ask: always asks; allow: runs unasked, if nothing else holds it back."""
    tool: str = ""
    """Name of a tool."""
    path: str = ""
    """Glob over the path inside the workspace, or an absolute glob."""
    command: str = ""
    """Words of a command; a trailing * stands for further arguments. Covers a line only if every command matches."""
    host: str = ""
    """A host name, and the hosts below it. Where anyone can publish (github.com), an allow must name the owner too:
    "github.com/OWNER"."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings in force."""

    mode: Mode = "ask"
    """ask: confirm every call with an effect; edit: file edits inside the workspace run unasked; plan: read-only;
    auto: everything that no rule or guard holds back."""
    model: ModelSettings = field(default_factory=ModelSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    edits: EditSettings = field(default_factory=EditSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    rules: tuple[Rule, ...] = ()
    """Answers given in advance; deny beats ask beats allow."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """How much goes to the log on stderr."""
