"""Runs a program of the tests as an ordinary user, wherever Python and the checkout are.

The folders that an ordinary user may not enter (a checkout or an interpreter below root's home) are bound to places
where they may, in a mount namespace of their own; there, the way to the test's folder is made anew, because pytest closes
its own again for everybody but root whenever another run starts. Needs root, which CI is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

NOBODY = "65534"
ROOT = Path(__file__).resolve().parent.parent

_SCRIPT = """
set -e
for name in py site repo; do mkdir -p "$1/$name"; done
mount --bind "$2" "$1/py"
mount --bind "$3" "$1/site"
mount --bind "$4" "$1/repo"
folder=$1
shift 4
mount --rbind "$folder" /mnt
mount -t tmpfs -o mode=755 tmpfs "/$(echo "$folder" | cut -d / -f 2)"
mkdir -p "$folder"
mount --rbind /mnt "$folder"
cd /
export LD_LIBRARY_PATH="$folder/py/lib"  # not another Python's library of the same name
export PYTHONPATH="$folder/repo:$folder/repo/tests:$folder/site" HOME="$folder/home" PYTHONDONTWRITEBYTECODE=1
export TURNSTONE_STATE_DIR="$folder/home/state" TURNSTONE_CONFIG="$folder/home/config.toml"
exec setpriv --reuid UID --regid UID --clear-groups "$folder/py/bin/python3" "$@"
""".replace("UID", NOBODY)


def run(folder: Path, script: str, *arguments: str, timeout: float = 280) -> subprocess.CompletedProcess[str]:
    """Run a script of tests/ (a path below it) as nobody; `folder` is theirs to write in, as FOLDER/home."""
    home = folder / "home"
    home.mkdir()
    os.chown(home, int(NOBODY), int(NOBODY))
    folder.chmod(0o755)
    places = (str(folder), sys.base_prefix, sysconfig.get_path("purelib"), str(ROOT))
    command = ["unshare", "--mount", "sh", "-c", _SCRIPT, "sh", *places, f"{folder}/repo/tests/{script}", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **_openblas()},
        timeout=timeout,
        check=False,
    )


def _openblas() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_")}
