"""Text sync: after any sequence of changes the document equals what the client has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from turnstone_lsp.workspace import uris
from turnstone_lsp.workspace.documents import Change, OpenDocument, OpenDocuments
from turnstone_lsp.workspace.text import LineTable, Units, chop

if TYPE_CHECKING:
    from pathlib import Path

    from turnstone_lsp.workspace.view import Workspace

texts = st.text(st.sampled_from("ab\n\r\x0c\u2028é😀"), max_size=25)
edits = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), texts), max_size=8)


@given(texts, edits, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_incremental_changes_equal_splices_of_the_text(
    text: str, changes: list[tuple[int, int, str]], unit: Units
) -> None:
    document = OpenDocument("untitled:1", None, text, 1)
    for begin, length, new in changes:
        table = LineTable(text)
        start = table.position(begin % (len(text) + 1), unit)
        end = table.position(min(begin % (len(text) + 1) + length, len(text)), unit)
        document.change(Change(new, start, end), unit)
        first, last = table.offset(*start, unit), table.offset(*end, unit)
        text = text[:first] + new + text[last:]
        assert document.text == text
        assert [chop(document.table.line(n)) for n in range(len(document.table))] == [
            chop(LineTable(text).line(n)) for n in range(len(LineTable(text)))
        ]


def test_after_a_form_feed_an_edit_lands_on_the_right_line() -> None:
    """style.md A4: stock pygls takes a form feed, NEL and U+2028 for line ends."""
    for odd in "\x0b\x0c\x1c\x85\u2028\u2029":
        documents = OpenDocuments()
        documents.open("untitled:x", f"a{odd}b\nsecond\n", 1)
        documents.change("untitled:x", 2, [Change("S", (1, 0), (1, 1))])
        document = documents.by_uri("untitled:x")
        assert document is not None
        assert document.text == f"a{odd}b\nSecond\n"


def test_full_text_and_version(root: Path) -> None:
    documents = OpenDocuments()
    uri = uris.from_path(root / "a é.txt")
    document = documents.open(uri, "one", 0, "text")
    assert not document.dirty
    documents.change(uri, 7, [Change("two")])
    assert (document.text, document.version, document.dirty) == ("two", 7, True)
    assert documents.dirty() == [document]
    documents.save(uri, "two!")
    assert (document.text, document.dirty) == ("two!", False)
    documents.close(uri)
    assert documents.get(root / "a é.txt") is None
    assert documents.change(uri, 8, [Change("late")]) is None


def test_a_file_opened_through_a_link_is_the_same_document(root: Path) -> None:
    (root / "real.txt").write_text("disk")
    (root / "link.txt").symlink_to("real.txt")
    documents = OpenDocuments()
    by_link = documents.open(uris.from_path(root / "link.txt"), "disk", 1)
    assert documents.get(root / "real.txt") is by_link
    # open under both names, the one with unsaved changes is meant
    documents.open(uris.from_path(root / "real.txt"), "disk", 1)
    documents.change(by_link.uri, 2, [Change("unsaved")])
    assert documents.get(root / "real.txt") is by_link


async def test_the_buffer_is_the_truth_over_the_disk(root: Path, workspace: Workspace) -> None:
    """faults.md 40, 46: tools read the synced text."""
    (root / "a.txt").write_text("disk\n")
    uri = uris.from_path(root / "a.txt")
    workspace.documents.open(uri, "disk\n", 3)
    workspace.documents.change(uri, 4, [Change("buffer\n")])
    snapshot = await workspace.snapshot(root / "a.txt")
    assert (snapshot.text, snapshot.version, snapshot.is_buffer) == ("buffer\n", 4, True)
    workspace.documents.close(uri)
    assert (await workspace.snapshot(root / "a.txt")).text == "disk\n"


def test_uris(root: Path) -> None:
    """faults.md 120: URIs only on the wire; a remote server has its files on its own disk."""
    odd = root / "50% #?é 'x'.py"
    assert uris.to_path(uris.from_path(odd)) == odd
    assert uris.to_path("vscode-remote://wsl%2BUbuntu/home/me/a%20b.py") == type(root)("/home/me/a b.py")
    assert uris.to_path("untitled:Untitled-1") is None
    assert uris.to_path("git:/home/me/a.py") is None
