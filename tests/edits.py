"""An agent's batch of file calls through prepare, review and applying, and an editor that holds documents."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from turnstone_lsp.config.settings import EditSettings, Settings
from turnstone_lsp.errors import ToolError
from turnstone_lsp.tools import arguments, registry
from turnstone_lsp.tools.base import Plan
from turnstone_lsp.workspace import uris
from turnstone_lsp.workspace.applying import apply_review
from turnstone_lsp.workspace.documents import Change, OpenDocuments
from turnstone_lsp.workspace.journal import Journal
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.view import Workspace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from turnstone_lsp.workspace.documents import OpenDocument
    from turnstone_lsp.workspace.proposals import Proposal

Way = Literal["does it", "refuses", "lies", "does it and says no", "does half", "does it and types on"]


class ClientEditor:
    """An LSP client as the server sees it: it holds buffers, applies edits in its own way, and saves by itself."""

    def __init__(self, documents: OpenDocuments) -> None:
        self.documents = documents
        self.way: Way = "does it"
        self.on_save: Callable[[str], str] = lambda text: text
        self.before_apply: Callable[[], None] = lambda: None
        self.undo_steps: list[str] = []
        self.saves = 0
        self.unable: str | None = None

    def can_apply(self) -> str | None:
        return self.unable

    async def apply(self, document: OpenDocument, base: str, result: str, label: str) -> str | None:
        assert label.startswith("turnstone")
        self.before_apply()
        if self.way == "refuses" or document.text != base:
            return "the client said no"
        if self.way == "lies":
            return None
        text = {
            "does half": base[: len(base) // 2] + result[len(base) // 2 :],
            "does it and types on": result + "typed",
        }
        self.undo_steps.append(document.text)
        self._set(document, text.get(self.way, result))
        return "the client said no" if self.way == "does it and says no" else None

    async def save(self, path: Path) -> bool:
        document = self.documents.get(path)
        assert document is not None
        self.saves += 1
        formatted = self.on_save(document.text)
        if formatted != document.text:
            self._set(document, formatted)
        await asyncio.to_thread(path.write_bytes, document.text.encode())
        self.documents.save(document.uri)
        return True

    def type(self, path: Path, text: str) -> None:
        """The user replaces the whole buffer."""
        document = self.documents.get(path)
        assert document is not None
        self._set(document, text)

    def _set(self, document: OpenDocument, text: str) -> None:
        self.documents.change(document.uri, document.version + 1, [Change(text)])


@dataclass
class Agent:
    """One agent at work in a folder. Its methods are what a model, a user and an editor do."""

    root: Path
    edits: EditSettings = field(default_factory=EditSettings)
    with_editor: bool = False
    workspace: Workspace = field(init=False)
    settings: Settings = field(init=False)
    call_id: str = ""

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        documents = OpenDocuments()
        self.editor = ClientEditor(documents)
        self.workspace = Workspace(Roots([self.root]), documents, self.editor, self.edits)
        self.settings = Settings(edits=self.edits)
        self.journal = Journal("s1", self.edits)
        self.turn = "t1"

    def sub_agent(self) -> Agent:
        child = Agent(self.root, self.edits)
        child.workspace, child.editor = self.workspace.child(), self.editor
        return child

    def open(self, path: Path, text: str | None = None, version: int = 1) -> OpenDocument:
        """The editor opens a file; with a text, it has unsaved changes."""
        on_disk = path.read_bytes().decode("utf-8", "replace") if path.exists() else ""
        document = self.workspace.documents.open(uris.from_path(path), on_disk, version)
        if text is not None:
            self.editor.type(path, text)
        return document

    async def read(self, path: Path | str) -> str:
        plan = await self.prepare("read_file", path=str(path))
        return (await plan.execute(None)).text  # type: ignore[arg-type]

    async def prepare(self, name: str, **given: Any) -> Plan:
        module = registry.implementation(name)
        plan: Plan = await module.prepare(arguments.parse(name, module.Args, given), self)
        return plan

    async def stage(self, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Plan | str], list[Proposal]]:
        """Prepare a batch: a plan for each call, or its error; and the proposals that it makes."""
        self.workspace.begin_batch()
        plans: list[Plan | str] = []
        for number, (name, given) in enumerate(calls, 1):
            self.call_id = f"c{number}"
            try:
                plans.append(await self.prepare(name, **given))
            except ToolError as error:
                plans.append(str(error))
        return plans, self.workspace.staging.proposals()

    async def apply(self, proposal: Proposal, accepted: frozenset[int] | None = None, **given: Any) -> str:
        """The user accepts all of a proposal, or some hunks, or `text`; what the model reads, call by call."""
        chosen = frozenset(range(len(proposal.hunks))) if accepted is None and "text" not in given else accepted
        text = given.pop("text", None)
        report = await apply_review(
            self.workspace,
            proposal,
            proposal.with_hunks(chosen or ()) if text is None else text,
            accepted=chosen,
            journal=self.journal,
            turn=self.turn,
            **given,
        )
        return "\n".join(report.text_for(call_id) for call_id in proposal.call_ids)

    async def edit(self, path: Path | str, old: str, new: str, **given: Any) -> str:
        """read_file was called; edit_file, accepted as it is; what the model reads, error or result."""
        return await self.do(("edit_file", {"path": str(path), "old_string": old, "new_string": new, **given}))

    async def write(self, path: Path | str, content: str) -> str:
        return await self.do(("write_file", {"path": str(path), "content": content}))

    async def do(self, *calls: tuple[str, dict[str, Any]]) -> str:
        plans, proposals = await self.stage(*calls)
        texts = [plan for plan in plans if isinstance(plan, str)]
        for proposal in proposals:
            try:
                texts.append(await self.apply(proposal))
            except ToolError as error:
                texts.append(str(error))
        texts += [(await p.execute(None)).text for p in plans if isinstance(p, Plan) and not p.edits]  # type: ignore[arg-type]
        return "\n".join(texts)


async def refusal(work: Awaitable[object]) -> str:
    """The ToolError that the work ends with."""
    try:
        await work
    except ToolError as error:
        return str(error)
    raise AssertionError("it was done")
