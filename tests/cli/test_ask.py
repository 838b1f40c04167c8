"""`turnstone-lsp ask`: the same session in a terminal."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from terminal_session import TerminalSession

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from model_server import StubServer

    Run = Callable[..., subprocess.CompletedProcess[str]]
    Model = Callable[..., StubServer]

BASH = {"tool_calls": [{"name": "bash", "arguments": {"command": "echo ran > made"}}]}
DONE = {"text": "All is done."}


@pytest.fixture
def terminal(project: Path) -> Iterator[Callable[..., TerminalSession]]:
    opened: list[TerminalSession] = []

    def open_it(*argv: str) -> TerminalSession:
        opened.append(TerminalSession(*argv, cwd=project))
        return opened[-1]

    yield open_it
    for session in opened:
        session.close()


def test_an_answer_on_stdout_and_exit_code_0(run: Run, model: Model) -> None:
    model(DONE)
    done = run("ask", "what is this?")
    assert (done.returncode, done.stdout) == (0, "All is done.\n")


def test_stdin_is_context(run: Run, model: Model) -> None:
    server = model(DONE)
    run("ask", "review this", stdin="diff --git a b\n")
    asked = server.log()[0]["request"]["messages"][-1]["content"]
    assert "review this" in asked
    assert "diff --git a b" in asked


def test_nothing_asked_is_wrong_usage(run: Run) -> None:
    done = run("ask")
    assert done.returncode == 2
    assert "Nothing was asked" in done.stderr


def test_without_a_user_a_denied_call_gives_exit_code_3(run: Run, model: Model, project: Path) -> None:
    model(BASH, DONE)
    assert run("ask", "go").returncode == 3
    assert not (project / "made").exists()


def test_yes(run: Run, model: Model, project: Path) -> None:
    model(BASH, DONE)
    assert run("ask", "--yes", "go").returncode == 0
    assert (project / "made").read_text() == "ran\n"


def test_json_is_the_event_stream(run: Run, model: Model) -> None:
    model(BASH, DONE)
    done = run("ask", "--yes", "--json", "go")
    events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [e["type"] for e in events]
    assert kinds[0] == "stateChanged"
    assert {"userMessage", "textDelta", "toolCallUpdate", "messageDone"} <= set(kinds)
    assert events[-1] == {"type": "stateChanged", "state": "idle", "stopReason": "completed"}


def test_a_dead_endpoint_fails_with_what_to_do(run: Run) -> None:
    done = run("ask", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "hi")
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr


def test_no_model_names_the_three_ways(run: Run) -> None:
    done = run("ask", "hi")
    assert done.returncode in (1, 2)
    for way in ("base_url", "OPENAI_API_KEY", "Ollama"):
        assert way in done.stderr


def test_yes_no_always_feedback_on_a_terminal(model: Model, terminal: Any, project: Path) -> None:
    def command(text: str) -> dict[str, Any]:
        return {"tool_calls": [{"name": "bash", "arguments": {"command": text}}]}

    server = model(
        command("echo one >> log"), command("echo two >> log"), command("git status"), command("git status"), DONE
    )
    session = terminal("ask", "--trust", "go")
    session.expect("echo one >> log")
    session.expect("Run it?")
    session.type("y, and be quick")
    session.expect("echo two >> log")
    session.type("not that one")
    session.expect("always in this session (bash: git status")
    session.type("a")
    session.expect("All is done.")
    assert session.end() == 3
    assert (project / "log").read_text() == "one\n"
    told = [m["content"] for m in server.log()[-1]["request"]["messages"] if m["role"] == "tool"]
    assert "and be quick" in told[0]
    assert "not that one" in told[1]
    assert session.text.count("Run it?") == 3


def test_an_edit_shows_its_diff_and_hunks_can_be_chosen(model: Model, terminal: Any, project: Path) -> None:
    (project / "a.txt").write_text("one\n" + "x\n" * 20 + "two\n")
    read = {"tool_calls": [{"name": "read_file", "arguments": "a.txt"}]}
    edits = {
        "tool_calls": [
            {"name": "edit_file", "arguments": {"path": "a.txt", "old_string": "one", "new_string": "ONE"}},
            {"name": "edit_file", "arguments": {"path": "a.txt", "old_string": "two", "new_string": "TWO"}},
        ]
    }
    model(read, edits, DONE)
    session = terminal("ask", "--trust", "go")
    session.expect("-one")
    session.expect("+TWO")
    session.expect("Apply to")
    session.type("s")
    session.expect("Hunk 1 of 2")
    session.type("n")
    session.expect("Hunk 2 of 2")
    session.type("y")
    session.expect("All is done.")
    session.end()
    assert (project / "a.txt").read_text() == "one\n" + "x\n" * 20 + "TWO\n"


def test_ctrl_c_stops_the_turn_and_leaves_no_child(model: Model, terminal: Any, project: Path) -> None:
    model({"tool_calls": [{"name": "bash", "arguments": {"command": "echo $$ > pid; sleep 300"}}]}, DONE)
    session = terminal("ask", "--yes", "go")
    while not (project / "pid").exists() or not (project / "pid").read_text().strip():
        session.expect("sleep 300")
    session.interrupt()
    assert session.end() == 130
    pid = int((project / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_earlier_session_goes_on(run: Run, model: Model) -> None:
    server = model(DONE)
    run("ask", "remember the number 4711")
    run("ask", "--session", "last", "which number?")
    text = json.dumps(server.log()[-1]["request"]["messages"])
    assert "4711" in text
    listed = run("sessions")
    assert "remember the number 4711" in listed.stdout
    ident = listed.stdout.split()[0]
    assert "4711" in run("sessions", "export", ident).stdout
    assert run("sessions", "delete", ident).returncode == 0
    assert run("sessions").stdout == ""


def test_without_a_command_a_person_gets_help(terminal: Any) -> None:
    session = terminal()
    session.expect("usage: turnstone-lsp")
    assert session.end() == 2
