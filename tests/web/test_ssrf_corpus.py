"""Every case of the SSRF corpus, on loopback: the right answer, and no private address ever dialled."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from certificates import Authority
from loopback_web import BEHAVIOURS, Answer, Internet

from turnstone_lsp.web import addresses
from turnstone_lsp.web.errors import WebError
from turnstone_lsp.web.fetch import Limits, fetch

CASES = json.loads((Path(__file__).parent.parent / "corpora" / "ssrf_cases.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def answers(case: dict[str, Any]) -> list[Answer]:
    """What the case's servers say, request by request."""
    server = case["server"]
    status = server.get("status", 302)
    leading = [Answer(status, {"Location": where, "Set-Cookie": "a=b"}) for where in case["redirects"]]
    behaviour = server.get("body", "")
    assert behaviour in {"", *BEHAVIOURS}, f"the harness has no server that is {behaviour}"
    return [*leading, Answer(headers=server.get("headers", {}), behaviour=behaviour)]


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
async def test_ssrf_case(case: dict[str, Any], authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in case["server"].get("env", {}).items():
        monkeypatch.setenv(name, value)
        monkeypatch.setenv(name.lower(), value)
    total = 1.0 if "max_seconds" in case["server"] else 20.0
    tls = authority.server(case["server"].get("cert", "docs.public-site.dev"), "docs.public-site.dev")
    internet = Internet(case["dns"], answers(case))
    begun = time.monotonic()
    async with internet.running(tls):
        transport = internet.transport(ssl_context=authority.client())
        try:
            page = await fetch(case["url"], transport=transport, limits=Limits(total=total))
        except WebError as error:
            verdict, said = "block", str(error)
        else:
            verdict, said = "allow", page.url
            assert page.truncated == case["server"].get("expect_truncated", False)
    assert verdict == case["expect"], said
    assert time.monotonic() - begun < case["server"].get("max_seconds", 20.0)
    assert all(addresses.is_public(addresses.parse(address)) for address, _ in internet.dialled)
    assert len(internet.looked_up) <= max(len(internet.dialled), 1) + (verdict == "block")
    for request in internet.requests:
        assert "cookie" not in request.headers
        assert "#" not in request.line
        assert request.headers["host"].isascii()
    if verdict == "block":
        assert not private_addresses(case) & set(said.replace("/", " ").split()), "the answer tells an address"
    if case["kind"] == "tls" and verdict == "allow":
        assert internet.server_names == [urlsplit(case["url"]).hostname]


def private_addresses(case: dict[str, Any]) -> set[str]:
    found: set[str] = set()
    for answer in case["dns"].values():
        lists = answer["sequence"] if isinstance(answer, dict) else [answer] if isinstance(answer, list) else []
        found |= {address for one in lists for address in one}
    return found
