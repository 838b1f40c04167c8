"""Inline reviews: the buffer is untouched until the user accepts, and every byte is right (issue 'Neovim', Review)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from neovim_editor import DONE, call

if TYPE_CHECKING:
    from pathlib import Path

    from neovim_editor import Neovim

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def propose(nvim: Neovim, path: Path, *edits: tuple[str, str], open_it: bool = True) -> None:
    """A turn that proposes edits of a file, until they are under review."""
    if open_it:
        nvim.edit(path)
    calls = [
        {"name": "edit_file", "arguments": {"path": path.name, "old_string": a, "new_string": b}} for a, b in edits
    ]
    nvim.stub.set({"replies": [call("read_file", path.name), {"tool_calls": calls}, DONE]})
    nvim.ask()
    nvim.review()


def test_the_buffer_is_untouched_until_a_hunk_is_accepted_and_one_is_rejected(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text(TEXT)
    propose(nvim, path, ("two", "2"), ("six", "6\n6b"))
    assert "\n".join(nvim.lines()) + "\n" == TEXT
    shown = nvim.virtual()
    assert "2" in shown
    assert "6b" in shown
    assert "hunk 1/2" in shown
    nvim.command("Turnstone next")
    assert nvim.nv.current.window.cursor[0] == 2
    nvim.command("Turnstone accept")
    assert nvim.lines()[1] == "2"
    nvim.command("Turnstone next")
    nvim.command("Turnstone reject keep six")
    assert nvim.ended() == "completed"
    assert path.read_text() == TEXT.replace("two", "2")
    assert "keep six" in "".join(nvim.tool_results())
    assert nvim.virtual() == ""
    nvim.command("undo")
    assert "\n".join(nvim.lines()) + "\n" == TEXT


FORMS = {
    "crlf": b"one\r\ntwo\r\nthree\r\n",
    "bom": b"\xef\xbb\xbfone\ntwo\nthree\n",
    "no final newline": b"one\ntwo\nthree",
    "form feed and U+2028": "one\x0c\ntwo\nth\u2028ree\n".encode(),
    "latin1": b"one\ntwo\nth\xe9\n",
    "mixed ends": b"one\r\ntwo\nthree\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_the_bytes_after_accept_undo_and_reject(nvim: Neovim, form: str) -> None:
    path = nvim.project / "a.txt"
    path.write_bytes(FORMS[form])
    propose(nvim, path, ("two", "2"))
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    nvim.command("update")
    assert path.read_bytes() == FORMS[form].replace(b"two", b"2")
    nvim.command("undo | write")
    assert path.read_bytes() == FORMS[form]


@pytest.mark.parametrize("form", FORMS)
def test_the_bytes_after_a_rejection(nvim: Neovim, form: str) -> None:
    path = nvim.project / "a.txt"
    path.write_bytes(FORMS[form])
    propose(nvim, path, ("two", "2"))
    nvim.command("Turnstone reject all")
    assert nvim.ended() == "completed"
    assert path.read_bytes() == FORMS[form]
    assert not nvim.nv.current.buffer.options["modified"]


@pytest.mark.parametrize(("last", "new", "after"), [("three", "3\n", b"one\n3\n"), ("three\n", "3", b"one\n3")])
def test_the_final_newline_is_what_the_edit_makes_it(nvim: Neovim, last: str, new: str, after: bytes) -> None:
    path = nvim.project / "a.txt"
    path.write_bytes(b"one\n" + last.encode())
    propose(nvim, path, (last, new))
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    assert path.read_bytes() == after


def test_rows_follow_typing_and_an_edited_hunk_is_never_applied(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text(TEXT)
    propose(nvim, path, ("two", "2"), ("six", "6"))
    nvim.input("ggOtop<Esc>")
    nvim.until(lambda: nvim.lines()[0] == "top")
    nvim.input("/six<CR>Amine<Esc>")
    nvim.until(lambda: "not applied" in nvim.virtual())
    nvim.command("Turnstone accept")
    assert "you have edited" in nvim.messages()[-1]
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    assert nvim.lines() == ["top", "one", "2", "three", "four", "five", "sixmine", "seven"]
    assert "Hunk 2 was not applied" in "".join(nvim.tool_results())


def test_a_conflict_that_is_undone_is_a_hunk_again(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text(TEXT)
    propose(nvim, path, ("two", "2"))
    nvim.input("ggjAmine<Esc>")
    nvim.until(lambda: "not applied" in nvim.virtual())
    nvim.input("u")
    nvim.until(lambda: "not applied" not in nvim.virtual())
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    assert path.read_text() == TEXT.replace("two", "2")


def test_a_dirty_buffer_is_changed_and_not_saved(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text(TEXT)
    nvim.edit(path)
    nvim.input("Gomine<Esc>")
    nvim.until(lambda: nvim.lines()[-1] == "mine")
    propose(nvim, path, ("two", "2"), open_it=False)
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    assert path.read_text() == TEXT
    assert "\n".join(nvim.lines()) == TEXT.replace("two", "2") + "mine"
    assert nvim.nv.current.buffer.options["modified"]


def test_a_file_that_is_not_open_is_reviewed_in_a_copy_and_written_by_the_server(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\n")
    propose(nvim, path, ("two", "2"), open_it=False)
    nvim.command("Turnstone next")
    assert nvim.lines() == ["one", "two"]
    nvim.command("Turnstone accept")
    assert nvim.ended() == "completed"
    assert path.read_bytes() == b"one\r\n2\r\n"


def test_a_new_file(nvim: Neovim) -> None:
    nvim.stub.set({"replies": [call("write_file", {"path": "new.txt", "content": "a\nb\n"}), DONE]})
    nvim.ask()
    nvim.review()
    nvim.command("Turnstone next")
    assert "a\nb" in nvim.virtual()
    assert not (nvim.project / "new.txt").exists()
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    assert (nvim.project / "new.txt").read_text() == "a\nb\n"


def test_leaving_wiping_and_reloading_decide_nothing(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text(TEXT)
    propose(nvim, path, ("two", "2"))
    nvim.command("edit!")
    assert nvim.status()["reviews"] == 1
    nvim.command("bwipeout!")
    assert nvim.status()["reviews"] == 1
    nvim.command("Turnstone next")
    assert nvim.status()["reviews"] == 1
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    assert path.read_text() == TEXT.replace("two", "2")


def test_side_by_side_the_proposal_can_be_edited(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text(TEXT)
    propose(nvim, path, ("two", "2"))
    nvim.command("Turnstone diff")
    nvim.input("/2<CR>Cedited<Esc>")
    nvim.until(lambda: "edited" in nvim.lines())
    nvim.command("Turnstone accept")
    assert nvim.ended() == "completed"
    assert path.read_text() == TEXT.replace("two", "edited")


def test_default_keys_exist_only_during_a_review_and_on_free_keys(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text(TEXT)
    nvim.command("nnoremap ]h <Nop>")
    propose(nvim, path, ("two", "2"))
    assert nvim.lua("return vim.fn.maparg(']h', 'n')") == "<Nop>"
    assert "turnstone" in nvim.lua("return vim.fn.maparg('[h', 'n')")
    nvim.command("nunmap ]h")
    nvim.input("[h")
    nvim.until(lambda: nvim.nv.current.window.cursor[0] == 2)
    nvim.input("\\a")
    assert nvim.ended() == "completed"
    assert path.read_text() == TEXT.replace("two", "2")
    assert nvim.lua("return vim.fn.maparg('[h', 'n')") == ""


def test_undo_and_redo_of_a_turn(nvim: Neovim) -> None:
    path = nvim.project / "a.txt"
    path.write_text(TEXT)
    propose(nvim, path, ("two", "2"))
    nvim.command("Turnstone accept all")
    assert nvim.ended() == "completed"
    nvim.command("Turnstone undo")
    nvim.until(lambda: path.read_text() == TEXT)
    nvim.until(lambda: "two" in nvim.lines())
    nvim.command("Turnstone redo")
    nvim.until(lambda: path.read_text() == TEXT.replace("two", "2"))
