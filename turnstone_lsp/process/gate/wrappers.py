"""Commands that run another command given in their arguments: where that command begins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate.words import UNKNOWN, Word

if TYPE_CHECKING:
    from turnstone_lsp.process.gate.command import Command

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to find the inner command.

    short, long: options that take a value of their own; skip: operands before the command; assigns: NAME=VALUE
    words may come first; script: options whose value is a text for a shell; ask: why the wrapper itself is asked
    about; first: the subcommands that make it a wrapper (() for always).
    """

    short: str = ""
    long: tuple[str, ...] = ()
    skip: int = 0
    assigns: bool = False
    script: tuple[str, ...] = ()
    ask: str = ""
    first: tuple[str, ...] = ()


_ROOT = "runs with other rights"
_SUDO = Wrapper(
    "CDgGhpRrTtuUa",
    (
        "close-from",
        "chdir",
        "group",
        "host",
        "prompt",
        "role",
        "type",
        "user",
        "other-user",
        "chroot",
        "command-timeout",
    ),
    assigns=True,
    ask=_ROOT,
)
WRAPPERS: dict[str, Wrapper] = {
    "sudo": _SUDO,
    "doas": Wrapper("aCu", ask=_ROOT),
    "pkexec": Wrapper("", ("user",), ask=_ROOT),
    "su": Wrapper(
        "gGswT", ("group", "shell", "supp-group"), skip=1, script=("c", "command", "session-command"), ask=_ROOT
    ),
    "runuser": Wrapper("gGsu", ("group", "user", "shell"), skip=0, script=("c", "command"), ask=_ROOT),
    "setpriv": Wrapper(
        "", ("reuid", "regid", "groups", "inh-caps", "ambient-caps", "bounding-set", "pdeathsig"), ask=_ROOT
    ),
    "chroot": Wrapper("", ("groups", "userspec"), skip=1, ask=_ROOT),
    "unshare": Wrapper("RwSG", ("root", "wd", "setuid", "setgid", "propagation", "map-user"), ask=_ROOT),
    "nsenter": Wrapper("tSG", ("target", "setuid", "setgid"), ask=_ROOT),
    "systemd-run": Wrapper(
        "pEuM",
        ("property", "setenv", "unit", "machine", "uid", "gid", "slice", "on-calendar"),
        ask="starts a service that outlives the call",
    ),
    "env": Wrapper("uC", ("unset", "chdir"), assigns=True, script=("S", "split-string")),
    "nice": Wrapper("n", ("adjustment",)),
    "ionice": Wrapper("cnpPu", ("class", "classdata")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "stdbuf": Wrapper("ioe", ("input", "output", "error")),
    "timeout": Wrapper("ks", ("kill-after", "signal"), skip=1),
    "gtimeout": Wrapper("ks", ("kill-after", "signal"), skip=1),
    "time": Wrapper("fo", ("format", "output")),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "exec": Wrapper("a"),
    "coproc": Wrapper(),
    "!": Wrapper(),
    "noglob": Wrapper(),
    "chrt": Wrapper("TPD", skip=1),
    "taskset": Wrapper("", skip=1),
    "numactl": Wrapper("mNCpi"),
    "prlimit": Wrapper(),
    "cpulimit": Wrapper("lpe"),
    "watch": Wrapper("nq", ("interval", "equexit")),
    "unbuffer": Wrapper(),
    "chronic": Wrapper(),
    "flock": Wrapper("wE", ("timeout", "conflict-exit-code"), skip=1, script=("c", "command")),
    "script": Wrapper("EIOBTm", skip=1, script=("c", "command")),
    "strace": Wrapper("abeEIoOpPsSuUX"),
    "ltrace": Wrapper("aADeFlnopsuwx"),
    "valgrind": Wrapper(),
    "perf": Wrapper("oeFpg", first=("record", "stat", "trace")),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "fakeroot": Wrapper("lsbi"),
    "faketime": Wrapper("", skip=1),
    "caffeinate": Wrapper("tw"),
    "catchsegv": Wrapper(),
    "xvfb-run": Wrapper("efnps", ("server-args", "server-num", "error-file")),
    "dbus-run-session": Wrapper("", ("config-file", "dbus-daemon")),
    "proxychains": Wrapper("f"),
    "proxychains4": Wrapper("f"),
    "torsocks": Wrapper("uapi"),
    "firejail": Wrapper(),
    "bwrap": Wrapper(),
    "eatmydata": Wrapper(),
    "parallel": Wrapper(
        "jaIPSNnLlsCXmd", ("jobs", "arg-file", "max-procs", "colsep", "delay", "joblog", "results", "timeout")
    ),
    "xargs": Wrapper(
        "aEdIiLlnPs",
        (
            "arg-file",
            "delimiter",
            "eof",
            "replace",
            "max-lines",
            "max-args",
            "max-procs",
            "max-chars",
            "process-slot-var",
        ),
    ),
    "hyperfine": Wrapper("wmMrspcLDSni", ("warmup", "runs", "prepare", "setup", "cleanup", "shell")),
    "entr": Wrapper(),
    "dotenv": Wrapper("fe", first=("run", "--")),
    "uv": Wrapper(
        "pq",
        (
            "python",
            "with",
            "with-editable",
            "extra",
            "group",
            "directory",
            "project",
            "env-file",
            "index-url",
            "module",
        ),
        first=("run",),
    ),
    "poetry": Wrapper("CP", ("directory", "project"), first=("run",)),
    "pdm": Wrapper("p", first=("run",)),
    "pipenv": Wrapper(first=("run",)),
    "hatch": Wrapper("e", ("env",), first=("run",)),
    "rye": Wrapper(first=("run",)),
    "pixi": Wrapper("e", ("environment", "manifest-path"), first=("run",)),
    "conda": Wrapper("np", ("name", "prefix"), first=("run",)),
    "mamba": Wrapper("np", ("name", "prefix"), first=("run",)),
    "bundle": Wrapper(first=("exec",)),
    "direnv": Wrapper("", skip=1, first=("exec",)),
    "rustup": Wrapper("", skip=1, first=("run",)),
    "mise": Wrapper(first=("exec", "x")),
    "asdf": Wrapper(first=("exec",)),
    "pyenv": Wrapper(first=("exec",)),
    "rbenv": Wrapper(first=("exec",)),
    "nix": Wrapper("", first=("develop", "shell"), script=()),
}
"""By program name. Sources: the programs' own manual pages."""


def inner(command: Command, wrapper: Wrapper) -> tuple[list[tuple[str, str]], list[Word]]:
    """The NAME=VALUE words before the inner command, and its words; none when it is no wrapper this time."""
    args = command.args
    if wrapper.first:
        at = next((i for i, w in enumerate(args) if not w.text.startswith("-") or w.text in wrapper.first), len(args))
        if at == len(args) or args[at].text not in wrapper.first:
            return [], []
        args = args[at + 1 :]
    pairs: list[tuple[str, str]] = []
    at, skip, options = 0, wrapper.skip, True
    while at < len(args):
        text = args[at].text
        if options and text == "--":
            options = False
        elif options and text.startswith("-") and len(text) > 1:
            at += 1 if _takes_value(text, wrapper) else 0
        elif wrapper.assigns and _ASSIGNMENT.fullmatch(text):
            name, _, value = text.partition("=")
            pairs.append((name.rstrip("+"), value))
        elif skip:
            skip -= 1
        else:
            break
        at += 1
    return pairs, args[at:]


def _takes_value(option: str, wrapper: Wrapper) -> bool:
    """True when the option's value is the next word."""
    if option.startswith("--"):
        return "=" not in option and option[2:] in wrapper.long + wrapper.script
    at = next(
        (
            i
            for i, c in enumerate(option)
            if i and c in wrapper.short + "".join(s for s in wrapper.script if len(s) == 1)
        ),
        0,
    )
    return at == len(option) - 1 and at > 0


def shell_texts(command: Command, wrapper: Wrapper) -> list[Word]:
    """The texts that the wrapper's options give to a shell (`su -c`, `env -S`)."""
    short = "".join(s for s in wrapper.script if len(s) == 1)
    long = tuple(s for s in wrapper.script if len(s) > 1)
    return [w for w in command.values(short, *long) if w.text] if wrapper.script else []


def fed(command: Command, words: list[Word]) -> list[Word]:
    """The command that xargs or parallel makes: with what comes in, in place of the mark or at the end."""
    unknown = [Word(UNKNOWN)]
    if command.name == "parallel":
        texts = [w.text for w in words]
        if ":::" in texts:
            at = texts.index(":::")
            rest = [w for w in words[at + 1 :] if not w.text.startswith(":::")]
            return _filled(words[:at], ("{}",), rest) if at else []
    incoming = unknown
    if command.feed and command.feed.text is not None:
        incoming = [Word(part) for part in command.feed.text.split()] or unknown
    marks = tuple(w.text for w in command.values("I", "replace") if w.text) or ("{}",)
    return _filled(words, marks, incoming)


def _filled(words: list[Word], marks: tuple[str, ...], incoming: list[Word]) -> list[Word]:
    out: list[Word] = []
    used = False
    for word in words:
        mark = next((m for m in marks if m in word.text), None)
        if mark is None:
            out.append(word)
            continue
        used = True
        out += [Word(word.text.replace(mark, one.text), word.glob) for one in incoming]
    return out if used else out + incoming
