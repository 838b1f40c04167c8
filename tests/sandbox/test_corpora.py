"""C-09 and issue 'Safe by construction', item 1: escapes contained, controls right, at each level, as root and as an
ordinary user. The level is demanded, never taken as it comes.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import ordinary_user
import pytest
from sandbox.escape_harness import Surroundings, load, run

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.sandbox.levels import Level

LEVELS = pytest.mark.parametrize("level", ["L4", "L3", "L2"])


async def test_whatever_ends_by_itself_is_contained_and_controls_are_right(tmp_path: Path) -> None:
    found = await run(tmp_path / "around", but=["dos"])
    assert (found["breaches"], found["wrong"], found["level"]) == ({}, {}, "L4")
    assert found["count"] > 120


@pytest.mark.long
@pytest.mark.timeout(600)
@LEVELS
async def test_everything_at_every_level(tmp_path: Path, level: Level) -> None:
    found = await run(tmp_path / "around", level)
    assert (found["breaches"], found["wrong"], found["level"]) == ({}, {}, level)


@pytest.mark.long
@pytest.mark.timeout(600)
@LEVELS
def test_everything_at_every_level_as_an_ordinary_user(tmp_path: Path, level: Level) -> None:
    assert os.geteuid() == 0, "CI runs as root; this test is the other half"
    done = ordinary_user.run(
        tmp_path, "sandbox/escape_harness.py", str(tmp_path / "home" / "around"), level, timeout=550
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["breaches"], found["wrong"], found["level"]) == ({}, {}, level)


def test_the_cases_that_were_given_are_all_there() -> None:
    assert len(load("math_escapes")) == 105
    assert len(load("math_allowed")) == 23


def test_the_harness_sees_a_breach(tmp_path: Path) -> None:
    around = Surroundings(tmp_path)
    try:
        assert around.breach("nothing, and 'ESCAPED' within") is None
        assert around.breach("x\nESCAPED") == "ESCAPED"
        assert around.breach(f"x {around.canary}") == "the secret was read"
        (around.work / "new").touch()
        assert around.breach("") == "a file, or an object of the system, was changed"
        (around.work / "new").unlink()
        around.reset()
        around.victim.kill()
        around.victim.wait()
        assert around.breach("") == "the victim was killed"
    finally:
        around.close()
