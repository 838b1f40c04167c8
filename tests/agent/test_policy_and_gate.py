"""The policy on plans of the real bash tool: rules, modes and always over lines that the gate has read (faults 60-74)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from turnstone_lsp.agent.policy import decide
from turnstone_lsp.config.settings import Rule
from turnstone_lsp.memory.grants import Grant
from turnstone_lsp.tools import bash
from turnstone_lsp.workspace.paths import Roots

if TYPE_CHECKING:
    from pathlib import Path

RULES = (
    Rule("allow", command="git status *"),
    Rule("allow", command="git log *"),
    Rule("allow", command="ls *"),
    Rule("allow", command="npm test *"),
    Rule("deny", command="git push"),
    Rule("deny", path="secrets/**"),
    Rule("ask", command="npm publish"),
)


async def decided(line: str, project: Path, **more: object) -> str:
    ctx = SimpleNamespace(cwd=project, workspace=SimpleNamespace(roots=Roots([project]), documents=()))
    plan = await bash.prepare(bash.Args(line), ctx)  # type: ignore[arg-type]  # the part of a session that prepare reads
    return decide(plan, "bash", roots=(project,), **({"rules": RULES} | more)).kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "asked", "auto", "headless"),
    [
        ("git status -s", "allow", "allow", "allow"),
        ("git status && ls -l", "allow", "allow", "allow"),
        ("git status; git status | ls", "allow", "allow", "allow"),
        ("npm test 2>&1", "allow", "allow", "allow"),  # fault 74
        ("git status && make", "ask", "allow", "allow"),  # faults 60, 63
        ("git status && git push", "deny", "deny", "deny"),
        ("ls $(git push)", "deny", "deny", "deny"),  # fault 71
        ("bash -c 'git push'", "deny", "deny", "deny"),
        ("env git push", "deny", "deny", "deny"),
        ("ls; npm publish", "ask", "ask", "allow"),
        ("PAGER=evil git log", "ask", "ask", "allow"),  # C-11
        ("git log > out.txt", "ask", "allow", "allow"),  # fault 65: a redirection is a write
        ("git -c core.pager=evil log", "ask", "ask", "allow"),  # C-13
        ("cat secrets/key", "deny", "deny", "deny"),  # fault 66
        ("head -n1 < secrets/key", "deny", "deny", "deny"),
        ("echo x > secrets/key", "deny", "deny", "deny"),
        ("cat .env", "ask", "ask", "deny"),  # fault 123
        ("base64 < .env", "ask", "ask", "deny"),
        ("echo .env >> .gitignore", "ask", "allow", "allow"),
        ("git commit -m 'ignore .env'", "ask", "allow", "allow"),
        ("echo x > .git/hooks/pre-commit", "ask", "ask", "deny"),  # C-02
        ("rm -rf /", "deny", "deny", "deny"),
        ("bash -c 'cat secrets/key'", "deny", "deny", "deny"),
        ("$CMD x", "ask", "ask", "deny"),  # C-15, beside deny rules
    ],
)
async def test_lines_of_bash(project: Path, line: str, asked: str, auto: str, headless: str) -> None:
    got = (
        await decided(line, project),
        await decided(line, project, mode="auto"),
        await decided(line, project, auto_approve=True),
    )
    assert got == (asked, auto, headless)


async def test_an_always_covers_what_its_text_says(project: Path) -> None:
    ctx = SimpleNamespace(cwd=project, workspace=SimpleNamespace(roots=Roots([project]), documents=()))
    plan = await bash.prepare(bash.Args("git status -s"), ctx)  # type: ignore[arg-type]
    assert decide(plan, "bash", roots=(project,)).always == "bash: git status *"
    grant = Grant("bash", "prefix", "git status *", ("git", "status"))
    for line, expected in [
        ("git status --short", "allow"),
        ("git status; git status", "allow"),
        ("git status; make", "ask"),
        ("git stash", "ask"),
        ("X=1 git status", "ask"),
        ("git status > /tmp/x", "ask"),
    ]:
        assert await decided(line, project, rules=(), grants=[grant]) == expected, line
