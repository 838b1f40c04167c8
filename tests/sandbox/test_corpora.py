"""C-09 and issue 'Safe by construction', item 1: escapes contained, controls right, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox.escape_harness import run

HARNESS = Path(__file__).with_name("escape_harness.py")


@pytest.mark.timeout(300)
async def test_escapes_are_contained_and_controls_are_right(tmp_path: Path) -> None:
    found = await run(tmp_path)
    assert found["breaches"] == {}
    assert found["wrong"] == {}
    assert found["level"] in ("L3", "L4")


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_same_as_an_ordinary_user(tmp_path: Path) -> None:
    assert os.geteuid() == 0, "CI runs as root; this test is the other half"
    root = Path(__file__).resolve().parents[2]
    copy = Path("/tmp") / f"turnstone-user-{os.getpid()}"
    copy.mkdir()
    try:
        for name in ("turnstone_lsp", "tests"):
            shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        work = copy / "run"
        work.mkdir()
        for path in [copy, *copy.rglob("*")]:
            os.chown(path, 65534, 65534)
        paths = [str(copy), str(copy / "tests"), *(p for p in sys.path if "site-packages" in p)]
        done = subprocess.run(
            [
                "setpriv",
                "--reuid",
                "65534",
                "--regid",
                "65534",
                "--clear-groups",
                sys.executable,
                str(copy / "tests/sandbox/escape_harness.py"),
                str(work),
            ],
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(paths), "HOME": str(work)},
            cwd="/",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert (found["breaches"], found["wrong"]) == ({}, {})
        assert found["level"] in ("L3", "L4")
    finally:
        shutil.rmtree(copy)
