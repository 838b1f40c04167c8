"""Scripts for the model and capabilities for the client, shared by the server's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from lsp_client import LspClient
    from model_server import StubServer

DONE = {"text": "All is done."}

MINIMAL = {"window": {"workDoneProgress": True}, "workspace": {"applyEdit": True}}
"""The least that makes an editor usable: progress and applyEdit."""

RICH = {**MINIMAL, "experimental": {"turnstone": {"version": 1, "updates": True, "approvals": True, "reviews": True}}}


def call(name: str, arguments: Any, ident: str = "") -> dict[str, Any]:
    """A reply that makes one call."""
    return {"tool_calls": [{"name": name, "arguments": arguments, **({"id": ident} if ident else {})}]}


def calls(*made: tuple[str, Any]) -> dict[str, Any]:
    """A reply that makes several calls."""
    return {"tool_calls": [{"name": name, "arguments": arguments} for name, arguments in made]}


def edit(path: str, old: str, new: str) -> list[dict[str, Any]]:
    """Replies that read a file, edit it, and end."""
    return [call("read_file", path), call("edit_file", {"path": path, "old_string": old, "new_string": new}), DONE]


def tool_results(stub: StubServer) -> list[str]:
    """The tool results that the model read in its last request."""
    return [m["content"] for m in stub.log()[-1]["request"]["messages"] if m["role"] == "tool"]


def names(folder: Path) -> list[str]:
    """What a folder holds."""
    return sorted(path.name for path in folder.iterdir())


async def start(client: LspClient, project: Path, capabilities: dict[str, Any], **handlers: Any) -> dict[str, Any]:
    """Initialize as an editor that applies edits and allows progress; `handlers` by method with _ for /."""
    client.handlers["window/workDoneProgress/create"] = lambda _: None
    client.handlers["workspace/applyEdit"] = client.apply_edit
    client.handlers.update({method.replace("_", "/"): handler for method, handler in handlers.items()})
    return await client.initialize(project, capabilities, trusted=True)
