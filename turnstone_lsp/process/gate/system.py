"""Rules for processes, power, disks, databases and the shell's own settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate.places import MEANING, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.process.gate.command import Command


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


def set_builtin(c: Command) -> None:
    """`set --` and `shopt`: they change what follows."""
    if any(w.text == "history" for w in c.args):
        c.ask("hides its traces in the shell's history")
    if c.name == "shopt" and any(w.text in {"expand_aliases", "extglob", "lastpipe", "sourcepath"} for w in c.args):
        c.judge.found.plain = False


def history(c: Command) -> None:
    """history: all but listing it."""
    if any(w.text.startswith("-") for w in c.args):
        c.ask("changes the shell's history")


def pager(c: Command) -> None:
    """less, more: +COMMAND runs at start."""
    if any(w.text.startswith("+") for w in c.args) or c.has(
        "kOo", "lesskey-file", "lesskey-src", "log-file", "LOG-FILE"
    ):
        c.ask("an option of it runs a command or writes a file")


RULES: dict[str, Callable[[Command], None]] = {
    "kill": kill,
    **dict.fromkeys(("pkill", "killall", "killall5", "skill"), by_name),
    "systemctl": systemctl,
    "init": init,
    "ip": ip,
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3", "sqlite", "cqlsh", "duckdb"), sql),
    **dict.fromkeys(("set", "shopt"), set_builtin),
    **dict.fromkeys(("less", "more", "most"), pager),
    "history": history,
}
