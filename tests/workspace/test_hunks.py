"""Changes, hunks and diffs against a naive model."""

from __future__ import annotations

import itertools
import subprocess
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from turnstone_lsp.workspace import hunks, linediff
from turnstone_lsp.workspace.hunks import Change
from turnstone_lsp.workspace.proposals import Proposal, Staging, Step
from turnstone_lsp.workspace.snapshot import Fingerprint, Snapshot, TextFormat

if TYPE_CHECKING:
    from pathlib import Path

line = st.text(st.sampled_from("ab \t\u00e9\u2028\f\U0001f600"), max_size=3)
end = st.sampled_from(["\n", "\n", "\r\n", "\r"])
texts = st.lists(st.tuples(line, end), max_size=12).flatmap(
    lambda lines: st.sampled_from(["", "x"]).map(lambda last: "".join(a + b for a, b in lines) + last)
)


@given(a=st.lists(st.sampled_from("abcde"), max_size=30), b=st.lists(st.sampled_from("abcde"), max_size=30))
def test_differences_rebuild_the_other_side_and_leave_an_equal_line_between(a: list[str], b: list[str]) -> None:
    ranges = linediff.differences(a, b)
    out: list[str] = []
    at = 0
    for i1, i2, j1, j2 in ranges:
        assert a[at:i1] == b[j1 - (i1 - at) : j1]
        out += a[at:i1] + b[j1:j2]
        at = i2
    assert out + a[at:] == b
    assert all(x[1] < y[0] and x[3] < y[2] for x, y in itertools.pairwise(ranges))


def test_differences_of_long_similar_texts_are_fine_grained_and_quick() -> None:
    """faults.md 59, and the quadratic trap of difflib: two versions of a file of equal and blank lines."""
    a = [line for i in range(20_000) for line in (f"def f{i}():", "    pass", "", "")]
    b = list(a)
    for i in range(0, 80_000, 400):
        b[i] += "  # changed"
    assert len(linediff.differences(a, b)) == 200
    assert len(linediff.differences(["x"] * 30_000, ["y"] * 30_000)) == 1


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, list[Change], str]:
    """A text, edits each of the text so far, and what the naive model makes of them."""
    base = draw(texts)
    now, made = base, []
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(now)))
        stop = draw(st.integers(start, min(len(now), start + 8)))
        new = draw(texts)[:8]
        made.append(Change(start, stop, new))
        now = now[:start] + new + now[stop:]
    return base, made, now


def proposal_of(base: str, made: list[Change], path: Path) -> Proposal:
    staging = Staging()
    snapshot = Snapshot(path, base, TextFormat(), Fingerprint(""))
    for number, change in enumerate(made):
        staging.stage(snapshot, "f", Step(f"c{number}", change))
    return staging.proposals()[0]


@given(edits())
@settings(max_examples=400, deadline=None)
def test_any_edit_list_equals_the_naive_model_and_every_subset_of_hunks_is_valid(
    made: tuple[str, list[Change], str],
) -> None:
    """Issue 3, item 2."""
    from pathlib import Path

    base, changes, result = made
    proposal = proposal_of(base, changes, Path("/f"))
    assert proposal.result == result
    all_hunks = proposal.hunks
    assert proposal.with_hunks(range(len(all_hunks))) == result
    assert proposal.with_hunks(()) == base
    assert hunks.apply_hunks(base, all_hunks, range(len(all_hunks))) == result
    for chosen in itertools.islice(itertools.product((0, 1), repeat=len(all_hunks)), 32):
        accepted = {index for index, taken in enumerate(chosen) if taken}
        expected, at = "", 0
        for index, hunk in enumerate(all_hunks):
            expected += base[at : hunk.offset] + "".join(hunk.new if index in accepted else hunk.old)
            at = hunk.offset + len("".join(hunk.old))
        assert proposal.with_hunks(accepted) == expected + base[at:]
    lines = hunks.lines_of(base)
    for hunk in all_hunks:
        assert tuple(lines[hunk.start : hunk.end]) == hunk.old
        assert hunk.calls <= set(proposal.call_ids)


@given(texts, texts)
@settings(deadline=None)
def test_a_whole_change_goes_both_ways(old: str, new: str) -> None:
    assert hunks.apply_changes(old, hunks.whole(old, new)) == new
    assert hunks.apply_hunks(old, hunks.between(old, new), range(len(hunks.between(old, new)))) == new


@given(texts, st.integers(0, 15), st.integers(0, 200))
@settings(deadline=None)
def test_the_offset_of_a_line_is_that_of_the_line_table(text: str, line: int, repeated: int) -> None:
    from turnstone_lsp.workspace.text import LineTable

    text *= repeated
    table = LineTable(text)
    assert hunks.offset_of(text, line * repeated) == table.start(line * repeated)
    start = table.start(line)
    assert hunks.offset_of(text, repeated, start) == table.start(line + repeated)


def test_a_unified_diff_is_one_that_patch_takes(tmp_path: Path) -> None:
    old = "".join(f"line {i}\n" for i in range(60)) + "last"
    new = old.replace("line 3\n", "line three\nand more\n").replace("line 50\n", "").replace("last", "last\n")
    (tmp_path / "f").write_text(old)
    diff = hunks.difference(old, new, "a/f", "b/f") + "\n"
    subprocess.run(["patch", "-s", str(tmp_path / "f")], input=diff.encode(), check=True)
    assert (tmp_path / "f").read_text() == new


def test_calls_on_one_file_stack_and_know_their_hunks(tmp_path: Path) -> None:
    base = "".join(f"{i}\n" for i in range(20))
    first = Change(0, 2, "zero\n")
    second = Change(len(base) - 3 + 3, len(base) + 3, "end\n")
    proposal = proposal_of(base, [first, second], tmp_path / "f")
    assert [hunk.calls for hunk in proposal.hunks] == [{"c0"}, {"c1"}]
    alone = proposal.step_alone("c1")
    assert alone.diff().count("\n+") == 2  # +++ and the line
    assert proposal.line_now(5) == 5


def test_a_denied_call_leaves_the_others(tmp_path: Path) -> None:
    base = Snapshot(tmp_path / "f", "a\nb\n", TextFormat(), Fingerprint(""))
    staging = Staging()
    staging.stage(base, "f", Step("c0", Change(0, 1, "A")))
    staging.stage(base, "f", Step("c1", Change(2, 3, "B")))
    staging.drop("c1")
    assert [p.result for p in staging.proposals()] == ["A\nb\n"]
    staging.drop("c0")
    assert staging.proposals() == []
