"""Issue 'The main job', done-when 2: the installed server over stdio, driven as clients without any plugin.

One declares progress and applyEdit and nothing else; the other declares nothing, and waits for its answers.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest
from lsp_client import LspClient, RpcError, connected, lsp_client
from scripted import DONE, MINIMAL, call, edit, start, tool_results

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from model_server import StubServer


class Kind:
    """How one kind of client begins a turn and learns of its end."""

    def __init__(self, client: LspClient, *, bare: bool) -> None:
        self.client = client
        self.bare = bare
        self._waiting: asyncio.Future[Any] | None = None
        self.ident: int | None = None

    async def ask(self, text: str = "go") -> None:
        if self.bare:
            arguments = {
                "command": "turnstone.ask",
                "arguments": [{"text": text, "wait": True}],
                "workDoneToken": "mine",
            }
            self.ident, self._waiting = self.client.begin("workspace/executeCommand", arguments)
        else:
            answer = await self.client.command("turnstone.ask", text=text)
            assert set(answer) == {"sessionId", "turnId"}

    async def end(self) -> str:
        """How the turn ended: the final text, or what the progress says at its end."""
        if self._waiting is not None:
            try:
                return str(await asyncio.wait_for(self._waiting, 60))
            except RpcError as error:
                return f"error {error.code}: {error}"
        ended = await self.client.until(lambda: [p for p in self.progress() if p["kind"] == "end"])
        return str(ended[-1]["message"])

    def progress(self) -> list[dict[str, Any]]:
        return [p["value"] for p in self.client.all("$/progress")]


@pytest.fixture(params=["progress and applyEdit", "neither"])
async def user(request: pytest.FixtureRequest, project: Path, stub: StubServer) -> AsyncIterator[Kind]:
    bare = request.param == "neither"
    async with lsp_client(project) as client:
        await start(client, project, {} if bare else MINIMAL)
        yield Kind(client, bare=bare)


async def test_ask_streams_progress_and_ends(user: Kind, stub: StubServer) -> None:
    stub.set({"replies": [{"text": "One two three. " * 20, "delay_ms": 20}]})
    await user.ask()
    end = await user.end()
    assert end.startswith("One two three.") if user.bare else end == "completed"
    kinds = [p["kind"] for p in user.progress()]
    assert (kinds[0], kinds[-1], kinds.count("end")) == ("begin", "end", 1)
    assert any("two three" in p.get("message", "") for p in user.progress() if p["kind"] == "report")
    assert user.progress()[0]["cancellable"] is True
    assert bool(user.client.all("window/workDoneProgress/create")) != user.bare


async def test_a_denial_with_feedback_by_answer_reaches_the_model(user: Kind, stub: StubServer, project: Path) -> None:
    stub.set({"replies": [call("bash", {"command": "touch made"}), DONE]})
    await user.ask()
    prompt = await user.client.answer("tool", "deny", feedback="use mktemp")
    assert "touch made" in prompt["text"]
    again = {"promptId": prompt["promptId"], "decision": "allow"}
    assert await user.client.command("turnstone.answer", **again) == {"resolved": False}
    await user.end()
    assert "use mktemp" in tool_results(stub)[0]
    assert not (project / "made").exists()


async def test_an_edit_of_an_open_unsaved_buffer(user: Kind, stub: StubServer, project: Path) -> None:
    path = project / "a.py"
    path.write_text("x = 1\n")
    stub.set({"replies": edit("a.py", "x = 2", "x = 3")})
    uri = user.client.open(path, "x = 1\n")
    user.client.change(uri, "x = 2\n# mine\n")
    await user.ask()
    if user.bare:
        assert await user.end() == "All is done."
        assert "does not let a language server change open documents (workspace/applyEdit)" in tool_results(stub)[1]
        assert user.client.documents[uri]["text"] == "x = 2\n# mine\n"
    else:
        prompt = await user.client.prompt("edit")
        assert "+x = 3" in prompt["text"]
        assert user.client.documents[uri]["text"] == "x = 2\n# mine\n"
        await user.client.answer("edit", "accept")
        await user.end()
        assert user.client.documents[uri]["text"] == "x = 3\n# mine\n"
    assert path.read_text() == "x = 1\n", "the server never writes a file that an editor holds"
    assert "x = 2" in tool_results(stub)[0], "the tools see the unsaved text"


async def test_an_approved_edit_of_a_closed_file(user: Kind, stub: StubServer, project: Path) -> None:
    path = project / "a.py"
    path.write_bytes(b"x = 1\r\n")
    stub.set({"replies": edit("a.py", "x = 1", "x = 3")})
    await user.ask()
    await user.client.prompt("edit")
    assert path.read_bytes() == b"x = 1\r\n"
    await user.client.answer("edit", "accept")
    await user.end()
    assert path.read_bytes() == b"x = 3\r\n"
    await user.client.command("turnstone.undoTurn")
    assert path.read_bytes() == b"x = 1\r\n"
    await user.client.command("turnstone.redoTurn")
    assert path.read_bytes() == b"x = 3\r\n"


async def test_cancel_in_the_middle_of_bash_leaves_no_process(user: Kind, stub: StubServer, project: Path) -> None:
    stub.set({"replies": [call("bash", {"command": "echo $$ > pid; sleep 300"}), DONE]})
    await user.ask()
    await user.client.answer("tool", "allow")
    pid = await user.client.until(lambda: (project / "pid").exists() and (project / "pid").read_text().strip())
    if user.bare:
        user.client.notify("$/cancelRequest", {"id": user.ident})
        assert (await user.end()).startswith("error -32800")
    else:
        token = user.client.all("$/progress")[0]["token"]
        user.client.notify("window/workDoneProgress/cancel", {"token": token})
        assert await user.end() == "cancelled"
    await user.client.until(lambda: not _alive(int(pid)))
    assert (await user.client.command("turnstone.state"))["state"] == "idle"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_plan_is_reviewed_and_annotated(user: Kind, stub: StubServer, project: Path) -> None:
    rules = [{"when": {"system_contains": "planning sub-agent"}, "reply": {"text": "1. do it"}}]
    stub.set({"rules": rules, "replies": [call("plan", {"prompt": "plan"}), DONE]})
    await user.ask()
    await user.client.answer("tool", "allow")
    prompt = await user.client.answer("plan", "annotate", feedback="skip the second step")
    assert "1. do it" in prompt["text"]
    await user.end()
    assert "skip the second step" in tool_results(stub)[0]
    assert (project / f".plan-{prompt['sessionId']}.md").read_text() == "1. do it\n"


async def test_a_task_that_edits(user: Kind, stub: StubServer, project: Path) -> None:
    write = call("write_file", {"path": "made.txt", "content": "made\n"})
    when = {"system_contains": "You are a sub-agent"}
    rules = [{"when": {**when, "max_hits": 1}, "reply": write}, {"when": when, "reply": {"text": "made it"}}]
    stub.set({"rules": rules, "replies": [call("task", {"prompt": "make"}), DONE]})
    await user.ask()
    await user.client.answer("tool", "allow")
    await user.client.answer("edit", "accept")
    await user.end()
    assert (project / "made.txt").read_text() == "made\n"
    assert tool_results(stub) == ["made it"]


async def test_remember_and_recall_in_a_second_session(user: Kind, stub: StubServer) -> None:
    stub.set({"replies": [call("remember", {"key": "colour", "value": "teal"}), DONE]})
    await user.ask()
    await user.end()
    await user.client.command("turnstone.newSession")
    stub.set({"replies": [call("recall", "colour"), DONE]})
    user.client.received.clear()
    await user.ask()
    await user.end()
    assert "teal" in tool_results(stub)[0]


async def test_a_failure_is_an_error_for_who_waits(project: Path, stub: StubServer) -> None:
    stub.set({"replies": [{"status": 401, "error": {"message": "bad key"}}]})
    async with connected() as client:
        await start(client, project, MINIMAL)
        with pytest.raises(RpcError, match="bad key"):
            await client.command("turnstone.ask", text="go", wait=True)
        await client.command("turnstone.ask", text="go")
        ended = await client.until(
            lambda: [p["value"] for p in client.all("$/progress") if p["value"]["kind"] == "end"]
        )
        assert any("bad key" in e["message"] for e in ended)


async def test_a_second_ask_steers_the_running_turn(project: Path, stub: StubServer) -> None:
    stub.set({"mode": "sequence", "replies": [call("bash", {"command": "true"}), DONE]})
    async with connected() as client:
        await start(client, project, MINIMAL)
        first = await client.command("turnstone.ask", text="go")
        await client.prompt("tool")
        assert await client.command("turnstone.ask", text="and hurry") == first
        await client.answer("tool", "allow")
        await client.idle()
        assert any("and hurry" in str(m["content"]) for m in stub.log()[-1]["request"]["messages"])


async def test_a_client_that_never_agrees_to_a_progress_gets_its_answer(
    project: Path, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_: Any) -> None:
        await asyncio.Event().wait()

    async with connected() as client:
        await start(client, project, MINIMAL)
        client.handlers["window/workDoneProgress/create"] = never
        assert await client.command("turnstone.ask", text="go", wait=True) == "All is done."
        assert not client.all("$/progress")


async def test_every_way_to_stop_withdraws_the_question(project: Path, stub: StubServer) -> None:
    """faults.md 78, 126"""
    stub.set({"replies": [call("bash", {"command": "touch made"}), DONE]})

    async def never(_: Any) -> None:
        await asyncio.Event().wait()

    async with connected() as client:
        await start(client, project, MINIMAL)
        client.handlers["window/showMessageRequest"] = never
        for count in (1, 2):
            ident, waiting = client.begin(
                "workspace/executeCommand", {"command": "turnstone.ask", "arguments": [{"text": "go", "wait": True}]}
            )
            await client.prompt("tool")
            if count == 1:
                assert await client.command("turnstone.stop") == {"stopped": 1}
            else:
                client.notify("$/cancelRequest", {"id": ident})
            with pytest.raises(RpcError):
                await asyncio.wait_for(waiting, 30)
            assert await client.command("turnstone.pending") == []
            await client.until(lambda count=count: len(client.all("$/cancelRequest")) >= count)
        assert await client.command("turnstone.stop") == {"stopped": 0}
        assert not (project / "made").exists()
