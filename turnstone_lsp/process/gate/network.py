"""Rules for programs that reach the network: what is sent, where to, and where the answer is written."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from turnstone_lsp.process.gate.words import UNKNOWN, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.process.gate.command import Command

_LOOPBACK = re.compile(
    r"(?:.*@)?(?:localhost|127(?:\.\d{1,3}){0,3}|\[?::1\]?|0\.0\.0\.0|[\w-]+\.localhost)(?::\d+)?", re.IGNORECASE
)
_LONG_QUERY = 80


def curl(c: Command) -> None:
    """curl, httpie: what is sent, where to, and where it is written."""
    urls = _urls(c, "odFTHXuAebcwmxCrIKEUYyzPQt")
    _network(c, urls)
    sends = c.has(
        "dFT",
        "data",
        "data-raw",
        "data-binary",
        "data-urlencode",
        "data-ascii",
        "form",
        "form-string",
        "upload-file",
        "json",
        "url-query",
    )
    reads = [
        *c.values("dF", "data", "data-binary", "data-urlencode", "form", "json"),
        *c.values("T", "upload-file"),
        *c.values("H", "header"),
        *c.values("bE", "cookie", "cert"),
    ]
    for word in reads:
        path = re.search(r"(?:^|[=])[@<](.*)", word.text)
        if path:
            c.reads(Word(path[1].split(";")[0]))
        elif word in c.values("T", "upload-file"):
            c.reads(word)
    sends = sends or any(w.text.startswith("@") for w in c.values("H", "header"))
    if sends and not _all_loopback(urls):
        c.ask("sends data to another machine")
    _fetched(c, urls if c.has("O", "remote-name", "remote-name-all") else [], c.values("o", "output"))
    methods = {w.text.upper() for w in c.values("X", "request")}
    if methods - {"GET", "HEAD", "OPTIONS", ""} and not _all_loopback(urls):
        c.ask("changes something on another machine")
    if c.has("x", "proxy", "preproxy", "socks5") or c.has(
        "", "doh-url", "resolve", "connect-to", "unix-socket", "abstract-unix-socket"
    ):
        c.ask("takes another way than its address says")
    for word in [
        *c.values("oD", "output", "dump-header", "output-dir", "trace", "stderr", "cookie-jar"),
        *c.values("c"),
    ]:
        if word.text not in {"-", ""}:
            c.writes(word)


def _fetched(c: Command, urls: list[Word], named: list[Word]) -> None:
    """Remember the files that this line fetches: running one is running what nobody has seen."""
    for word in named:
        c.state.files[os.path.normpath(word.text)] = None
    for word in urls if not named else ():
        c.state.files[word.text.split("?")[0].rstrip("/").rpartition("/")[2]] = None


def wget(c: Command) -> None:
    """Wget."""
    urls = _urls(c, "OPoaetTUQwAIRDlBi")
    _network(c, urls)
    if c.has("", "post-data", "post-file", "body-data", "body-file", "method", "header") and not _all_loopback(urls):
        c.ask("sends data to another machine")
    for word in c.values("", "post-file", "body-file", "input-file"):
        c.reads(word)
    _fetched(c, urls, c.values("O", "output-document"))
    for word in c.values("OPoa", "output-document", "directory-prefix", "output-file"):
        if word.text not in {"-", ""}:
            c.writes(word)


def ping(c: Command) -> None:
    """ping: a name that is looked up carries data out."""
    hosts = c.operands("cIiMmQSsTtWwlp")
    if not hosts or not all(_LOOPBACK.fullmatch(w.text) for w in hosts):
        c.ask("reaches the network")


def _urls(c: Command, valued: str) -> list[Word]:
    given = [
        w
        for w in c.operands(
            valued,
            "header",
            "request",
            "output",
            "data",
            "user",
            "user-agent",
            "max-time",
            "connect-timeout",
            "retry",
            "write-out",
            "cookie",
            "form",
            "referer",
            "data-raw",
            "data-binary",
            "json",
            "cacert",
            "url",
        )
        if w.text
    ]
    return [*given, *[w for w in c.values("", "url") if w.text]]


def _all_loopback(urls: list[Word]) -> bool:
    return bool(urls) and all(_LOOPBACK.fullmatch(_host(w.text)) for w in urls)


def _host(url: str) -> str:
    try:
        return urlsplit(url if "://" in url else f"//{url}").netloc
    except ValueError:
        return UNKNOWN


def _network(c: Command, urls: list[Word]) -> None:
    for word in urls:
        host = _host(word.text)
        if not word.known and not _LOOPBACK.fullmatch(host):
            c.ask("sends what is only known when it runs to another machine")
        elif word.text.lower().startswith(
            ("file:", "gopher:", "dict:", "ldap", "scp:", "sftp:", "smb:", "tftp:", "telnet:")
        ):
            c.ask("uses an unusual kind of address")
        elif re.match(r"169\.254\.|\[?fd00:ec2|metadata\.|100\.100\.100\.200", host):
            c.ask("asks the cloud's metadata service, which hands out credentials")
        elif not host.isascii() or len(_query(word.text)) > _LONG_QUERY:
            c.ask("carries a long text or a doubtful name to another machine")


def _query(url: str) -> str:
    """The query of a URL; empty when there is none."""
    return url.partition("?")[2]


def probes_loopback(c: Command) -> bool:
    """`nc -z localhost 8080`: is something listening?"""
    operands = c.operands("wipsqITxX")
    return c.has("z") and bool(operands) and bool(_LOOPBACK.fullmatch(operands[0].text))


def network_redirect(word: Word) -> bool:
    """True for bash's own /dev/tcp and /dev/udp."""
    return word.text.startswith(("/dev/tcp/", "/dev/udp/"))


def openssl(c: Command) -> None:
    """openssl: its network commands."""
    if c.subcommand in {"s_client", "s_server", "s_time", "ocsp"}:
        c.ask("reaches the network")


def getent(c: Command) -> None:
    """getent: host names are looked up."""
    if c.subcommand.startswith(("hosts", "ahosts")) and not all(_LOOPBACK.fullmatch(w.text) for w in c.operands()[1:]):
        c.ask("reaches the network")


RULES: dict[str, Callable[[Command], None]] = {
    **dict.fromkeys(("curl", "http", "https", "xh"), curl),
    **dict.fromkeys(("wget", "aria2c", "axel"), wget),
    **dict.fromkeys(("ping", "ping6"), ping),
    "openssl": openssl,
    "getent": getent,
}
