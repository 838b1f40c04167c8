"""Approvals: an unfocused queue, no default, letters, nothing decided by closing (issue 'Neovim', Approvals)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from neovim_editor import DONE, call

if TYPE_CHECKING:
    from neovim_editor import Neovim


@pytest.fixture
def asking(nvim: Neovim) -> Neovim:
    """A turn that waits for the approval of a command."""
    nvim.stub.set({"replies": [call("bash", {"command": "echo ran > made"}), DONE]})
    nvim.ask()
    return nvim


def made(nvim: Neovim) -> bool:
    return (nvim.project / "made").exists()


def test_the_whole_command_is_shown_and_allowed_by_its_letter(asking: Neovim) -> None:
    shown = asking.question()
    assert "echo ran > made" in shown
    assert shown.index("deny") < shown.index("allow once")
    before = asking.nv.current.window.handle
    asking.input("y")  # not in the float: the user's own buffer gets it
    asking.input("<Esc>")
    assert asking.nv.current.window.handle == before
    assert asking.status()["approvals"] == 1
    asking.command("Turnstone pending")
    asking.input("y")  # within 300 ms of taking the focus: ignored
    asking.lua("vim.wait(20)")
    assert asking.status()["approvals"] == 1
    asking.lua("vim.wait(330)")
    for key in ("<CR>", "1", "<Space>"):
        asking.input(key)
    asking.lua("vim.wait(20)")
    assert asking.status()["approvals"] == 1
    asking.input("y")
    assert asking.ended() == "completed"
    assert made(asking)


def test_closing_the_float_decides_nothing_and_a_denial_reaches_the_model(asking: Neovim) -> None:
    asking.question()
    asking.command("Turnstone pending")
    asking.lua("vim.wait(330)")
    asking.input("q")
    asking.lua("vim.wait(20)")
    asking.command("silent! bwipeout! turnstone://approvals")
    assert asking.status()["approvals"] == 1
    asking.command("Turnstone pending")
    asking.lua("vim.wait(330)")
    asking.command("Turnstone deny use mktemp")
    assert asking.ended() == "completed"
    assert not made(asking)
    assert "use mktemp" in asking.tool_results()[0]


def test_approve_once_by_command(asking: Neovim) -> None:
    asking.question()
    asking.command("Turnstone approve once")
    assert asking.ended() == "completed"
    assert made(asking)


def test_stopping_withdraws_the_question(asking: Neovim) -> None:
    asking.question()
    asking.command("Turnstone stop")
    assert asking.ended() == "cancelled"
    asking.until(lambda: asking.status()["approvals"] == 0)
    assert not made(asking)


def test_a_message_request_of_our_server_is_answered_by_the_queue(nvim: Neovim) -> None:
    """neovim.md 3: Neovim's own list takes a digit that the user types for an answer."""
    nvim.lua(
        "answer = nil; local ask = vim.lsp.get_clients({name = 'turnstone'})[1].handlers['window/showMessageRequest']"
        "coroutine.wrap(function() answer = ask(nil, {message = 'Sure?', actions = {{title = 'Allow once'}}},"
        "{client_id = vim.lsp.get_clients({name = 'turnstone'})[1].id}) end)()"
    )
    nvim.input("i1 + 2<CR><Esc>")
    assert "Allow once" in nvim.question()
    assert nvim.lua("return answer == nil")
    nvim.command("Turnstone pending")
    nvim.lua("vim.wait(330)")
    nvim.input("a")
    assert nvim.until(lambda: nvim.lua("return answer")) == {"title": "Allow once"}
