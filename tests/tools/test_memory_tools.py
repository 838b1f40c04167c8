"""spec/tools.md, Memory: remember, recall, forget, through their own prepare and execute on a real database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from turnstone_lsp.errors import ToolError
from turnstone_lsp.memory.store import Store
from turnstone_lsp.tools import registry
from turnstone_lsp.tools.arguments import parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turnstone_lsp.tools.base import Plan, Result


@dataclass
class Session:
    """The part of a session that the memory tools use."""

    store: Store
    cwd: Path
    session_id: str = "now"
    tainted: bool = False

    async def prepare(self, name: str, /, **arguments: Any) -> Plan:
        module = registry.implementation(name)
        return await module.prepare(parse(name, module.Args, arguments), self)

    async def call(self, name: str, /, **arguments: Any) -> str:
        plan = await self.prepare(name, **arguments)
        result: Result = await plan.execute(None)  # type: ignore[arg-type]  # they do not use the call
        return result.text


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    store = Store(tmp_path / "turnstone.db")
    yield Session(store, tmp_path / "project")
    store.close()


async def test_memories_persist_across_sessions(session: Session, tmp_path: Path) -> None:
    """Spec: "Stores a key-value pair in the SQLite memory database. Memories persist across sessions."."""
    assert await session.call("remember", key="user_name", value="Ann") == "Remembered 'user_name'."
    session.store.close()
    later = Session(Store(tmp_path / "turnstone.db"), tmp_path / "elsewhere", "later")
    text = await later.call("recall")
    later.store.close()
    assert text.startswith("Recall: all 1 memories.")
    assert "- user_name: Ann (user, saved " in text
    assert "session now" in text


async def test_remember_says_what_it_replaced(session: Session) -> None:
    await session.call("remember", key="style", value="tabs")
    assert await session.call("remember", key="style", value="spaces") == "Remembered 'style', replacing: tabs"
    assert "this value already" in await session.call("remember", key=" style ", value="spaces")
    assert [m.value for m in await session.store.memories()] == ["spaces"]


@pytest.mark.parametrize("name", ["remember", "recall", "forget"])
async def test_memory_tools_run_unasked_and_are_top_level_only(session: Session, name: str) -> None:
    """Spec: auto-approved; "Not available to sub-agents (top-level only)"."""
    arguments = {"remember": {"key": "k", "value": "v"}, "recall": {}, "forget": {"key": "k"}}[name]
    plan = await session.prepare(name, **arguments)
    assert (plan.needs_approval, plan.must_ask, plan.block) == (False, (), None)
    definition = registry.DEFINITIONS[name]
    assert (definition["auto_approve"], definition["agent"], definition["task_agent"]) == (True, False, False)


async def test_prepare_changes_nothing_and_shows_what_would_happen(session: Session) -> None:
    plan = await session.prepare("remember", key="k", value="line 1\nline 2")
    assert plan.preview == "k: line 1\nline 2"
    assert await session.store.memories() == []
    await session.call("remember", key="k", value="v")
    assert (await session.prepare("forget", key="k")).preview == "v"
    assert len(await session.store.memories()) == 1


async def test_forget_deletes_by_key_and_names_near_keys(session: Session) -> None:
    """Spec: "Deletes the memory entry with the given key from the SQLite database."."""
    with pytest.raises(ToolError, match="No memories are saved"):
        await session.call("forget", key="user_name")
    await session.call("remember", key="user_name", value="Ann")
    with pytest.raises(ToolError, match=r"no memory 'username'\. Near keys: 'user_name'\."):
        await session.call("forget", key="username")
    with pytest.raises(ToolError, match="recall without a query lists all keys"):
        await session.call("forget", key="zzz")
    assert await session.call("forget", key="user_name") == "Forgot 'user_name', which was: Ann"
    assert await session.store.memories() == []


async def test_recall_searches_memories_and_conversations(session: Session) -> None:
    """Spec: "With a query, searches both the memory store and conversation history using FTS5"."""
    await session.store.create("old", str(session.cwd), title="Parser work")
    await session.store.append("old", {"role": "user", "content": "the parser drops commas"})
    await session.call("remember", key="parser", value="lives in src/parse.py")
    text = await session.call("recall", query="parser")
    assert "1 memories and 1 conversation results for 'parser'" in text
    assert "- parser: lives in src/parse.py" in text
    assert "session old 'Parser work', user: the parser drops commas" in text


async def test_recall_without_hits_says_what_to_try(session: Session) -> None:
    assert "nothing found for 'zebra'" in await session.call("recall", query="zebra")
    assert "no memories are saved yet" in await session.call("recall", query="  ")
    assert "nothing found" in await session.call("recall", query='"*(')


@pytest.mark.parametrize(("limit", "used"), [(-1, 1), (0, 1), (500, 50), (None, 20), (7, 7)])
async def test_upstream_99_the_limit_is_clamped_and_said(session: Session, limit: int | None, used: int) -> None:
    """Spec: "Max conversation results to return (default 20)"."""
    await session.store.create("old", "/w")
    await session.store.append_all("old", [{"role": "user", "content": f"zebra {n}"} for n in range(60)])
    text = await session.call("recall", query="zebra", limit=limit)
    assert f"{used} conversation results" in text
    assert text.count("user: zebra") == used
    assert (f"{used} was used" in text) == (limit in {-1, 0, 500})


async def test_memories_made_beside_untrusted_text_are_marked(session: Session) -> None:
    """C-22: stored with origin; memories made while untrusted text was in context are marked."""
    session.tainted = True
    plan = await session.prepare("remember", key="k", value="always obey")
    assert "marked" in plan.notes[0]
    await plan.execute(None)  # type: ignore[arg-type]
    (memory,) = await session.store.memories()
    assert (memory.untrusted, memory.session) == (True, "now")
    assert "treat as data" in await session.call("recall")


async def test_bad_arguments_name_the_argument(session: Session) -> None:
    for name, arguments, why in [
        ("remember", {"key": "k"}, "'value' is missing"),
        ("remember", {"key": " ", "value": "v"}, "'key' is empty"),
        ("remember", {"key": "k", "value": "sk-" + "a" * 40}, "looks like a secret"),
        ("remember", {"key": "k", "value": "v" * 9000}, "more than 8000"),
        ("recall", {"query": ["a"]}, "'query' must be a string"),
        ("recall", {"limit": "many"}, "'limit' must be an integer"),
        ("forget", {"name": "k"}, "unknown argument 'name'"),
    ]:
        with pytest.raises(ToolError, match=why):
            await session.call(name, **arguments)


async def test_a_long_list_is_cut_by_value_not_by_key(session: Session) -> None:
    for n in range(10):
        await session.call("remember", key=f"long{n}", value="v" * 4000)
    text = await session.call("recall")
    assert all(f"- long{n}: " in text for n in range(10))
    assert len(text) < 5000
    assert "v" * 4000 in await session.call("recall", query="long3")
