"""Output in bounded memory, whatever comes and however it is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnstone_lsp.process import output as output_module
from turnstone_lsp.process.output import Collector, binary_kind
from turnstone_lsp.process.spool import LIMIT

if TYPE_CHECKING:
    from pathlib import Path


def collect(pieces: list[bytes], keep: int = 1000) -> tuple[Collector, list[str]]:
    shown: list[str] = []
    collector = Collector(keep, "test", shown.append)
    for piece in pieces:
        collector.feed(piece)
        work = collector.spool_work()
        if work:
            work()
    collector.finish()
    work = collector.spool_work()
    if work:
        work()
    return collector, shown


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([b"a", b"\n", "é".encode(), b"\xff", b"\xc3", b"\xa9", b"line\n", b" "]), max_size=60),
    st.data(),
)
def test_pieces_make_the_same_text_as_the_whole(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    if binary_kind(whole) or binary_kind(next((p for p in pieces if p), b"")):
        return
    collector, shown = collect(pieces)
    head, tail, left_out = collector.text()
    assert (head + tail, left_out) == (whole.decode("utf-8", "replace"), 0)
    assert "".join(shown) == head + tail


def test_head_and_tail_stay_and_the_rest_is_counted() -> None:
    lines = [f"{i}\n".encode() for i in range(10_000)]
    collector, shown = collect(lines, keep=900)
    head, tail, left_out = collector.text()
    text = b"".join(lines).decode()
    assert (head, tail) == (text[:600], text[-300:])
    assert left_out == len(text) - 900
    assert "".join(shown) == text
    assert collector.path is not None
    assert collector.path.read_text() == text


def test_a_line_without_end_is_passed_on_in_parts() -> None:
    collector, shown = collect([b"x" * 50_000] * 10, keep=3000)
    assert max(map(len, shown)) <= 60_000
    assert sum(map(len, shown)) == 500_000
    assert collector.text()[2] == 497_000


def test_progress_bars_take_one_line() -> None:
    pieces = [f"\r{i}% {'#' * (i // 2)}".encode() for i in range(101)]
    collector, shown = collect([*pieces, b"\nready\n"])
    assert collector.text()[0] == f"100% {'#' * 50}\nready\n"
    assert "".join(shown) == collector.text()[0]


def test_what_is_shown_live_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "_LIVE_LIMIT", 1000)
    _, shown = collect([b"0123456789\n"] * 1000)
    assert len("".join(shown)) < 1200
    assert "not shown while the command runs" in shown[-1]


def test_beyond_the_file_only_the_tail_is_kept() -> None:
    piece = b"y\n" * 32_768
    count = LIMIT // len(piece) + 20
    collector, _ = collect([piece] * count + [b"the end\n"], keep=3000)
    head, tail, left_out = collector.text()
    assert head.startswith("y\ny\n")
    assert tail.endswith("y\nthe end\n")
    assert abs(left_out - (len(piece) * count - 3000)) < 2 * len(piece)
    assert collector.path is not None
    assert collector.path.stat().st_size == LIMIT


def test_redaction_comes_before_everything(state: Path) -> None:
    shown: list[str] = []
    collector = Collector(10, "test", shown.append, lambda text: text.replace("secret", "[key removed]"))
    collector.feed(b"a secret\n" * 20)
    collector.finish()
    work = collector.spool_work()
    assert work is not None
    work()
    assert collector.path is not None
    assert collector.path.is_relative_to(state)
    for text in ("".join(shown), collector.path.read_text(), "".join(map(str, collector.text()))):
        assert "secret" not in text


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", None),
        (b"plain text\n", None),
        ("日本語 é".encode(), None),
        ("caf\xe9 na\xefve text in latin-1".encode("latin-1"), None),
        (b"a.py\0b.py\0src/c.py\0", None),
        (b"\x1b[31mred\x1b[0m", None),
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"\x7fELF\x02", "ELF program"),
        (bytes(range(256)) * 10, "data"),
        ("utf-16 text of some length, more than a few".encode("utf-16"), "data"),
    ],
)
def test_text_and_binary(data: bytes, kind: str | None) -> None:
    assert binary_kind(data) == kind
