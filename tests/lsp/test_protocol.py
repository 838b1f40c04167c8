"""The one description of the protocol: the page is made from it, arguments are checked against it."""

from __future__ import annotations

import importlib.util
import typing
from pathlib import Path
from typing import Any

import pytest
from lsp_client import RpcError, connected
from scripted import MINIMAL, start

from turnstone_lsp.agent import events
from turnstone_lsp.lsp import commands, protocol
from turnstone_lsp.lsp.command_table import COMMANDS, checked
from turnstone_lsp.lsp.edge import RefusedError
from turnstone_lsp.lsp.messages import MESSAGES, RECORDS
from turnstone_lsp.lsp.protocol import misfit_of_record

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_says_what_the_code_does() -> None:
    """Issue 'Neovim': "`docs/protocol.md` describes every message ..., and a test holds it against the code"."""
    spec = importlib.util.spec_from_file_location("protocol_page", ROOT / "scripts" / "protocol.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    assert (ROOT / "docs" / "protocol.md").read_text("utf-8") == page.markdown(), "run scripts/protocol.py"


def test_every_method_name_and_command_is_described() -> None:
    names = {value for name, value in vars(protocol).items() if name.isupper() and str(value).startswith("turnstone/")}
    assert names == {message.method for message in MESSAGES}
    assert set(commands._HANDLERS) | {"turnstone.ask"} == set(COMMANDS)
    described = [r for m in MESSAGES for r in (m.params, m.result or {})] + [c.arguments for c in COMMANDS.values()]
    known = {*RECORDS, "string", "integer", "boolean", "any", "null", "Event"}
    for record in [*described, *RECORDS.values()]:
        for field in record.values():
            assert all(k[0] == '"' or k.removesuffix("[]") in known for k in field.type.split("|")), field


def test_all_kinds_of_events_are_in_the_page() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text("utf-8")
    for kind in typing.get_args(events.Event):
        assert f"### {kind.__name__[0].lower()}{kind.__name__[1:]}\n" in page


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("turnstone.ask", [], "needs 'text'"),
        ("turnstone.ask", [{"text": 7}], "'text' must be of type string"),
        ("turnstone.ask", [{"text": "x", "wiat": True}], "unknown argument 'wiat'; did you mean 'wait'"),
        ("turnstone.ask", [{"text": "x", "wait": "yes"}], "'wait' must be of type boolean"),
        ("turnstone.ask", [{"text": "x", "range": {"start": {"line": 1}}}], "'range' 'start' needs 'character'"),
        ("turnstone.ask", ["x", "y"], "takes one object with text"),
        ("turnstone.ask", [["x"]], "takes one object"),
        ("turnstone.sopt", [], "did you mean 'turnstone.stop'"),
        ("turnstone.stop", [{"x": 1}], "unknown argument 'x'; it takes sessionId"),
        ("turnstone.setMode", ["yolo"], "must be one of ask, edit, plan, auto"),
        ("turnstone.answer", [{"promptId": "p"}], "needs 'decision'"),
        ("turnstone.answer", [{"promptId": "p", "decision": "x", "hunks": ["1"]}], "'hunks' must be of type integer"),
        ("turnstone.state", [{"since": True}], "'since' must be of type integer"),
        ("turnstone.models", ["x"], "takes one object with nothing"),
    ],
)  # fmt: skip
def test_wrong_arguments_name_themselves(command: str, arguments: list[Any], words: str) -> None:
    with pytest.raises(RefusedError) as caught:
        checked(command, arguments)
    assert words in str(caught.value)


def test_right_arguments() -> None:
    assert checked("turnstone.ask", ["hello"]) == {"text": "hello"}
    assert checked("turnstone.stop", None) == {}
    assert checked("turnstone.stop", [None]) == {}
    assert checked("turnstone.ask", [{"text": "x", "sessionId": None}]) == {"text": "x"}
    diagnostic = {"message": "m", "tags": [1], "relatedInformation": [], "data": {"any": "thing"}}
    assert checked("turnstone.ask", [{"text": "x", "diagnostics": [diagnostic]}])


def test_a_record_is_checked_as_strictly_as_it_is_asked_to_be() -> None:
    place = {"line": 1, "character": 2, "extra": 3}
    assert misfit_of_record(place, RECORDS["Position"], RECORDS) is None
    assert "unknown field 'extra'" in str(misfit_of_record(place, RECORDS["Position"], RECORDS, strict=True))


async def test_commands_that_fail_answer_with_a_sentence(project: Path, stub: object) -> None:
    async with connected() as client:
        await start(client, project, MINIMAL)
        for name, arguments, words in (
            ("turnstone.resumeSession", {"sessionId": "nope"}, "There is no session nope"),
            ("turnstone.exportSession", {}, "there is no current session"),
            ("turnstone.undoTurn", {}, "nothing to undo"),
            ("turnstone.showChanges", {"promptId": "p-1"}, "no pending change"),
            ("turnstone.memories", {"action": "set", "key": "k"}, "give its 'value'"),
            ("turnstone.memories", {"action": "delete", "key": "k"}, "no memory 'k'"),
            ("turnstone.send", {"uri": "file:///x"}, "turnstone.openTranscript"),
            ("turnstone.state", {"sessionId": "nope"}, "turnstone.resumeSession"),
            ("turnstone.ask", {"text": " "}, "is empty"),
        ):
            with pytest.raises(RpcError, match=words) as caught:
                await client.command(name, **arguments)
            assert caught.value.code in (-32602, -32803)


async def test_memories_models_and_modes(project: Path, stub: object) -> None:
    async with connected() as client:
        await start(client, project, MINIMAL)
        [memory] = await client.command("turnstone.memories", action="set", key="colour", value="teal")
        assert (memory["key"], memory["value"]) == ("colour", "teal")
        assert await client.command("turnstone.memories", action="delete", key="colour") == []
        assert (await client.command("turnstone.models"))["models"] == ["stub-model"]
        assert await client.command("turnstone.setModel", model="other") == {"model": "other"}
        assert (await client.command("turnstone.setMode", mode="plan"))["mode"] == "plan"
        assert (await client.command("turnstone.state"))["model"] == "other"
