"""Options by which a harmless-looking program runs, writes or loads something else (C-13).

A permission whose trailing * would stand for one of them does not cover the command. The table is a net, not a wall:
nothing is permitted by it, it only takes away.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPTIONS: dict[str, frozenset[str]] = {
    "find": frozenset({"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"}),
    "fd": frozenset({"-x", "-X", "--exec", "--exec-batch"}),
    "rg": frozenset({"--pre", "--hostname-bin", "--search-zip", "-z"}),
    "git": frozenset(
        {
            "-c", "-C", "--exec-path", "--config-env", "--git-dir", "--work-tree", "--namespace", "--exec", "-x",
            "--ext-diff", "--textconv", "--output", "-o", "--open-files-in-pager", "-O", "--upload-pack",
            "--receive-pack", "-u", "--paginate", "-p", "--template", "--super-prefix",
        }
    ),
    "tar": frozenset(
        {
            "--checkpoint-action", "--to-command", "--use-compress-program", "-I", "--info-script", "-F",
            "--new-volume-script", "--rsh-command", "--rmt-command",
        }
    ),
    "sort": frozenset({"--compress-program", "-o", "--output", "-T", "--temporary-directory"}),
    "man": frozenset({"-P", "--pager", "-H", "--html", "-C", "--config-file", "-X", "--gxditview"}),
    "less": frozenset({"-o", "-O", "--log-file", "--LOG-FILE", "-k", "--lesskey-file", "--lesskey-src"}),
    "make": frozenset({"-f", "--file", "--makefile", "-C", "--directory", "--eval", "-I", "--include-dir"}),
    "curl": frozenset({"-o", "--output", "-O", "--remote-name", "-K", "--config", "-T", "--upload-file"}),
    "wget": frozenset({"-O", "--output-document", "-i", "--input-file", "--use-askpass", "-e", "--execute"}),
    "pip": frozenset({"--target", "-t", "--root", "--prefix", "--config-settings", "--python"}),
    "pytest": frozenset({"-p", "-c", "--config-file", "--rootdir", "-o", "--override-ini", "--pdbcls"}),
    "npm": frozenset({"--script-shell", "--prefix", "--node-options", "--userconfig", "--globalconfig"}),
    "cargo": frozenset({"--config", "-C", "-Z", "--manifest-path"}),
    "go": frozenset({"-exec", "-toolexec", "-o", "-C", "-overlay", "-modfile"}),
}  # fmt: skip
"""Program -> options. Long ones are matched with =value and in every abbreviation, short ones inside clusters."""

_ASSIGNS = frozenset({"make"})
"""Programs for which NAME=value is a setting of what is run."""

RUNNERS = frozenset(
    {
        "sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "pwsh", "python", "node", "deno", "bun", "ruby", "perl",
        "php", "lua", "awk", "gawk", "mawk", "sed", "ed", "ex", "vi", "vim", "nvim", "emacs", "env", "sudo", "doas",
        "su", "xargs", "parallel", "nohup", "setsid", "timeout", "time", "nice", "ionice", "stdbuf", "watch", "exec",
        "eval", "command", "builtin", "source", ".", "ssh", "docker", "podman", "npx", "uvx", "pipx", "strace", "gdb",
        "script", "expect", "chroot", "unshare", "nsenter", "flock", "find", "fd", "make", "tee", "dd", "osascript",
    }
)  # fmt: skip
"""Programs that run what their arguments say: their name alone is never a pattern for "always"."""

WRAPPERS = frozenset(
    {
        "env", "sudo", "doas", "su", "xargs", "parallel", "nohup", "setsid", "timeout", "time", "nice", "ionice",
        "stdbuf", "watch", "exec", "eval", "command", "builtin", "ssh", "chroot", "unshare", "nsenter", "flock", "sed",
        "awk", "gawk", "mawk", "perl", "find", "fd",
    }
)  # fmt: skip
"""Programs of which no argv prefix says what will run: "always" stores the exact line only."""


def program(argv: Sequence[str]) -> str:
    """The program's name without its folder, version or .exe: /usr/bin/python3.11 -> python."""
    name = PurePath(argv[0].replace("\\", "/")).name.casefold().removesuffix(".exe") if argv else ""
    return re.sub(r"[\d.]+$", "", name) or name


def runs_something(argv: Sequence[str], fixed: int) -> bool:
    """Whether the words after the first `fixed` hold an option by which the program runs or writes something else."""
    name = program(argv)
    options = _OPTIONS.get(name, frozenset())
    rest = argv[max(fixed, 1) :]
    if name in _ASSIGNS and any(re.match(r"[A-Za-z_]\w*[:+?]?=", word) for word in rest):
        return True
    return any(_is_option(word, options) for word in rest if word.startswith("-") and word != "-")


def _is_option(word: str, options: frozenset[str]) -> bool:
    head = word.partition("=")[0]
    if word.startswith("--"):
        return len(head) > 2 and any(option.startswith(head) for option in options if option.startswith("--"))
    if head in options or any(len(o) > 2 and head == o for o in options):
        return True
    return any(len(o) == 2 and o[0] == "-" and o[1] in head[1:] for o in options)
