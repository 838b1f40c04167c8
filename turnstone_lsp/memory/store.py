"""Store: memories, sessions and approvals for async code. Each method runs a function of the sibling modules.

Writes run one after another in a thread of their own, reads in a second one, so that a long search delays no write
and the event loop waits for neither. What a method wrote before it returned survives `kill -9`.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from turnstone_lsp.config import folders
from turnstone_lsp.memory import export, grants, memories, search, sessions
from turnstone_lsp.memory.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from turnstone_lsp.memory.grants import Grant
    from turnstone_lsp.memory.memories import Memory, MemoryScope
    from turnstone_lsp.memory.repair import Message
    from turnstone_lsp.memory.search import Hit
    from turnstone_lsp.memory.sessions import SessionInfo, Stored

P = ParamSpec("P")
T = TypeVar("T")


class _Worker:
    """A thread with its own connection, opened by its first job."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._database: Database | None = None
        self._lock = threading.Lock()

    def _run(self, job: Callable[[Database], T]) -> T:
        with self._lock:
            if self._database is None:
                self._database = Database(self._path)
            return job(self._database)

    async def run(self, job: Callable[[Database], T]) -> T:
        """Run the job; a cancelled caller does not stop it, so nothing that was to be kept is lost."""
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._pool, self._run, job))

    def close(self) -> None:
        self._pool.shutdown(wait=True)
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None


class Store:
    """The database of this user. Raises StoreError when it cannot be used, TurnstoneError for what is not there."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or folders.database()
        self._writer = _Worker(self.path, "store-write")
        self._reader = _Worker(self.path, "store-read")

    async def _write(
        self, function: Callable[Concatenate[Database, P], T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        return await self._writer.run(lambda db: function(db, *arguments, **options))

    async def _read(
        self, function: Callable[Concatenate[Database, P], T], *arguments: P.args, **options: P.kwargs
    ) -> T:
        return await self._reader.run(lambda db: function(db, *arguments, **options))

    def close(self) -> None:
        """Finish what was begun and close the file. Blocks for the running statement at most."""
        self._writer.close()
        self._reader.close()

    # Sessions

    async def create(self, session_id: str, workspace: str, title: str = "", model: str = "") -> SessionInfo:
        """Make a session of a workspace (its real path); `sessions.new_id()` gives ids."""
        return await self._write(sessions.create, session_id, workspace, title, model)

    async def session(self, session_id: str) -> SessionInfo:
        """One session. Raises TurnstoneError when there is none."""
        return await self._read(sessions.get, session_id)

    async def sessions(self, workspace: str | None = None, limit: int = 200) -> list[SessionInfo]:
        """The newest sessions of a workspace, or of all."""
        return await self._read(sessions.listed, workspace, limit)

    async def rename(self, session_id: str, title: str) -> SessionInfo:
        """Give a session another title. An untitled one gets its title from the first request."""
        return await self._write(sessions.rename, session_id, title)

    async def set_model(self, session_id: str, model: str) -> None:
        """Note the model that the session talks to now."""
        await self._write(sessions.set_model, session_id, model)

    async def fork(self, session_id: str, new_session: str, upto: int | None = None) -> SessionInfo:
        """Copy a session into a new one; with `upto` only the messages up to that row id."""
        return await self._write(sessions.fork, session_id, new_session, upto)

    async def delete(self, session_id: str) -> None:
        """Delete a session and all that belongs to it."""
        await self._write(sessions.delete, session_id)

    async def export(self, session_id: str, form: export.ExportFormat = "markdown") -> str:
        """The whole session as Markdown or JSON."""
        info = await self.session(session_id)
        rows = await self.history(session_id)
        return await asyncio.to_thread(export.export, info, rows, form)

    # Messages

    async def append(self, session_id: str, message: Mapping[str, Any], *, turn: str = "", thread: str = "") -> int:
        """Add one message at the end; its row id. `thread`: the call id of a sub-agent, "" for the session itself."""
        return (await self._write(sessions.append, session_id, [message], turn, thread))[0]

    async def append_all(
        self, session_id: str, messages: Sequence[Mapping[str, Any]], *, turn: str = "", thread: str = ""
    ) -> list[int]:
        """Add several messages, all or none."""
        return await self._write(sessions.append, session_id, list(messages), turn, thread)

    async def checkpoint(
        self, session_id: str, message: Mapping[str, Any], *, turn: str = "", thread: str = ""
    ) -> None:
        """Keep the answer as streamed so far. The next append of the thread replaces or settles it."""
        await self._write(sessions.checkpoint, session_id, message, turn, thread)

    async def discard(self, session_id: str, *, thread: str = "") -> None:
        """Forget the half-streamed answer: its request is tried again."""
        await self._write(sessions.discard, session_id, thread)

    async def load(self, session_id: str, *, thread: str = "") -> list[Message]:
        """The conversation as the model is to see it: compacted, with every call answered."""
        return await self._read(sessions.load, session_id, thread)

    async def history(self, session_id: str, *, thread: str | None = None) -> list[Stored]:
        """Every message as stored, with row ids and times; of one thread or of all."""
        return await self._read(sessions.history, session_id, thread)

    async def compact(self, session_id: str, head: Sequence[Message], keep_from: int, *, thread: str = "") -> int:
        """From now on `load` gives `head`, then the messages from row `keep_from` on. Nothing is deleted."""
        return await self._write(sessions.compact, session_id, head, keep_from, thread)

    async def rewind(self, session_id: str, first: int) -> int:
        """Delete the messages from row `first` on; how many."""
        return await self._write(sessions.rewind, session_id, first)

    # State of a session: mode, todo, plan, usage ...

    async def set_state(self, session_id: str, key: str, value: object) -> None:
        """Keep a JSON value under a key of the session; None removes it."""
        await self._write(sessions.set_state, session_id, key, value)

    async def state(self, session_id: str) -> dict[str, Any]:
        """All of the session's key-value state."""
        return await self._read(sessions.state, session_id)

    async def save_plan(self, session_id: str, path: str, text: str) -> None:
        """Keep the session's latest plan, for the next call of `plan` and for the context after compaction."""
        await self.set_state(session_id, "plan", {"path": path, "text": text})

    async def plan(self, session_id: str) -> tuple[str, str] | None:
        """Path and text of the session's latest plan."""
        saved = (await self.state(session_id)).get("plan")
        return (saved["path"], saved["text"]) if saved else None

    # Memories and recall

    async def remember(
        self,
        key: str,
        value: str,
        *,
        scope: MemoryScope = "user",
        workspace: str = "",
        session: str = "",
        untrusted: bool = False,
    ) -> Memory | None:
        """Save a memory; the one it replaced, or None. Raises TurnstoneError: empty, too long, too many, a secret."""
        return await self._write(
            memories.remember, key, value, scope=scope, workspace=workspace, session=session, untrusted=untrusted
        )

    async def forget(self, key: str, workspace: str = "") -> Memory | None:
        """Delete a memory; what it was, or None when there is none with that key."""
        return await self._write(memories.forget, key, workspace)

    async def memories(self, workspace: str = "") -> list[Memory]:
        """The user's memories and those of the workspace, by key. `memories.prompt_text` renders them."""
        return await self._write(memories.listed, workspace)  # in line with the writes of the same batch of calls

    async def search_memories(self, text: str, workspace: str = "", limit: int = 50) -> list[Memory]:
        """Memories for any text, the exact key first."""
        return await self._write(memories.search, text, workspace, limit)  # in line, as above

    async def search(self, text: str, *, limit: int = 20, workspace: str = "", session: str = "") -> list[Hit]:
        """Messages of past conversations for any text."""
        return await self._read(search.search, text, limit=limit, workspace=workspace, session=session)

    # Approvals and trust

    async def grant(self, grant: Grant, workspace: str = "") -> None:
        """Keep an "always" for a workspace (its real path), or for the user everywhere ("")."""
        await self._write(grants.add, grant, workspace)

    async def grants(self, workspace: str = "") -> list[tuple[int, Grant]]:
        """The grants in force there, with the ids by which they are revoked."""
        return await self._read(grants.listed, workspace)

    async def revoke(self, grant_id: int) -> bool:
        """Take a grant back; False when there is none with that id."""
        return await self._write(grants.revoke, grant_id)

    async def trust(self, folder: Path) -> None:
        """Trust a folder by its real path and inode; folders in it and links to it gain nothing."""
        await self._write(grants.trust, folder)

    async def untrust(self, folder: Path) -> None:
        """Take trust back."""
        await self._write(grants.untrust, folder)

    async def trusted(self, folder: Path) -> bool:
        """Whether the folder was trusted and is still the same one."""
        return await self._read(grants.trusted, folder)
