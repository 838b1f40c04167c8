"""One simple command: names, wrappers, tables, rules. The order in which a command is judged is here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate import code, files, gitrules, network, options, packages, system
from turnstone_lsp.process.gate.command import Command, Feed
from turnstone_lsp.process.gate.places import MEANING, Place, locate
from turnstone_lsp.process.gate.words import UNKNOWN, State, Word
from turnstone_lsp.process.gate.wrappers import WRAPPERS, fed, inner, shell_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.process.gate.walk import Walk

_RULES: dict[str, Callable[[Command], None]] = (
    files.RULES | code.RULES | system.RULES | network.RULES | packages.RULES | {"git": gitrules.git}
)
_VERSIONED = re.compile(r"(python|pip|perl|ruby|node|lua|php|pypy|gcc|g\+\+|clang|idle)-?\d[\d.]*")
_RESERVED = frozenset(
    {
        "{",
        "}",
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "[[",
        "]]",
    }
) | {"function", "select"}
_SPEAK = frozenset(
    {"echo", "printf", "true", "false", ":", "exit", "return", "break", "continue", "shift", "test", "["}
)
_TEXT_ONLY = {"git commit": "mF", "git tag": "mF"}
_QUIET_VALUES = frozenset({"cat", "true", "false", "less", ":"})
_SEARCH_PATHS = ("PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB", "CLASSPATH")
_QUIET_GIT = re.compile(
    r"GIT_(?:AUTHOR|COMMITTER)_\w+|GIT_TERMINAL_PROMPT|GIT_TRACE\w*|GIT_OPTIONAL_LOCKS|GIT_MERGE_AUTOEDIT|GIT_LFS_SKIP_SMUDGE"
)
_NODE_LOADS = re.compile(r"-r\b|--require|--import|--loader|--experimental-loader|--inspect|--eval|-e\b")


def run(walk: Walk, words: list[Word], state: State, feed: Feed | None) -> Feed:
    """Judge one command; returns what it may write."""
    if not words:
        return Feed()
    name_word, args = words[0], words[1:]
    if not name_word.known or name_word.glob:
        walk.found.ask(f"the program is only known when it runs ({name_word.shown})")
        walk.found.plain = False
        _any_destructive(walk, args, state)
        return Feed()
    if not name_word.text or re.match(
        r"[A-Za-z_]\w*=", name_word.text
    ):  # after a wrapper: no program, but meant as an assignment
        walk.found.plain = False
        return run(walk, args, state, feed)
    name = _name(walk, name_word, state)
    command = Command(name, args, state, walk, feed)
    _record(walk, name, args)
    if name in state.functions:
        walk.found.plain = False
        walk.call(name, state)
        return Feed(None, (name,))
    if name in _RESERVED:
        walk.found.ask(f"{name!r} stands where a program must; it could not be read with certainty")
        return run(walk, args, state, feed)
    _tables(command)
    if name in WRAPPERS and _wrapped(walk, command):
        return Feed(None, (name,))
    rule = _RULES.get(name)
    if rule is not None:
        rule(command)
    _builtin(walk, command)
    if name not in _SPEAK:
        for word in _file_words(command):
            command.reads(word)
    return _output(command)


def _name(walk: Walk, word: Word, state: State) -> str:
    """The program's plain name; a path to somewhere doubtful is noticed."""
    text = word.text
    if not text.isascii():
        walk.found.ask(f"the program's name {text!r} has letters that look like others")
    if "/" in text:
        place = locate(word, state, walk.around)[0]
        if code.fresh(Command(text, [], state, walk), Word(text)):
            return text.rpartition("/")[2]
        tools = place == Place.HOME or text.startswith(("/opt/", "/nix/", "/snap/"))
        tools = tools and bool(re.search(r"/(?:bin|shims|scripts)/", text, re.IGNORECASE))
        if place not in {Place.WORKSPACE, Place.SYSTEM, Place.CRITICAL} and not tools:
            walk.found.ask(f"it runs {text}, {MEANING.get(place, 'no ordinary program')}")
        text = os.path.normpath(text).rpartition("/")[2]
    text = text.lower().removesuffix(".exe")
    versioned = _VERSIONED.fullmatch(text)
    return versioned[1] if versioned else text


def _record(walk: Walk, name: str, args: list[Word]) -> None:
    if name in {"[", "test"}:
        return
    argv = (name, *(w.shown for w in args))
    walk.found.commands.append(argv)
    if any(not w.known or w.glob for w in args):
        walk.found.plain = False
    if name in options.names("readers"):
        prefix = argv[:1]
    elif (name in {"python", "python3"} and argv[1:2] == ("-m",)) or (
        name in {"npm", "pnpm", "yarn", "bun", "uv", "poetry", "docker", "podman"}
        and argv[1:2]
        and argv[1] in {"run", "exec", "compose"}
    ):
        prefix = argv[:3]
    elif name in options.names("two_words") and len(argv) > 1 and not argv[1].startswith("-"):
        prefix = argv[:2]
    else:
        prefix = argv
    walk.found.prefixes.append(prefix)


def _tables(c: Command) -> None:
    """Programs and options that are asked about as such."""
    name = c.name
    first = c.args[0].text if c.args else ""
    if first in {"--version", "--help"} and len(c.args) == 1:
        return
    blocked, asked = options.blocked(name), options.asked(name) or options.asked_unless(name, first)
    if blocked:
        c.block(blocked)
    if asked and not (name in {"nc", "ncat", "netcat"} and network.probes_loopback(c)):
        c.ask(asked)
        if "disks" in asked:
            system.disk(c)
    why = options.subcommand(name, [w.text for w in c.operands("nCfpP", "namespace", "context", "file", "project")])
    if why:
        c.ask(why)
    short, long = options.executes(name)
    if (short or long) and c.has(short, *long):
        c.ask("an option of it runs a program, loads code or changes the system")
        for word in c.values(short, *long):
            c.judge.script(word.text.removeprefix("exec="), c.state)


def _wrapped(walk: Walk, c: Command) -> bool:
    """Judge what a wrapper runs. False when the program is no wrapper this time."""
    wrapper = WRAPPERS[c.name]
    if c.name == "command" and c.args and c.args[0].text in {"-v", "-V"}:
        return True
    if wrapper.first and not any(w.text in wrapper.first for w in c.args[:3]):
        return False
    if wrapper.ask:
        c.ask(wrapper.ask)
    if c.name in {"time", "strace", "ltrace", "perf"}:
        for word in c.values("o", "output"):
            c.writes(word)
    state = c.state
    pairs, words = inner(c, wrapper)
    for name, value in pairs:
        assigned(walk, name, (value,), state)
        walk.found.plain = False
    for word in shell_texts(c, wrapper):
        code.given(c, word)
    if c.name == "env" and c.values("C", "chdir"):
        state = state.fork()
        _cd(walk, state, c.values("C", "chdir")[0])
        state.doubtful = ()
    if c.name == "coproc":
        words = next((words[i + 1 :] for i, w in enumerate(words[:2]) if w.text in {"{", "("}), words)
    if c.name == "parallel" and words and words[0].text.startswith(":::"):
        for word in words[1:]:
            walk.script(word.text, state)
        return True
    if c.name in {"xargs", "parallel"}:
        words = fed(c, words or [Word("echo")])
    if c.name in {"watch", "hyperfine", "parallel"} and words and " " in words[0].text:
        for word in words:
            walk.script(word.text, state)
        return True
    if words:
        walk.argv(words, state, c.feed)
    elif c.name in {"sudo", "su", "doas", "env"}:
        code.stdin(c) if c.name != "env" else None
    return True


def _builtin(walk: Walk, c: Command) -> None:
    """What the shell's own commands change for the rest of the script."""
    if c.name in {"cd", "pushd", "chdir"}:
        operands = c.operands()
        _cd(walk, c.state, operands[0] if operands else Word(walk.around.home))
    elif c.name == "popd":
        c.state.folders = ("",)
    elif c.name in {"read", "getopts"}:
        for word in c.operands("adinNptu"):
            c.state.variables[word.text] = (UNKNOWN,)
    elif c.name in {"export", "declare", "typeset", "local", "readonly"}:
        walk.found.plain = False
        for word in c.args:
            name, equals, value = word.text.partition("=")
            if equals:
                assigned(walk, name, (value,), c.state)
                c.state.variables[name] = (value,)
    if c.name in {"test", "[", "let", "printf", "read", "declare", "unset", "export", "wait"}:
        for word in c.args:
            if re.search(r"\w\[[^\]]*(?:\$\(|`)", word.text):
                c.ask("a quoted subscript would run a command")
                walk.script(re.sub(r"^.*?(?:\$\(|`)", "", word.text).rstrip(")]`"), c.state)


def _cd(walk: Walk, state: State, word: Word) -> None:
    old = state.folders
    if not word.known or word.text == "-" or word.glob:
        state.folders, state.doubtful = ("",), old
        walk.found.plain = False
        return
    if word.text.startswith("/"):
        new = {os.path.normpath(word.text)}
    else:
        new = {os.path.normpath(f"{folder}/{word.text}") if folder else "" for folder in old}
    state.folders = tuple(sorted(new))
    state.doubtful = () if all(Path(folder).is_dir() for folder in new if folder) else old
    if any(locate(Word(f), state, walk.around)[0] not in {Place.WORKSPACE, Place.WORKSPACE_ROOT} for f in new if f):
        walk.found.plain = False


def assigned(walk: Walk, name: str, given: tuple[str, ...], state: State) -> None:
    """An assignment: some variables decide what runs."""
    if not options.decides(name):
        return
    quiet = {""} | (_QUIET_VALUES if name.endswith(("PAGER", "EDITOR")) or name == "VISUAL" else set())
    if name != "PATH" and all(value in quiet for value in given):
        return
    if _QUIET_GIT.fullmatch(name) or (
        name == "NODE_OPTIONS" and not any(_NODE_LOADS.search(v) or UNKNOWN in v for v in given)
    ):
        return
    if name == "PATH" and all(_extends_path(walk, value, state) for value in given):
        return
    if name in _SEARCH_PATHS and all(_in_workspace(walk, value, state) for value in given):
        return
    if name == "IFS":
        if any(not value or set(value) - set(" \t\n,:;|/\\n") for value in given):
            walk.found.ask("it changes how words are split (IFS)")
        return
    walk.found.ask(f"it sets {name}, which decides what runs or where it goes")
    if name in {"PROMPT_COMMAND", "PS4", "BASH_ENV", "ENV", "LESSOPEN", "LESSCLOSE", "BROWSER"} or name.endswith(
        ("PAGER", "EDITOR", "COMMAND")
    ):
        for value in given:
            walk.script(value.replace(UNKNOWN, "x"), state)


def _extends_path(walk: Walk, value: str, state: State) -> bool:
    """`PATH=folder:$PATH` with folders of programs that are the user's, the system's or the workspace's own."""
    entries = value.split(":")
    if UNKNOWN not in entries or not all(entries):
        return False
    for entry in entries:
        place = locate(Word(entry), state, walk.around)[0]
        if entry == UNKNOWN or place in {Place.SYSTEM, Place.WORKSPACE} or (entry in {"/usr/bin", "/bin", "/sbin"}):
            continue
        if not (place in {Place.HOME, Place.ELSEWHERE} and re.search(r"/(?:\.?s?bin|shims|scripts)$", entry)):
            return False
    return True


def _in_workspace(walk: Walk, value: str, state: State) -> bool:
    places = [locate(Word(entry or "."), state, walk.around)[0] for entry in value.split(":") if entry != UNKNOWN]
    return all(place in {Place.WORKSPACE, Place.WORKSPACE_ROOT} for place in places)


def _file_words(c: Command) -> list[Word]:
    """Words that may name files: operands, and values after `=` or `@`."""
    texts = _TEXT_ONLY.get(f"{c.name} {c.subcommand}")
    skip = {id(w) for w in c.values(texts)} if texts else set()
    if c.name == "git" and c.subcommand in {"commit", "tag", "log", "grep"}:
        return []
    out = []
    for word in c.args:
        if id(word) in skip or " " in word.text.strip():
            continue
        if word.text.startswith("-"):
            _, equals, value = word.text.partition("=")
            if equals:
                out.append(Word(value, word.glob))
        else:
            out.append(word)
            _, equals, value = word.text.partition("=")
            if equals and "/" in value:
                out.append(Word(value, word.glob))
    return out


def _output(c: Command) -> Feed:
    """What is known of a command's output: constants that echo and printf write, and what cat passes on."""
    through = (*(c.feed.through if c.feed else ()), c.name)
    if c.name == "echo":
        rest = [w.text for w in c.args]
        while rest and re.fullmatch(r"-[neE]+", rest[0]):
            rest.pop(0)
        text = " ".join(rest)
        return Feed(None if UNKNOWN in text else text.replace("\\n", "\n"))
    if c.name == "printf" and c.args:
        text = " ".join(w.text for w in c.args)
        text = re.sub(r"%[sbq]", "", text).replace("\\n", "\n")
        return (
            Feed(None, ("printf",))
            if UNKNOWN in text or "\\x" in text or re.search(r"\\[0-7]{2}", text)
            else Feed(text)
        )
    if c.name in {"cat", "tee", "stdbuf"} and c.feed is not None and not c.operands():
        return c.feed
    return Feed(None, through)


def _any_destructive(walk: Walk, args: list[Word], state: State) -> None:
    """An unknown program with arguments that would be a catastrophe for rm is judged as one."""
    if any(w.text.startswith("-") and "r" in w.text.lower() for w in args):
        for word in args:
            if not word.text.startswith("-") and word.known and locate(word, state, walk.around)[0] == Place.VITAL:
                walk.found.block(f"an unknown program is pointed at {word.shown}, {MEANING[Place.VITAL]}")


def writes(walk: Walk, word: Word, state: State) -> None:
    """A redirection's target."""
    if network.network_redirect(word):
        walk.found.ask("it opens a network connection (/dev/tcp)")
        return
    Command("redirection", [], state, walk).writes(word)


def reads(walk: Walk, word: Word, state: State) -> None:
    """A redirection's source."""
    if network.network_redirect(word):
        walk.found.ask("it opens a network connection (/dev/tcp)")
        return
    Command("redirection", [], state, walk).reads(word)
