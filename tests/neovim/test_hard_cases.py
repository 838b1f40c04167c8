"""What goes wrong in real life: crashes, several files, the first line, long streams, misconfiguration."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from neovim_editor import DONE, call

if TYPE_CHECKING:
    from neovim_editor import Neovim


def test_two_files_in_one_review_one_rejected_with_words(nvim: Neovim) -> None:
    for name in ("a.txt", "b.txt"):
        (nvim.project / name).write_text("one\ntwo\n")
    nvim.edit(nvim.project / "a.txt")
    edits = [
        {"name": "edit_file", "arguments": {"path": name, "old_string": "two", "new_string": "2"}}
        for name in ("a.txt", "b.txt")
    ]
    reads = [{"name": "read_file", "arguments": name} for name in ("a.txt", "b.txt")]
    nvim.stub.set({"replies": [{"tool_calls": reads}, {"tool_calls": edits}, DONE]})
    nvim.ask()
    nvim.until(lambda: nvim.status()["reviews"] == 2)
    nvim.command("Turnstone accept file")
    assert nvim.status()["reviews"] == 1
    nvim.command("Turnstone next")
    nvim.command("Turnstone reject file not this one")
    assert nvim.ended() == "completed"
    assert (nvim.project / "a.txt").read_text() == "one\n2\n"
    assert (nvim.project / "b.txt").read_text() == "one\ntwo\n"
    assert "not this one" in nvim.tool_results()[-1]


def test_lines_before_the_first_one_are_on_the_screen(nvim: Neovim) -> None:
    """neovim.md 5, 24: virtual lines above line 1 are outside of the window."""
    path = nvim.project / "a.txt"
    path.write_text("one\ntwo\n")
    nvim.edit(path)
    nvim.nv.ui_attach(80, 20, rgb=True)
    try:
        edit = {"path": "a.txt", "old_string": "one\n", "new_string": "zero\none\n"}
        nvim.stub.set({"replies": [call("read_file", "a.txt"), call("edit_file", edit), DONE]})
        nvim.ask()
        nvim.review()
        nvim.command("redraw")
        screen = nvim.lua(
            "local rows = {} for row = 1, 6 do local text = '' for column = 1, 40 do "
            "text = text .. vim.fn.screenstring(row, column) end rows[row] = text end return table.concat(rows, '\\n')"
        )
    finally:
        nvim.nv.ui_detach()
    assert "zero" in screen
    assert screen.index("zero") < screen.index("one")
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    assert path.read_text() == "zero\none\ntwo\n"


def test_a_huge_hunk_is_capped_on_screen_and_whole_in_the_file(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text("one\n")
    nvim.edit(path)
    text = "".join(f"line {i}\n" for i in range(1000))
    edit = {"path": "a.txt", "old_string": "one\n", "new_string": text}
    nvim.stub.set({"replies": [call("read_file", "a.txt"), call("edit_file", edit), DONE]})
    nvim.ask()
    nvim.review()
    assert "800 more lines" in nvim.virtual()
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    assert path.read_text() == text


def test_a_stream_of_many_events_is_shown_whole(nvim: Neovim) -> None:
    text = "".join(f"word{i} " for i in range(5000))
    nvim.stub.set({"replies": [{"text": text, "chunk_chars": 8}]})
    nvim.ask()
    assert nvim.ended() == "completed"
    assert text.strip() in nvim.chat()


def test_a_file_that_changes_on_disk_while_its_review_is_open_is_not_overwritten(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text("one\ntwo\n")
    nvim.edit(path)
    edit = {"path": "a.txt", "old_string": "two", "new_string": "2"}
    nvim.stub.set({"replies": [call("read_file", "a.txt"), call("edit_file", edit), DONE]})
    nvim.ask()
    nvim.review()
    path.write_text("one\ntwo\nfrom elsewhere, longer\n")
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    assert path.read_text() == "one\ntwo\nfrom elsewhere, longer\n"
    assert nvim.lua("return vim.api.nvim_buf_get_lines(0, 1, 2, true)[1]") in ("2", "two")


def test_a_server_that_dies_leaves_the_review_and_another_starts(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text("one\ntwo\n")
    nvim.edit(path)
    edit = {"path": "a.txt", "old_string": "two", "new_string": "2"}
    run = {"name": "bash", "arguments": {"command": "echo ran > made"}}
    calls = {"tool_calls": [{"name": "edit_file", "arguments": edit}, run]}
    nvim.stub.set({"replies": [call("read_file", "a.txt"), calls, DONE]})
    nvim.ask()
    nvim.review()
    nvim.question()
    os.kill(nvim.server_pid(), signal.SIGKILL)
    nvim.until(lambda: nvim.status()["connection"] == "stopped")
    assert nvim.status()["approvals"] == 0
    assert nvim.status()["reviews"] == 1
    nvim.start()
    nvim.command("Turnstone accept all")
    assert nvim.lines() == ["one", "2"]
    assert nvim.status()["reviews"] == 0
    nvim.stub.set({"replies": [DONE]})
    nvim.ask()
    assert nvim.ended() == "completed"
    assert not (nvim.project / "made").exists()


def test_checkhealth_names_what_is_wrong(nvim: Neovim) -> None:
    nvim.lua("saved = vim.g.turnstone; require('turnstone').setup({cmd = {'no-such-program'}, aprovals = {}})")
    nvim.lua("vim.o.autoread = false; vim.keymap.set('n', ']h', '<Nop>')")
    try:
        nvim.command("checkhealth turnstone")
        report = "\n".join(nvim.lines())
        nvim.lua("require('turnstone').setup({cmd = {'no-such-program', 'serve'}})")
        nvim.command("checkhealth turnstone")
        second = "\n".join(nvim.lines())
    finally:
        nvim.lua("require('turnstone').setup({}); vim.o.autoread = true; vim.keymap.del('n', ']h')")
    assert "unknown option aprovals, did you mean approvals?" in report
    assert "'autoread' is off" in report
    assert "]h is mapped already" in report
    assert "no-such-program is not executable" in second
