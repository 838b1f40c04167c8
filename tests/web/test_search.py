"""web_search by the real Tavily client, against an endpoint on loopback that plays every answer it can give."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from loopback_web import Answer, Internet

from turnstone_lsp.config.settings import ToolSettings
from turnstone_lsp.errors import ToolError
from turnstone_lsp.web import search as tavily

RESULTS = [
    {"title": "One", "url": "https://one.example.org/a?b=1", "content": "First.", "score": 0.9},
    {"title": "Two", "url": "https://two.example.org/", "content": "Second.", "published_date": "2026-11-30"},
]


def ok(body: Any) -> Answer:
    return Answer(200, {"Content-Type": "application/json"}, json.dumps(body).encode())


async def ask(answer: Answer, **options: Any) -> tuple[list[tavily.Found], Internet]:
    internet = Internet({}, [answer])
    async with internet.running():
        settings = ToolSettings(
            tavily_api_key="tvly-test", tavily_base_url=f"http://127.0.0.1:{internet.plain_port}", **options
        )
        return await tavily.search("q", max_results=5, topic="news", settings=settings), internet


async def test_results_come_in_order_with_titles_urls_and_snippets() -> None:
    """'returns ranked results with titles, URLs, and content snippets'"""
    found, internet = await ask(ok({"results": RESULTS}))
    assert [(f.title, f.url, f.snippet) for f in found] == [
        ("One", "https://one.example.org/a?b=1", "First."),
        ("Two", "https://two.example.org/", "Second."),
    ]
    assert found[1].published == "2026-11-30"
    request = internet.requests[0]
    assert request.line.startswith("POST /search ")
    assert request.headers["authorization"] == "Bearer tvly-test"
    assert json.loads(request.body) == {"query": "q", "max_results": 5, "topic": "news"}


async def test_strangers_words_are_made_harmless() -> None:
    """C-18, C-19: no images, no hidden characters, no addresses that are not http(s)"""
    hostile = {
        "title": "A\u202e\x1b[31m title\n\nwith lines",
        "url": "https://a.example.org/",
        "content": "![x](https://evil.example.org/?d=secret) see [docs](https://d.example.org/) <img src=x>",
    }
    others = [{"url": "javascript:alert(1)"}, {"url": "https://a b/"}, {"url": None}, "text", {}]
    found, _ = await ask(ok({"results": [hostile, *others]}))
    assert len(found) == 1
    assert found[0].title == "A\\u{202e} title with lines"
    assert found[0].snippet == "x see docs (https://d.example.org/)"


async def test_a_long_snippet_is_cut_and_no_more_results_than_asked() -> None:
    found, _ = await ask(ok({"results": [{**RESULTS[0], "content": "word " * 1_000}] * 30}))
    assert len(found) == 5
    assert "cut after" in found[0].snippet


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(401, body=b'{"detail": {"error": "Unauthorized"}}'), ["401", "TAVILY_API_KEY"]),
        (Answer(403, body=b"{}"), ["plan or quota"]),
        (Answer(432, body=b'{"detail": {"error": "This request exceeds your plan"}}'), ["exceeds your plan"]),
        (Answer(433, body=b"not json"), ["plan or quota"]),
        (Answer(429, body=b'{"detail": {"error": "Slow down."}}'), ["429", "Slow down", "Wait"]),
        (Answer(400, body=b'{"detail": {"error": "Query is too long."}}'), ["400", "too long", "Shorten"]),
        (Answer(500), ["500", "later"]),
        (Answer(503), ["503", "later"]),
        (Answer(404), ["404"]),
        (Answer(302, {"Location": "http://127.0.0.1:9/"}), ["302"]),
        (Answer(204, body=b""), ["cannot be read"]),
        (Answer(body=b"<html>login</html>"), ["cannot be read", "tavily_base_url"]),
        (ok([1, 2]), ["cannot be read"]),
        (ok({"results": None}), ["cannot be read"]),
        (Answer(behaviour="hang_up"), ["cannot be reached"]),
        (Answer(behaviour="bad_chunk"), ["cannot be reached"]),
    ],
)
async def test_every_failure_is_one_sentence_that_says_what_to_do(answer: Answer, says: list[str]) -> None:
    with pytest.raises(ToolError) as error:
        await ask(answer)
    for words in says:
        assert words in str(error.value)
    assert "tvly-test" not in str(error.value)


async def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tavily, "TIMEOUT", 0.2)
    with pytest.raises(ToolError, match=r"did not answer within 0\.2 s"):
        await ask(Answer(behaviour="silent"))


async def test_no_network() -> None:
    with socket.socket() as taken:  # bound, not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ToolError, match="cannot be reached"):
            await tavily.search(
                "q",
                max_results=5,
                topic="general",
                settings=ToolSettings(tavily_api_key="tvly-test", tavily_base_url=url),
            )


async def test_a_wrong_base_url_is_named() -> None:
    settings = ToolSettings(tavily_api_key="tvly-test", tavily_base_url="http://[")
    with pytest.raises(ToolError, match="tavily_base_url"):
        await tavily.search("q", max_results=5, topic="general", settings=settings)


async def test_without_a_key_nothing_is_sent() -> None:
    """No key: a clear answer that says where to set it; Tavily's keyless mode is never used"""
    internet = Internet({})
    async with internet.running():
        settings = ToolSettings(tavily_base_url=f"http://127.0.0.1:{internet.plain_port}")
        with pytest.raises(ToolError, match=r"TAVILY_API_KEY.*tavily_api_key under"):
            await tavily.search("q", max_results=5, topic="general", settings=settings)
    assert internet.requests == []
