"""The dialect of patterns: what is understood, and what an error says of the rest."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace.searching import dialect, render


def matches(pattern: str, line: str) -> bool:
    return re.search(render.python(dialect.parse(pattern)), line, re.MULTILINE) is not None


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("abc", "xabcx", "ab c"),
        ("^abc$", "abc", "abcd"),
        ("a.c", "abc", "ac"),
        ("ab*c", "ac", "adc"),
        ("ab+c", "abbc", "ac"),
        ("ab?c", "abc", "abbc"),
        ("a{2}b", "aab", "ab"),
        ("^a{2,}$", "aaa", "a"),
        ("^a{1,2}$", "aa", "aaa"),
        ("^a{,2}$", "", "aaa"),
        ("a{x}", "a{x}", "ax"),
        ("f() {", "f {", "f() {"),
        (r"f\(\) \{", "f() {", "f {"),
        ("(ab|cd)+e", "abcde", "ae"),
        ("(?:ab)+c", "ababc", "c"),
        ("[abc]x", "bx", "dx"),
        ("[^abc]x", "dx", "bx"),
        ("[a-c-]x", "-x", "dx"),
        ("[]x]y", "]y", "zy"),
        ("[^]x]y", "zy", "]y"),
        (r"[\]\\\-]y", "\\y", "ay"),
        (r"[\w.]y", ".y", " y"),
        (r"[^\n]y", "xy", "y"),
        ("[[:digit:]_]y", "_y", "ay"),
        ("[[:space:]]y", "\ty", "ay"),
        (r"\d+", "a1", "ab"),
        (r"^\D+$", "ab", "a1"),
        (r"^\w+$", "a_1", "a-1"),
        (r"\bfoo\b", "a foo.", "afoo"),
        (r"\<foo\>", "a foo.", "food"),
        (r"\Bfoo", "afoo", " foo"),
        (r"a\tb", "a\tb", "atb"),
        (r"\.\*\+\?\|\^\$\[\]", ".*+?|^$[]", "x"),
        ("(?i)héLLO", "HÉllo", "hallo"),
        ("(?i)[a-c]z", "BZ", "dz"),
        ("a.*?b", "axxb", "b"),
        ("-v", "x -v", "v"),
        ("}", "}", "{"),
    ],
)
def test_what_is_understood(pattern: str, yes: str, no: str) -> None:
    assert matches(pattern, yes)
    assert not matches(pattern, no)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("foo(", r"at character 4 the \( has no \) after it; to match it literally write \\\("),
        ("foo)", r"at character 4 the \) has no \( before it"),
        ("a[b", r"at character 2 the \[ has no \] after it"),
        ("*.py", r"\* has nothing to repeat; to match it literally write \\\*, for anything write \.\*"),
        ("a|+", r"\+ has nothing to repeat"),
        ("a**", "a repetition follows a repetition"),
        ("a+?", "read differently by different tools"),
        ("a{2}?", "read differently"),
        ("^*a", "follows a place"),
        ("(?=a)", "begins a lookahead"),
        ("(?<!a)b", "begins a negative lookbehind"),
        ("(?P<n>a)", r"begins a named group; use a plain group"),
        ("x(?i)a", r"begins a flag; only \(\?i\) at the start"),
        (r"(a)\1", "back-reference"),
        (r"\Aa", "write \\^ for the start"),
        (r"a\nb", "one line"),
        (r"[a\n]", "not known in brackets"),
        (r"\p{Lu}", "write the characters themselves"),
        (r"\x41", "write the character itself"),
        (r"\y", "write y alone"),
        ("a\\", r"a backslash ends the pattern; to match one write \\\\"),
        ("[[:word]", r"\[:\w*:\] is no character class"),
        ("[[.a.]]", r"\[\. is not known"),
        ("[z-a]", "runs backwards"),
        ("a{5,2}", "wrong order"),
        ("a{9999}", "over 1000"),
        ("((a{999}){999})", "too large"),
        ("a\nb", "holds a line break"),
        ("a\0b", "NUL"),
        ("\ud800", "surrogate"),
        ("(" * 60 + "a" + ")" * 60, "nested too deeply"),
    ],
)
def test_errors_name_the_construct_and_what_to_write(pattern: str, says: str) -> None:
    """upstream-faults: invalid regex explained; design: what is outside is an error that names the construct."""
    with pytest.raises(ToolError, match=says):
        dialect.parse(pattern)


@given(st.text(st.sampled_from("ab.*+?|()[]{}^$\\-:,1 dwsbBnx<>\té"), max_size=25))
def test_any_text_is_a_pattern_or_an_error(text: str) -> None:
    try:
        node = dialect.parse(text)
    except ToolError:
        return
    re.compile(render.python(node), re.MULTILINE)
