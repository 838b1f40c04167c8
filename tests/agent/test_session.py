"""Sessions: one turn at a time, exactly one final state, a history that every endpoint accepts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from harness import ScriptedUser, bench, call, calls

from turnstone_lsp.agent.events import MessageDone, Notice, TextDelta, ToolCallUpdate
from turnstone_lsp.config.settings import LimitSettings
from turnstone_lsp.errors import TurnstoneError

if TYPE_CHECKING:
    from pathlib import Path

DONE = {"text": "done"}


async def test_call_ids_are_unique_in_a_session_also_after_resuming_it(project: Path, state: Path) -> None:
    """upstream-faults 7, 12: servers that number their calls anew in every reply."""
    once = calls(call("recall", {}, "call_0"), call("search", {"query": "x"}, "call_0"))
    async with bench(project, state, [once, DONE]) as b:
        session = await b.session(ScriptedUser())
        await session.start("one").wait()
        await session.start("two").wait()
        resumed = await b.session(ScriptedUser(), session_id=session.id)
        await resumed.start("three").wait()
        messages = b.requests()[-1]["messages"]
    made = [c["id"] for m in messages for c in m.get("tool_calls") or ()]
    answered = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert len(made) == 6
    assert len(set(made)) == 6
    assert made == answered


async def test_text_during_a_turn_steers_it(project: Path, state: Path) -> None:
    async with bench(project, state, [calls(call("bash", {"command": "sleep 0.5"})), DONE]) as b:
        session = await b.session(ScriptedUser())
        turn = session.start("go")
        await asyncio.sleep(0.1)
        assert session.start("and in French") is turn
        await turn.wait()
        said = [m["content"] for m in b.requests()[-1]["messages"] if m["role"] == "user"]
    assert said == ["go", "and in French"]


async def test_nothing_asked_is_refused(project: Path, state: Path) -> None:
    async with bench(project, state, [DONE]) as b:
        session = await b.session(ScriptedUser())
        with pytest.raises(TurnstoneError, match="empty"):
            session.start("  ")


async def test_the_same_call_over_and_over_ends_the_turn(project: Path, state: Path) -> None:
    """faults.md 85, 86"""
    user = ScriptedUser()
    async with bench(project, state, [calls(call("search", {"query": "nothing"}))]) as b:
        result = await (await b.session(user)).start("go").wait()
        warned = b.tool_messages()
    assert result.stop_reason == "limit"
    assert "3 times" in result.message
    assert "2 times" in warned[-1]
    assert user.final().stop_reason == "limit"


async def test_a_limit_asks_whether_to_go_on(project: Path, state: Path) -> None:
    replies = [calls(call("search", {"query": f"x{n}"})) for n in range(4)] + [DONE]
    limits = LimitSettings(rounds=2)
    user = ScriptedUser(go_on=False)
    async with bench(project, state, replies, limits=limits) as b:
        assert (await (await b.session(user)).start("go").wait()).stop_reason == "limit"
        assert len(b.requests()) == 2
    assert "2 rounds" in user.questions[0]
    user = ScriptedUser(go_on=True)
    async with bench(project, state, replies, limits=limits) as b:
        assert (await (await b.session(user)).start("go").wait()).stop_reason == "completed"
    assert len(user.questions) == 2


async def test_a_cut_reply_never_runs_its_call(project: Path, state: Path) -> None:
    """faults.md 94: a call that the length limit cut is never run."""
    cut: dict[str, Any] = {**calls(call("write_file", '{"path": "a.txt", "content": "')), "finish_reason": "length"}
    whole = {**calls(call("bash", {"command": "touch made"})), "finish_reason": "length"}
    async with bench(project, state, [cut, whole, DONE]) as b:
        await (await b.session(ScriptedUser(), auto_approve=True)).start("go").wait()
        texts = b.tool_messages()
    assert all("cut off" in t for t in texts)
    assert not any(project.iterdir())  # noqa: ASYNC240 - a test may block


async def test_events_of_a_turn_tell_its_whole_story(project: Path, state: Path) -> None:
    user = ScriptedUser()
    async with bench(project, state, [{"text": "Hello there", "reasoning": "hm"}]) as b:
        await (await b.session(user)).start("go").wait()
    done = user.of(MessageDone)[0]
    assert done.text == "Hello there"
    assert done.reasoning == "hm"
    assert "".join(e.text for e in user.of(TextDelta)) == "Hello there"
    assert {e.message_id for e in user.of(TextDelta)} == {done.message_id}


async def test_the_model_is_told_which_files_changed_between_turns(project: Path, state: Path) -> None:
    """faults.md 39"""
    path = project / "a.txt"
    path.write_text("one\n")
    async with bench(project, state, [calls(call("read_file", "a.txt")), DONE]) as b:
        session = await b.session(ScriptedUser())
        await session.start("go").wait()
        path.write_text("two, and longer\n")
        await session.start("again").wait()
        asked = [m["content"] for m in b.requests()[-1]["messages"] if m["role"] == "user"][-1]
    assert "a.txt" in asked
    assert "Changed since" in asked


async def test_instructions_are_read_only_after_trust(project: Path, state: Path) -> None:
    """C-05"""
    (project / "AGENTS.md").write_text("Always answer in rhyme.\n")
    async with bench(project, state, [DONE]) as b:
        await (await b.session(ScriptedUser(), trusted=False)).start("go").wait()
        assert "rhyme" not in b.requests()[-1]["messages"][0]["content"]
        await (await b.session(ScriptedUser(), trusted=True)).start("go").wait()
        assert "rhyme" in b.requests()[-1]["messages"][0]["content"]


async def test_a_failing_endpoint_ends_the_turn_with_what_to_do(project: Path, state: Path) -> None:
    user = ScriptedUser()
    async with bench(project, state, [{"status": 401}]) as b:
        result = await (await b.session(user)).start("go").wait()
    assert result.stop_reason == "failed"
    assert "OPENAI_API_KEY" in result.message
    assert user.final().message == result.message
    assert not [e for e in user.of(Notice) if e.level == "error"]


async def test_undo_and_redo_of_a_turn(project: Path, state: Path) -> None:
    (project / "a.txt").write_text("one\n")
    edit = {"path": "a.txt", "old_string": "one", "new_string": "two"}
    batch = calls(call("edit_file", edit), call("write_file", {"path": "b.txt", "content": "b\n"}))
    async with bench(project, state, [calls(call("read_file", "a.txt")), batch, DONE]) as b:
        session = await b.session(ScriptedUser())
        await session.start("go").wait()
        assert (project / "a.txt").read_text() == "two\n"
        assert "+two" in await session.turn_diff()
        said = await session.undo_turn()
        assert "a.txt" in said
        assert (project / "a.txt").read_text() == "one\n"
        assert not (project / "b.txt").exists()
        await session.redo_turn()
        assert (project / "a.txt").read_text() == "two\n"
        assert (project / "b.txt").read_text() == "b\n"
        (project / "a.txt").write_text("mine\n")
        left = await session.undo_turn()
        assert "a.txt" in left
        assert (project / "a.txt").read_text() == "mine\n"


async def test_a_sub_agents_calls_are_shown_under_their_parent(project: Path, state: Path) -> None:
    user = ScriptedUser()
    when = {"system_contains": "You are a sub-agent"}
    rules = [
        {"when": {**when, "max_hits": 1}, "reply": calls(call("search", {"query": "x"}, "s"))},
        {"when": when, "reply": {"text": "ok"}},
    ]
    async with bench(project, state, [DONE]) as b:
        b.stub.set({"rules": rules, "replies": [calls(call("task", {"prompt": "p"}, "t")), DONE]})
        await (await b.session(user)).start("go").wait()
    assert {e.parent_call_id for e in user.of(ToolCallUpdate) if e.name == "search"} == {"t"}
