"""What a path stands for: which paths are vital, ours, secret, protected, devices, in the workspace, or elsewhere.

Paths are judged twice, as written and with every symbolic link of their existing part resolved; the worse counts.
"""

from __future__ import annotations

import enum
import fnmatch
import itertools
import os
import re
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate.words import UNKNOWN, State, Word

if TYPE_CHECKING:
    from pathlib import Path

# Paths are compared as the shell and the kernel read them, as strings:
# ruff: noqa: PTH100, PTH109, PTH111, PTH118, PTH120


class Place(enum.IntEnum):
    """Kinds of places, harmless first."""

    HARMLESS_DEVICE = 0
    WORKSPACE = 1
    TEMPORARY = 2
    UNKNOWN = 3
    ELSEWHERE = 4
    HOME = 5
    PROTECTED = 6
    SYSTEM = 7
    SECRET = 8
    TEMPORARY_ROOT = 9
    WORKSPACE_ROOT = 10
    CRITICAL = 11
    DEVICE = 12
    OWN = 13
    VITAL = 14


MEANING = {
    Place.UNKNOWN: "a path that is only known when it runs",
    Place.ELSEWHERE: "a path outside the workspace",
    Place.HOME: "a path in your home folder outside the workspace",
    Place.PROTECTED: "a protected file (settings, hooks or instructions that other programs obey)",
    Place.SYSTEM: "a system path",
    Place.SECRET: "keys, credentials or shell start-up files",
    Place.TEMPORARY_ROOT: "the whole folder for temporary files",
    Place.WORKSPACE_ROOT: "the whole workspace or a folder that holds it",
    Place.CRITICAL: "a file that the system depends on",
    Place.DEVICE: "a device",
    Place.OWN: "turnstone's own configuration or state",
    Place.VITAL: "the root, home or a top-level system folder",
}

_TOP = frozenset(
    [
        "bin",
        "boot",
        "dev",
        "etc",
        "home",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "media",
        "mnt",
        "nix",
        "opt",
        "proc",
        "root",
        "run",
        "sbin",
        "snap",
        "srv",
        "sys",
        "usr",
        "var",
        "users",
        "system",
        "library",
        "applications",
        "volumes",
        "private",
        "cores",
    ]
)
_SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "nix", "proc", "run", "sbin", "sys", "usr", "var")
_SYSTEM_MAC = ("system", "library", "applications", "private")
_CRITICAL = re.compile(
    r"/etc/(?:passwd|shadow|group|gshadow|sudoers(?:\.d/.*)?|fstab|ld\.so\.preload|pam\.d/.*|hosts|crontab|cron\..*"
    r"|systemd/.*|ssh/.*|profile(?:\.d/.*)?|bash\.bashrc|environment|init\.d/.*|rc\.local)-?"
    r"|/boot/.*|/(?:usr/)?s?bin/[^/]+|/(?:usr/)?lib/systemd/.*|/var/spool/cron/.*|/proc/sys.*|/sys/.*"
)
_SECRET_HOME = re.compile(
    r"\.(?:ssh|gnupg|aws|azure|kube|docker|netrc|pgpass|git-credentials|password-store|npmrc|pypirc|gem|vault-token"
    r"|bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|kshrc|cshrc"
    r"|tcshrc|xinitrc|xprofile|xsession|pam_environment|inputrc|gitconfig|bash_history|zsh_history|python_history"
    r"|psql_history|mysql_history|node_repl_history|mozilla|thunderbird|terraformrc|cargo/credentials.*|pip"
    r"|local/share/keyrings|config/(?:gh|gcloud|git|hub|autostart|systemd|fish|rclone|op|google-chrome|chromium"
    r"|environment\.d)|vscode-server|claude|codex|cursor)(?:/.*|\.\w+)?"
    r"|library/(?:keychains|launchagents)(?:/.*)?"
)
_SECRET_SYSTEM = re.compile(
    r"/etc/(?:shadow|gshadow|sudoers(?:\.d/.*)?|ssh/ssh_host_.*_key|krb5\.keytab)-?"
    r"|/proc/(?:\d+|self|thread-self|\*|\x00|\$\$)+/(?:environ|mem|maps|fd(?:/.*)?|cmdline)|/proc/kcore"
    r"|/(?:var/)?run/(?:docker|containerd/containerd|podman/podman)\.sock|/(?:var/)?run/secrets(?:/.*)?"
)
_SECRET_NAME = re.compile(
    r"(?:id_(?:rsa|dsa|ecdsa|ed25519)(?!.*\.pub$).*|.*\.(?:pem|p12|pfx|keystore|jks|kdbx)|\.netrc|\.git-credentials"
    r"|\.pgpass|\.env(?:\.(?!example$|sample$|template$|dist$).*)?|\.npmrc|\.pypirc)"
)
PROTECTED = re.compile(
    r"(?:.*/)?(?:\.git|\.vscode|\.idea|\.zed|\.cursor|\.claude|\.codex|\.roo|\.husky|\.devcontainer|\.hg|\.svn"
    r"|\.github/workflows)(?:/.*)?"
    r"|(?:.*/)?(?:\.mcp\.json|\.env(?:\.(?!example$|sample$|template$|dist$).*)?|\.npmrc|\.yarnrc.*|\.pre-commit-config\.yaml|\.envrc|.*\.code-workspace"
    r"|sitecustomize\.py|usercustomize\.py|agents\.md|claude\.md|gemini\.md|\.cursorrules|\.windsurfrules"
    r"|\.gitmodules|\.gitattributes|\.gitconfig|\.bashrc|\.profile|\.zshrc|\.direnvrc|\.turnstone.*)"
    r"|conftest\.py"
)
"""Names that other programs obey (C-02); against the path inside the workspace, in lower case."""
_HARMLESS = re.compile(
    r"/dev/(?:null|zero|full|random|urandom|tty|stdin|stdout|stderr|fd/\d+|ptmx|pts/\d+|shm/.+)|/proc/self/fd/\d"
)
_OURS = re.compile(r"/(?:\.config|\.local/state|\.local/share|application support)/turnstone-lsp(?:/|$)")
_EVERYTHING = re.compile(r"[*?.]*[*?][*?.]*|\.?\[[!^].*\]\*?|!\(.*\)\*?|[*?+@]\(.*\*.*\)")
"""A last part that matches (nearly) everything in its folder."""


_PATTERN = re.compile(r"[*?\[]|[!@+]\(")
_LURES = (
    *("bin", "boot", "dev", "etc", "home", "lib", "root", "usr", "var", "passwd", "shadow", "sudoers", "sda", "sbin"),
    *(".ssh", ".aws", ".gnupg", ".bashrc", ".profile", ".netrc", ".env", ".git", ".vscode", "id_rsa", "id_ed25519"),
    *("authorized_keys", "environ", "self"),
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a command runs: the workspace's roots, home, and our own folders.

    readable: folders of ours whose files a command may read (spooled output).
    """

    cwd: str
    roots: tuple[str, ...]
    home: str
    own: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()

    @property
    def vital(self) -> frozenset[str]:
        """Folders whose loss is a catastrophe."""
        homes = {_fold(self.home), _fold(os.path.dirname(self.home) or "/"), "/home", "/users"}
        return frozenset(
            {"/"} | {f"/{name}" for name in _TOP} | homes | {"/usr/local", "/usr/bin", "/usr/lib", "/var/lib"}
        )


def surroundings(cwd: Path | None, roots: tuple[Path, ...], home: Path | None) -> Surroundings:
    """The facts that paths are judged by; our own folders are found without being made."""
    import platformdirs

    folder = os.path.abspath(cwd or os.getcwd())
    config = os.environ.get("TURNSTONE_CONFIG")
    state = os.environ.get("TURNSTONE_STATE_DIR") or platformdirs.user_state_dir("turnstone-lsp", appauthor=False)
    own = [platformdirs.user_config_dir("turnstone-lsp", appauthor=False), state, *([config] if config else [])]
    real_roots = [os.path.realpath(r) for r in roots or (folder,)]
    return Surroundings(
        folder,
        tuple(dict.fromkeys(real_roots + [os.path.abspath(r) for r in roots or (folder,)])),
        os.path.expanduser(str(home or "~")),
        tuple(os.path.realpath(os.path.expanduser(p)) for p in own),
        (os.path.join(os.path.realpath(os.path.expanduser(state)), "output"),),
    )


def locate(word: Word, state: State, around: Surroundings, *, follow: bool = True) -> tuple[Place, list[str]]:
    """The worst place that a word may stand for, and the absolute paths that it may be.

    follow: the last component is followed when it is a link (reading, writing); not for deleting.
    """
    worst, paths = Place.HARMLESS_DEVICE, []
    for folder, given in itertools.product(state.folders, _readings(word)):
        path = given
        if not path.startswith("/"):
            if not folder or UNKNOWN in path.split("/", 1)[0]:
                worst = max(worst, Place.UNKNOWN)
                continue
            path = f"{folder}/{path}"
        if UNKNOWN in path:
            worst = max(worst, _around_unknown(path, around))
            continue
        plain = os.path.normpath(path)
        plain = plain if not plain.startswith("//") else plain[1:]
        real = os.path.realpath(path) if follow else _real_parent(path)
        for one in (plain, real):
            worst = max(worst, _place(one, around))
        paths.append(real)
    return worst, paths


def _readings(word: Word) -> list[str]:
    """The paths that a pattern is judged as: as a whole folder, as a child, and as the famous names it matches."""
    if not word.glob:
        return [word.text]
    return list(dict.fromkeys([_whole(word.text), *_lured(word.text)]))


def _whole(path: str) -> str:
    """`folder/*` is judged as the folder itself; another pattern as a child of its folder."""
    parts = path.split("/")
    at = next((i for i, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
    if at == len(parts) or not _EVERYTHING.fullmatch(parts[at]):
        return path
    head = "/".join(parts[:at]) or ("/" if path.startswith("/") else ".")
    rest = parts[at + 1 :]
    if all(not part or _EVERYTHING.fullmatch(part) for part in rest):
        return head
    return f"{head}/x/{'/'.join(rest)}"


def _lured(path: str) -> list[str]:
    """The pattern with its parts replaced by names of vital, secret or protected places that they match."""
    choices = []
    for part in path.split("/"):
        hits = [n for n in _LURES if fnmatch.fnmatchcase(n, part) and (part[:1] == "." or n[:1] != ".")]
        choices.append(hits if _PATTERN.search(part) and part.strip("*") else [part])
    if any(not choice for choice in choices):
        return []
    return ["/".join(combination) for combination in itertools.islice(itertools.product(*choices), 24)]


def _around_unknown(path: str, around: Surroundings) -> Place:
    """A path with an unknown part: at least unknown, worse when the part before it is already bad."""
    head = path.split(UNKNOWN, 1)[0]
    if _SECRET_SYSTEM.fullmatch(_fold(path)):
        return Place.SECRET
    if not head.strip("/"):
        return Place.UNKNOWN
    known = _place(os.path.normpath(os.path.dirname(head) or "/") + "/x", around)
    return max(
        Place.UNKNOWN, known if known in {Place.OWN, Place.SECRET, Place.DEVICE, Place.CRITICAL} else Place.UNKNOWN
    )


def _real_parent(path: str) -> str:
    path = path.rstrip("/") or "/"
    parent, name = os.path.split(path)
    if name in {"", ".", ".."}:
        return os.path.realpath(path)
    return os.path.normpath(os.path.join(os.path.realpath(parent or "/"), name))


def _fold(path: str) -> str:
    return path.rstrip("/").casefold() or "/"


def inside(path: str, folder: str) -> bool:
    """True for the folder itself and what is below it, by component, without regard to case."""
    path, folder = _fold(path), _fold(folder)
    return folder in {"/", path} or path.startswith(folder + "/")


def _place(path: str, around: Surroundings) -> Place:
    low = _fold(path)
    device = _device(low)
    if device is not None:
        return device
    if (_OURS.search(low) or any(inside(path, own) for own in around.own)) and not any(
        inside(path, r) for r in around.readable
    ):
        return Place.OWN
    if low in around.vital or any(low == f"/{name}" for name in _TOP):
        return Place.VITAL
    if _SECRET_SYSTEM.fullmatch(low):
        return Place.SECRET
    if _CRITICAL.fullmatch(low):
        return Place.CRITICAL
    if any(inside(root, path) for root in around.roots):
        return Place.WORKSPACE_ROOT
    for root in around.roots:
        if _fold(root) != "/" and inside(path, root):
            rest = low[len(_fold(root)) + 1 :]
            if _fold(root) == _fold(around.home) and _SECRET_HOME.fullmatch(rest):
                return Place.SECRET
            return Place.PROTECTED if PROTECTED.fullmatch(rest) else Place.WORKSPACE
    if low in _temporary():
        return Place.TEMPORARY_ROOT
    if any(inside(path, folder) for folder in _temporary()):
        return Place.TEMPORARY
    if inside(path, around.home):
        rest = low[len(_fold(around.home)) + 1 :]
        return Place.SECRET if _SECRET_HOME.fullmatch(rest) else Place.HOME
    first = low.split("/")[1]
    if first in _SYSTEM or (first in _SYSTEM_MAC and os.uname().sysname == "Darwin"):
        return Place.SYSTEM
    return Place.ELSEWHERE


def _device(low: str) -> Place | None:
    if low in {"/dev", "/proc"}:
        return None
    if low.startswith(("/dev/", "/proc/self/fd/")):
        return Place.HARMLESS_DEVICE if _HARMLESS.fullmatch(low) else Place.DEVICE
    return Place.DEVICE if low.startswith("\\\\.\\") else None


def _temporary() -> frozenset[str]:
    folders = {"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", tempfile.gettempdir()}  # noqa: S108 - judged only
    return frozenset(_fold(f) for f in folders)


def is_secret_name(word: Word) -> bool:
    """True for a bare file name that holds keys wherever it lies (id_rsa, *.pem, .env)."""
    return bool(_SECRET_NAME.fullmatch(word.text.rstrip("/").rpartition("/")[2].casefold()))
