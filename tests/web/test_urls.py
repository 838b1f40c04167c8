"""The URL rules: whatever the text, it is refused or it is one plain public URL."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from turnstone_lsp.web import addresses
from turnstone_lsp.web.errors import RefusedError
from turnstone_lsp.web.urls import PORTS, CheckedUrl, check, redirected

HOSTS = st.sampled_from(
    [
        *(
            "docs.public-site.dev",
            "Docs.Public-Site.DEV.",
            "bücher.public-site.dev",
            "93.184.216.34",
            "127.0.0.1",
            "0x7f.1",
        ),
        *(
            "[2606:2800:220:1::1]",
            "[::1]",
            "localhost",
            "a.local",
            "127。0。0。1",
            "xn--bcher-kva.dev",
            "xn--a.dev",
            "ﬁ.dev",
        ),
    ]
)
PIECES = st.sampled_from(
    [*":/?#@%[].\\ \t\n\0-_~", "80", "443", ":0", "//", "%40", "..", "é", "\u202e", "\u3002", "\uff11"]
)
URLS = st.one_of(
    st.builds(
        lambda scheme, before, host, after: f"{scheme}{before}{host}{after}",
        st.sampled_from(["http://", "https://", "HTTP://", "//", "http:/", "http:\\\\", "ftp://", " http://", ""]),
        st.lists(PIECES, max_size=2).map("".join),
        HOSTS,
        st.lists(st.one_of(PIECES, HOSTS, st.text(max_size=3)), max_size=6).map("".join),
    ),
    st.text(max_size=60),
)


def accepted(text: str) -> CheckedUrl | None:
    try:
        return check(text)
    except RefusedError:
        return None


@settings(max_examples=300, deadline=None)
@given(URLS)
def test_every_text_is_refused_or_is_one_plain_public_url(text: str) -> None:
    """C-17, fuzz of the issue's item 5: no crash, and what is accepted is read alike by everyone"""
    url = accepted(text)
    if url is None:
        return
    assert url.url.isascii()
    assert str(url.port) in PORTS
    for host, port in (
        (urlsplit(url.url).hostname, urlsplit(url.url).port),
        (httpx.URL(url.url).host, httpx.URL(url.url).port),
    ):
        assert (
            httpx.URL(f"http://[{host}]/" if ":" in (host or "") else f"http://{host}/").raw_host.decode() == url.host
        )
        assert port in {url.port, None}
    assert httpx.URL(url.url).fragment == ""
    assert check(url.url) == url, "what is sent would be accepted as it stands"
    if url.address is None:
        assert "." in url.host
        assert not url.host.rpartition(".")[2].isdigit()
    else:
        assert addresses.is_public(url.address)


@settings(max_examples=300, deadline=None)
@example("http://docs.public-site.dev/a/b", "//docs.public-site.dev[")
@given(st.sampled_from(["http://docs.public-site.dev/a/b", "https://docs.public-site.dev:8443/"]), URLS)
def test_a_redirect_is_refused_or_leads_to_such_a_url(base: str, location: str) -> None:
    here = check(base)
    try:
        there = redirected(here, location.encode())
    except RefusedError:
        return
    assert check(there.url) == there
    assert (here.scheme, there.scheme) != ("https", "http")


@settings(deadline=None)
@given(st.ip_addresses())
def test_public_is_never_wider_than_the_standard_library(address: addresses.Address) -> None:
    if addresses.is_public(address):
        assert address.is_global
        assert not address.is_private
        assert not address.is_multicast


@pytest.mark.parametrize(
    "text",
    [
        *("64:ff9b::7f00:1", "::127.0.0.1", "fec0::1", "5f00::1", "3fff::1", "224.0.0.1", "ff02::1", "192.88.99.1"),
        *("168.63.129.16", "2002:7f00:1::", "64:ff9b:1::1", "192.0.0.192", "::ffff:93.184.216.34", "100.64.0.1"),
        *("2001:0:7f00:1::", "2001:20::1", "fe80::1%2", "2620:4f:8000::1", "100::1", "::", "::1", "0.0.0.0"),  # noqa: S104
    ],
)
def test_addresses_that_the_standard_library_misjudges_are_not_public(text: str) -> None:
    """upstream fault 74: 'IPv6 loopback, 100.64/10, mapped forms -> passed -> global-only test'"""
    assert not addresses.is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "2a00:1450::1"])
def test_ordinary_addresses_are_public(text: str) -> None:
    assert addresses.is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("http://docs.public-site.dev", "http://docs.public-site.dev/"),
        ("http://docs.public-site.dev?x=1", "http://docs.public-site.dev/?x=1"),
        ("https://docs.public-site.dev:443/a/../b#f", "https://docs.public-site.dev/b"),
        ("https://Bücher.public-site.dev./é?ü", "https://xn--bcher-kva.public-site.dev/%C3%A9?%C3%BC"),
        ("http://[2606:2800:220:1:0248:1893:25c8:1946]:8080/", "http://[2606:2800:220:1:248:1893:25c8:1946]:8080/"),
    ],
)
def test_what_is_sent(text: str, sent: str) -> None:
    assert check(text).url == sent
