"""A client of our protocol: the event stream, approvals, reviews, plans, resync (issue 'Neovim', "The rich protocol")."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from lsp_client import LspClient, connected
from scripted import DONE, RICH, call, calls, edit, names, start, tool_results

from turnstone_lsp.lsp.messages import MESSAGES, RECORDS
from turnstone_lsp.lsp.protocol import misfit_of_record

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from model_server import StubServer


def as_described(client: LspClient) -> None:
    """Every message of our protocol that the client got is exactly as `messages.py`, and so the docs, have it."""
    described = {message.method: message for message in MESSAGES}
    for message in client.received:
        method = str(message.get("method", ""))
        if method.startswith("turnstone/"):
            params = dict(message["params"])
            if method == "turnstone/update":
                assert params.pop("events")
                continue
            why = misfit_of_record(params, described[method].params, RECORDS, strict=True)
            assert why is None, f"{method} {why}"
            assert ("id" in message) == (described[method].result is not None)


@pytest.fixture
async def client(project: Path, stub: StubServer) -> AsyncIterator[LspClient]:
    async with connected() as client:
        await start(client, project, RICH)
        yield client
    as_described(client)


def accept(client: LspClient, applied_by: str = "client") -> Any:
    """A reviewEdits handler that accepts all, and changes open documents itself."""

    def review(params: dict[str, Any]) -> Any:
        answers = []
        for file in params["files"]:
            if applied_by == "client":
                assert client.documents[file["uri"]]["text"] == file["baseText"]
                client.change(file["uri"], file["newText"])
            answers.append({"promptId": file["promptId"], "decision": "accept", "appliedBy": applied_by})
        return {"files": answers}

    return review


async def test_the_stream_tells_a_whole_turn_in_order(client: LspClient, stub: StubServer) -> None:
    text = "word " * 400
    stub.set({"replies": [call("read_file", "nothing.txt"), {"text": text, "chunk_chars": 5}]})
    await client.command("turnstone.ask", text="go")
    await client.until(lambda: [e for e in client.events("stateChanged") if e["state"] == "idle"])
    events = client.events()
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert len({e["sessionId"] for e in events}) == 1
    assert events[0] | {"seq": 0, "sessionId": ""} == {
        "type": "stateChanged",
        "state": "running",
        "seq": 0,
        "sessionId": "",
    }
    assert [e["status"] for e in client.events("toolCallUpdate")][-1] == "failed"
    assert "".join(e["text"] for e in client.events("textDelta")).strip() == text.strip()
    assert client.events("messageDone")[-1]["text"].strip() == text.strip()
    assert events[-1]["stopReason"] == "completed"


async def test_neighbouring_deltas_are_joined_and_messages_paced(client: LspClient, stub: StubServer) -> None:
    """At most one message in 30 ms: 800 pieces at full speed come in far fewer messages."""
    stub.set({"replies": [{"text": "x" * 4000, "chunk_chars": 5}]})
    loop = asyncio.get_running_loop()
    begun = loop.time()
    await client.command("turnstone.ask", text="go", wait=True)
    messages = client.all("turnstone/update")
    assert len(messages) <= (loop.time() - begun) / 0.03 + 3
    assert sum(len(e["text"]) for e in client.events("textDelta")) == 4000


async def test_resync_gives_what_was_missed(client: LspClient, stub: StubServer) -> None:
    await client.command("turnstone.ask", text="go", wait=True)
    seen = client.events()
    state = await client.command("turnstone.state", since=2)
    assert state["events"] == seen[2:]
    assert state["complete"] is True
    assert state["seq"] == seen[-1]["seq"]
    assert (await client.command("turnstone.state", since=state["seq"]))["events"] == []


async def test_a_resync_over_more_than_is_kept_says_so(
    client: LspClient, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstone_lsp.lsp.stream.KEPT_EVENTS", 2)
    await client.command("turnstone.ask", text="go", wait=True)
    state = await client.command("turnstone.state", since=0)
    assert state["complete"] is False
    assert len(state["events"]) == 2


async def test_an_approval_shows_all_and_has_no_default(client: LspClient, stub: StubServer, project: Path) -> None:
    stub.set({"replies": [calls(("bash", {"command": "echo a > a"}), ("read_file", "x")), DONE]})
    client.handlers["turnstone/requestApproval"] = lambda _: {"decision": "allow", "feedback": "but hurry"}
    await client.command("turnstone.ask", text="go", wait=True)
    [asked] = client.all("turnstone/requestApproval")
    assert asked["kind"] == "tool"
    assert "echo a > a" in asked["item"]["preview"]
    assert [item["tool"] for item in asked["batch"]] == ["bash", "read_file"]
    assert asked["item"]["needsApproval"] is True
    assert (project / "a").read_text() == "a\n"
    assert "but hurry" in tool_results(stub)[0]


@pytest.mark.parametrize("answer", [None, {}, {"decision": "yep"}, {"decision": 1}, "allow", {"decision": "deny"}])
async def test_anything_but_allow_is_a_no(client: LspClient, stub: StubServer, project: Path, answer: Any) -> None:
    stub.set({"replies": [call("bash", {"command": "touch made"}), DONE]})
    client.handlers["turnstone/requestApproval"] = lambda _: answer
    await client.command("turnstone.ask", text="go", wait=True)
    assert not (project / "made").exists()
    assert "denied" in tool_results(stub)[0]


async def test_hidden_characters_of_a_command_are_shown(client: LspClient, stub: StubServer) -> None:
    """C-18"""
    stub.set({"replies": [call("bash", {"command": "echo a\u202eb"}), DONE]})
    client.handlers["turnstone/requestApproval"] = lambda _: None
    await client.command("turnstone.ask", text="go", wait=True)
    shown = client.all("turnstone/requestApproval")
    assert not shown or "\u202e" not in str(shown)
    assert "\u202e" not in str([{**e, "arguments": None} for e in client.events()])


async def test_an_answer_from_elsewhere_withdraws_the_request(
    client: LspClient, stub: StubServer, project: Path
) -> None:
    stub.set({"replies": [call("bash", {"command": "touch made"}), DONE]})
    late = asyncio.Event()

    async def slowly(_: Any) -> Any:
        await late.wait()
        return {"decision": "allow"}

    client.handlers["turnstone/requestApproval"] = slowly
    await client.command("turnstone.ask", text="go")
    prompt = await client.answer("tool", "deny", feedback="no thanks")
    await client.until(lambda: client.all("turnstone/resolved"))
    assert client.all("turnstone/resolved") == [{"promptId": prompt["promptId"]}]
    await client.until(lambda: client.all("$/cancelRequest"))
    late.set()
    await client.idle()
    assert not (project / "made").exists()
    assert "no thanks" in tool_results(stub)[0]


async def test_a_client_that_fails_to_ask_has_not_said_no(client: LspClient, stub: StubServer, project: Path) -> None:
    """faults.md 81: the question stays open, and is shown by other means."""
    stub.set({"replies": [call("bash", {"command": "touch made"}), DONE]})
    await client.command("turnstone.ask", text="go")
    await client.until(lambda: client.all("window/showMessage"))
    await client.answer("tool", "allow")
    await client.idle()
    assert (project / "made").exists()


async def test_a_task_can_be_granted_tools(client: LspClient, stub: StubServer, project: Path) -> None:
    """Issue 'The main job', item 7."""
    when = {"system_contains": "You are a sub-agent"}
    rules = [
        {"when": {**when, "max_hits": 1}, "reply": call("bash", {"command": "touch made"})},
        {"when": when, "reply": {"text": "made it"}},
    ]
    stub.set({"rules": rules, "replies": [call("task", {"prompt": "make"}), DONE]})
    client.handlers["turnstone/requestApproval"] = lambda params: {
        "decision": "allow",
        "grant": [name for name in params["item"]["grantable"] if name == "bash"],
    }
    await client.command("turnstone.ask", text="go", wait=True)
    assert len(client.all("turnstone/requestApproval")) == 1
    assert (project / "made").exists()
    assert [e for e in client.events("toolCallUpdate") if e.get("parentCallId")]


async def test_an_open_document_is_changed_by_the_client(client: LspClient, stub: StubServer, project: Path) -> None:
    path = project / "a.py"
    path.write_text("x = 1\n")
    stub.set({"replies": edit("a.py", "x = 2", "x = 3")})
    uri = client.open(path, "x = 1\n")
    client.change(uri, "x = 2\n# mine\n")
    client.handlers["turnstone/reviewEdits"] = accept(client)
    await client.command("turnstone.ask", text="go", wait=True)
    [review] = client.all("turnstone/reviewEdits")
    [file] = review["files"]
    assert (file["version"], file["isNew"], file["save"]) == (2, False, False)
    assert file["hunks"] == [{"start": 0, "end": 1, "newStart": 0, "old": ["x = 2\n"], "new": ["x = 3\n"]}]
    assert client.documents[uri]["text"] == "x = 3\n# mine\n"
    assert path.read_text() == "x = 1\n"
    assert not client.all("workspace/applyEdit")
    assert "Changed a.py" in tool_results(stub)[1]


async def test_a_client_that_says_it_applied_and_did_not_is_not_believed(
    client: LspClient, stub: StubServer, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnstone_lsp.workspace.applying.SYNC_SECONDS", 0.1)
    path = project / "a.py"
    path.write_text("x = 1\n")
    client.open(path, "x = 1\n")
    stub.set({"replies": edit("a.py", "x = 1", "x = 3")})
    client.handlers["turnstone/reviewEdits"] = lambda params: {
        "files": [{"promptId": params["files"][0]["promptId"], "decision": "accept", "appliedBy": "client"}]
    }
    await client.command("turnstone.ask", text="go", wait=True)
    assert "as before" in tool_results(stub)[1]


async def test_hunks_are_accepted_one_by_one_and_the_model_is_told(
    client: LspClient, stub: StubServer, project: Path
) -> None:
    path = project / "a.py"
    before = "one\n" + "same\n" * 20 + "two\n"
    path.write_text(before)
    after = before.replace("one", "ONE").replace("two", "TWO")
    stub.set({"replies": [call("read_file", "a.py"), call("write_file", {"path": "a.py", "content": after}), DONE]})
    client.handlers["turnstone/reviewEdits"] = lambda params: {
        "files": [{"promptId": params["files"][0]["promptId"], "decision": "partial", "hunks": [1], "appliedBy": "server"}],
        "feedback": "keep the first line",
    }  # fmt: skip
    await client.command("turnstone.ask", text="go", wait=True)
    assert path.read_text() == before.replace("two", "TWO")
    assert "keep the first line" in tool_results(stub)[1]
    assert "-one" in tool_results(stub)[1]


async def test_a_text_that_the_user_edited_goes_in_and_is_told(
    client: LspClient, stub: StubServer, project: Path
) -> None:
    path = project / "a.py"
    path.write_text("x = 1\n")
    stub.set({"replies": edit("a.py", "x = 1", "x = 3")})
    client.handlers["turnstone/reviewEdits"] = lambda params: {
        "files": [{"promptId": params["files"][0]["promptId"], "decision": "partial", "text": "x = 4\n"}]
    }
    await client.command("turnstone.ask", text="go", wait=True)
    assert path.read_text() == "x = 4\n"
    assert "x = 4" in tool_results(stub)[1]


async def test_three_files_are_one_review_and_each_has_its_answer(
    client: LspClient, stub: StubServer, project: Path
) -> None:
    writes = [("write_file", {"path": name, "content": f"{name}\n"}) for name in ("a", "b", "c")]
    stub.set({"replies": [calls(*writes), DONE]})
    asked = asyncio.Event()

    async def review(params: dict[str, Any]) -> Any:
        asked.set()
        await asyncio.sleep(0.2)
        first, second, _ = params["files"]
        return {"files": [{"promptId": first["promptId"], "decision": "accept"},
                          {"promptId": second["promptId"], "decision": "reject", "feedback": "not b"}]}  # fmt: skip

    client.handlers["turnstone/reviewEdits"] = review
    await client.command("turnstone.ask", text="go")
    await asked.wait()
    third = next(p for p in await client.command("turnstone.pending") if p["title"].endswith(" c"))
    await client.command("turnstone.answer", promptId=third["promptId"], decision="accept")
    await client.idle()
    assert len(client.all("turnstone/reviewEdits")) == 1
    assert names(project) == ["a", "c"]
    assert "not b" in tool_results(stub)[1]


async def test_nothing_is_written_before_the_answer_and_stop_withdraws(
    client: LspClient, stub: StubServer, project: Path
) -> None:
    """faults.md 42, 78"""
    stub.set({"replies": [call("write_file", {"path": "a", "content": "a\n"}), DONE]})

    async def never(_: Any) -> None:
        await asyncio.Event().wait()

    client.handlers["turnstone/reviewEdits"] = never
    await client.command("turnstone.ask", text="go")
    await client.prompt("edit")
    assert not (project / "a").exists()
    assert await client.command("turnstone.stop") == {"stopped": 1}
    assert await client.command("turnstone.pending") == []
    assert client.all("turnstone/resolved")
    assert not (project / "a").exists()
    assert client.events("stateChanged")[-1]["stopReason"] == "cancelled"


async def test_a_plan_is_annotated(client: LspClient, stub: StubServer) -> None:
    rules = [{"when": {"system_contains": "planning sub-agent"}, "reply": {"text": "1. do it"}}]
    stub.set({"rules": rules, "replies": [call("plan", {"prompt": "plan"}), DONE]})
    client.handlers["turnstone/requestApproval"] = lambda _: {"decision": "allow"}
    client.handlers["turnstone/reviewPlan"] = lambda _: {"decision": "annotate", "feedback": "skip 1"}
    await client.command("turnstone.ask", text="go", wait=True)
    [asked] = client.all("turnstone/reviewPlan")
    assert asked["text"].strip() == "1. do it"
    assert "skip 1" in tool_results(stub)[0]


async def test_an_edit_that_needs_no_question_and_its_undo_go_through_the_client(
    client: LspClient, stub: StubServer, project: Path
) -> None:
    path = project / "a.py"
    path.write_text("x = 1\n")
    uri = client.open(path, "x = 1\n")

    def apply(params: dict[str, Any]) -> Any:
        assert client.documents[params["uri"]]["text"] == params["baseText"]
        client.change(params["uri"], params["newText"])
        return {"applied": True}

    def save(params: dict[str, Any]) -> Any:
        path.write_text(client.documents[params["uri"]]["text"])
        client.notify("textDocument/didSave", {"textDocument": {"uri": params["uri"]}})
        return {"saved": True}

    client.handlers |= {"turnstone/applyEdit": apply, "turnstone/saveDocument": save}
    stub.set({"replies": edit("a.py", "x = 1", "x = 3")})
    await client.command("turnstone.setMode", mode="edit")
    await client.command("turnstone.ask", text="go", wait=True)
    assert client.documents[uri]["text"] == path.read_text() == "x = 3\n"
    assert "a.py" in await client.command("turnstone.undoTurn")
    assert client.documents[uri]["text"] == "x = 1\n"
    await client.command("turnstone.redoTurn")
    assert client.documents[uri]["text"] == "x = 3\n"
    assert not client.all("workspace/applyEdit")


async def test_context_goes_to_the_model(client: LspClient, stub: StubServer, project: Path) -> None:
    path = project / "a.py"
    uri = client.open(path, "one\ntwo\nthree\n")
    selection = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    problem = {"range": selection, "severity": 2, "message": "too many", "source": "counter"}
    client.notify("turnstone/context", {"uri": uri, "selection": selection, "diagnostics": [problem, {"odd": 1}]})
    await client.command("turnstone.ask", text="go", wait=True)
    said = stub.log()[-1]["request"]["messages"][-1]["content"]
    assert f"Active file: {path}" in said
    assert "Selected lines 2-2:\n2\ttwo" in said
    assert "warning: too many [counter]" in said


async def test_two_sessions_run_side_by_side(client: LspClient, stub: StubServer) -> None:
    stub.set({"replies": [{"text": "slow", "first_delay_ms": 300}]})
    first = await client.command("turnstone.ask", text="one")
    second = (await client.command("turnstone.newSession"))["sessionId"]
    await client.command("turnstone.ask", text="two", wait=True)
    assert first["sessionId"] != second
    await client.until(lambda: len([e for e in client.events("stateChanged") if e["state"] == "idle"]) == 2)
    assert {e["sessionId"] for e in client.events()} == {first["sessionId"], second}


async def test_a_resumed_session_brings_its_conversation(client: LspClient, stub: StubServer) -> None:
    ident = (await client.command("turnstone.ask", text="remember the heron"))["sessionId"]
    await client.idle()
    async with connected() as other:
        await start(other, client.server.app.roots[0], RICH)
        [listed] = await other.command("turnstone.listSessions")
        assert listed["id"] == ident
        state = await other.command("turnstone.resumeSession", sessionId=ident)
        assert state["conversation"] == [
            {"role": "user", "text": "remember the heron"},
            {"role": "assistant", "text": "All is done."},
        ]
        await other.command("turnstone.renameSession", title="Heron")
        fork = await other.command("turnstone.forkSession")
        assert fork["sessionId"] != ident
        assert fork["title"] == "Heron (fork)"
        assert "heron" in await other.command("turnstone.exportSession", sessionId=ident)
        await other.command("turnstone.deleteSession", sessionId=fork["sessionId"])
        assert [s["id"] for s in await other.command("turnstone.listSessions")] == [ident]


async def test_a_client_of_another_version_is_a_plain_client(project: Path, stub: StubServer) -> None:
    other = {**RICH, "experimental": {"turnstone": {"version": 99, "updates": True, "approvals": True}}}
    stub.set({"replies": [call("bash", {"command": "touch made"}), DONE]})
    async with connected() as client:
        await start(client, project, other)
        client.handlers["window/showMessageRequest"] = lambda _: {"title": "Deny"}
        await client.command("turnstone.ask", text="go", wait=True)
        assert client.all("window/showMessageRequest")
        assert not client.events()
