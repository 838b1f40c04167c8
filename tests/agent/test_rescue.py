"""Issue 7, item 3: raw outputs of model families, whole, cut at every place, and cut off."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rescue_cases import CASES, NAMES, Case

from turnstone_lsp.agent.rescue import Stream, parse
from turnstone_lsp.agent.rescuing import markers

if TYPE_CHECKING:
    from collections.abc import Iterable

each = pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])


def streamed(text: str, cuts: Iterable[int], *, length_cut: bool = False) -> tuple[dict[str, object], str, str]:
    """(result, content as shown, reasoning as shown) of an output that comes in the pieces between the cuts."""
    stream = Stream(NAMES)
    pieces = []
    at = 0
    for cut in [*cuts, len(text)]:
        pieces += stream.feed(text[at:cut])
        at = cut
    result = stream.finish(length_cut)
    content = reasoning = ""
    for kind, part in [*pieces, *stream.rest]:
        if kind == "discard":
            content = ""
        elif kind == "content":
            content += part
        else:
            reasoning += part
    return result, content, reasoning


def expected(case: Case) -> dict[str, object]:
    return {"content": case.content, "reasoning": case.reasoning, "tool_calls": case.calls}


def test_there_are_at_least_150_outputs() -> None:
    assert len(CASES) >= 150


@each
def test_whole(case: Case) -> None:
    assert parse(case.text, NAMES) == expected(case)


@each
def test_the_same_however_it_is_cut(case: Case) -> None:
    """In two at every place, by characters, and in random pieces; what is shown is what comes of it."""
    size = len(case.text)
    dice = random.Random(case.name)  # noqa: S311 - not for secrets
    plans: list[Iterable[int]] = [[i] for i in range(size + 1)]
    plans.append(range(1, size))
    plans += [sorted(dice.sample(range(size + 1), min(size, 5))) for _ in range(5)]
    for cuts in plans:
        result, content, reasoning = streamed(case.text, cuts)
        assert result == expected(case), cuts
        assert content.strip() == case.content.strip(), cuts
        assert reasoning.strip() == case.reasoning, cuts


@each
def test_cut_off_by_the_length_limit_it_gives_no_half_call(case: Case) -> None:
    """'a call cut off by the length limit is never run': what is left are the first of the whole calls."""
    for end in range(len(case.text)):
        stream = Stream(NAMES)
        stream.feed(case.text[:end])
        found = stream.finish(length_cut=True)["tool_calls"]
        assert found == case.calls[: len(found)], case.text[:end]


TALK = {"think, a call drafted inside", "a whole call in inline code", "json with a tail"}
CUT = [c for c in CASES if c.name not in TALK]  # what makes these no calls comes after the record


@pytest.mark.parametrize("case", CUT, ids=[c.name for c in CUT])
def test_cut_off_without_a_word_it_gives_no_half_call(case: Case) -> None:
    """The same where nobody says that the reply was cut: arguments that could run are never half ones."""
    for end in range(len(case.text)):
        found = parse(case.text[:end], NAMES)["tool_calls"]
        runnable = [c for c in found if isinstance(c["arguments"], dict)]
        assert runnable == case.calls[: len(runnable)], case.text[:end]


@each
def test_no_marker_leaks_from_an_output_that_is_cut_off(case: Case) -> None:
    for end in range(len(case.text)):
        result, content, _ = streamed(case.text[:end], [], length_cut=True)
        for marker in (*markers.READERS, *markers.THOUGHTS, "<|channel|>", "<|message|>"):
            allowed = case.content.count(marker) + case.text[:end].count(f"`{marker}")
            assert str(result["content"]).count(marker) <= allowed, case.text[:end]
            assert content.count(marker) <= allowed, case.text[:end]


def test_without_tools_nothing_is_a_call() -> None:
    text = '<think>Sum.</think><tool_call>{"name": "bash", "arguments": {}}</tool_call>'
    result = parse(text, [])
    assert result["reasoning"] == "Sum."
    assert result["tool_calls"] == []
    assert result["content"] == '<tool_call>{"name": "bash", "arguments": {}}</tool_call>'


def test_a_whole_call_stays_when_a_later_one_is_cut_off() -> None:
    whole = '<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'
    stream = Stream(NAMES)
    stream.feed(whole + "\n" + whole[:40])
    assert stream.finish(length_cut=True)["tool_calls"] == [{"name": "bash", "arguments": {"command": "ls"}}]


def test_text_is_shown_as_it_comes() -> None:
    stream = Stream(NAMES)
    assert stream.feed("Hello wor") == [("content", "Hello wor")]
    assert stream.feed("ld. <") == [("content", "ld.")]
    assert stream.feed("b> x") == [("content", " <b> x")]


def test_reasoning_is_shown_as_it_comes() -> None:
    stream = Stream(NAMES)
    assert stream.feed("<think>one") == [("reasoning", "one")]
    assert stream.feed(" two</th") == [("reasoning", " two")]
    assert stream.feed("ink>\n\nthree") == [("content", "three")]


def test_reasoning_without_its_opening_tag_is_taken_back() -> None:
    stream = Stream(NAMES)
    assert stream.feed("I add.") == [("content", "I add.")]
    assert stream.feed("\n</think>\nIt is 4.") == [("discard", ""), ("reasoning", "I add."), ("content", "It is 4.")]


FRAGMENTS = sorted(
    {
        "\n",
        " ",
        "{",
        "}",
        "[",
        "]",
        '"',
        "`",
        "```json\n",
        "bash",
        "(",
        ")",
        "command",
        ":",
        "ls",
        "a < b",
        "é",
        "~~~\n",
    }
    | set(markers.READERS)
    | set(markers.THOUGHTS)
    | {closer for closers in markers.THOUGHTS.values() for closer in closers}
    | {"</tool_call>", "<parameter=command>", "</parameter>", "</function>", "<|message|>", "<|channel|>analysis"}
    | {'{"name": "bash", "arguments": {"command": "ls"}}', "<|call|>", "</s>", "<|im_end|>", "[ARGS]", "<arg_key>"}
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(parts=st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=12), data=st.data())
def test_any_text_means_the_same_however_it_is_cut(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    length_cut = data.draw(st.booleans())
    whole, _, _ = streamed(text, [], length_cut=length_cut)
    for plan in (cuts, range(1, len(text))):
        result, content, reasoning = streamed(text, plan, length_cut=length_cut)
        assert result == whole
        assert content.strip() == str(result["content"]).strip()
        assert reasoning.strip() == result["reasoning"]


@pytest.mark.long
@settings(max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    one=st.sampled_from(CASES), other=st.sampled_from(CASES), start=st.floats(0, 1), end=st.floats(0, 1), data=st.data()
)
def test_outputs_grafted_on_one_another_mean_the_same_however_they_are_cut(
    one: Case, other: Case, start: float, end: float, data: st.DataObject
) -> None:
    text = one.text[: int(start * len(one.text))] + other.text[int(end * len(other.text)) :]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    assert streamed(text, cuts)[0] == streamed(text, [])[0] == streamed(text, range(1, len(text)))[0]
