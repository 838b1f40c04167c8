"""The transcript: a real file in the user's state folder that any client can open, and ask from.

It shows the conversation and the open questions, and ends in a prompt section. While a client holds it open, it is
changed through the editor, above the prompt section, so that what the user is typing there stays.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from turnstone_lsp.agent.events import (
    Event,
    MessageDone,
    Notice,
    PlanReady,
    StateChanged,
    ToolCallUpdate,
    UserMessage,
)
from turnstone_lsp.config import folders
from turnstone_lsp.process.text import safe_markdown, visible

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.lsp.app import App

PROMPT_MARK = "<!-- Ask below this line, then run the code action 'Send to turnstone'. -->"
PENDING_MARK = "<!-- Open questions -->"
_WRITE_SECONDS = 0.3
_RESULT_LINES = 20


class Transcript:
    """The transcript of one session."""

    def __init__(self, app: App, session_id: str) -> None:
        self._app = app
        folder = folders.state_dir() / "transcripts"
        folder.mkdir(mode=0o700, exist_ok=True)
        self.path: Path = (folder / f"{session_id}.md").resolve()
        self._entries: list[str] = ["# turnstone"]
        self._timer: asyncio.TimerHandle | None = None
        self._writing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def uri(self) -> str:
        """The file's URI."""
        return self.path.as_uri()

    def take(self, event: Event) -> None:
        """Show one event."""
        match event:
            case UserMessage(text=text):
                self._add(f"## You\n\n{visible(text, keep=chr(10))}")
            case MessageDone(text=text, discarded=False) if text.strip():
                self._add(f"## turnstone\n\n{safe_markdown(text)}")
            case ToolCallUpdate(result=result) if result is not None:
                self._add(_call(event, result))
            case PlanReady(text=text):
                self._add(f"### Plan\n\n{safe_markdown(text)}")
            case Notice(text=text):
                self._add(f"> {visible(text)}")
            case StateChanged(state="idle", stop_reason=reason, message=message) if reason != "completed":
                self._add(f"> {reason}. {visible(message)}")
            case _:
                pass

    def refresh(self) -> None:
        """Write soon: something changed."""
        if self._timer is None:
            with contextlib.suppress(RuntimeError):
                self._timer = asyncio.get_running_loop().call_later(_WRITE_SECONDS, self._start_writing)

    def _add(self, entry: str) -> None:
        self._entries.append(entry)
        self.refresh()

    def _start_writing(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self.write())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _above(self) -> str:
        """All above the prompt section."""
        parts = list(self._entries)
        if pending := list(self._app.prompts):
            parts.append(PENDING_MARK)
            for prompt in pending:
                words = ", ".join(prompt.describe()["decisions"])
                body = visible(prompt.text, keep="\n\t").replace("```", "'''")
                parts.append(f"### {prompt.id}: {visible(prompt.title)}\n\n```\n{body}\n```\n\nAnswers: {words}")
        return "\n\n".join(parts) + "\n\n"

    async def write(self) -> None:
        """Bring the file up to date."""
        async with self._writing:
            document = self._app.documents.by_uri(self.uri) or self._app.documents.get(self.path)
            above = self._above()
            if document is None:
                tail = await asyncio.to_thread(self._tail_on_disk)
                await asyncio.to_thread(self._put, above + tail)
                return
            at = document.text.find(PROMPT_MARK)
            tail = document.text[at:] if at >= 0 else _empty_tail()
            if document.text != above + tail and self._app.editor.can_apply() is None:
                await self._app.editor.apply(document, document.text, above + tail, "turnstone transcript")

    def _tail_on_disk(self) -> str:
        if self.path.exists():
            text = self.path.read_text("utf-8", "replace")
            at = text.find(PROMPT_MARK)
            if at >= 0:
                return text[at:]
        return _empty_tail()

    def _put(self, text: str) -> None:
        temporary = self.path.with_suffix(".part")
        temporary.write_text(text, "utf-8", "backslashreplace")
        temporary.chmod(0o600)
        temporary.replace(self.path)

    def prompt_of(self, text: str) -> str:
        """What stands in the prompt section of a transcript's text."""
        _, mark, rest = text.partition(PROMPT_MARK)
        return rest.strip() if mark else ""

    async def clear_prompt(self) -> None:
        """The prompt was sent: empty its section."""
        document = self._app.documents.get(self.path)
        if document is not None and self._app.editor.can_apply() is None:
            at = document.text.find(PROMPT_MARK)
            if at >= 0:
                await self._app.editor.apply(document, document.text, document.text[:at] + _empty_tail(), "sent")

    async def add_to_prompt(self, text: str) -> None:
        """Put a text into the prompt section (context for a question that the user will write)."""
        await self.write()
        document = self._app.documents.get(self.path)
        if document is not None:
            await self._app.editor.apply(document, document.text, document.text.rstrip("\n") + f"\n{text}\n", "context")
            return
        current = await asyncio.to_thread(self.path.read_text, "utf-8")
        await asyncio.to_thread(self._put, current.rstrip("\n") + f"\n{text}\n")


def _empty_tail() -> str:
    return f"{PROMPT_MARK}\n\n"


def _call(event: ToolCallUpdate, result: str) -> str:
    lines = visible(result, keep="\n\t").replace("```", "'''").split("\n")
    shown = "\n".join(lines[:_RESULT_LINES])
    more = f"\n[{len(lines) - _RESULT_LINES} more lines]" if len(lines) > _RESULT_LINES else ""
    indent = "### " if event.parent_call_id is None else "#### "
    return f"{indent}{event.name} ({event.status})\n\n```\n{shown}{more}\n```"
