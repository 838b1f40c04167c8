"""Rules for package managers and containers: code that the project does not name, and reach over this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate.places import MEANING, Place
from turnstone_lsp.process.gate.words import UNKNOWN, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.process.gate.command import Command

_MANAGERS = (
    "npm yarn pnpm bun cargo poetry pdm composer go bundle gem rye pixi hatch mix opam cabal stack luarocks cpan cpanm "
    "nuget"
)


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
    if sub in {"init", "create"} and len(c.operands()) > 1 and c.name in {"npm", "yarn", "pnpm", "bun"}:
        c.ask("fetches and runs a package")
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


def npx(c: Command) -> None:
    """npx, bunx: a program of the project's own node_modules, or one that is fetched."""
    operands = c.operands("pc", "package", "call")
    name = operands[0].text if operands else ""
    installed = any(folder and Path(folder, "node_modules/.bin", name).exists() for folder in c.state.folders)
    if c.has("", "no-install", "no") or (name and "@" not in name and "/" not in name and installed):
        return
    c.ask("fetches and runs a package")


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
    if texts[:1] and texts[0] in {"rm", "kill", "stop"} and any(not w.known for w in c.args):
        c.ask("ends containers that are only known when it runs")
    if {"down"} & set(texts) and c.has("v", "volumes", "rmi"):
        c.ask("deletes volumes or images")
    if texts[:1] == ["rm"] and c.has("v", "volumes"):
        c.ask("deletes volumes")
    if any(t in {"rm", "rmdir", "shred", "dd", "mkfs"} for t in texts[1:]) and {"exec", "run"} & set(texts[:2]):
        c.ask("deletes inside a container")


RULES: dict[str, Callable[[Command], None]] = {
    **dict.fromkeys(("pip", "pip2", "pip3"), pip),
    "uv": uv,
    **dict.fromkeys(_MANAGERS.split(), packages),
    **dict.fromkeys(("npx", "pnpx", "bunx"), npx),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose"), docker),
}
