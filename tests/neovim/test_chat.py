"""The plugin's start, asking and streaming (issue 'Neovim', Chat)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neovim_editor import Neovim


def test_an_answer_streams_into_the_chat(nvim: Neovim) -> None:
    nvim.stub.set({"replies": [{"reasoning": "let me see", "text": "One **two**.\n" * 30}]})
    nvim.ask("hello there")
    assert nvim.ended() == "completed"
    chat = nvim.chat()
    assert "## You\nhello there" in chat
    assert "  ┆ let me see" in chat
    assert chat.count("One **two**.") == 30
