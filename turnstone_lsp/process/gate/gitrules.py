"""Rules for git: configuration that runs programs, options that do, and what loses work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate.words import State, Word

if TYPE_CHECKING:
    from turnstone_lsp.process.gate.command import Command

_RUNNING_KEYS = re.compile(
    r"alias\..*|core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|worktree|attributesfile|excludesfile"
    r"|alternaterefscommand)|pager\..*|diff\..*\.(?:textconv|command)|diff\.external|difftool\..*|mergetool\..*|merge\..*\.driver"
    r"|filter\..*|credential\..*|gpg\..*|sequence\.editor|protocol\..*|url\..*|include(?:if)?\..*|browser\..*|http\..*"
    r"|remote\..*\.(?:uploadpack|receivepack|proxy|vcs|url|pushurl)|uploadpack\..*|receive\..*|sendemail\..*|instaweb\..*|man\..*"
    r"|ssh\..*|interactive\.difffilter|trailer\..*|submodule\..*|init\.templatedir|safe\.directory|web\.browser|tar\..*\.command"
    r"|log\.showsignature|add\.interactive\.usebuiltin",
    re.IGNORECASE,
)
_RUNNING_OPTIONS = (
    "upload-pack",
    "receive-pack",
    "exec",
    "ext-diff",
    "textconv",
    "open-files-in-pager",
    "extcmd",
    "tool",
    "template",
    "exec-path",
    "config-env",
    "remote",
    "server-option",
    "gpg-sign",
)
_ALWAYS = {
    "filter-branch": "rewrites history",
    "filter-repo": "rewrites history",
    "daemon": "opens the repository to the network",
    "instaweb": "opens the repository to the network",
    "send-email": "sends mail",
    "imap-send": "sends mail",
    "credential": "handles credentials",
    "credential-store": "handles credentials",
    "update-ref": "changes references directly",
    "difftool": "runs another program",
    "mergetool": "runs another program",
    "p4": "reaches another machine",
    "svn": "reaches another machine",
    "prune": "drops unreachable work",
    "upload-archive": "runs a server",
    "hook": "runs hooks",
}


def git(c: Command) -> None:
    """Git and its subcommands."""
    at = _global_options(c)
    if at >= len(c.args):
        return
    sub = c.args[at].text
    if "\0" in sub:
        c.ask("runs a subcommand that is only known when it runs")
        return
    args = c.args[at + 1 :]
    inner = type(c)(f"git {sub}", args, c.state, c.judge, c.feed)
    if sub in _ALWAYS:
        inner.ask(_ALWAYS[sub])
    _running_options(inner, sub)
    rule = _RULES.get(sub)
    if rule:
        rule(inner)


def _global_options(c: Command) -> int:
    at = 0
    while at < len(c.args) and c.args[at].text.startswith("-"):
        text = c.args[at].text
        if text == "-c" and at + 1 < len(c.args):
            _setting(c, c.args[at + 1])
        elif text == "-C" and at + 1 < len(c.args):
            c.state = _moved(c, c.args[at + 1])
        elif text.startswith(("--exec-path=", "--config-env")):
            c.ask("runs programs or settings of another place")
        elif text.startswith(("--git-dir", "--work-tree")):
            value = Word(text.partition("=")[2]) if "=" in text else c.args[min(at + 1, len(c.args) - 1)]
            c.writes(value, "works on")
        at += (
            2
            if text in {"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"}
            else 1
        )
    return at


def _moved(c: Command, word: Word) -> State:
    state = c.state.fork()
    state.folders = tuple(
        w if w.startswith("/") else f"{f}/{w}" for f in state.folders for w in [word.text] if f or w.startswith("/")
    )
    if not word.known or not state.folders:
        state.folders = ("",)
    return state


def _setting(c: Command, word: Word) -> None:
    key, _, value = word.text.partition("=")
    if not _RUNNING_KEYS.fullmatch(key) and word.known:
        return
    if value in {"cat", "", "false", "true", "less", "/dev/null"} and not key.lower().startswith(
        ("alias", "include", "protocol", "core.hookspath")
    ):
        return
    c.ask(f"sets {key}, by which git runs or reaches other things")
    if key.lower().startswith("alias.") and not value.startswith("!"):
        c.judge.argv([Word("git"), *map(Word, value.split())], c.state)
    else:
        c.judge.script(value.lstrip("!"), c.state)


def _running_options(c: Command, sub: str) -> None:
    for word in c.args:
        text = word.text
        if text == "--":
            break
        name = text[2:].partition("=")[0]
        if text.startswith("--") and len(name) > 2 and any(o.startswith(name) for o in _RUNNING_OPTIONS):
            if name == "remote" and sub != "archive":
                continue
            if name in {"exec", "tool"} and sub not in {
                "rebase",
                "archive",
                "fetch-pack",
                "push",
                "difftool",
                "mergetool",
                "send-pack",
            }:
                continue
            if name == "template" and sub == "commit":
                continue
            c.ask(f"{text.partition('=')[0]} runs or reaches other things")
        if re.match(r"ext::|fd::", text):
            c.ask("names a transport that runs a program")
    if sub == "grep" and c.has("O"):
        c.ask("-O runs another program")
    if sub in {"clone", "fetch", "ls-remote", "pull"} and c.has("u") and sub in {"clone", "ls-remote"}:
        c.ask("-u runs another program")


def _clone(c: Command) -> None:
    if c.values("c", "config"):
        for word in c.values("c", "config"):
            _setting(c, word)
    operands = c.operands("cbou", "config", "branch", "origin", "depth", "template", "jobs", "filter")
    if len(operands) > 1:
        c.writes(operands[1], "clones to")


def _config(c: Command) -> None:
    operands = [
        w for w in c.operands("f", "file", "type", "default") if w.text not in {"set", "get", "list", "unset", "edit"}
    ]
    changes = len(operands) > 1 or c.has(
        "e", "edit", "unset", "unset-all", "add", "replace-all", "remove-section", "rename-section"
    )
    first = c.args[0].text if c.args else ""
    if first in {"get", "list"} or c.has("l", "get", "get-all", "get-regexp", "list", "get-urlmatch"):
        return
    if first == "edit" or c.has("e", "edit"):
        c.ask("opens an editor")
    if changes and c.has("", "global", "system"):
        c.ask("changes your settings outside the workspace")
    if changes and operands:
        _setting(c, Word(f"{operands[0].text}={operands[1].text if len(operands) > 1 else ''}"))
    for word in c.values("f", "file"):
        c.writes(word)


def _push(c: Command) -> None:
    if c.has("f", "force", "force-with-lease", "mirror", "delete", "prune", "force-if-includes") or c.has("d"):
        c.ask("overwrites or deletes what others have")
    operands = c.operands("o", "push-option", "repo", "receive-pack")
    if any(w.text.startswith(("+", ":")) for w in operands[1:]):
        c.ask("overwrites or deletes what others have")
    if (operands and re.search(r"://|@.*:|^/|^\.\.?/", operands[0].text)) or (operands and not operands[0].known):
        c.ask("pushes to an address rather than a configured remote")


def _reset(c: Command) -> None:
    if c.has("", "hard", "merge", "keep"):
        c.ask("throws away uncommitted work")


def _clean(c: Command) -> None:
    if not c.has("n", "dry-run"):
        c.ask("deletes files that git does not know")


def _checkout(c: Command) -> None:
    texts = [w.text for w in c.args]
    if (
        c.has("f", "force")
        or "--" in texts
        or "." in texts
        or c.has("", "ours", "theirs", "pathspec-from-file")
        or (len(c.operands("bB", "orphan", "conflict")) > 1 and not c.has("bBt", "track", "orphan"))
    ):
        c.ask("throws away uncommitted work")


def _restore(c: Command) -> None:
    if not c.has("S", "staged") or c.has("W", "worktree"):
        c.ask("throws away uncommitted work")


def _switch(c: Command) -> None:
    if c.has("fC", "force", "discard-changes", "force-create"):
        c.ask("throws away uncommitted work")


def _stash(c: Command) -> None:
    if c.args and c.args[0].text in {"drop", "clear"}:
        c.ask("throws away stashed work")


def _branch(c: Command) -> None:
    if c.has("D") or (c.has("d", "delete") and c.has("f", "force")) or c.has("M"):
        c.ask("deletes a branch with its unmerged work")


def _tag(c: Command) -> None:
    if c.has("d", "delete"):
        c.ask("deletes a tag")


def _rm(c: Command) -> None:
    if c.has("", "cached") or c.has("n", "dry-run"):
        return
    for word in c.operands("", "pathspec-from-file"):
        c.removes(word, recursive=c.has("r") or word.glob)


def _mv(c: Command) -> None:
    operands = c.operands()
    for word in operands[-1:]:
        c.writes(word, "moves to")


def _reflog(c: Command) -> None:
    if c.args and c.args[0].text in {"expire", "delete"}:
        c.ask("drops the record by which lost work is found")


def _gc(c: Command) -> None:
    if c.has("", "prune", "aggressive") and any("now" in w.text or "all" in w.text for w in c.args):
        c.ask("drops unreachable work")


def _rebase(c: Command) -> None:
    for word in c.values("x", "exec"):
        c.judge.script(word.text, c.state)
        c.ask("runs a command for each commit")
    if c.has("i", "interactive", "edit-todo"):
        c.ask("opens an editor")


def _bisect(c: Command) -> None:
    if c.args and c.args[0].text == "run":
        c.judge.argv(c.args[1:], c.state)


def _submodule(c: Command) -> None:
    operands = c.operands()
    if operands and operands[0].text == "foreach":
        c.judge.script(" ".join(w.text for w in operands[1:]), c.state)
    elif operands and operands[0].text in {"add", "set-url", "deinit"}:
        c.ask("changes which other repositories belong here")


def _worktree(c: Command) -> None:
    operands = c.operands("bB")
    if operands and operands[0].text == "add" and len(operands) > 1:
        c.writes(operands[1])
    if c.has("f", "force"):
        c.ask("forces a worktree away")


def _remote(c: Command) -> None:
    operands = c.operands("tm")
    if operands and operands[0].text in {"set-url", "remove", "rm", "rename"}:
        c.ask("changes where the repository pulls from and pushes to")


def _init(c: Command) -> None:
    for word in c.operands("b", "template", "initial-branch", "separate-git-dir"):
        c.writes(word)


def _output(c: Command) -> None:
    for word in c.values("o", "output", "output-directory"):
        if word.text:
            c.writes(word)


_RULES = {
    "clone": _clone,
    "init": _init,
    "config": _config,
    "push": _push,
    "reset": _reset,
    "clean": _clean,
    "checkout": _checkout,
    "restore": _restore,
    "switch": _switch,
    "stash": _stash,
    "branch": _branch,
    "tag": _tag,
    "rm": _rm,
    "mv": _mv,
    "reflog": _reflog,
    "gc": _gc,
    "rebase": _rebase,
    "bisect": _bisect,
    "submodule": _submodule,
    "worktree": _worktree,
    "remote": _remote,
    "archive": _output,
    "format-patch": _output,
    "diff": _output,
    "log": _output,
    "show": _output,
    "bundle": _output,
}
