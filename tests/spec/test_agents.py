"""spec/tools.md: 'Agent' (task, plan) and 'Memory' (remember, recall, forget)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness import ScriptedUser, bench, call, calls

from turnstone_lsp.agent.events import ToolCallUpdate
from turnstone_lsp.agent.ui import Decision
from turnstone_lsp.tools.context import PlanReview

if TYPE_CHECKING:
    from pathlib import Path

DONE = {"text": "done"}
TASK_TOOLS = {"bash", "read_file", "write_file", "edit_file", "search", "math", "man", "web_fetch"}
PLAN_TOOLS = {"read_file", "search", "math", "man", "web_fetch"}


def _sub(marker: str, *replies: dict[str, Any]) -> list[dict[str, Any]]:
    """Rules that answer a sub-agent (known by its system prompt), one reply after the other."""
    when = {"system_contains": marker}
    return [{"when": {**when, "max_hits": 1}, "reply": reply} for reply in replies]


TASK = "You are a sub-agent"
PLAN = "planning sub-agent"


async def _run(b: Any, user: ScriptedUser, scenario: dict[str, Any], **options: Any) -> Any:
    b.stub.set(scenario)
    session = await b.session(user, **options)
    await session.start("go").wait()
    return session


def _system(request: dict[str, Any]) -> str:
    return str(request["messages"][0]["content"])


async def test_task_inherits_the_task_tools_and_runs_to_completion(project: Path, state: Path) -> None:
    """'Spawns a sub-agent that inherits the TASK_AGENT_TOOLS set'; 'runs autonomously to completion'"""
    user = ScriptedUser()
    write = calls(call("write_file", {"path": "made.txt", "content": "made\n"}, "w"))
    scenario = {
        "rules": _sub(TASK, write, {"text": "I made made.txt"}),
        "replies": [calls(call("task", {"prompt": "make made.txt"}, "t")), DONE],
    }
    async with bench(project, state, [DONE]) as b:
        await _run(b, user, scenario)
        sub = [r for r in b.requests() if TASK in _system(r)]
        assert {t["function"]["name"] for t in sub[0]["tools"]} == TASK_TOOLS
        assert "make made.txt" in sub[0]["messages"][1]["content"]
        assert b.tool_messages() == ["I made made.txt"]
    assert (project / "made.txt").read_text() == "made\n"


async def test_calls_of_a_sub_agent_ask_under_their_parent(project: Path, state: Path) -> None:
    """Item 7: every other call of a sub-agent asks through the same UI, shown under its parent."""
    user = ScriptedUser()
    (project / "a.txt").write_text("alpha\n")
    first = calls(call("read_file", "a.txt", "r"), call("bash", {"command": "echo sub"}, "b"))
    scenario = {
        "rules": _sub(TASK, first, {"text": "report"}),
        "replies": [calls(call("task", {"prompt": "look"}, "t")), DONE],
    }
    async with bench(project, state, [DONE]) as b:
        await _run(b, user, scenario)
    assert [[i.func_name for i in batch if i.needs_approval] for batch in user.asked] == [["task"], ["bash"]]
    assert all(i.parent_call_id == "t" for i in user.asked[1])
    children = [e for e in user.of(ToolCallUpdate) if e.parent_call_id == "t"]
    assert {e.name for e in children} == {"read_file", "bash"}
    assert next(e for e in children if e.name == "read_file").approved_because


async def test_a_denied_call_of_a_sub_agent_tells_it_why(project: Path, state: Path) -> None:
    user = ScriptedUser(
        approve=lambda i: Decision(
            approved=i.func_name == "task", feedback="not in my house" if i.func_name == "bash" else ""
        )
    )
    scenario = {
        "rules": _sub(TASK, calls(call("bash", {"command": "touch x"})), {"text": "I was not allowed"}),
        "replies": [calls(call("task", {"prompt": "look"})), DONE],
    }
    async with bench(project, state, [DONE]) as b:
        await _run(b, user, scenario)
        sub = [r for r in b.requests() if TASK in _system(r)]
        assert "not in my house" in sub[-1]["messages"][-1]["content"]
    assert not (project / "x").exists()


async def test_the_approval_of_a_task_may_grant_its_tools(project: Path, state: Path) -> None:
    """'unless the approval of the task granted it': and then only that tool, only for that task."""
    user = ScriptedUser(approve=lambda i: Decision(approved=i.func_name != "math", grant=frozenset({"bash"})))
    first = calls(call("bash", {"command": "echo granted > g"}), call("math", {"code": "print(1)"}))
    scenario = {
        "rules": _sub(TASK, first, {"text": "report"}),
        "replies": [calls(call("task", {"prompt": "look"})), calls(call("bash", {"command": "true"})), DONE],
    }
    async with bench(project, state, [DONE]) as b:
        await _run(b, user, scenario)
    assert [[i.func_name for i in batch if i.needs_approval] for batch in user.asked] == [["task"], ["math"], ["bash"]]
    assert (project / "g").exists()


async def test_task_and_plan_are_not_for_sub_agents(project: Path, state: Path) -> None:
    """'Not available to sub-agents (top-level only)'"""
    scenario = {
        "rules": _sub(
            TASK, calls(call("task", {"prompt": "deeper"}), call("remember", {"key": "k", "value": "v"})), DONE
        ),
        "replies": [calls(call("task", {"prompt": "look"})), DONE],
    }
    async with bench(project, state, [DONE]) as b:
        await _run(b, ScriptedUser(), scenario)
        sub = [r for r in b.requests() if TASK in _system(r)]
        answers = [m["content"] for m in sub[-1]["messages"] if m["role"] == "tool"]
    assert len(answers) == 2
    assert all("There is no tool" in a for a in answers)


async def test_plan_is_read_only_and_writes_its_file(project: Path, state: Path) -> None:
    """'Spawns a planning sub-agent with AGENT_TOOLS'; 'writes a structured plan to .plan-<session_id>.md'"""
    user = ScriptedUser()
    scenario = {
        "rules": _sub(PLAN, {"text": "# Goal\n1. do it"}),
        "replies": [calls(call("plan", {"prompt": "plan it"}, "p")), DONE],
    }
    async with bench(project, state, [DONE]) as b:
        session = await _run(b, user, scenario)
        sub = next(r for r in b.requests() if PLAN in _system(r))
        assert {t["function"]["name"] for t in sub["tools"]} == PLAN_TOOLS
        path = project / f".plan-{session.id}.md"
        assert path.read_text() == "# Goal\n1. do it\n"
        assert "accepted the plan" in b.tool_messages()[0]
    assert user.plans == [(str(path), "# Goal\n1. do it")]


async def test_a_second_plan_refines_the_first(project: Path, state: Path) -> None:
    """'the prior plan is passed to the agent as context so it refines rather than restarts'"""
    scenario = {
        "rules": _sub(PLAN, {"text": "first plan"}, {"text": "second plan"}),
        "replies": [calls(call("plan", {"prompt": "a"})), calls(call("plan", {"prompt": "b"})), DONE],
    }
    async with bench(project, state, [DONE]) as b:
        session = await _run(b, ScriptedUser(), scenario)
        subs = [r for r in b.requests() if PLAN in _system(r)]
        assert "first plan" not in subs[0]["messages"][1]["content"]
        assert "first plan" in subs[1]["messages"][1]["content"]
        assert (project / f".plan-{session.id}.md").read_text() == "second plan\n"


async def test_concurrent_sessions_never_collide(project: Path, state: Path) -> None:
    """'unique per session, so concurrent workstreams never collide'"""
    scenario = {
        "rules": _sub(PLAN, {"text": "plan one"}, {"text": "plan two"}),
        "replies": [calls(call("plan", {"prompt": "a"})), DONE],
    }
    async with bench(project, state, [DONE]) as b:
        one = await _run(b, ScriptedUser(), scenario)
        two = await b.session(ScriptedUser())
        await two.start("go").wait()
        assert (project / f".plan-{one.id}.md").read_text() == "plan one\n"
        assert (project / f".plan-{two.id}.md").read_text() == "plan two\n"


async def _planned(project: Path, state: Path, review: PlanReview) -> str:
    scenario = {"rules": _sub(PLAN, {"text": "the plan"}), "replies": [calls(call("plan", {"prompt": "a"})), DONE]}
    async with bench(project, state, [DONE]) as b:
        await _run(b, ScriptedUser(plan=review), scenario)
        return str(b.tool_messages()[0])


async def test_the_user_can_reject_or_annotate_the_plan(project: Path, state: Path) -> None:
    """'the user is prompted to review and can accept, reject, or annotate the plan'"""
    rejected = await _planned(project, state, PlanReview("reject", "too big"))
    assert "rejected" in rejected
    assert "too big" in rejected
    annotated = await _planned(project, state, PlanReview("annotate", "skip step 2"))
    assert "annotated" in annotated
    assert "skip step 2" in annotated
    assert "the plan" in annotated


async def test_memories_persist_and_enter_the_system_prompt(project: Path, state: Path) -> None:
    """'Memories persist across sessions and are included in the system prompt on startup'"""
    remember = calls(call("remember", {"key": "user_name", "value": "Ada"}))
    async with bench(project, state, [remember, DONE]) as b:
        await (await b.session(ScriptedUser())).start("go").wait()
    async with bench(project, state, [DONE]) as b:
        await (await b.session(ScriptedUser())).start("hello").wait()
        system = _system(b.requests()[0])
    assert "user_name" in system
    assert "Ada" in system


async def test_recall_lists_memories_and_searches_conversations(project: Path, state: Path) -> None:
    """'With no query, lists all saved memories. With a query, searches both ... using FTS5'"""
    async with bench(project, state, [calls(call("remember", {"key": "editor", "value": "vim"})), DONE]) as b:
        await (await b.session(ScriptedUser())).start("the heron eats zirconium frogs").wait()
    replies = [calls(call("recall", {}), call("recall", "zirconium"), call("recall", '"NEAR( * :')), DONE]
    async with bench(project, state, replies) as b:
        await (await b.session(ScriptedUser())).start("recall").wait()
        listed, found, odd = b.tool_messages()
    assert "editor" in listed
    assert "vim" in listed
    assert "zirconium" in found
    assert "heron" in found
    assert "error" not in odd.lower()


async def test_forget_deletes_the_memory(project: Path, state: Path) -> None:
    """'Deletes the memory entry with the given key from the SQLite database'"""
    replies = [
        calls(call("remember", {"key": "k", "value": "v"})),
        calls(call("forget", "k")),
        calls(call("forget", "k")),
        calls(call("recall", {})),
        DONE,
    ]
    async with bench(project, state, replies) as b:
        await (await b.session(ScriptedUser())).start("go").wait()
        _, gone, again, listed = b.tool_messages()
    assert "k" in gone
    assert "no memory" in again.lower()
    assert "k: v" not in listed
