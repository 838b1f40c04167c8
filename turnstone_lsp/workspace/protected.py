"""Names that need care: what may never be written, what always asks before a write, what always asks before a read.

C-01 and C-02. Names are compared folded (case and Unicode form), so that no spelling of a name passes on any file
system; a file that does not exist yet is judged like one that does.
"""

from __future__ import annotations

import os
import re
import unicodedata
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from turnstone_lsp.config import folders

_FOLDERS = {
    ".git": "is Git's own data: its settings and hooks run programs",
    ".hg": "is Mercurial's own data",
    ".svn": "is Subversion's own data",
    ".vscode": "holds editor settings, which can run programs",
    ".idea": "holds editor settings, which can run programs",
    ".zed": "holds editor settings, which can run programs",
    ".helix": "holds editor settings, which can run programs",
    ".nvim": "holds editor settings, which can run programs",
    ".fleet": "holds editor settings, which can run programs",
    ".devcontainer": "defines a container and what runs in it",
    ".turnstone": "holds settings of this agent",
    ".cursor": "holds settings of an agent",
    ".claude": "holds settings of an agent",
    ".codex": "holds settings of an agent",
    ".gemini": "holds settings of an agent",
    ".roo": "holds settings of an agent",
    ".cline": "holds settings of an agent",
    ".windsurf": "holds settings of an agent",
    ".husky": "holds hooks that Git runs",
    ".circleci": "defines what runs in continuous integration",
    ".ssh": "holds keys and hosts of SSH",
    ".gnupg": "holds keys",
    ".aws": "holds credentials",
    ".kube": "holds credentials",
    ".docker": "holds credentials",
}
_NAMES = {
    ".mcp.json": "names programs that agents run",
    ".env": "holds secrets and settings of programs",
    ".env.*": "holds secrets and settings of programs",
    ".envrc": "runs when a shell enters the folder",
    ".npmrc": "holds credentials and settings of npm",
    ".yarnrc*": "names programs that yarn runs",
    ".pnpmfile.cjs": "runs at every install",
    ".pypirc": "holds credentials",
    ".netrc": "holds credentials",
    ".git-credentials": "holds credentials",
    ".gitconfig": "names programs that Git runs",
    ".gitmodules": "names repositories that Git fetches",
    ".gitattributes": "names filters that Git runs",
    ".pre-commit-config.yaml": "names hooks that Git runs",
    "lefthook.y*ml": "names hooks that Git runs",
    ".gitlab-ci.yml": "defines what runs in continuous integration",
    "jenkinsfile": "defines what runs in continuous integration",
    "*.code-workspace": "holds editor settings, which can run programs",
    ".dir-locals.el": "runs in Emacs",
    ".exrc": "runs in vi",
    ".nvimrc": "runs in Neovim",
    ".nvim.lua": "runs in Neovim",
    ".vimrc": "runs in vim",
    ".editorconfig": "decides how files are written",
    "agents.md": "holds instructions that agents follow",
    "claude.md": "holds instructions that agents follow",
    "gemini.md": "holds instructions that agents follow",
    ".cursorrules": "holds instructions that agents follow",
    ".windsurfrules": "holds instructions that agents follow",
    "copilot-instructions.md": "holds instructions that agents follow",
    "sitecustomize.py": "runs at every start of Python",
    "usercustomize.py": "runs at every start of Python",
    "*.pth": "runs at every start of Python",
    "authorized_keys": "lets others log in",
    ".bashrc": "runs at every start of a shell",
    ".bash_profile": "runs at every login",
    ".bash_login": "runs at every login",
    ".bash_logout": "runs at every logout",
    ".bash_aliases": "runs at every start of a shell",
    ".profile": "runs at every login",
    ".zshrc": "runs at every start of a shell",
    ".zshenv": "runs at every start of a shell",
    ".zprofile": "runs at every login",
    ".zlogin": "runs at every login",
    "config.fish": "runs at every start of a shell",
    ".inputrc": "binds keys of the shell",
    ".xprofile": "runs at every login",
}
_SECRET_FOLDERS = (
    ".ssh", ".gnupg", ".aws", ".kube", ".docker", ".azure", ".password-store", ".config/gh", ".config/gcloud",
    ".config/op", ".local/share/keyrings",
)  # fmt: skip
_SECRET_NAMES = (
    ".env", ".env.*", ".envrc", ".npmrc", ".yarnrc*", ".pypirc", ".netrc", "_netrc", ".git-credentials", ".pgpass",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore",
    "*.kdbx", "credentials.json", "shadow", "gshadow", ".htpasswd", ".vault-token", ".bash_history", ".zsh_history",
)  # fmt: skip
_HARMLESS = (".example", ".sample", ".template", ".dist", ".pub")
_SECRET_FOLDER = re.compile(f"/(?:{'|'.join(map(re.escape, _SECRET_FOLDERS))})/")
_SECRET_NAME = re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in _SECRET_NAMES), re.DOTALL)


def fold(name: str) -> str:
    """A name as compared here: canonical composition, case folded, trailing dots and blanks (Windows) dropped."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).rstrip(". ") or name


def fold_path(path: str) -> str:
    """A whole path folded, quickly where it is plain ASCII."""
    return path.lower() if path.isascii() else "/".join(map(fold, path.split("/")))


def own_folders() -> tuple[str, ...]:
    """What begins the paths of our own configuration and state, for a quick look at many paths."""
    return str(folders.config_file().resolve()), f"{folders.state_dir().resolve()}/"


@lru_cache(maxsize=1_024)
def _folded(path: Path) -> tuple[str, ...]:
    return tuple(fold(part) for part in path.parts)


@lru_cache(maxsize=1_024)
def write_reason(path: Path) -> str | None:
    """Why a write to this path always asks, as a clause ("it holds ..."); None when it need not (C-02)."""
    parts = _folded(path)
    for part in parts[1:]:
        if part in _FOLDERS:
            return f"{part} {_FOLDERS[part]}"
    name = parts[-1]
    for pattern, why in _NAMES.items():
        if fnmatchcase(name, pattern):
            return f"{name} {why}"
    if _has(parts, (".github", "workflows")) or _has(parts, (".github", "actions")):
        return f"{name} defines what runs in continuous integration"
    if name == "conftest.py" and not {"test", "tests"} & set(parts):
        return "conftest.py runs at every start of pytest"
    return None


def read_reason(path: Path) -> str | None:
    """Why a read of this path always asks; None when it need not."""
    return f"{path.name} usually holds secrets, or is in a folder that does" if is_secret(path.as_posix()) else None


def is_secret(path: str) -> bool:
    """Whether an absolute path is one that usually holds secrets."""
    folded = fold_path(path.replace(os.sep, "/"))
    name = folded[folded.rfind("/") + 1 :]
    if _SECRET_NAME.fullmatch(name) and not name.endswith(_HARMLESS):
        return True
    return "/." in folded and _SECRET_FOLDER.search(f"{folded}/") is not None


def _has(parts: tuple[str, ...], run: tuple[str, ...]) -> bool:
    return any(parts[i : i + len(run)] == run for i in range(len(parts)))


class _Ours(NamedTuple):
    """Our own files. has_folder: the configuration's folder is ours alone; state, output: folded paths of folders."""

    config: Path
    has_folder: bool
    database: Path
    state: tuple[str, ...]
    output: tuple[str, ...]


@lru_cache(maxsize=16)
def _ours(config: Path, state: Path) -> _Ours:
    real = state.resolve()
    own = config.resolve()
    named = own.parent.name == "turnstone-lsp"
    return _Ours(own, named, real / "turnstone.db", _folded(real), _folded(real / "output"))


@cache
def _own_folder() -> Path:
    """Where this package, and with it the tool definitions, is installed."""
    return Path(__file__).resolve().parent.parent


def blocked(path: Path, *, write: bool) -> str | None:
    """Why no tool may touch this path, in any mode; None when one may (C-01, and faults.md 125)."""
    parts = _folded(path)
    if len(parts) > 2 and parts[1] == "proc" and parts[2].isdigit():
        return "it shows the memory, environment or open files of a process"
    ours = _ours(folders.config_file(), folders.state_dir())
    if _same(path, parts, ours.config) or (write and ours.has_folder and _starts(parts, _folded(ours.config.parent))):
        return "it is turnstone-lsp's own configuration"
    in_state = _starts(parts, ours.state) and (write or not _starts(parts, ours.output))
    if in_state or _same(path, parts, ours.database):
        return "it is turnstone-lsp's own state"
    own = _own_folder()
    if write and (_below(parts, own) or _below(parts, own.parent / "tools")) and _is_ours(own):
        return "it is part of the running turnstone-lsp"
    return None


def is_own_output(path: Path) -> bool:
    """Whether a real path is in the folder of full tool results, which read_file shows without a question."""
    return _starts(_folded(path), _ours(folders.config_file(), folders.state_dir()).output)


def _is_ours(own: Path) -> bool:
    return (own / "errors.py").is_file()


def _below(parts: tuple[str, ...], folder: Path) -> bool:
    return _starts(parts, _folded(folder))


def _starts(parts: tuple[str, ...], above: tuple[str, ...]) -> bool:
    return parts[: len(above)] == above


def _same(path: Path, parts: tuple[str, ...], other: Path) -> bool:
    """The same file: by name, or by identity (a hard link under another name)."""
    if parts == _folded(other):
        return True
    try:
        return path.samefile(other)
    except OSError:
        return False
