"""The transcript: a real file in the user's state folder that any client can open, and ask and answer from.

It shows the conversation and the open questions, and ends in a prompt section. While a client holds it open it is
changed through the editor, and above the prompt section only, so that what the user is typing there stays.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

from turnstone_lsp.agent.events import MessageDone, StateChanged, TextDelta
from turnstone_lsp.config import folders
from turnstone_lsp.lsp import transcript_text as text_of
from turnstone_lsp.workspace import uris

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from turnstone_lsp.agent.events import Event
    from turnstone_lsp.lsp.desk import Desk
    from turnstone_lsp.workspace.documents import OpenDocument

_INTERVAL = 0.5
"""Seconds between two writes, at least."""
_ENTRIES = 200
_TRIES = 5


class Transcript:
    """The transcript of one session."""

    def __init__(self, desk: Desk, session_id: str) -> None:
        self._desk = desk
        self.session_id = session_id
        folder = folders.state_dir() / "transcripts"
        folder.mkdir(mode=0o700, exist_ok=True)
        self.path: Path = folder.resolve() / f"{session_id}.md"
        self._entries: list[str] = []
        self._live: list[str] = []
        """Pieces of the answer that is being written."""
        self._timer: asyncio.TimerHandle | None = None
        self._writing = asyncio.Lock()
        self._failures = 0

    @property
    def uri(self) -> str:
        """The file's URI."""
        return uris.from_path(self.path)

    @property
    def document(self) -> OpenDocument | None:
        """The transcript as the client holds it open."""
        return self._desk.documents.get(self.path)

    def resume(self, conversation: Iterable[dict[str, str]]) -> None:
        """Begin with an earlier conversation."""
        self._entries = text_of.entries_of(conversation)
        self.refresh()

    def take(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, TextDelta):
            self._live.append(event.text)
            if self.document is not None:
                self.refresh()
            return
        if isinstance(event, MessageDone | StateChanged):
            self._live.clear()
        entry = text_of.entry_of(event)
        if entry is not None:
            self._entries.append(entry)
            del self._entries[: -2 * _ENTRIES]
            self.refresh()

    def refresh(self) -> None:
        """Write soon: something changed."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_INTERVAL, self._due)

    async def close(self) -> None:
        """Write what is still to be written."""
        if self._timer is not None:
            self._timer.cancel()
            await self.write()

    def _due(self) -> None:
        self._timer = None
        self._desk.connection.spawn(self.write())

    def _above(self) -> str:
        """All above the prompt section."""
        entries = self._entries[-_ENTRIES:]
        parts = ["# turnstone"]
        if len(self._entries) > len(entries):
            parts.append("> Earlier parts are left out here; turnstone.exportSession gives all.")
        parts += entries
        if self._live:
            parts.append(text_of.live_entry("".join(self._live)))
        parts += text_of.questions(self._desk.prompts.of(self.session_id))
        return "\n\n".join(parts) + "\n\n"

    async def write(self, section: str | None = None) -> None:
        """Bring the file up to date; with `section`, the prompt section too."""
        async with self._writing:
            document = self.document
            current = document.text if document is not None else await asyncio.to_thread(self._on_disk)
            above, tail = self._above(), section if section is not None else text_of.split(current)[1]
            if current == above + tail:
                return
            if document is None or (not document.dirty and self._desk.editor.can_apply() is not None):
                await asyncio.to_thread(self._put, above + tail)
            else:
                await self._change(document, above + tail)

    async def _change(self, document: OpenDocument, text: str) -> None:
        """Through the editor. When the user is just typing it is refused, and tried again later."""
        reason = await self._desk.editor.change(document, document.text, text, "turnstone transcript")
        self._failures = self._failures + 1 if reason is not None else 0
        if 0 < self._failures <= _TRIES:
            self.refresh()

    def _on_disk(self) -> str:
        return self.path.read_text("utf-8", "replace") if self.path.exists() else ""

    def _put(self, text: str) -> None:
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        temporary.write_text(text, "utf-8", "backslashreplace")
        temporary.chmod(0o600)
        temporary.replace(self.path)

    async def prompt(self) -> str:
        """What the user wrote into the prompt section."""
        document = self.document
        return text_of.prompt_of(document.text if document is not None else await asyncio.to_thread(self._on_disk))

    async def clear_prompt(self) -> None:
        """The prompt was sent: empty its section."""
        await self.write(text_of.empty_section())

    async def add_to_prompt(self, text: str) -> None:
        """Put a text into the prompt section: the beginning of a question that the user will write."""
        before = await self.prompt()
        await self.write(f"{text_of.PROMPT_MARK}\n\n{before}{chr(10) if before else ''}{text}\n")
