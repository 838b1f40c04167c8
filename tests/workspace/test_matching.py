"""The matcher: one place by foldings that lose nothing, or an error that says what to do. Names faults.md A."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnstone_lsp.workspace.matching import MatchError, find


def edit(text: str, old: str, new: str, near_line: int | None = None) -> str:
    found = find(text, old, new, near_line)
    return text[: found.start] + found.replacement + text[found.end :]


def tier(text: str, old: str, new: str) -> str:
    return find(text, old, new).tier


def refused(text: str, old: str, new: str, near_line: int | None = None) -> MatchError:
    with pytest.raises(MatchError) as caught:
        find(text, old, new, near_line)
    assert len(str(caught.value).encode()) < 2_000
    return caught.value


CODE = "def a():\n    x = 1\n    return x\n\n\ndef b():\n    y = 2\n    return y\n"


# -- exact


def test_exact_text_once_is_replaced() -> None:
    assert edit(CODE, "x = 1", "x = 10") == CODE.replace("x = 1", "x = 10")
    assert find(CODE, "    return y", "").line == 8


def test_a_block_may_end_within_a_line() -> None:
    """faults.md 2"""
    assert edit("alpha\nbeta two\n", "alpha\nbeta", "A\nB") == "A\nB two\n"


@pytest.mark.parametrize("special", [r"$&", r"$'", r"\1", r"\g<0>", r"\n", r"\0", r"'\''", "%s", "{0}"])
def test_the_replacement_is_taken_literally(special: str) -> None:
    """faults.md 24, 25, 26, 27: never unescaped, never a template."""
    assert edit("a X b\n", "X", special) == f"a {special} b\n"
    assert edit("a\r\n  X\r\nb\r\n", "a\n  X\nb", f"a\n  {special}\nb") == f"a\r\n  {special}\r\nb\r\n"


def test_several_places_are_refused_with_their_lines() -> None:
    error = refused("a\nx\na\n\na\n", "a\n", "b\n")
    assert error.code == "ambiguous"
    assert error.lines == (1, 3, 5)
    assert "3 places" in str(error)
    assert "1, 3, 5" in str(error)


def test_overlapping_places_are_several() -> None:
    assert refused("aaa", "aa", "b").code == "ambiguous"


def test_near_line_chooses_among_equal_places_and_refuses_a_tie() -> None:
    """faults.md 12: a hint only breaks ties, however far off it is."""
    text = "a\n" + "-\n" * 9 + "a\n" + "-\n" * 9 + "a\n"
    assert edit(text, "a\n", "b\n", 400) == text[:-2] + "b\n"
    assert edit(text, "a\n", "b\n", 10).splitlines()[10] == "b"
    assert "equally near" in str(refused(text, "a\n", "b\n", 6))
    assert edit("x\ny\n", "y", "z", 1) == "x\nz\n"


# -- foldings


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_endings_of_the_file_are_kept(end: str) -> None:
    """faults.md 13, 14, 15"""
    text = CODE.replace("\n", end)
    new = edit(text, "    x = 1\n    return x\n", "    x = 2\n    z = 3\n    return x\n")
    assert new == CODE.replace("    x = 1\n", "    x = 2\n    z = 3\n").replace("\n", end)
    assert tier(text, "    x = 1\n    return x\n", "q") == "line endings"
    assert edit(text, "x = 1", "x = 1\n    z = 2") == CODE.replace("x = 1", "x = 1\n    z = 2").replace("\n", end)


def test_a_file_of_mixed_line_endings_keeps_all_others() -> None:
    """faults.md 16"""
    text = "a\r\nb\nc\r\nd\ne\r\n"
    assert edit(text, "b\nc\nd", "b\nC\nd") == "a\r\nb\nC\nd\ne\r\n"
    assert edit(text, "b\nc\nd\ne", "b\nc\nx\nd\ne") == "a\r\nb\nc\r\nx\r\nd\ne\r\n"
    assert edit(text, "a\r\nb\nc", "a\r\nB\nc") == "a\r\nB\r\nc\r\nd\ne\r\n"


def test_crlf_in_the_new_text_of_an_lf_file_becomes_lf() -> None:
    assert edit("a\nb\n", "b", "b\r\nc") == "a\nb\nc\n"


def test_blanks_at_line_ends_do_not_count_and_unchanged_lines_keep_theirs() -> None:
    text = "def a():  \n    x = 1\t\n    return x\n"
    old, new = "def a():\n    x = 1\n    return x", "def a():\n    x = 1\n    return x + 1"
    assert edit(text, old, new) == text.replace("return x", "return x + 1")
    assert edit("a\nb\nc\n", "a  \nb\t\n", "a  \nB\n") == "a\nB\nc\n"
    assert tier(text, old, new) == "trailing blanks"


def test_a_blank_at_the_end_of_old_string_only_folds_at_a_line_end() -> None:
    assert refused("x\nfoobar\n", "x\nfoo ", "x\nbaz ").code == "not_found"
    assert edit("x\nfoo\n", "x\nfoo ", "x\nbaz") == "x\nbaz\n"


def test_a_final_newline_too_many_is_no_part_of_the_file() -> None:
    """faults.md 4: the rest is still compared line by line."""
    assert edit("a\nb", "b\n", "c\n") == "a\nc"
    assert edit("a\nb", "a\nb\n", "a\nb\nc\n") == "a\nb\nc"
    assert edit("a\nb", "b\n", "c") == "a\nc"
    assert refused("start\none\nend\n", "start\ntwo\nend\n", "x").code == "not_found"


@pytest.mark.parametrize("form", ["{:>5}\t{}", "{}: {}", "{}:{}", "{:4} | {}", "{}→{}", "{}|{}"])
def test_pasted_line_numbers_are_taken_off(form: str) -> None:
    """faults.md 8"""
    lines = CODE.splitlines()
    old = "\n".join(form.format(n, lines[n - 1]) for n in (6, 7, 8))
    assert edit(CODE, old, "def b():\n    return 2") == CODE.replace("    y = 2\n    return y", "    return 2")
    new = "\n".join(form.format(n, text) for n, text in ((6, "def b():"), (7, "    return 2")))
    assert edit(CODE, old, new) == CODE.replace("    y = 2\n    return y", "    return 2")


def test_numbers_out_of_sequence_or_on_some_lines_are_text() -> None:
    assert refused(CODE, "6: def b():\n9:     y = 2", "x").code == "not_found"
    assert refused(CODE, "6: def b():\n    y = 2", "x").code == "not_found"
    assert refused(CODE, "6\tdef b():\n7\t    y = 2", "6\tdef b():\n    y = 3").code == "line_numbers"
    # a key is no line number: its line does not begin with what follows it
    assert refused("a: 1\n6: foo\n", "5: foo", "5: bar").code == "not_found"


def test_numbers_of_the_text_itself_are_no_listing() -> None:
    text = 'TAGS = {\n    36867: "A",\n    36868: "B",\n}\n'
    numbered = '    2\t    36867: "A",\n    3\t    36868: "B",\n'
    new = '    36867: "A1",\n    36868: "B",\n'
    assert edit(text, numbered, new) == text.replace('"A"', '"A1"')
    assert edit("a\n    1\nb\n", "1|a\n2|    1", "b\n    1") == "b\n    1\nb\n"


def test_a_mark_of_a_listing_takes_its_blank_along_only_where_all_lines_have_one() -> None:
    text = "from x import (\n    a,\n)\n"
    assert edit(text, "1|from x import (", "1|from x import (\n2|    b,") == "from x import (\n    b,\n    a,\n)\n"


def test_typographic_marks_are_those_of_the_file() -> None:
    text = 'print("it\'s - here")\nnext("x")\n'
    old, new = "print(\u201cit\u2019s \u2013 here\u201d)", "print(\u201cit\u2019s \u2013 there\u201d, \u2018b\u2019)"
    assert edit(text, old, new) == 'print("it\'s - there", \'b\')\nnext("x")\n'
    fancy = "say \u201chello\u201d \u2013 and\u00a0go\nnext\n"
    assert edit(fancy, 'say "hello" - and go', 'say "hello" - and stay') == fancy.replace("go", "stay")
    assert tier(fancy, 'say "hello"', "x") == "typographic"


def test_one_indentation_map_goes_for_the_new_text_too() -> None:
    text = "class A:\n    def f(self):\n        if x:\n            y()\n        return 1\n"
    old = "def f(self):\n    if x:\n        y()\n"
    new = "def f(self):\n    if x:\n        y()\n        z()\n    else:\n        w()\n"
    assert edit(text, old, new) == text.replace(
        "            y()\n", "            y()\n            z()\n        else:\n            w()\n"
    )
    tabs = text.replace("    ", "\t")
    assert edit(tabs, old, new) == edit(text, old, new).replace("    ", "\t")
    assert edit(tabs, "    def f(self):\n        if x:\n", "    def f(self):\n        if q:\n            # deep\n") == (
        tabs.replace("if x:\n", "if q:\n\t\t\t# deep\n")
    )


def test_a_blank_line_gets_no_indent() -> None:
    text = "class A:\n    def f(self):\n        return 1\n"
    new = edit(text, "def f(self):\n    return 1\n", "def f(self):\n    return 1\n\ndef g(self):\n    return 2\n")
    assert new == text + "\n    def g(self):\n        return 2\n"


def test_another_width_is_told_from_a_move_by_the_files_own() -> None:
    text = "f {\n    if a {\n        b\n    }\n}\n"
    old, new = "  if a {\n    b\n  }\n", "  if a {\n    if c {\n      b\n    }\n  }\n"
    assert edit(text, old, new) == "f {\n    if a {\n        if c {\n            b\n        }\n    }\n}\n"
    assert edit(text, "    b\n", "    b\nc\n") == text.replace("        b\n", "        b\nc\n"), "it is there exactly"


def test_an_indent_that_no_rule_gives_is_refused() -> None:
    text = "a:\n  b\n   c\n"
    assert refused(text, "    b\n     c\n", "    b\n d\n").code == "not_found"  # moved out further than it can be
    assert refused("x\n  a\n   b\n", "a\n\tb\n", "a\n\t\tc\n").code == "not_found"


def test_indents_that_are_not_one_to_one_are_refused() -> None:
    assert refused("if x:\n    a\n  b\n", "if x:\n  a\n  b\n", "q").code == "not_found"


def test_the_indentation_tier_steps_back_before_a_near_twin() -> None:
    """peers.md E.1: the block that was meant drifted, and a twin with another indent stands elsewhere."""
    block = "if ready:\n    start()\n    log('started')\n    return True\n"
    twin = "".join("    " + line + "\n" for line in block.splitlines())
    drifted = block.replace("    log", "    wait()\n    log")
    assert refused(f"{drifted}\n\ndef g():\n{twin}", block, block.replace("start()", "stop()")).code == "not_found"
    assert edit(f"\n\ndef g():\n{twin}", block, block.replace("start()", "stop()")).endswith(
        twin.replace("start()", "stop()")
    )


def test_lines_that_look_alike_with_indents_of_their_own_are_no_twin() -> None:
    """peers.md E.1: only a block that has the indents of old_string can be the one that was meant."""
    text = "".join(f"    def f{i}(self):\n        check(self)\n        return {i}\n\n" for i in range(9))
    old, new = "def f4(self):\n    check(self)\n    return 4\n", "def f4(self):\n    return 4\n"
    assert edit(text, old, new) == text.replace("f4(self):\n        check(self)\n", "f4(self):\n")


# -- what is never done


@pytest.mark.parametrize(
    "text",
    [
        CODE.replace("    x = 1\n", "    x = 7\n"),  # faults.md 6: a line drifted
        CODE.replace("    x = 1\n", "    x = 1\n    own = 0\n"),  # the user inserted a line
        CODE.replace("    x = 1\n", ""),
    ],
)
def test_a_block_that_differs_anywhere_is_never_replaced(text: str) -> None:
    """faults.md 3, 5, 6, 7: no similarity, no anchors."""
    error = refused(text, "def a():\n    x = 1\n    return x\n", "def a():\n    return 1\n")
    assert error.code == "not_found"
    assert "0 matches" in str(error)


def test_an_invented_middle_is_never_accepted_by_its_first_and_last_line() -> None:
    """faults.md 3"""
    assert refused(CODE, "def a():\n    z = 99\n    return x", "q").code == "not_found"


def test_stale_text_of_an_earlier_edit_is_refused() -> None:
    """faults.md 7"""
    now = edit(CODE, "    x = 1\n", "    x = 2\n")
    assert "x·=·2" in str(refused(now, "def a():\n    x = 1\n", "q\n"))


# -- errors


def test_an_error_names_the_nearest_region_and_the_first_line_that_differs() -> None:
    """faults.md 9, 10: the difference is shown even when it is the 21st line."""
    text = "".join(f"    value_{i} = {i}\n" for i in range(200))
    lines = [f"    value_{i} = {i}" for i in range(100, 125)]
    lines[20] = "    value_120 = 999"
    error = str(refused(text, "\n".join(lines), "x"))
    assert "line 21 of old_string" in error
    assert "····value_120·=·120" in error
    assert "····value_120·=·999" in error
    assert "\t    value_100 = 100" in error
    assert "101" in error
    assert "Smaller edits" in error


def test_an_error_makes_blanks_visible() -> None:
    error = str(refused("a:\n\tb = 1\n", "a:\n  b  =  1\n", "x"))
    assert "only blanks differ" in error
    assert "→b" in error


def test_an_error_says_that_the_edit_was_made_already() -> None:
    """faults.md 9, 85: a model that repeats itself is told so."""
    done = CODE.replace("x = 1", "x = 42")
    assert "already applied at line 2" in str(refused(done, "    x = 1\n", "    x = 42\n"))


def test_an_error_for_an_invented_line_points_at_the_nearest_words() -> None:
    text = "".join(f"line {i}\n" for i in range(50)) + "    self.connection_pool = make_pool(size)\n"
    assert "   51\t    self.connection_pool" in str(refused(text, "self.connection_pool = Pool(size=4)", "x"))
    assert "None of its lines or words" in str(refused("abc\n", "zzz qqq", "x"))


def test_an_error_stays_under_two_kilobytes_whatever_the_text() -> None:
    wide = "\u4e2d" * 3_000
    error = str(refused(f"{wide}\n" * 3, f"{wide}x\n{wide}y\n{wide}\n", "z"))
    assert error.startswith("not_found")


def test_nothing_to_do_is_said() -> None:
    assert refused("a", "a", "a").code == "no_change"
    assert refused("a", "", "b").code == "empty"
    assert refused("a\r\nb\r\n", "a\nb", "a\r\nb").code == "no_change"
    assert refused("a\nb  \n", "a \nb\n", "a\nb\n").code == "no_change"


def test_errors_and_foldings_are_quick_in_a_large_file() -> None:
    """One bounded search, also when nothing matches (peers took seconds)."""
    text = "".join(f"    item_{i} = compute({i})\n    }}\n" for i in range(60_000))
    started = time.process_time()
    refused(text, "    item_30000 = compute(1)\n    }\n", "x")
    edit(text, "item_30000 = compute(30000)\n}\n", "item_30000 = 1\n}\n")
    assert time.process_time() - started < 5


# -- properties

word = st.text(st.sampled_from("abc \t\u00e9"), min_size=0, max_size=6)
line_lists = st.lists(word, min_size=1, max_size=12)


@given(line_lists, st.sampled_from(["\n", "\r\n", "\r"]), st.data())
@settings(max_examples=300, deadline=None)
def test_an_exact_edit_equals_the_naive_model(lines: list[str], end: str, data: st.DataObject) -> None:
    text = end.join(lines)
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    new = data.draw(st.text(st.sampled_from("xyz \\$"), max_size=5))
    old = text[start:stop]
    if not old or old == new or "\r" in text[max(0, start - 1) : start] + text[stop : stop + 1]:
        return
    places = [i for i in range(len(text)) if text.startswith(old, i)]
    if len(places) > 1:
        assert refused(text, old, new).code == "ambiguous"
    else:
        assert edit(text, old, new) == text[:start] + new + text[stop:]


@given(line_lists, st.sampled_from(["\n", "\r\n"]), st.data())
@settings(max_examples=300, deadline=None)
def test_a_folded_edit_never_touches_a_byte_outside_its_lines(lines: list[str], end: str, data: st.DataObject) -> None:
    """faults.md 20: whatever tier applies, what is before and after the block is as it was."""
    text = end.join(lines) + data.draw(st.sampled_from(["", end]))
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    noise = st.sampled_from(["", " ", "\t"])
    old = "\n".join(f"{line}{data.draw(noise)}" for line in lines[first : last + 1])
    if not old.strip():
        return
    try:
        found = find(text, old, "new")
    except MatchError:
        return
    wanted = [line.rstrip(" \t") for line in old.split("\n")]
    ends = list(itertools.accumulate(len(line) + len(end) for line in lines))
    own = text[found.start : found.end].replace("\r\n", "\n").split("\n")
    assert [line.strip(" \t") for line in own] == [line.strip(" \t") for line in wanted]
    assert found.end <= (ends[-1] if ends else 0)
