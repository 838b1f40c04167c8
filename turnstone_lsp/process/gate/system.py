"""Rules for processes, power, packages, containers and the network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from turnstone_lsp.process.gate.places import MEANING, Place
from turnstone_lsp.process.gate.words import UNKNOWN, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.process.gate.command import Command

_LOOPBACK = re.compile(
    r"(?:.*@)?(?:localhost|127(?:\.\d{1,3}){0,3}|\[?::1\]?|0\.0\.0\.0|[\w-]+\.localhost)(?::\d+)?", re.IGNORECASE
)
_LONG_QUERY = 80


def kill(c: Command) -> None:
    """kill: -1 is everything, 1 is init, a negative number a group."""
    signals_done = False
    for at, word in enumerate(c.args):
        text = word.text
        if text in {"-l", "-L", "--list", "--table"}:
            return
        option = text.startswith("-") and not signals_done and at == 0
        if option and re.fullmatch(r"-[A-Za-z][A-Za-z0-9+]*|-\d+|--signal.*", text) and len(c.args) > 1:
            signals_done = True
            continue
        if text in {"-s", "-n", "--"} or (at and c.args[at - 1].text in {"-s", "-n", "--signal"}):
            continue
        if text in {"-1", "1", "0", "-0"}:
            c.block("ends every process, or the one that holds the system or this server")
        elif text.startswith("-"):
            c.ask("ends a whole process group")
        elif not word.known:
            c.ask("ends processes that are only known when it runs")


def by_name(c: Command) -> None:
    """pkill, killall: a pattern or a user may hit everything."""
    operands = c.operands(
        "usgGPtFnoIryz", "user", "signal", "uid", "parent", "session", "group", "older-than", "younger-than"
    )
    user = c.has("uU", "user", "uid", "euid")
    broad = [w for w in operands if not re.sub(r"[.*^$+?\\()\[\]|]", "", w.text) or len(w.text) < 2]
    if broad or (user and not operands) or c.name == "killall5":
        c.block("ends (nearly) every process")


def systemctl(c: Command) -> None:
    """systemctl: power."""
    if c.subcommand in {
        "poweroff",
        "reboot",
        "halt",
        "kexec",
        "suspend",
        "hibernate",
        "hybrid-sleep",
        "rescue",
        "emergency",
        "exit",
        "soft-reboot",
    }:
        c.block("stops or restarts the machine")
    if any(
        w.text in {"poweroff.target", "reboot.target", "halt.target", "rescue.target", "emergency.target"}
        for w in c.args
    ):
        c.block("stops or restarts the machine")


def init(c: Command) -> None:
    """Init N."""
    if any(w.text in set("0123456sSqQ") for w in c.args):
        c.block("changes the machine's run level")


def disk(c: Command) -> None:
    """Mkfs and the like on a device."""
    for word in c.args:
        if not word.text.startswith("-") and c.place(word) in {Place.DEVICE, Place.VITAL}:
            c.block(f"destroys {word.shown}, {MEANING[Place.DEVICE]}")


def ip(c: Command) -> None:
    """ip: changing words."""
    if any(w.text in {"add", "del", "delete", "change", "replace", "set", "flush"} for w in c.args[1:]):
        c.ask("changes the network set-up")


def pip(c: Command) -> None:
    """Pip install of something that the project does not name itself."""
    if c.subcommand not in {"install", "download", "wheel", "uninstall"}:
        if c.subcommand == "config" or c.has("", "index-url", "extra-index-url", "trusted-host"):
            c.ask("changes where packages come from")
        return
    if c.has("i", "index-url", "extra-index-url", "trusted-host", "find-links") or c.has("", "break-system-packages"):
        c.ask("takes packages from another place")
    operands = c.operands(
        "rectipfd", "requirement", "editable", "constraint", "target", "prefix", "root", "python", "group", "directory"
    )[1:]
    named = [w for w in [*operands, *c.values("e", "editable")] if not _project(c, w)]
    if named:
        c.ask(f"installs code that the project does not name ({', '.join(w.shown for w in named[:3])})")
    for word in c.values("t", "target", "prefix", "root"):
        c.writes(word)


def _project(c: Command, word: Word) -> bool:
    """A package that is a folder or file of the workspace."""
    text = re.sub(r"\[[^\]]*\]$", "", word.text)
    if not word.known or re.search(r"://|@|[=<>~!]=", text):
        return False
    return (
        text.startswith((".", "/")) and c.place(Word(text)) in {Place.WORKSPACE, Place.WORKSPACE_ROOT}
    ) or text.endswith((".whl", ".tar.gz"))


def packages(c: Command) -> None:
    """npm, yarn, cargo add ...: naming a package brings in new code; installing what the project lists does not."""
    adding = {
        "install",
        "i",
        "add",
        "in",
        "ins",
        "isntall",
        "require",
        "get",
        "global",
        "update",
        "upgrade",
        "dlx",
        "remote",
    }
    sub = c.subcommand
    operands = c.operands("CwpFPD", "prefix", "dir", "filter", "workspace", "package", "features", "registry", "group")
    rest = [w for w in operands[1:] if not w.text.startswith((".", "/"))]
    if sub == "install" and c.name == "go":
        rest = [w for w in rest if "@" in w.text or "." in w.text.split("/")[0]]
    if sub in adding and (rest or c.has("g", "global")) and sub not in {"update", "upgrade"}:
        c.ask(
            f"installs code that the project does not name yet ({', '.join(w.shown for w in rest[:3]) or 'globally'})"
        )
    if c.has("", "registry", "index-url", "index", "unsafe-perm"):
        c.ask("takes packages from another place")
    for word in c.values("", "prefix"):
        c.writes(word)


def uv(c: Command) -> None:
    """uv: `uv pip install`, `uv add`, and the rest of packages."""
    operands = c.operands("", "directory", "project")
    if operands and operands[0].text == "pip":
        at = c.args.index(operands[0])
        pip(type(c)("uv pip", c.args[at + 1 :], c.state, c.judge))
    else:
        packages(c)


def docker(c: Command) -> None:
    """docker, podman: mounts and rights that reach the machine, and volumes that go."""
    texts = [w.text for w in c.args]
    mounts = [*c.values("v", "volume"), *c.values("", "mount")] if {"run", "create"} & set(texts[:3]) else []
    for word in mounts:
        sources = re.findall(r"(?:^|,)(?:src|source)=([^,]*)", word.text) or [word.text.split(":")[0]]
        for source in sources:
            if not source.startswith(("/", "~", ".", UNKNOWN)):
                continue
            place = c.place(Word(source))
            if (place > Place.TEMPORARY and place != Place.WORKSPACE_ROOT) or c.place(Word(source)) == Place.VITAL:
                c.ask(f"gives a container {Word(source).shown}, {MEANING.get(place, 'a path of this machine')}")
    if c.has("", "privileged", "pid", "ipc", "userns", "cap-add", "device", "security-opt", "uts"):
        c.ask("gives a container rights over this machine")
    if c.has("H", "host", "context"):
        c.ask("reaches another machine")
    if {"down"} & set(texts) and c.has("v", "volumes", "rmi"):
        c.ask("deletes volumes or images")
    if texts[:1] == ["rm"] and c.has("v", "volumes"):
        c.ask("deletes volumes")
    if any(t in {"rm", "rmdir", "shred", "dd", "mkfs"} for t in texts[1:]) and {"exec", "run"} & set(texts[:2]):
        c.ask("deletes inside a container")


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


def wget(c: Command) -> None:
    """Wget."""
    urls = _urls(c, "OPoaetTUQwAIRDlBi")
    _network(c, urls)
    if c.has("", "post-data", "post-file", "body-data", "body-file", "method", "header") and not _all_loopback(urls):
        c.ask("sends data to another machine")
    for word in c.values("", "post-file", "body-file", "input-file"):
        c.reads(word)
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
        elif not host.isascii() or len(urlsplit_query(word.text)) > _LONG_QUERY:
            c.ask("carries a long text or a doubtful name to another machine")


def urlsplit_query(url: str) -> str:
    """The query of a URL; empty when there is none."""
    return url.partition("?")[2]


def sql(c: Command) -> None:
    """psql, mysql, sqlite3: statements that destroy, and shell escapes."""
    for word in c.args:
        if re.search(
            r"\b(?:drop|truncate|delete\s+from|alter|grant|revoke|shutdown|copy\b.*\bprogram|load_extension|into\s+outfile)\b",
            word.text,
            re.IGNORECASE,
        ):
            c.ask("destroys or changes a database")
        if re.search(r"\\!|\.(?:shell|system|load|import|output|once)\b|^system\b|\\copy", word.text):
            c.ask("runs another program or reads and writes files")


def network_redirect(word: Word) -> bool:
    """True for bash's own /dev/tcp and /dev/udp."""
    return word.text.startswith(("/dev/tcp/", "/dev/udp/"))


def set_builtin(c: Command) -> None:
    """`set --` and `shopt`: they change what follows."""
    if c.name == "shopt" and any(w.text in {"expand_aliases", "extglob", "lastpipe", "sourcepath"} for w in c.args):
        c.judge.found.plain = False


RULES: dict[str, Callable[[Command], None]] = {
    "kill": kill,
    **dict.fromkeys(("pkill", "killall", "killall5", "skill"), by_name),
    "systemctl": systemctl,
    "init": init,
    "ip": ip,
    **dict.fromkeys(("pip", "pip2", "pip3"), pip),
    "uv": uv,
    **dict.fromkeys(
        (
            "npm",
            "yarn",
            "pnpm",
            "bun",
            "cargo",
            "poetry",
            "pdm",
            "composer",
            "go",
            "bundle",
            "gem",
            "rye",
            "pixi",
            "hatch",
            "mix",
            "opam",
            "cabal",
            "stack",
            "luarocks",
            "cpan",
            "cpanm",
            "nuget",
        ),
        packages,
    ),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose"), docker),
    **dict.fromkeys(("curl", "http", "https", "xh"), curl),
    **dict.fromkeys(("wget", "aria2c", "axel"), wget),
    **dict.fromkeys(("ping", "ping6"), ping),
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3", "sqlite", "cqlsh", "duckdb"), sql),
    **dict.fromkeys(("set", "shopt"), set_builtin),
}
