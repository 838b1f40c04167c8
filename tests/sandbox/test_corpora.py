"""C-09 and issue 'Safe by construction', item 1: escapes contained, controls right, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import ordinary_user
import pytest
from sandbox.escape_harness import Surroundings, run

if TYPE_CHECKING:
    from pathlib import Path


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
    done = ordinary_user.run(tmp_path, "sandbox/escape_harness.py", str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["breaches"], found["wrong"]) == ({}, {})
    assert found["level"] in ("L3", "L4")


def test_the_harness_sees_a_breach(tmp_path: Path) -> None:
    around = Surroundings(tmp_path)
    try:
        assert around.breach("nothing") is None
        assert around.breach("ESCAPED") == "ESCAPED"
        assert around.breach(f"x {around.canary}") == "the secret was read"
        (around.work / "new").touch()
        assert around.breach("") == "a file was changed"
        (around.work / "new").unlink()
        around.reset()
        around.victim.kill()
        around.victim.wait()
        assert around.breach("") == "the victim was killed"
    finally:
        around.close()
