"""A user who types cannot decide anything (issue 'Neovim', 'It is done when' 2)."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from neovim_editor import DONE, call

if TYPE_CHECKING:
    from neovim_editor import Neovim

KEYS = [*"yYnNaAsSwWuUfFcqj k1234567890,.", "<CR>", "<BS>", "<Tab>"]


@pytest.mark.parametrize("rounds", [8, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_typing_at_random_never_approves_and_loses_nothing(nvim: Neovim, rounds: int) -> None:
    path = nvim.project / "a.txt"
    path.write_text("one\ntwo\n")
    chance = random.Random(rounds)  # noqa: S311 - no secret
    edit = {"name": "edit_file", "arguments": {"path": "a.txt", "old_string": "two", "new_string": "2"}}
    run = {"name": "bash", "arguments": {"command": "echo ran >> made"}}
    nvim.edit(path)
    nvim.command("split | enew")
    for _ in range(rounds):
        nvim.stub.set({"replies": [call("read_file", "a.txt"), {"tool_calls": [edit, run]}, DONE]})
        nvim.ask()
        nvim.until(lambda: nvim.status()["approvals"] and nvim.status()["reviews"], "both prompts")
        nvim.input("<Esc>i" + "".join(chance.choices(KEYS, k=20)) + "<Esc>")
        nvim.lua("vim.wait(5)")
        assert nvim.status()["approvals"] == 1
        assert nvim.status()["reviews"] == 1
        assert not (nvim.project / "made").exists()
        assert path.read_text() == "one\ntwo\n"
        nvim.command("Turnstone stop")
        assert nvim.ended() == "cancelled"
        nvim.until(lambda: not nvim.status()["approvals"] and not nvim.status()["reviews"])
        nvim.command("Turnstone session new")
        nvim.until(lambda: nvim.chat() == "")
    nvim.stub.set({"replies": [call("bash", {"command": "echo ran >> made"}), DONE]})
    nvim.ask()
    nvim.question()
    nvim.command("Turnstone approve once")
    assert nvim.ended() == "completed"
    assert (nvim.project / "made").read_text() == "ran\n"
