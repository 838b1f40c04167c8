"""Runs the cases of the SSRF corpus on a loopback internet; as a program: all of them, failures as JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from certificates import Authority
from loopback_web import BEHAVIOURS, Answer, Internet

from turnstone_lsp.web import addresses
from turnstone_lsp.web.errors import WebError
from turnstone_lsp.web.fetch import Limits, fetch

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "corpora" / "ssrf_cases.json").read_text("utf-8")
)


async def check(case: dict[str, Any], authority: Authority) -> None:
    """Raise AssertionError unless the case ends as it must, with no private address dialled on the way."""
    server = case["server"]
    tls = authority.server(server.get("cert", "docs.public-site.dev"), "docs.public-site.dev")
    internet = Internet(case["dns"], answers(case))
    begun = time.monotonic()
    with environment(server.get("env", {})):
        async with internet.running(tls):
            verdict, said = await outcome(case, internet, authority)
    assert verdict == case["expect"], said
    assert time.monotonic() - begun < server.get("max_seconds", 20.0)
    assert all(addresses.is_public(addresses.parse(address)) for address, _ in internet.dialled)
    assert len(internet.looked_up) <= len(internet.dialled) + (verdict == "block"), "one lookup for a connection"
    for request in internet.requests:
        assert "cookie" not in request.headers
        assert "#" not in request.line
        assert request.headers["host"].isascii()
    if verdict == "block":
        assert not private_addresses(case) & set(said.replace("/", " ").split()), "the answer tells an address"
    elif case["kind"] == "tls":
        assert internet.server_names == [urlsplit(case["url"]).hostname]


async def outcome(case: dict[str, Any], internet: Internet, authority: Authority) -> tuple[str, str]:
    """("allow", final URL) or ("block", what was said)."""
    limits = Limits(total=1.0 if "max_seconds" in case["server"] else 20.0)
    try:
        page = await fetch(case["url"], transport=internet.transport(ssl_context=authority.client()), limits=limits)
    except WebError as error:
        return "block", str(error)
    assert page.truncated == case["server"].get("expect_truncated", False)
    return "allow", page.url


def answers(case: dict[str, Any]) -> list[Answer]:
    """What the case's servers say, request by request."""
    server = case["server"]
    status = server.get("status", 302)
    leading = [Answer(status, {"Location": where, "Set-Cookie": "a=b"}) for where in case["redirects"]]
    behaviour = server.get("body", "")
    assert behaviour in {"", *BEHAVIOURS}, f"the harness has no server that is {behaviour}"
    return [*leading, Answer(headers=server.get("headers", {}), behaviour=behaviour)]


def private_addresses(case: dict[str, Any]) -> set[str]:
    """All addresses that the case's names lead to."""
    found: set[str] = set()
    for answer in case["dns"].values():
        lists = answer["sequence"] if isinstance(answer, dict) else [answer] if isinstance(answer, list) else []
        found |= {address for one in lists for address in one}
    return found


@contextlib.contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """These variables, in both spellings, for as long as the case runs."""
    new = values | {name.lower(): value for name, value in values.items()}
    old = {name: os.environ.get(name) for name in new}
    os.environ.update(new)
    try:
        yield
    finally:
        for name, value in old.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


async def main() -> None:
    """All cases; {"uid", "passed", "failed": {name: why}}."""
    failed = {}
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        for case in CASES:
            try:
                await check(case, authority)
            except AssertionError as error:
                failed[case["name"]] = repr(error)
    json.dump({"uid": os.getuid(), "passed": len(CASES) - len(failed), "failed": failed}, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
