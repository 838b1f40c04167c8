"""C-17: whom an approval trusts, and which URLs may be messages."""

from __future__ import annotations

from typing import Any

import pytest

from turnstone_lsp.agent.policy import check_rules, decide
from turnstone_lsp.config.settings import Rule
from turnstone_lsp.memory.grants import Grant
from turnstone_lsp.tools.base import Plan, Subject
from turnstone_lsp.web import outbound
from turnstone_lsp.web.urls import check


async def _nothing(_call: Any) -> Any:
    raise AssertionError


def plan(url: str) -> Plan:
    place, sure = outbound.place(check(url))
    subject = Subject("host", place, pattern=place if sure else None)
    return Plan("h", "p", needs_approval=True, execute=_nothing, kind="fetch", subject=subject)


@pytest.mark.parametrize(
    ("url", "place", "sure"),
    [
        ("https://docs.python.org/3/", "docs.python.org", True),
        ("https://github.com/openlawlibrary/pygls/issues", "github.com/openlawlibrary", True),
        ("https://github.com/a/../evil/x", "github.com/evil", True),
        ("https://github.com/a/%2e%2e/evil", "github.com/", False),
        ("https://github.com/a%2f..%2fevil", "github.com/", False),
        ("https://github.com/", "github.com/", False),
        ("https://pastebin.com/abc", "pastebin.com/", False),
        ("https://a.github.io/", "a.github.io", True),
    ],
)
def test_whom_an_approval_trusts(url: str, place: str, sure: bool) -> None:
    assert outbound.place(check(url)) == (place, sure)


@pytest.mark.parametrize(
    ("rule", "url", "allowed"),
    [
        ("github.com", "https://github.com/evil/x", False),
        ("github.com/good", "https://github.com/good/x", True),
        ("github.com/good", "https://github.com/goodness/x", False),
        ("github.com/good", "https://github.com/evil/x", False),
        ("pastebin.com", "https://pastebin.com/x", False),
        ("github.io", "https://evil.github.io/", False),
        ("good.github.io", "https://good.github.io/", True),
        ("python.org", "https://docs.python.org/3/", True),
        ("python.org/3", "https://python.org/3/", False),
    ],
)
def test_where_anyone_can_publish_an_allow_names_the_owner(rule: str, url: str, allowed: bool) -> None:
    """'Domain rules compare ... with path prefixes for multi-tenant hosts'"""
    assert decide(plan(url), "web_fetch", rules=[Rule("allow", host=rule)]).kind == ("allow" if allowed else "ask")


@pytest.mark.parametrize("rule", ["github.com", "github.com/evil", "GitHub.com/Evil"])
def test_a_deny_for_the_host_holds_for_every_owner(rule: str) -> None:
    assert (
        decide(plan("https://github.com/evil/x"), "web_fetch", rules=[Rule("deny", host=rule)], mode="auto").kind
        == "deny"
    )
    hidden = decide(plan("https://github.com/a%2f../evil"), "web_fetch", rules=[Rule("deny", host=rule)], mode="auto")
    assert hidden.kind == "deny", "what cannot be read is prohibited"


def test_an_always_is_for_one_owner() -> None:
    grant = Grant("web_fetch", "host", "github.com/good")
    verdict = decide(plan("https://github.com/good/x"), "web_fetch")
    assert verdict.always is not None
    assert "github.com/good" in verdict.always
    assert decide(plan("https://github.com/good/y"), "web_fetch", grants=[grant]).kind == "allow"
    assert decide(plan("https://github.com/evil/y"), "web_fetch", grants=[grant]).kind == "ask"
    assert decide(plan("https://pastebin.com/y"), "web_fetch").always is None


def test_rules_that_allow_nothing_are_pointed_out() -> None:
    rules = [Rule("allow", host=h) for h in ("github.com", "*.github.io", "pastebin.com", "python.org")]
    said = check_rules([*rules, Rule("deny", host="github.com")])
    assert len(said) == 3
    assert "github.com/OWNER" in said[0]


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.python.org/3/library/asyncio-stream.html#x",
        "https://stackoverflow.com/questions/11227809/why-is-processing-a-sorted-array-faster-than-an-unsorted-array",
        "https://www.example.org/search?q=how+to+parse+a+toml+file+in+python+3.11&page=2&lang=en-GB",
        "https://github.com/python/cpython/commit/0123456789abcdef0123456789abcdef01234567",
        "https://xn--bcher-kva.public-site.dev/",
    ],
)
def test_ordinary_urls_raise_no_doubt(url: str) -> None:
    assert outbound.doubts(check(url)) == ()


def test_encoded_data_is_seen_through_percent_encoding() -> None:
    data = "c2stYUIzZEU1Zkc3aEk5aksxbE0zbk81cFE3clM5dFU"
    hidden = "".join(f"%{ord(c):02x}" for c in data)
    assert outbound.doubts(check(f"https://docs.python.org/?x={hidden}"))
    assert outbound.doubts(check(f"https://docs.python.org/{data}/x"))
