"""Rules for programs that run code: shells, interpreters, and the text given to them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate import options, packages, risky
from turnstone_lsp.process.gate.places import MEANING, Place
from turnstone_lsp.process.gate.words import SPLIT, UNKNOWN, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from turnstone_lsp.process.gate.command import Command

SHELLS = ("sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "rbash", "yash")
_STRING = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"|`((?:\\.|[^`\\])*)`", re.DOTALL)


def inline(c: Command, code: str) -> None:
    """Judge code that the line holds itself, in whatever language: only harmless computing goes unasked."""
    if UNKNOWN in code:
        c.ask("runs code that is only known when it runs")
    for pattern, what in risky.KINDS:
        if pattern.search(code):
            c.ask(f"its code {what}")
    if risky.RUNS.search(code) or "!" in code:
        for match in _STRING.finditer(code):
            text = next(group for group in match.groups() if group is not None)
            if len(text) > 1:
                c.judge.script(re.sub(r"\\(.)", r"\1", text).lstrip("!| "), c.state)


def shell(c: Command) -> None:
    """sh, bash, zsh ...: -c, a script file, or what comes in on standard input."""
    at, text = 0, None
    while at < len(c.args) and (option := c.args[at].text)[:1] in {"-", "+"} and option not in {"-", "--"}:
        if option in {"--rcfile", "--init-file"}:
            c.ask("reads a start-up file")
            at += 1
        elif not option.startswith("--") and "c" in option[1:]:
            text = at
        if not option.startswith("--") and option[-1] in "oO":
            at += 1
        at += 1
    if at < len(c.args) and c.args[at].text in {"-", "--"}:
        at += 1
    if text is not None:
        if at < len(c.args):
            given(c, c.args[at])
        return
    if any(w.text.startswith("-") and not w.text.startswith("--") and "s" in w.text for w in c.args[:at]):
        stdin(c)
    elif at < len(c.args):
        script_file(c, c.args[at])
    else:
        stdin(c)


def given(c: Command, word: Word, *, here: bool = False) -> None:
    """A text for a shell."""
    if word.known:
        c.judge.script(word.text.replace(SPLIT, " "), c.state, here=here)
    else:
        c.ask("runs a text that is only known when it runs")
        c.judge.script(word.text.replace(UNKNOWN, " "), c.state)


def script_file(c: Command, word: Word) -> None:
    """A script in a file: the workspace's own scripts are ordinary, others are asked about."""
    if word.text in {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"}:
        stdin(c)
        return
    if not word.known:
        c.ask("runs a script that is only known when it runs")
        return
    if fresh(c, word):
        return
    place = c.place(word)
    if place != Place.WORKSPACE:
        c.ask(f"runs {word.shown}, {MEANING.get(place, 'no ordinary file')}")


def fresh(c: Command, word: Word) -> bool:
    """Judge a script that this very line has written or fetched. False when it is another."""
    path = os.path.normpath(word.text)
    if path not in c.state.files:
        return False
    content = c.state.files[path]
    if content is None:
        c.ask(f"runs {word.shown}, which this line has fetched or written, unseen")
    elif c.name in SHELLS or c.name in {"source", "."} or not c.name.isidentifier():
        c.judge.script(content, c.state)
    else:
        inline(c, content)
    return True


def stdin(c: Command) -> None:
    """A shell or interpreter that reads its program from standard input."""
    feed = c.feed
    if feed is None:
        return
    if options.names("fetchers").intersection(feed.through):
        c.ask("runs what was fetched from the network, unseen")
    elif options.names("decoders").intersection(feed.through):
        c.block("runs decoded text that nobody can read before")
    elif feed.text is not None:
        if c.name in {"make", "gmake"}:
            c.ask("runs a makefile that comes in")
        elif c.name in SHELLS or c.name in {"source", "."}:
            c.judge.script(feed.text, c.state)
        else:
            inline(c, feed.text)
    else:
        c.ask("runs what comes in, unseen")


def source(c: Command) -> None:
    """source, `.`: a script in this shell."""
    if c.args:
        script_file(c, c.args[0])


def evaluate(c: Command) -> None:
    """eval: its words, joined, are a script."""
    args = c.args[1:] if c.args and c.args[0].text == "--" else c.args
    given(c, Word(" ".join(w.text for w in args)), here=True)


def trap(c: Command) -> None:
    """trap: its first word runs later."""
    operands = c.operands()
    if operands:
        branch = type(c)(c.name, c.args, c.state.fork(), c.judge)
        given(branch, operands[0], here=True)
        c.state.merge(branch.state)


def mapfile(c: Command) -> None:
    """Mapfile -C: a callback."""
    for word in c.values("C"):
        given(c, word)


def alias(c: Command) -> None:
    """Alias NAME=TEXT: the text runs later."""
    for word in c.args:
        _, equals, value = word.text.partition("=")
        if equals:
            c.judge.found.plain = False
            given(c, Word(value))


def _interpreter(
    short: str, long: Iterable[str] = (), *, module: str = "", files: str = ""
) -> Callable[[Command], None]:
    """A rule for an interpreter: letters and names of its options for inline code, for modules, for other files."""
    long = tuple(long)

    def rule(c: Command) -> None:
        at = 0
        while at < len(c.args):
            text = c.args[at].text
            following = c.args[at + 1] if at + 1 < len(c.args) else Word("")
            name, equals, value = text.partition("=")
            if name.lstrip("-") in long and text.startswith("-"):
                inline(c, value if equals else following.text)
                return
            if text.startswith("-") and not text.startswith("--") and len(text) > 1:
                hit = next((i for i, ch in enumerate(text) if i and ch in short + module + files), 0)
                if hit and text[hit] in short:
                    inline(c, text[hit + 1 :] or following.text)
                    return
                if hit and text[hit] in module:
                    _module(c, [Word(text[hit + 1 :]), *c.args[at + 1 :]] if text[hit + 1 :] else c.args[at + 1 :])
                    return
                at += 1 if not hit or text[hit + 1 :] else 2
                continue
            if text == "-" or not text.startswith("-"):
                script_file(c, c.args[at])
                return
            if text in {"--version", "--help", "--check"}:
                return
            at += 1
        if not any(w.text in {"-V", "-v", "-h"} for w in c.args):
            stdin(c)

    return rule


def _module(c: Command, words: list[Word]) -> None:
    """Python -m MODULE: pip, and modules that run what they are given."""
    if not words:
        return
    name = words[0].text
    if name in {"pip", "pip3"}:
        packages.pip(type(c)(f"python -m {name}", words[1:], c.state, c.judge))
    elif name in {"timeit", "trace", "cProfile", "profile", "pdb", "runpy", "code", "idlelib", "webbrowser", "smtpd"}:
        inline(c, " ".join(w.text for w in words[1:]))
    elif name == "http.server":
        local = any(w.text.rpartition("=")[2] in {"127.0.0.1", "localhost", "::1"} for w in words)
        if not local:
            c.ask("opens the folder to the network (add --bind 127.0.0.1)")
    elif UNKNOWN in name:
        c.ask("runs a module that is only known when it runs")


def deno(c: Command) -> None:
    """deno: eval is inline code; run takes rights and addresses."""
    if c.subcommand in {"eval", "repl"}:
        inline(c, " ".join(w.text for w in c.operands()[1:]))
        c.ask("runs code with all rights")
    elif c.subcommand in {"run", "install", "serve"} and (
        c.has("A", "allow-all", "allow-run") or any("://" in w.text for w in c.args)
    ):
        c.ask("runs code with all rights, or from the network")


def make(c: Command) -> None:
    """make: a makefile that comes in, or lies elsewhere."""
    for word in c.values("f", "file", "makefile"):
        if word.text:
            script_file(c, word)
    for word in c.values("C", "directory"):
        if c.place(word) not in {Place.WORKSPACE, Place.WORKSPACE_ROOT}:
            c.ask(f"runs what {word.shown} says, which is not in the workspace")
    for word in c.args:
        if re.match(r"(?:SHELL|MAKEFLAGS|\.SHELLFLAGS)=", word.text):
            c.ask("sets the shell that it runs")


def awk(c: Command) -> None:
    """awk: the program text may run, write and read."""
    if c.has("f", "file"):
        return
    operands = c.operands("Fvfei", "field-separator", "assign", "file", "include", "source")
    texts = [*c.values("e", "source"), *operands[:1]] if not c.values("e", "source") else c.values("e", "source")
    for word in texts:
        text = re.sub(r"/(?:\\.|[^/\\\n])*/", "//", word.text)
        if "/inet/" in word.text or re.search(
            r"system\s*\(|\|&?\s*getline|(?:print|printf)\b[^;}\n]*\|&?|getline\s*<|@load|/inet/", text
        ):
            inline(c, word.text)
            c.ask("its program runs other programs")
        elif re.search(r"(?:print|printf)\b[^;}\n]*>{1,2}\s*[\"\w$(]", text) and not re.search(
            r"\([^)]*>[^)]*\)", text
        ):
            c.ask("its program writes files")


RULES: dict[str, Callable[[Command], None]] = {
    **dict.fromkeys(SHELLS, shell),
    **dict.fromkeys(("source", "."), source),
    "eval": evaluate,
    "trap": trap,
    "deno": deno,
    **dict.fromkeys(("make", "gmake"), make),
    "alias": alias,
    **dict.fromkeys(("mapfile", "readarray"), mapfile),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), awk),
    **dict.fromkeys(
        ("python", "python2", "python3", "pypy", "pypy3", "ipython"), _interpreter("c", module="m", files="WXQ")
    ),
    **dict.fromkeys(("node", "nodejs"), _interpreter("ep", ("eval", "print"), files="rCi")),
    "bun": _interpreter("ep", ("eval", "print"), files="r"),
    "perl": _interpreter("eE", files="MmI"),
    "ruby": _interpreter("e", files="rIC"),
    "php": _interpreter("rBRE", ("run",), files="dczf"),
    **dict.fromkeys(("lua", "luajit"), _interpreter("e", files="l")),
    **dict.fromkeys(("r", "rscript"), _interpreter("e")),
    **dict.fromkeys(("julia", "elixir", "groovy", "scala"), _interpreter("eE", ("eval", "print", "rpc-eval"))),
    "erl": _interpreter("", ("eval", "run", "s")),
    "ghc": _interpreter("e"),
    "guile": _interpreter("c"),
    "sbcl": _interpreter("", ("eval", "load")),
    "tclsh": _interpreter(""),
    "jshell": _interpreter(""),
    "swipl": _interpreter("g"),
    "octave": _interpreter("", ("eval",)),
}
