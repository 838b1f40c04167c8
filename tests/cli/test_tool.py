"""`turnstone-lsp tool`: one tool exactly as a model's call would run it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., subprocess.CompletedProcess[str]]


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_json_or_a_bare_string(run: Run, project: Path) -> None:
    (project / "a.txt").write_text("alpha\nbeta\n")
    done = run("tool", "read_file", '{"path": "a.txt", "offset": 2}')
    assert done.returncode == 0
    assert "2\tbeta" in done.stdout
    assert "alpha" not in done.stdout
    assert "alpha" in run("tool", "read_file", "a.txt").stdout


def test_without_a_user_what_needs_approval_is_denied(run: Run, project: Path) -> None:
    done = run("tool", "bash", "touch made")
    assert done.returncode == 3
    assert "--yes" in done.stderr
    assert not (project / "made").exists()


def test_yes_approves(run: Run, project: Path) -> None:
    done = run("tool", "--yes", "bash", "echo hi; touch made")
    assert (done.returncode, (project / "made").exists()) == (0, True)
    assert "hi" in done.stdout


def test_yes_lifts_no_hard_block(run: Run) -> None:
    done = run("tool", "--yes", "--json", "bash", "rm -rf /")
    record = _lines(done.stdout)[0]
    assert (record["ok"], record["denied"]) == (False, True)
    assert done.returncode == 3


def test_stdin_is_one_session(run: Run, project: Path) -> None:
    (project / "a.txt").write_text("alpha\n")
    calls = [
        {"name": "edit_file", "arguments": {"path": "a.txt", "old_string": "alpha", "new_string": "x"}},
        {"name": "read_file", "arguments": "a.txt"},
        {"name": "edit_file", "arguments": {"path": "a.txt", "old_string": "alpha", "new_string": "x"}},
        {"name": "no_such_tool", "arguments": {}},
        {"name": "math", "arguments": '{"code": "print(2**70)"}'},
    ]
    stdin = "\n".join(map(json.dumps, calls)) + "\nnot json\n"
    done = run("tool", "--stdin", "--json", "--yes", stdin=stdin)
    records = _lines(done.stdout)
    assert [r["name"] for r in records] == ["edit_file", "read_file", "edit_file", "no_such_tool", "math", ""]
    assert [r["ok"] for r in records] == [False, True, True, False, True, False]
    assert all(set(r) == {"name", "ok", "denied", "error", "text", "level"} for r in records)
    assert records[0]["error"] == records[0]["text"]
    assert records[2]["error"] is None
    assert str(2**70) in records[4]["text"]
    assert records[4]["level"] in {"L4", "L3"}
    assert (project / "a.txt").read_text() == "x\n"
    assert done.returncode == 1


def test_cwd(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.txt").write_text("bravo\n")
    assert "bravo" in run("tool", "--cwd", str(tmp_path / "other"), "read_file", "b.txt").stdout
    missing = run("tool", "--cwd", str(tmp_path / "none"), "read_file", "b.txt")
    assert missing.returncode == 2
    assert "not a folder" in missing.stderr


def test_wrong_usage_says_what_to_do(run: Run) -> None:
    done = run("tool")
    assert done.returncode == 2
    assert "Name a tool" in done.stderr
    unknown = run("tool", "raed_file", "x")
    assert unknown.returncode == 1
    assert "Did you mean 'read_file'?" in unknown.stderr


def test_gate_judges_and_runs_nothing(run: Run, project: Path) -> None:
    done = run("gate", "--stdin", stdin='rm -rf /\nls\n"touch made\\necho x"\n')
    verdicts = [r["verdict"] for r in _lines(done.stdout)]
    assert verdicts[:2] == ["block", "ok"]
    assert len(verdicts) == 3
    assert list(project.iterdir()) == []
