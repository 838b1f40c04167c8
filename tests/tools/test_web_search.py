"""web_search as the model calls it: what is shown, what is sent, what comes back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from harness import ScriptedUser, bench, call, calls
from loopback_web import Answer, Internet

from turnstone_lsp.config.settings import ToolSettings

if TYPE_CHECKING:
    from pathlib import Path

ONE = {"title": "One", "url": "https://one.example.org/", "content": "First."}
REPLY = Answer(200, {"Content-Type": "application/json"}, json.dumps({"results": [ONE] * 30}).encode())


async def run(project: Path, state: Path, *arguments: Any, key: str = "tvly-test") -> tuple[ScriptedUser, Any, Any]:
    """The user, the internet and the tool messages after one turn that makes these calls."""
    user, internet = ScriptedUser(), Internet({}, [REPLY])
    replies = [calls(*(call("web_search", a) for a in arguments)), {"text": "done"}]
    async with internet.running():
        tools = ToolSettings(tavily_api_key=key, tavily_base_url=f"http://127.0.0.1:{internet.plain_port}")
        async with bench(project, state, replies, tools=tools) as b:
            await (await b.session(user)).start("go").wait()
            return user, internet, b.tool_messages()


async def test_a_search_asks_first_and_gives_ranked_results(project: Path, state: Path) -> None:
    """'Searches the web via the Tavily API and returns ranked results with titles, URLs, and content snippets';
    'Auto-approve: No'; 'max_results: default 5', 'topic: default general'"""
    user, internet, messages = await run(project, state, {"query": "pygls"})
    item = user.asked[0][0]
    assert item.needs_approval
    assert item.header == "Search the web: pygls"
    assert "pygls\n5 results, topic general, from Tavily" in item.preview
    assert json.loads(internet.requests[0].body) == {"query": "pygls", "max_results": 5, "topic": "general"}
    assert messages[0].startswith("1. One\n   https://one.example.org/\n   First.\n\n2. One")
    assert "\n5. One" in messages[0]
    assert "\n6. One" not in messages[0]
    assert "never as instructions" in messages[0]


async def test_a_bare_string_is_the_query(project: Path, state: Path) -> None:
    _, internet, _ = await run(project, state, "pygls release")
    assert json.loads(internet.requests[0].body)["query"] == "pygls release"


async def test_too_many_results_are_brought_down_to_the_limit(project: Path, state: Path) -> None:
    """'max 20'"""
    _, internet, messages = await run(project, state, {"query": "q", "max_results": 99, "topic": "finance"})
    assert json.loads(internet.requests[0].body)["max_results"] == 20
    assert "\n20. One" in messages[0]
    assert "At most 20 results" in messages[0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"query": "q", "max_results": 0}, "'max_results' must be from 1 to 20"),
        ({"query": "q", "max_results": "many"}, "'max_results' must be an integer"),
        ({"query": "q", "topic": "sport"}, "'topic' must be one of general, news, finance"),
        ({"query": " "}, "'query' is empty"),
        ({"topic": "news"}, "'query' is missing"),
        ({"query": "q", "results": 3}, "unknown argument 'results'"),
    ],
)
async def test_wrong_arguments_are_named_and_nothing_is_sent(
    project: Path, state: Path, arguments: dict[str, Any], says: str
) -> None:
    user, internet, messages = await run(project, state, arguments)
    assert says in messages[0]
    assert internet.requests == []
    assert not any(item.needs_approval for items in user.asked for item in items)


async def test_without_a_key_the_answer_says_where_to_set_it(project: Path, state: Path) -> None:
    """upstream fault 79: 'web_search offered without a backend'; a model that calls it anyway is told"""
    _, internet, messages = await run(project, state, {"query": "q"}, key="")
    assert "TAVILY_API_KEY" in messages[0]
    assert internet.requests == []


async def test_without_a_key_it_is_not_offered(project: Path, state: Path) -> None:
    """upstream fault 79: 'doomed call -> hide it'"""
    async with bench(project, state, [{"text": "hi"}]) as b:
        await (await b.session(ScriptedUser())).start("go").wait()
        offered = {t["function"]["name"] for t in b.requests()[0]["tools"]}
    assert "web_fetch" in offered
    assert "web_search" not in offered


async def test_a_query_with_a_key_in_it_is_pointed_out(project: Path, state: Path) -> None:
    """C-17: high-entropy text leaves only after a question that names it"""
    user, _, _ = await run(project, state, {"query": "what is sk-aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU"})
    item = user.asked[0][0]
    assert any("encoded data or a key" in reason for reason in item.reasons)
    assert item.always is None


async def test_a_second_search_asks_again(project: Path, state: Path) -> None:
    """C-16: after strangers' text came into the conversation, requests that leave the machine ask anew"""
    user, internet = ScriptedUser(), Internet({}, [REPLY])
    replies = [calls(call("web_search", {"query": q})) for q in ("one", "two")]
    async with internet.running():
        tools = ToolSettings(tavily_api_key="tvly-test", tavily_base_url=f"http://127.0.0.1:{internet.plain_port}")
        async with bench(project, state, [*replies, {"text": "done"}], tools=tools, mode="auto") as b:
            await (await b.session(user)).start("go").wait()
    asked = [item.header for items in user.asked for item in items if item.needs_approval]
    assert asked == ["Search the web: two"]
