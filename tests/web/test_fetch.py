"""Fetching on a loopback internet: bodies, limits, certificates, connections, the proxy."""

from __future__ import annotations

import asyncio
import contextlib
import tracemalloc
from typing import TYPE_CHECKING, Any

import httpcore
import httpx
import pytest
from certificates import Authority
from loopback_web import PAGE, Answer, Internet, bomb

from turnstone_lsp.web import addresses, tls
from turnstone_lsp.web import transport as guarded
from turnstone_lsp.web.errors import RefusedError, WebError
from turnstone_lsp.web.fetch import Fetched, Limits, fetch, open_transport
from turnstone_lsp.web.transport import GuardedTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

NAME = "docs.public-site.dev"
DNS = {NAME: ["93.184.216.34"]}
URL = f"http://{NAME}/page"


async def get(*answers: Answer, url: str = URL, dns: dict[str, Any] | None = None, **limits: Any) -> Fetched:
    internet = Internet(dns or DNS, answers)
    async with internet.running():
        return await fetch(url, transport=internet.transport(), limits=Limits(**limits))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.mark.parametrize("behaviour", ["", "gzip", "deflate", "raw_deflate"])
async def test_bodies_arrive_whole(behaviour: str) -> None:
    page = await get(Answer(behaviour=behaviour))
    assert (page.body, page.media_type, page.truncated) == (PAGE, "text/html", False)


async def test_a_gzip_bomb_is_stopped_at_the_limit() -> None:
    """upstream fault 76: 'gzip bomb / endless body -> memory -> stream with a decoded budget'"""
    bomb()
    tracemalloc.start()
    try:
        page = await get(Answer(behaviour="gzip_bomb"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(page.body) == 2_000_000
    assert page.truncated
    assert peak < 32 << 20


@pytest.mark.parametrize("behaviour", ["gzip_bomb", "endless"])
async def test_limits_are_exact(behaviour: str) -> None:
    page = await get(Answer(behaviour=behaviour), wire=70_000, inflated=1_000)
    assert len(page.body) == 1_000
    assert page.truncated


async def test_a_body_of_just_the_limit_is_not_cut() -> None:
    assert not (await get(Answer(body=b"x" * 1_000), wire=1_000, inflated=1_000)).truncated
    assert (await get(Answer(body=b"x" * 1_001), wire=1_000, inflated=5_000)).truncated


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(behaviour="endless_1xx"), "within 0.5 s"),
        (Answer(behaviour="slow"), "within 0.5 s"),
        (Answer(behaviour="silent"), "within 0.5 s"),
        (Answer(behaviour="cut_gzip"), "incomplete"),
        (Answer(headers={"Content-Encoding": "gzip"}), "not compressed as its server says"),
        (Answer(headers={"Content-Encoding": "deflate"}), "not compressed as its server says"),
        (Answer(headers={"Content-Encoding": "br"}), "not asked for"),
        (Answer(headers={"Content-Type": "text/html, image/png"}), "not to text"),
        (Answer(headers={"Content-Type": "multipart/mixed"}), "not to text"),
        (Answer(status=302, headers={"Location": "/a b"}), "never fetched"),
        (Answer(status=302, headers={"Location": "///evil.public-site.dev/"}), "never fetched"),
        (Answer(status=302, headers={"Location": "http:/docs.public-site.dev/"}), "never fetched"),
        (Answer(status=302, headers={"Location": "/a", "location": "/b"}), "several places"),
        (Answer(status=300, headers={"Location": "/a"}), "300"),
    ],
)
async def test_bad_answers_have_one_sentence(answer: Answer, says: str) -> None:
    with pytest.raises(WebError, match=says):
        await get(answer, total=0.5)


async def test_a_silent_server_is_given_up_before_the_whole_time() -> None:
    with pytest.raises(WebError, match="in time"):
        await get(Answer(behaviour="silent"), read=0.1)


@pytest.mark.parametrize("media_type", ["application/ld+json", "text/markdown", "application/xhtml+xml", "text/x-rst"])
async def test_text_of_many_kinds_is_read(media_type: str) -> None:
    page = await get(Answer(headers={"Content-Type": f"{media_type}; Charset='latin-1'"}))
    assert (page.media_type, page.charset) == (media_type, "latin-1")


async def test_certificates_are_checked_for_the_name(authority: Authority) -> None:
    """The connection goes to an address; SNI, Host and the certificate are about the name"""
    for kind, outcome in (
        (NAME, ""),
        ("other.public-site.dev", "Hostname mismatch"),
        ("self", "self"),
        ("expired", "expired"),
    ):
        internet = Internet(DNS)
        async with internet.running(authority.server(kind, NAME)):
            transport = internet.transport(ssl_context=authority.client())
            if not outcome:
                await fetch(f"https://{NAME}/", transport=transport)
                assert internet.requests[0].headers["host"] == NAME
            else:
                with pytest.raises(WebError, match=f"certificate is not valid.*{outcome}"):
                    await fetch(f"https://{NAME}/", transport=transport)
                assert internet.requests == []
        assert internet.server_names == [NAME]


async def test_a_server_without_tls_has_a_sentence(authority: Authority) -> None:
    def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    internet = Internet(DNS)
    internet.tls_port = server.sockets[0].getsockname()[1]
    async with server:
        with pytest.raises(WebError, match="secure connection"):
            await fetch(f"https://{NAME}/", transport=internet.transport(ssl_context=authority.client()))


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    internet = Internet({NAME: ["2606:2800::1", "2606:2800::2", "93.184.216.34"]})
    tried: list[str] = []

    async def dial(address: str, port: int, timeout: float | None) -> httpcore.AsyncNetworkStream:
        tried.append(address)
        if ":" in address:
            raise OSError("no route")
        return await internet.dial(address, port, timeout)

    async with internet.running():
        await fetch(URL, transport=GuardedTransport(internet.resolve, dial))
    assert tried == ["2606:2800::1", "93.184.216.34"]


async def test_at_most_four_addresses_are_tried() -> None:
    tried: list[str] = []

    async def dial(address: str, _port: int, _timeout: float | None) -> httpcore.AsyncNetworkStream:
        tried.append(address)
        raise httpcore.ConnectError

    internet = Internet({NAME: [f"93.184.216.{n}" for n in range(30, 60)]})
    with pytest.raises(WebError, match="could not be reached"):
        await fetch(URL, transport=GuardedTransport(internet.resolve, dial))
    assert len(tried) == 4


@pytest.mark.parametrize(
    "answer",
    [TimeoutError(), OSError(), UnicodeError(), [], ["not an address"], ["10.0.0.1"], ["93.184.216.34", "::1"]],
)
async def test_every_failed_lookup_reads_alike(answer: Any) -> None:
    """upstream fault 75: 'DNS failure -> passes the check -> refuse'; and no oracle of internal names"""

    async def resolve(_host: str, _port: int) -> list[str]:
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    with pytest.raises(RefusedError) as error:
        await fetch(URL, transport=GuardedTransport(resolve, Internet({}).dial))
    assert str(error.value) == guarded._NOT_PUBLIC


async def test_a_lookup_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(guarded, "RESOLVE_TIMEOUT", 0.1)
    with pytest.raises(RefusedError, match="public address"):
        await fetch(URL, transport=GuardedTransport(resolve, Internet({}).dial))


async def test_the_transport_guards_by_itself() -> None:
    """Whoever uses it through an httpx client, redirects and all, gets no further than the guard lets them"""
    internet = Internet(
        {**DNS, "evil.public-site.dev": ["127.0.0.1"]}, [Answer(302, {"Location": "http://evil.public-site.dev/"})]
    )
    async with (
        internet.running(),
        httpx.AsyncClient(transport=internet.transport(), follow_redirects=True, trust_env=False) as client,
    ):
        with pytest.raises(RefusedError):
            await client.get("http://127.0.0.1/")
        with pytest.raises(RefusedError):
            await client.get(URL)
        with pytest.raises(RefusedError):
            await client.get("http://localhost:8080/")
    assert internet.dialled == [("93.184.216.34", 80)]


async def test_the_real_dialler_compares_who_answers() -> None:
    """B4.5: 'compare the peer address after connecting'; 0.0.0.0 is answered by 127.0.0.1"""
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        stream = await guarded.dial("127.0.0.1", port, 5)
        await stream.aclose()
        with pytest.raises(RefusedError):
            await guarded.dial("0.0.0.0", port, 5)  # noqa: S104 - that is the point


async def test_the_real_resolver_gives_all_addresses() -> None:
    found = await guarded.resolve("localhost", 80)
    assert found
    assert all(addresses.parse(a) for a in found)
    with pytest.raises(RefusedError):
        await fetch("http://93.184.216.34.nip.invalid/")


async def test_stopping_ends_a_fetch_and_closes_its_connection() -> None:
    """upstream behaviour 70: 'cancel stops both phases'"""
    internet = Internet(DNS, [Answer(behaviour="slow")])
    async with internet.running():
        task = asyncio.create_task(fetch(URL, transport=internet.transport()))
        await until(lambda: bool(internet.requests))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: all(t.done() for t, _ in internet._open))  # its writes fail: the connection is gone


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def proxy(seen: list[str]) -> AsyncIterator[str]:
    """A forward proxy that answers everything itself."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://user:pw@127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_proxy_set_by_the_user_resolves_names() -> None:
    """'With one, addresses are checked by name only'"""
    seen: list[str] = []
    async with proxy(seen) as url:
        transport = await open_transport(url)
        assert (await fetch("http://docs.public-site.dev/x", transport=transport)).body == b"hi"
        for refused in ("http://127.0.0.1/", "http://localhost/", "http://wiki.corp/"):
            with pytest.raises(RefusedError):
                await fetch(refused, transport=transport)
    assert len(seen) == 1
    assert seen[0].startswith("GET http://docs.public-site.dev/x HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic" in seen[0]


@pytest.mark.parametrize("url", ["socks5://127.0.0.1:1080", "nonsense", "http://"])
async def test_a_proxy_that_cannot_be_used_names_the_setting(url: str) -> None:
    with pytest.raises(WebError, match=r"tools\.web_proxy"):
        await fetch(URL, transport=await open_transport(url))


async def test_the_tls_settings_are_built_once_and_check_certificates() -> None:
    first, second = await asyncio.gather(tls.shared_context(), tls.shared_context())
    assert await tls.shared_context() in (first, second)
    assert first.check_hostname
    assert first.verify_mode.name == "CERT_REQUIRED"
