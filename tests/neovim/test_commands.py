"""Every word of `:Turnstone`, its completion, the help file, the configuration and the start (issue 'Neovim')."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from neovim_editor import PLUGIN, call

if TYPE_CHECKING:
    from neovim_editor import Neovim

HELP = (PLUGIN / "doc" / "turnstone.txt").read_text()
COMPLETE = "return vim.fn.getcompletion(..., 'cmdline')"


def names(nvim: Neovim) -> list[str]:
    return list(nvim.lua("return require('turnstone.commands').names()"))


def test_completion_by_level(nvim: Neovim) -> None:
    assert nvim.lua(COMPLETE, "Turnstone ") == names(nvim)
    assert nvim.lua(COMPLETE, "Turnstone se") == ["send", "session"]
    assert nvim.lua(COMPLETE, "Turnstone session re") == ["rename", "resume"]
    assert nvim.lua(COMPLETE, "Turnstone mode ") == ["ask", "auto", "edit", "plan"]


@pytest.mark.parametrize(
    ("typed", "meant"), [("acept", "accept"), ("sesion", "session"), ("session lst", "list"), ("approve twice", "once")]
)
def test_an_unknown_word_names_the_nearest(nvim: Neovim, typed: str, meant: str) -> None:
    nvim.command(f"Turnstone {typed}")
    assert meant in nvim.messages()[-1]


def test_the_help_names_every_command_mapping_highlight_and_event(nvim: Neovim) -> None:
    for name in names(nvim):
        assert f"Turnstone {name}" in HELP, name
    plugs = nvim.lua(
        "local found = {} for _, mode in ipairs({'n', 'x'}) do for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do "
        "if map.lhs:match('turnstone') then found[#found + 1] = map.lhs end end end return found"
    )
    assert len(plugs) >= 16
    for name in plugs:
        assert name in HELP, name
    for name in nvim.lua("return vim.tbl_keys(require('turnstone.highlight').links)"):
        assert name in HELP, name
    source = "".join(path.read_text() for path in (PLUGIN / "lua" / "turnstone").glob("*.lua"))
    for name in set(re.findall(r"emit\('(\w+)'", source)):
        assert name in HELP, name


def test_the_help_file_has_good_tags(nvim: Neovim) -> None:
    nvim.command(f"helptags {PLUGIN / 'doc'}")
    tags = PLUGIN / "doc" / "tags"
    assert ":Turnstone\t" in tags.read_text()
    tags.unlink()


def test_plugin_loads_nothing(nvim: Neovim) -> None:
    text = (PLUGIN / "plugin" / "turnstone.lua").read_text()
    assert not re.search(r"^[^ ].*require\(", text, re.MULTILINE)


def test_sessions_are_made_renamed_listed_forked_and_exported(nvim: Neovim) -> None:
    nvim.ask("first question")
    nvim.ended()
    nvim.command("Turnstone session rename The first")
    nvim.until(lambda: nvim.status().get("title") == "The first")
    original = nvim.status()["session"]
    nvim.command("Turnstone session fork")
    nvim.until(lambda: "forked" in nvim.chat())
    nvim.command("Turnstone session list")
    nvim.until(lambda: "The first" in nvim.chat())
    nvim.command("Turnstone session export")
    nvim.until(lambda: "first question" in "\n".join(nvim.lines()))
    nvim.command("Turnstone session new")
    nvim.until(lambda: nvim.chat() == "")
    nvim.command(f"Turnstone session resume {original}")
    nvim.until(lambda: "first question" in nvim.chat())
    nvim.lua("vim.ui.select = function(items, _, done) done(items[2]) end")
    nvim.command(f"Turnstone session delete {original}")
    nvim.until(lambda: "turnstone: deleted" in nvim.messages())


def test_mode_model_memories_and_context(nvim: Neovim) -> None:
    nvim.command("Turnstone mode edit")
    nvim.until(lambda: nvim.status().get("mode") == "edit")
    nvim.command("Turnstone mode ask")
    nvim.until(lambda: nvim.status().get("mode") == "ask")
    nvim.command("Turnstone mode fast")
    nvim.until(nvim.messages)
    nvim.command("Turnstone model other-model")
    nvim.until(lambda: "turnstone: model: other-model" in nvim.messages())
    nvim.command("Turnstone memories set colour blue and green")
    nvim.until(lambda: "colour = blue and green" in nvim.chat())
    nvim.command("Turnstone memories delete colour")
    nvim.until(lambda: "none yet" in nvim.chat())
    nvim.edit(nvim.project / "here.py")
    nvim.command("Turnstone context")
    assert "here.py" in nvim.chat()


def test_a_selection_is_sent_as_context(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    nvim.edit(path)
    nvim.lua("vim.wait(50)")
    nvim.lua(
        "ended = nil; vim.api.nvim_create_autocmd('User', {pattern = 'TurnstoneTurnEnd', once = true,"
        "callback = function() ended = true end})"
    )
    nvim.command("2,3Turnstone send what are these")
    nvim.ended()
    sent = str(nvim.stub.log()[-1]["request"]["messages"])
    assert "two" in sent
    assert "three" in sent
    assert "one" not in sent.replace("none", "").split("what are these")[-1]


def test_the_window_toggles_and_the_prompt_sends_and_remembers(nvim: Neovim) -> None:
    nvim.command("Turnstone")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 3
    nvim.lua(
        "ended = nil; vim.api.nvim_create_autocmd('User', {pattern = 'TurnstoneTurnEnd', once = true,"
        "callback = function() ended = true end})"
    )
    nvim.input("ihello from the prompt<C-s><Esc>")
    nvim.ended()
    assert "hello from the prompt" in nvim.chat()
    assert nvim.lines() == [""]
    nvim.input("<C-p>")
    nvim.until(lambda: nvim.lines() == ["hello from the prompt"])
    nvim.command("Turnstone toggle")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 1


def test_a_window_follows_only_when_its_cursor_is_at_the_end(nvim: Neovim) -> None:
    nvim.stub.set({"replies": [{"text": "line\n" * 200}]})
    nvim.command("Turnstone")
    nvim.ask()
    nvim.ended()
    chat = nvim.lua("return vim.fn.bufwinid(require('turnstone.chat').buffer())")
    last = nvim.lua("return vim.api.nvim_buf_line_count(require('turnstone.chat').buffer())")
    assert nvim.lua("return vim.api.nvim_win_get_cursor(...)", chat)[0] == last
    nvim.lua("vim.api.nvim_win_set_cursor(..., {3, 0})", chat)
    nvim.ask()
    nvim.ended()
    assert nvim.lua("return vim.api.nvim_win_get_cursor(...)", chat)[0] == 3


def test_the_output_of_tools_is_folded(nvim: Neovim) -> None:
    (nvim.project / "a.txt").write_text("one\n" * 30)
    nvim.stub.set({"replies": [call("read_file", "a.txt"), {"text": "done"}]})
    nvim.command("Turnstone")
    nvim.ask()
    nvim.ended()
    folded = nvim.lua(
        "local chat = require('turnstone.chat').buffer() local row = vim.fn.indexof("
        "vim.api.nvim_buf_get_lines(chat, 0, -1, true), 'v:val =~ \"│\"') + 1 "
        "return vim.api.nvim_win_call(vim.fn.bufwinid(chat), function() return vim.fn.foldclosedend(row) - row end)"
    )
    assert folded >= 29


def test_review_lists_and_log_and_misconfiguration(nvim: Neovim) -> None:
    nvim.command("Turnstone review")
    nvim.command("Turnstone next")
    assert nvim.messages() == ["turnstone: nothing is under review"] * 2
    nvim.command("Turnstone log")
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)").endswith("lsp.log")
    faults = nvim.lua("return require('turnstone.config').faults({aprovals = {}, chat = {width = 'wide'}, cmd = 1})")
    assert any("did you mean approvals" in fault for fault in faults)
    assert any("chat.width must be a number" in fault for fault in faults)
    assert any("cmd must be a table" in fault for fault in faults)


def test_restart_starts_another_server(nvim: Neovim) -> None:
    before = nvim.lua("return require('turnstone.client').get().id")
    nvim.command("Turnstone restart")
    nvim.until(lambda: "turnstone: the server runs" in nvim.messages())
    assert nvim.lua("return require('turnstone.client').get().id") != before
    nvim.ask()
    assert nvim.ended() == "completed"
