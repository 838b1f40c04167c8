"""Text sync as editors really do it; workspace folders; settings from the editor; trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsp_client import LspClient, connected, edited, profile
from scripted import DONE, MINIMAL, RICH, call, edit, start, tool_results

from turnstone_lsp.lsp.editor import text_edits
from turnstone_lsp.lsp.inverse import without_ours

if TYPE_CHECKING:
    from pathlib import Path

    from model_server import StubServer


async def _text(client: LspClient, uri: str) -> str:
    await client.command("turnstone.state")
    return str(client.server.app.desk.documents.by_uri(uri).text)


def _changed(client: LspClient, uri: str, version: int, *changes: dict[str, Any]) -> None:
    identifier = {"uri": uri, "version": version}
    client.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": list(changes)})


def _span(line: int, start: int, end_line: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": end_line, "character": end}}


@pytest.mark.parametrize("odd", ["\f", "\v", "\x1c", "\x85", "\u2028", "\u2029"])
async def test_a_change_lands_on_its_line_after_what_is_no_line_end(project: Path, odd: str) -> None:
    """Trap: see test_stock_pygls.py."""
    async with connected() as client:
        await start(client, project, MINIMAL)
        uri = client.open(project / "a.txt", f"a{odd}b\nlast\n")
        _changed(client, uri, 2, {"range": _span(1, 0, 1, 0), "text": "> "})
        assert await _text(client, uri) == f"a{odd}b\n> last\n"


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
async def test_positions_count_what_was_agreed(project: Path, encoding: str, column: int) -> None:
    async with connected() as client:
        said = await start(client, project, {**MINIMAL, "general": {"positionEncodings": [encoding]}})
        assert said["capabilities"]["positionEncoding"] == encoding
        assert said["capabilities"]["textDocumentSync"]["change"] == 1
        uri = client.open(project / "a.txt", "🎉x\n")
        _changed(client, uri, 2, {"range": _span(0, column, 0, column + 1), "text": "y"})
        assert await _text(client, uri) == "🎉y\n"


async def test_neovims_ways(project: Path, stub: StubServer) -> None:
    """Version 0 at the opening, versions that skip, reload as close and open, an empty file as one line end."""
    path = project / "a.txt"
    path.write_text("")
    async with connected() as client:
        await start(client, project, profile("neovim-0.11"))
        uri = client.open(path, "\n", version=0)
        _changed(client, uri, 5, {"text": "five\n"})
        assert await _text(client, uri) == "five\n"
        client.close_document(uri)
        client.open(path, "again\n", version=0)
        assert await _text(client, uri) == "again\n"
        client.notify(
            "textDocument/didChange", {"textDocument": {"uri": "file:///never", "version": 1}, "contentChanges": []}
        )
        assert await _text(client, uri) == "again\n"


async def test_unsaved_text_is_what_the_tools_see_until_the_document_is_closed(project: Path, stub: StubServer) -> None:
    path = project / "a.txt"
    path.write_text("disk\n")
    stub.set({"replies": [call("read_file", "a.txt"), DONE]})
    async with connected() as client:
        await start(client, project, MINIMAL)
        uri = client.open(path, "disk\n")
        client.change(uri, "buffer\n")
        await client.command("turnstone.ask", text="go", wait=True)
        assert "buffer" in tool_results(stub)[0]
        client.close_document(uri)
        await client.command("turnstone.ask", text="go", wait=True)
        assert "disk" in tool_results(stub)[-1]


async def test_an_untitled_document_can_be_asked_about(project: Path, stub: StubServer) -> None:
    async with connected() as client:
        await start(client, project, MINIMAL)
        item = {"uri": "untitled:Untitled-1", "languageId": "python", "version": 1, "text": "print(1)\n"}
        client.notify("textDocument/didOpen", {"textDocument": item})
        await client.command("turnstone.ask", text="go", uri=item["uri"], range=_span(0, 0, 0, 5), wait=True)
        said = stub.log()[-1]["request"]["messages"][-1]["content"]
        assert "untitled:Untitled-1" in said
        assert "1\tprint" in said


async def test_all_folders_are_roots_and_folders_come_and_go(project: Path, stub: StubServer) -> None:
    """faults.md 117, 119"""
    other, third = project.parent / "other", project.parent / "third"
    for folder in (other, third):
        folder.mkdir()
        (folder / f"in_{folder.name}.txt").write_text(f"text of {folder.name}\n")
    stub.set({"replies": [call("read_file", "in_other.txt"), DONE]})
    async with connected() as client:
        folders = [{"uri": f.as_uri(), "name": f.name} for f in (project, other)]
        client.handlers["window/workDoneProgress/create"] = lambda _: None
        params = {"processId": None, "rootUri": None, "workspaceFolders": folders, "capabilities": MINIMAL}
        await client.request("initialize", params | {"initializationOptions": {"trusted": True}})
        client.notify("initialized", {})
        await client.command("turnstone.ask", text="go", wait=True)
        assert "text of other" in tool_results(stub)[0]
        event = {"added": [{"uri": third.as_uri(), "name": "third"}], "removed": [folders[1]]}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        stub.set({"replies": [call("read_file", "in_third.txt"), DONE]})
        await client.command("turnstone.ask", text="go", wait=True)
        assert "text of third" in tool_results(stub)[-1]
        assert [p.name for p in client.server.app.roots] == ["project", "third"]


_LINES = st.lists(st.sampled_from(["a\n", "b\r\n", "c\r", "é🎉\n", "\f\n", "\u2028x\n"]), max_size=8).map("".join)


@given(base=_LINES, result=_LINES, tail=st.sampled_from(["", "end", "🎉"]))
def test_text_edits_turn_base_into_result(base: str, result: str, tail: str) -> None:
    """As an editor applies them, which counts lines by LSP's line ends."""
    base, result = (
        base.replace("\r\n", "\n").replace("\r", "\n"),
        result.replace("\r\n", "\n").replace("\r", "\n") + tail,
    )
    assert edited(base, text_edits(base, result, "utf-32")) == result


@given(base=_LINES, result=_LINES, now=_LINES)
def test_taking_our_change_back_keeps_the_users(base: str, result: str, now: str) -> None:
    assert without_ours(base, result, result) == base or base == result
    back = without_ours(base, result, now)
    if back is not None and result == base:
        assert back == now


def test_our_change_is_taken_back_from_under_typing() -> None:
    base, result = "1\n2\n3\n4\n5\n", "1\n2\n3\nfour\n5\n"
    assert without_ours(base, result, "typed\n1\n2\n3\nfour\n5\n") == "typed\n1\n2\n3\n4\n5\n"
    assert without_ours(base, result, "1\n2\n3\nfour!\n5\n") is None


# -- settings and trust


async def test_the_editors_settings_can_do_harmless_things_only(project: Path, stub: StubServer) -> None:
    """Design, "Plain clients, precisely": editors merge workspace files into workspace/configuration."""
    evil = {"model": {"base_url": "http://127.0.0.1:9/v1"}, "mode": "auto", "tools": {"bash_timeout": 7}}
    async with connected() as client:
        client.handlers["workspace/configuration"] = lambda _: [evil]
        await start(client, project, {**RICH, "workspace": {"configuration": True, "applyEdit": True}})
        assert await client.command("turnstone.ask", text="go", wait=True) == "All is done."
        settings = client.server.app._engine.settings
        assert (settings.mode, settings.tools.bash_timeout) == ("ask", 7.0)
        notes = [e["text"] for e in client.events("notice")]
        assert any("'mode'" in note and "ignored" in note for note in notes)
        evil["tools"]["bash_timeout"] = 8
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        await client.until(lambda: client.server.app._engine.settings.tools.bash_timeout == 8.0)


async def test_a_wrong_setting_is_named_when_something_is_asked(project: Path, stub: StubServer) -> None:
    async with connected() as client:
        await client.initialize(project, MINIMAL, mode="yolo")
        with pytest.raises(Exception, match="mode"):
            await client.command("turnstone.ask", text="go", wait=True)


RULES = "Speak like a heron."


def _instructions(project: Path) -> None:
    (project / "AGENTS.md").write_text(RULES)


def _system(stub: StubServer) -> str:
    return str(stub.log()[-1]["request"]["messages"][0]["content"])


async def _ask(client: LspClient, project: Path, answer: str | None, **options: Any) -> list[str]:
    """Ask once; the questions that were asked about trust."""
    asked: list[str] = []

    def box(params: dict[str, Any]) -> Any:
        asked.append(params["message"])
        return None if answer is None else {"title": answer}

    client.handlers |= {"window/showMessageRequest": box, "window/workDoneProgress/create": lambda _: None}
    await client.initialize(project, MINIMAL, **options)
    await client.command("turnstone.ask", text="go", wait=True)
    return asked


async def test_trust_is_asked_at_the_first_ask_and_kept(project: Path, stub: StubServer) -> None:
    """C-05; faults: nothing of the workspace is read before."""
    _instructions(project)
    async with connected() as client:
        [question] = await _ask(client, project, "Trust")
        assert str(project) in question
        assert RULES in _system(stub)
    async with connected() as client:
        assert await _ask(client, project, None) == []
        assert RULES in _system(stub)


@pytest.mark.parametrize("answer", ["Do not trust", None])
async def test_without_trust_nothing_is_read_and_the_turn_goes_on(
    project: Path, stub: StubServer, answer: str | None
) -> None:
    _instructions(project)
    async with connected() as client:
        assert len(await _ask(client, project, answer)) == 1
        assert RULES not in _system(stub)
        assert (await client.command("turnstone.state"))["trusted"] is False
        await client.command("turnstone.trust")
        await client.command("turnstone.newSession")
        await client.command("turnstone.ask", text="go", wait=True)
        assert RULES in _system(stub)


async def test_where_nothing_is_at_stake_nobody_is_asked(project: Path, stub: StubServer) -> None:
    async with connected() as client:
        assert await _ask(client, project, None) == []
        assert (await client.command("turnstone.state"))["trusted"] is True


async def test_a_mode_that_asks_less_is_at_stake(project: Path, stub: StubServer) -> None:
    stub.set({"replies": [call("bash", {"command": "touch made"}), DONE]})
    async with connected() as client:
        [trust, bash] = await _ask(client, project, "Do not trust", mode="auto")
        assert "Trust" in trust
        assert "not trusted" in bash
        assert not (project / "made").exists()


async def test_what_the_editor_says_of_trust_holds(project: Path, stub: StubServer) -> None:
    _instructions(project)
    async with connected() as client:
        assert await _ask(client, project, None, trusted=False) == []
        assert RULES not in _system(stub)
    async with connected() as client:
        assert await _ask(client, project, None, trusted=True) == []
        assert RULES in _system(stub)


async def test_a_trusted_workspace_can_forbid(project: Path, stub: StubServer) -> None:
    (project / ".turnstone.toml").write_text('[[rules]]\ndecision = "deny"\ntool = "bash"\n')
    stub.set({"replies": [call("bash", {"command": "true"}), DONE]})
    async with connected() as client:
        await _ask(client, project, "Trust")
        assert "forbids" in tool_results(stub)[0]


async def test_a_stop_while_trust_is_asked_ends_the_turn(project: Path, stub: StubServer) -> None:
    import asyncio

    _instructions(project)

    async def never(_: Any) -> None:
        await asyncio.Event().wait()

    async with connected() as client:
        client.handlers |= {"window/showMessageRequest": never, "window/workDoneProgress/create": lambda _: None}
        await client.initialize(project, MINIMAL)
        await client.command("turnstone.ask", text="go")
        await client.prompt("trust")
        await client.command("turnstone.stop")
        assert await client.command("turnstone.pending") == []
        assert not stub.log()
        client.handlers["window/showMessageRequest"] = lambda _: {"title": "Trust"}
        assert await client.command("turnstone.ask", text="go", wait=True) == "All is done."


async def test_an_edit_is_applied_by_what_each_editor_takes(project: Path, stub: StubServer) -> None:
    """Versioned where the client takes versions (Neovim does without saying so), else plain changes."""
    path = project / "a.txt"
    for name, versioned in (("neovim-0.11", True), ("helix-25.01", True), ("eglot-1.9", True), (None, False)):
        path.write_text("x = 1\n")
        stub.set({"replies": edit("a.txt", "x = 1", "x = 2")})
        async with connected() as client:
            await start(client, project, profile(name) if name else MINIMAL)
            client.handlers |= {
                "workspace/configuration": lambda _: [None],
                "window/showDocument": lambda _: {"success": True},
            }
            uri = client.open(path, "x = 1\n", version=4)
            await client.command("turnstone.ask", text="go")
            await client.answer("edit", "accept")
            await client.idle()
            [sent] = [e for e in client.all("workspace/applyEdit") if e["label"].endswith("a.txt")]
            if versioned:
                [change] = sent["edit"]["documentChanges"]
                assert change["textDocument"] == {"uri": uri, "version": 4}
            else:
                assert list(sent["edit"]["changes"]) == [uri]
            assert client.documents[uri]["text"] == "x = 2\n"
