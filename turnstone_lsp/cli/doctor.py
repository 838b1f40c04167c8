"""`turnstone-lsp doctor`: everything that a user can get wrong, and how to mend it."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import stat
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from turnstone_lsp import __version__
from turnstone_lsp.agent.policy import check_rules
from turnstone_lsp.cli.console import Console
from turnstone_lsp.cli.jsonl import print_line
from turnstone_lsp.config import folders
from turnstone_lsp.config.load import load
from turnstone_lsp.errors import TurnstoneError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable

    from turnstone_lsp.config.settings import Settings

Grade = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One checked thing. note: works, but something is missing; problem: the main job cannot be done."""

    name: str
    grade: Grade
    detail: str
    mend: str = ""


def run(options: argparse.Namespace) -> int:
    """Check and report; 0 when nothing stands in the way of the main job, else 1."""
    findings = asyncio.run(examine())
    console = Console(interactive=False)
    for finding in findings:
        if options.json:
            print_line(asdict(finding))
            continue
        mark = {"ok": ("ok     ", "green"), "note": ("note   ", "yellow"), "problem": ("PROBLEM", "red")}[finding.grade]
        print(f"{console.style(*mark)}  {finding.name}: {finding.detail}")
        if finding.mend:
            print(f"         -> {finding.mend}")
    return 1 if any(f.grade == "problem" for f in findings) else 0


async def examine() -> list[Finding]:
    """All findings, in the order in which a user would mend them."""
    findings = [_python(), _state(), _database()]
    settings, finding = _settings()
    findings.append(finding)
    if settings is not None:
        checks: list[Callable[[Settings], Awaitable[Finding]]] = [_endpoint, _math]
        findings += [await check(settings) for check in checks]
        findings += [_web_search(settings), _mode(settings)]
    return findings + [_program(*row) for row in _PROGRAMS] + [_gate()]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", "ok", f"{version} at {sys.executable}; turnstone-lsp {__version__}")


def _state() -> Finding:
    try:
        folder = folders.state_dir()
        mode = stat.S_IMODE(folder.stat().st_mode)
        if not os.access(folder, os.W_OK):
            return Finding(
                "state folder", "problem", f"{folder} cannot be written", f"chown it to you, chmod 700 {folder}"
            )
        if os.name == "posix" and mode & 0o077:
            return Finding("state folder", "note", f"{folder} is open to others ({mode:o})", f"chmod 700 {folder}")
    except OSError as error:
        return Finding("state folder", "problem", str(error), "set TURNSTONE_STATE_DIR to a folder that you can write")
    return Finding("state folder", "ok", str(folder))


def _database() -> Finding:
    path = folders.database()
    if not path.exists():
        return Finding("database", "ok", f"{path} will be made on first use")
    try:
        with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True) as db:
            verdict = db.execute("PRAGMA quick_check").fetchone()[0]
        db.close()
    except sqlite3.Error as error:
        verdict = str(error)
    if verdict != "ok":
        return Finding("database", "problem", f"{path}: {verdict}", f"move {path} away; a new one is made on first use")
    return Finding("database", "ok", str(path))


def _settings() -> tuple[Settings | None, Finding]:
    path = folders.config_file()
    try:
        loaded = load()
    except TurnstoneError as error:
        return None, Finding("settings", "problem", str(error), f"correct {path}")
    settings = loaded.settings
    if doubts := [*loaded.warnings, *check_rules(settings.rules)]:
        return settings, Finding("settings", "note", " ".join(doubts), f"correct {path}, or the environment")
    known = str(path) if path.exists() else f"defaults and environment; {path} does not exist"
    return settings, Finding("settings", "ok", known)


async def _endpoint(settings: Settings) -> Finding:
    from turnstone_lsp.agent.model import Model

    model = Model(settings.model)
    try:
        async with asyncio.timeout(15):
            where, name = await model.describe()
    except (TurnstoneError, TimeoutError) as error:
        text = str(error) or "the endpoint did not answer within 15 s"
        return Finding("model", "problem", text, "see README, 'A model'; then run turnstone-lsp doctor again")
    finally:
        await model.close()
    return Finding("model", "ok", f"{name} at {where}")


async def _math(settings: Settings) -> Finding:
    from turnstone_lsp.sandbox.math_host import MathHost

    del settings
    host = MathHost()
    try:
        level = await host.probe()
    except TurnstoneError as error:
        return Finding("math sandbox", "note", str(error), "math will ask for every call")
    finally:
        await host.close()
    if level == "L1":
        return Finding("math sandbox", "note", "L1: this system offers no sandbox", "math asks for every call; read it")
    return Finding("math sandbox", "ok", f"level {level}")


def _web_search(settings: Settings) -> Finding:
    if settings.tools.tavily_api_key:
        return Finding("web search", "ok", "a Tavily key is set")
    return Finding("web search", "note", "no Tavily key: web_search is not offered", "set TAVILY_API_KEY to use it")


def _mode(settings: Settings) -> Finding:
    if settings.mode == "auto":
        return Finding("mode", "note", "auto: calls run without a question unless a rule or guard holds them back")
    return Finding("mode", "ok", settings.mode)


_PROGRAMS: tuple[tuple[str, tuple[str, ...], Grade, str], ...] = (
    ("bash tool", ("bash",), "problem", "install bash"),
    ("search tool", ("rg", "grep"), "note", "install ripgrep: search is then many times faster"),
    ("man tool", ("man",), "note", "install man-db (and manpages-dev for C)"),
    ("git", ("git",), "note", "install git if your projects use it"),
)


def _program(name: str, programs: tuple[str, ...], missing: Grade, mend: str) -> Finding:
    found = [path for program in programs if (path := shutil.which(program))]
    if not found:
        return Finding(name, missing, f"{' or '.join(programs)} not found on PATH", mend)
    if name == "search tool" and not found[0].endswith("rg"):
        return Finding(name, "note", f"{found[0]}", mend)
    return Finding(name, "ok", found[0])


def _gate() -> Finding:
    from turnstone_lsp.process.gate import judge

    try:
        verdict = judge("rm -rf /").verdict
    except Exception as error:  # noqa: BLE001 - a broken parser library shows itself in any way
        return Finding("command gate", "problem", f"the bash parser does not load: {error}", "reinstall turnstone-lsp")
    if verdict != "block":
        return Finding("command gate", "problem", "the bash parser misreads commands", "reinstall turnstone-lsp")
    return Finding("command gate", "ok", "the bash parser works")
