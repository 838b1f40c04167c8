"""spec/tools.md: 'Execution Pipeline' and 'Tool Approval Flow', seen by the user, on disk, and by the model."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from harness import ScriptedUser, bench, call, calls

from turnstone_lsp.agent.events import StateChanged, ToolCallUpdate, ToolOutput
from turnstone_lsp.agent.ui import Decision, FileReview

if TYPE_CHECKING:
    from pathlib import Path

DONE = {"text": "done"}


async def test_prepare_builds_what_the_user_sees(project: Path, state: Path) -> None:
    """'Validates arguments and builds a preview ... call_id, func_name, header, preview, needs_approval'"""
    user = ScriptedUser()
    async with bench(project, state, [calls(call("bash", {"command": "echo hi"}, "c1")), DONE]) as b:
        session = await b.session(user)
        await session.start("go").wait()
    item = user.asked[0][0]
    assert (item.call_id, item.func_name, item.needs_approval) == ("c1", "bash", True)
    assert "echo hi" in item.preview
    assert item.header.startswith("bash")


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("bash", "echo one", "one"),
        ("bash", '"echo two"', "two"),
        ("read_file", "a.txt", "alpha"),
        ("search", "alph", "a.txt:1:alpha"),
        ("math", "print(6*7)", "42"),
        ("recall", "", "no memories"),
    ],
)
async def test_a_bare_string_is_mapped_by_the_primary_key(
    project: Path, state: Path, name: str, raw: str, expected: str
) -> None:
    """'uses PRIMARY_KEY_MAP to map a bare string to the correct parameter'"""
    (project / "a.txt").write_text("alpha\n")
    async with bench(project, state, [calls(call(name, raw)), DONE]) as b:
        session = await b.session(ScriptedUser())
        await session.start("go").wait()
        assert expected.lower() in b.tool_messages()[0].lower()


@pytest.mark.parametrize("raw", ['{"command": "echo x"', '["echo x"]', "null", "5", '{"path": "a"}', "{}"])
async def test_unusable_arguments_answer_with_an_error_and_run_nothing(project: Path, state: Path, raw: str) -> None:
    """'error (set if validation fails; tool will not execute)'; arguments are never invented or truncated"""
    user = ScriptedUser()
    async with bench(project, state, [calls(call("bash", raw)), DONE]) as b:
        session = await b.session(user)
        result = await session.start("go").wait()
        assert result.stop_reason == "completed"
        text = b.tool_messages()[0]
    assert "command" in text or "JSON" in text
    assert user.asked == []
    assert user.of(ToolOutput) == []


async def test_auto_approved_items_are_shown_but_do_not_block(project: Path, state: Path) -> None:
    """'Items where needs_approval is False are shown but do not block execution'"""
    (project / "a.txt").write_text("alpha\n")
    user = ScriptedUser()
    batch = calls(call("read_file", {"path": "a.txt"}, "r"), call("bash", {"command": "echo hi"}, "b"))
    async with bench(project, state, [batch, DONE]) as b:
        await (await b.session(user)).start("go").wait()
    assert [(i.call_id, i.needs_approval) for i in user.asked[0]] == [("r", False), ("b", True)]
    assert any(e.call_id == "r" and e.status == "pending" for e in user.of(ToolCallUpdate))


async def test_nothing_to_ask_asks_nothing(project: Path, state: Path) -> None:
    user = ScriptedUser()
    async with bench(project, state, [calls(call("search", {"query": "x"}), call("recall", {})), DONE]) as b:
        await (await b.session(user)).start("go").wait()
    assert user.asked == []


async def test_feedback_reaches_the_model_with_either_answer(project: Path, state: Path) -> None:
    """'The user can provide feedback alongside their approval (e.g. "y, use full path")'"""

    def answer(item: object) -> Decision:
        yes = getattr(item, "call_id", "") == "yes"
        return Decision(approved=yes, feedback="use the full path" if yes else "that folder is precious")

    batch = calls(call("bash", {"command": "echo ran"}, "yes"), call("bash", {"command": "touch denied"}, "no"))
    async with bench(project, state, [batch, DONE]) as b:
        await (await b.session(ScriptedUser(approve=answer))).start("go").wait()
        approved, denied = b.tool_messages()
    assert "ran" in approved
    assert "use the full path" in approved
    assert "denied" in denied
    assert "that folder is precious" in denied
    assert not (project / "denied").exists()


async def test_headless_approves_all_tools(project: Path, state: Path) -> None:
    """'If auto_approve is True on the session (headless mode), all tools are approved automatically'"""
    user = ScriptedUser()
    batch = calls(call("bash", {"command": "echo x > out"}), call("write_file", {"path": "w.txt", "content": "w\n"}))
    async with bench(project, state, [batch, DONE]) as b:
        await (await b.session(user, auto_approve=True)).start("go").wait()
    assert user.asked == []
    assert (project / "out").read_text() == "x\n"
    assert (project / "w.txt").read_text() == "w\n"


async def test_several_calls_run_in_parallel_at_most_four_with_results_in_call_order(
    project: Path, state: Path
) -> None:
    """'Multiple tool calls run in parallel via ThreadPoolExecutor(max_workers=4)'"""
    # Each command says that it runs and waits until it has seen three others: only four at once can end.
    wait = (
        "touch r$$; for i in $(seq 100); do [ $(ls -1 | grep -c ^r) -ge 4 ] && break; sleep 0.1; done; ls | grep -c ^r"
    )
    batch = calls(*[call("bash", {"command": f"{wait}; echo n{n}"}, f"c{n}") for n in range(4)])
    async with bench(project, state, [batch, DONE]) as b:
        await (await b.session(ScriptedUser())).start("go").wait()
        texts = b.tool_messages()
    for n, text in enumerate(texts):
        assert "4" in text.split("\n")[0]
        assert f"n{n}" in text


async def test_never_more_than_four_at_once(project: Path, state: Path) -> None:
    count = "touch r$$; ls -1 | grep -c ^r; sleep 0.4; rm r$$"
    batch = calls(*[call("bash", {"command": count}, f"c{n}") for n in range(7)])
    async with bench(project, state, [batch, DONE]) as b:
        await (await b.session(ScriptedUser())).start("go").wait()
        seen = [int(t.split()[0]) for t in b.tool_messages()]
    assert max(seen) <= 4


async def test_one_failing_call_never_loses_the_others(project: Path, state: Path) -> None:
    """'Errored or denied items return their error/denial message without executing'"""
    batch = calls(
        call("read_file", {"path": "missing.txt"}, "a"),
        call("bash", {"command": "echo fine"}, "b"),
        call("nonsense", {}, "c"),
        call("bash", {"command": "exit 3"}, "d"),
    )
    async with bench(project, state, [batch, DONE]) as b:
        await (await b.session(ScriptedUser())).start("go").wait()
        missing, fine, unknown, failed = b.tool_messages()
    assert "missing.txt" in missing
    assert "fine" in fine
    assert "no tool 'nonsense'" in unknown
    assert "3" in failed


async def test_bash_streams_each_line_by_call_id_then_delivers_the_whole(project: Path, state: Path) -> None:
    """'each line calls ui.on_tool_output_chunk(call_id, line) as it is produced, then the final combined output'"""
    user = ScriptedUser()
    command = "echo one; echo two >&2; echo three"
    async with bench(project, state, [calls(call("bash", {"command": command}, "c")), DONE]) as b:
        await (await b.session(user)).start("go").wait()
    chunks = user.of(ToolOutput)
    assert {c.call_id for c in chunks} == {"c"}
    assert "".join(c.text for c in chunks).split() == ["one", "two", "three"]
    at = [type(e).__name__ for e in user.events]
    last_chunk = max(i for i, n in enumerate(at) if n == "ToolOutput")
    result = next(i for i, e in enumerate(user.events) if isinstance(e, ToolCallUpdate) and e.result is not None)
    assert last_chunk < result
    assert user.results()["c"].split()[:3] == ["one", "two", "three"]


async def test_other_tools_deliver_their_result_whole(project: Path, state: Path) -> None:
    """'Other tools deliver results atomically via on_tool_result() only'"""
    (project / "a.txt").write_text("alpha\n")
    user = ScriptedUser()
    batch = calls(
        call("read_file", {"path": "a.txt"}), call("search", {"query": "a"}), call("math", {"code": "print(1)"})
    )
    async with bench(project, state, [batch, DONE]) as b:
        await (await b.session(user)).start("go").wait()
    assert user.of(ToolOutput) == []
    assert len(user.results()) == 3


ASKED = {
    "bash": {"command": "true"},
    "write_file": {"path": "n.txt", "content": "x"},
    "math": {"code": "print(1)"},
    "web_fetch": {"url": "https://docs.python.org/3/", "question": "what?"},
    "task": {"prompt": "do"},
    "plan": {"prompt": "plan"},
}
UNASKED = {
    "read_file": {"path": "a.txt"},
    "search": {"query": "a"},
    "man": {"page": "ls"},
    "remember": {"key": "k", "value": "v"},
    "recall": {},
    "forget": {"key": "k"},
}


@pytest.mark.parametrize(("name", "arguments"), list(ASKED.items()), ids=list(ASKED))
async def test_requires_user_confirmation(project: Path, state: Path, name: str, arguments: dict[str, str]) -> None:
    """'Requires user confirmation (write operations, network access, side effects)'; denied, it has no effect"""
    user = ScriptedUser(
        approve=lambda _: Decision(approved=False), review=lambda p: FileReview(frozenset(), p.base.text, "none")
    )
    async with bench(project, state, [calls(call(name, arguments)), DONE]) as b:
        await (await b.session(user)).start("go").wait()
    assert [i.needs_approval for i in user.asked[0]] == [True]
    assert not any(project.iterdir())  # noqa: ASYNC240 - a test may block


@pytest.mark.parametrize(("name", "arguments"), list(UNASKED.items()), ids=list(UNASKED))
async def test_auto_approved(project: Path, state: Path, name: str, arguments: dict[str, str]) -> None:
    """'Auto-approved (no user confirmation needed at runtime)'"""
    (project / "a.txt").write_text("alpha\n")
    user = ScriptedUser()
    async with bench(project, state, [calls(call(name, arguments)), DONE]) as b:
        await (await b.session(user)).start("go").wait()
    assert user.asked == []
    assert len(user.results()) == 1


async def test_edit_file_requires_confirmation_and_a_prior_read(project: Path, state: Path) -> None:
    """'Requires a prior read_file call on the same path'"""
    (project / "a.txt").write_text("alpha\n")
    edit = {"path": "a.txt", "old_string": "alpha", "new_string": "beta"}
    replies = [calls(call("edit_file", edit)), calls(call("read_file", "a.txt")), calls(call("edit_file", edit)), DONE]
    user = ScriptedUser()
    async with bench(project, state, replies) as b:
        await (await b.session(user)).start("go").wait()
        first, _, last = b.tool_messages()
    assert "read_file" in first
    assert len(user.reviewed) == 1
    assert (project / "a.txt").read_text() == "beta\n"
    assert "not" not in last.split(".")[0]


async def test_a_denied_edit_leaves_the_bytes(project: Path, state: Path) -> None:
    (project / "a.txt").write_bytes(b"alpha\r\n")
    edit = {"path": "a.txt", "old_string": "alpha", "new_string": "beta"}
    user = ScriptedUser(review=lambda p: FileReview(frozenset(), p.base.text, "none", "keep the name"))
    async with bench(project, state, [calls(call("read_file", "a.txt")), calls(call("edit_file", edit)), DONE]) as b:
        await (await b.session(user)).start("go").wait()
        assert "keep the name" in b.tool_messages()[-1]
    assert (project / "a.txt").read_bytes() == b"alpha\r\n"


async def test_the_turn_says_when_it_waits_for_the_user(project: Path, state: Path) -> None:
    user = ScriptedUser()
    async with bench(project, state, [calls(call("bash", {"command": "true"})), DONE]) as b:
        await (await b.session(user)).start("go").wait()
    assert [e.state for e in user.of(StateChanged)] == ["running", "requires_action", "running", "idle"]
    assert user.final().stop_reason == "completed"


async def test_cancel_while_asking_ends_the_turn(project: Path, state: Path) -> None:
    """faults.md 78, 126: a pending approval never blocks a stop."""
    user = ScriptedUser()

    async def never(*_: object) -> object:
        await asyncio.sleep(60)
        raise AssertionError

    user.approve_tools = never  # type: ignore[method-assign]
    async with bench(project, state, [calls(call("bash", {"command": "touch x"}, "c")), DONE, DONE]) as b:
        session = await b.session(user)
        turn = session.start("go")
        while not any(e.state == "requires_action" for e in user.of(StateChanged)):  # noqa: ASYNC110 - polls events
            await asyncio.sleep(0.01)
        await session.stop()
        assert (await turn.wait()).stop_reason == "cancelled"
        assert not (project / "x").exists()
        # The history that goes out next is whole: the open call has an answer.
        b.stub.set({"replies": [DONE]})
        user.events.clear()
        await session.start("again").wait()
        messages = b.requests()[-1]["messages"]
    tool = [m for m in messages if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in tool] == ["c"]
    assert "interrupted" in tool[0]["content"]
    assert json.dumps(messages).count('"go"') == 1
