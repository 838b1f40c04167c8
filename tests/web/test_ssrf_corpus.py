"""Issue 'Safe by construction', item 1: SSRF cases right with no private address ever dialled, as both users."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import ordinary_user
import pytest
from certificates import Authority
from web.ssrf_harness import CASES, check

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
async def test_ssrf_case(case: dict[str, Any], authority: Authority) -> None:
    await check(case, authority)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_same_as_an_ordinary_user(tmp_path: Path) -> None:
    assert os.geteuid() == 0, "CI runs as root; this test is the other half"
    done = ordinary_user.run(tmp_path, "web/ssrf_harness.py")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {"uid": int(ordinary_user.NOBODY), "passed": len(CASES), "failed": {}}
