"""Issue 'The main job', item 2: the installed server over stdio, driven as clients without any plugin."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest
from lsp_client import LspClient, RpcError, connected, lsp_client
from model_server import StubServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MINIMAL = {"window": {"workDoneProgress": True}, "workspace": {"applyEdit": True}}
DONE = {"text": "All is done."}


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubServer]:
    with StubServer({"replies": [DONE]}, keep_requests=True) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_MODEL", "stub-model")
        yield server


def call(name: str, arguments: Any, ident: str = "") -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments, **({"id": ident} if ident else {})}]}


def tool_results(stub: StubServer) -> list[str]:
    return [m["content"] for m in stub.log()[-1]["request"]["messages"] if m["role"] == "tool"]


async def minimal(client: LspClient, project: Path, **handlers: Any) -> None:
    client.handlers["window/workDoneProgress/create"] = lambda _: None
    client.handlers["workspace/applyEdit"] = client.apply_edit
    client.handlers.update(handlers)
    await client.initialize(project, MINIMAL, trusted=True)


async def ended(client: LspClient) -> dict[str, Any]:
    def end() -> Any:
        return [p["value"] for p in client.all("$/progress") if p["value"]["kind"] == "end"]

    return dict((await client.until(end))[-1])


async def test_ask_answers_at_once_and_streams_progress(project: Path, stub: StubServer) -> None:
    stub.set({"replies": [{"text": "One two three. " * 20, "delay_ms": 20}]})
    async with lsp_client(project) as client:
        await minimal(client, project)
        answer = await client.command("turnstone.ask", text="go")
        assert set(answer) == {"sessionId", "turnId"}
        assert (await ended(client))["message"] == "completed"
        reports = [p["value"].get("message", "") for p in client.all("$/progress") if p["value"]["kind"] == "report"]
        assert any("two three" in r for r in reports)


async def test_a_denial_with_feedback_by_answer_reaches_the_model(project: Path, stub: StubServer) -> None:
    stub.set({"replies": [call("bash", {"command": "touch made"}), DONE]})
    async with lsp_client(project) as client:
        await minimal(client, project)
        await client.command("turnstone.ask", text="go")
        prompt = await client.prompt()
        assert "touch made" in prompt["text"]
        answer = {"promptId": prompt["promptId"], "decision": "deny", "feedback": "use mktemp"}
        assert await client.command("turnstone.answer", **answer) == {"resolved": True}
        assert await client.command("turnstone.answer", **answer) == {"resolved": False}
        await ended(client)
    assert "use mktemp" in tool_results(stub)[0]
    assert not (project / "made").exists()


async def test_the_first_action_is_harmless_and_allow_is_never_first(project: Path, stub: StubServer) -> None:
    stub.set({"replies": [call("bash", {"command": "echo ran > made"}), DONE]})
    asked: list[list[str]] = []

    def choose(params: dict[str, Any]) -> Any:
        asked.append([a["title"] for a in params["actions"]])
        return {"title": asked[-1][0]} if len(asked) == 1 else {"title": "Allow once"}

    async with lsp_client(project) as client:
        await minimal(client, project, **{"window/showMessageRequest": choose})
        await client.command("turnstone.ask", text="go")
        await ended(client)
    assert asked[0][0] == "Show details"
    assert len(asked) == 2
    assert (project / "made").exists()


async def test_an_instant_null_is_no_approval(project: Path, stub: StubServer) -> None:
    """faults.md 83"""
    stub.set({"replies": [call("bash", {"command": "touch made"}), DONE]})
    async with lsp_client(project) as client:
        await minimal(client, project, **{"window/showMessageRequest": lambda _: None})
        await client.command("turnstone.ask", text="go")
        prompt = await client.prompt()
        await client.until(lambda: client.all("window/showMessage"))
        assert not (project / "made").exists()
        await client.command("turnstone.answer", promptId=prompt["promptId"], decision="allow")
        await ended(client)
    assert (project / "made").exists()


async def test_an_approved_edit_of_an_open_unsaved_buffer(project: Path, stub: StubServer) -> None:
    path = project / "a.py"
    path.write_text("x = 1\n")
    edit = {"path": "a.py", "old_string": "x = 2", "new_string": "x = 3"}
    stub.set({"replies": [call("read_file", "a.py"), call("edit_file", edit), DONE]})
    async with lsp_client(project) as client:
        await minimal(client, project)
        uri = client.open(path, "x = 1\n")
        client.change(uri, "x = 2\n# mine\n")
        await client.command("turnstone.ask", text="go")
        prompt = await client.prompt()
        assert "+x = 3" in prompt["text"]
        assert client.documents[uri]["text"] == "x = 2\n# mine\n"
        await client.command("turnstone.answer", promptId=prompt["promptId"], decision="accept")
        await ended(client)
        assert client.documents[uri]["text"] == "x = 3\n# mine\n"
    assert path.read_text() == "x = 1\n", "the server never writes a file that an editor holds"
    assert "x = 2" in tool_results(stub)[0]


async def test_an_approved_edit_of_a_closed_file(project: Path, stub: StubServer) -> None:
    path = project / "a.py"
    path.write_bytes(b"x = 1\r\n")
    edit = {"path": "a.py", "old_string": "x = 1", "new_string": "x = 3"}
    stub.set({"replies": [call("read_file", "a.py"), call("edit_file", edit), DONE]})
    async with lsp_client(project) as client:
        await minimal(client, project)
        await client.command("turnstone.ask", text="go")
        prompt = await client.prompt()
        assert path.read_bytes() == b"x = 1\r\n"
        await client.command("turnstone.answer", promptId=prompt["promptId"], decision="accept")
        await ended(client)
        assert path.read_bytes() == b"x = 3\r\n"
        await client.command("turnstone.undoTurn")
        assert path.read_bytes() == b"x = 1\r\n"
        await client.command("turnstone.redoTurn")
        assert path.read_bytes() == b"x = 3\r\n"


async def test_cancel_in_the_middle_of_bash_leaves_no_process(project: Path, stub: StubServer) -> None:
    stub.set({"replies": [call("bash", {"command": "echo $$ > pid; sleep 300"}), DONE]})
    async with lsp_client(project) as client:
        await minimal(client, project)
        await client.command("turnstone.ask", text="go")
        prompt = await client.prompt()
        await client.command("turnstone.answer", promptId=prompt["promptId"], decision="allow")
        pid = await client.until(lambda: (project / "pid").exists() and (project / "pid").read_text().strip())
        token = client.all("$/progress")[0]["token"]
        client.notify("window/workDoneProgress/cancel", {"token": token})
        assert (await ended(client))["message"] == "cancelled"
        await client.until(lambda: not _alive(int(pid)))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_plan_is_reviewed_and_annotated(project: Path, stub: StubServer) -> None:
    rules = [{"when": {"system_contains": "planning sub-agent"}, "reply": {"text": "1. do it"}}]
    stub.set({"rules": rules, "replies": [call("plan", {"prompt": "plan"}), DONE]})
    async with lsp_client(project) as client:
        await minimal(client, project)
        await client.command("turnstone.ask", text="go")
        await client.command("turnstone.answer", promptId=(await client.prompt())["promptId"], decision="allow")
        prompt = await client.prompt("plan")
        assert "1. do it" in prompt["text"]
        answer = {"decision": "annotate", "feedback": "skip the second step"}
        await client.command("turnstone.answer", promptId=prompt["promptId"], **answer)
        await ended(client)
    assert "skip the second step" in tool_results(stub)[0]


async def test_a_task_that_edits(project: Path, stub: StubServer) -> None:
    write = call("write_file", {"path": "made.txt", "content": "made\n"})
    when = {"system_contains": "You are a sub-agent"}
    rules = [{"when": {**when, "max_hits": 1}, "reply": write}, {"when": when, "reply": {"text": "made it"}}]
    stub.set({"rules": rules, "replies": [call("task", {"prompt": "make"}), DONE]})
    async with lsp_client(project) as client:
        await minimal(client, project)
        await client.command("turnstone.ask", text="go")
        await client.command("turnstone.answer", promptId=(await client.prompt())["promptId"], decision="allow")
        prompt = await client.prompt("edit")
        await client.command("turnstone.answer", promptId=prompt["promptId"], decision="accept")
        await ended(client)
    assert (project / "made.txt").read_text() == "made\n"
    assert tool_results(stub) == ["made it"]


async def test_remember_and_recall_in_a_second_session(project: Path, stub: StubServer) -> None:
    stub.set({"replies": [call("remember", {"key": "colour", "value": "teal"}), DONE]})
    async with lsp_client(project) as client:
        await minimal(client, project)
        await client.command("turnstone.ask", text="go")
        await ended(client)
    stub.set({"replies": [call("recall", "colour"), DONE]})
    async with lsp_client(project) as client:
        await minimal(client, project)
        await client.command("turnstone.ask", text="go")
        await ended(client)
    assert "teal" in tool_results(stub)[0]


async def test_a_client_with_neither_gets_its_answer_by_wait(project: Path, stub: StubServer) -> None:
    path = project / "a.py"
    path.write_text("x = 1\n")
    edit = {"path": "a.py", "old_string": "x = 1", "new_string": "x = 3"}
    stub.set({"replies": [call("read_file", "a.py"), call("edit_file", edit), DONE]})
    async with lsp_client(project) as client:
        await client.initialize(project, {}, trusted=True)
        client.open(path, "x = 1\n")
        answer = await client.command("turnstone.ask", text="go", wait=True)
        assert answer == "All is done."
    assert "applyEdit" in tool_results(stub)[1]
    assert path.read_text() == "x = 1\n"


async def test_a_cancelled_wait_stops_the_turn(project: Path, stub: StubServer) -> None:
    stub.set({"replies": [{"text": "slow", "first_delay_ms": 20_000}]})
    async with lsp_client(project) as client:
        await client.initialize(project, {}, trusted=True)
        ask = {"command": "turnstone.ask", "arguments": [{"text": "go", "wait": True}]}
        ident, future = client.begin("workspace/executeCommand", ask)
        while (await client.command("turnstone.state"))["state"] != "running":  # noqa: ASYNC110 - asked, not told
            await asyncio.sleep(0.02)
        client.notify("$/cancelRequest", {"id": ident})
        with pytest.raises(RpcError) as caught:
            await asyncio.wait_for(future, 10)
        assert caught.value.code == -32800
        assert (await client.command("turnstone.state"))["state"] == "idle"


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("turnstone.ask", [{}], "text"),
        ("turnstone.ask", [{"text": "  "}], "text"),
        ("turnstone.ask", [{"text": "x", "wiat": True}], "did you mean 'wait'"),
        ("turnstone.ask", [1], "one object"),
        ("turnstone.sopt", [], "turnstone.stop"),
        ("turnstone.setMode", [{"mode": "yolo"}], "ask, edit, plan, auto"),
        ("turnstone.resumeSession", [{"sessionId": "nope"}], "no session nope"),
    ],
)
async def test_wrong_arguments_name_themselves(
    project: Path, stub: StubServer, command: str, arguments: list[Any], words: str
) -> None:
    async with connected() as client:
        await minimal(client, project)
        with pytest.raises(RpcError, match=words):
            await client.request("workspace/executeCommand", {"command": command, "arguments": arguments})
