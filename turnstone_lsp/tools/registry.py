"""The tool definitions: 14 JSON files, the OpenAI function schema plus our metadata, and the sets derived from them."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

_METADATA = ("agent", "task_agent", "auto_approve", "primary_key")
_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "_data" / "tools", _PACKAGE.parent / "tools")
"""In a wheel, and in a checkout or editable install."""


def _load() -> dict[str, dict[str, Any]]:
    folder = next(f for f in _FOLDERS if f.is_dir())
    loaded = (json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json")))
    return {definition["name"]: definition for definition in loaded}


def _schema(definition: dict[str, Any]) -> dict[str, Any]:
    """The definition as the model sees it: metadata stripped, wrapped as an OpenAI function tool."""
    return {"type": "function", "function": {k: v for k, v in definition.items() if k not in _METADATA}}


DEFINITIONS = _load()
"""Tool name -> the JSON file's content, metadata included."""

TOOLS = [_schema(d) for d in DEFINITIONS.values()]
"""All 14 tools, as sent to the model."""
AGENT_TOOLS = [_schema(d) for d in DEFINITIONS.values() if d["agent"]]
"""For plan sub-agents: read-only tools."""
TASK_AGENT_TOOLS = [_schema(d) for d in DEFINITIONS.values() if d["task_agent"]]
"""For task sub-agents."""
AGENT_AUTO_TOOLS = frozenset(name for name, d in DEFINITIONS.items() if d["auto_approve"])
"""Tools that run without a question in sub-agents."""
TASK_AUTO_TOOLS = AGENT_AUTO_TOOLS
PRIMARY_KEY_MAP = {name: d["primary_key"] for name, d in DEFINITIONS.items()}
"""Tool name -> the parameter that a bare string stands for."""


def implementation(name: str) -> ModuleType:
    """The module of a tool: its Args and prepare. Imported on first use; raises KeyError for an unknown name."""
    if name not in DEFINITIONS:
        raise KeyError(name)
    return importlib.import_module(f"turnstone_lsp.tools.{name}")
