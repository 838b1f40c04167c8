"""Raw arguments to an object: lossless repairs only. design.md, "How to read the texts"; upstream-faults.md 1-5."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from turnstone_lsp.agent.arguments_repair import parse_arguments
from turnstone_lsp.errors import ToolError

GOOD: list[tuple[str, dict[str, Any]]] = [
    ('{"command": "ls"}', {"command": "ls"}),
    ("", {}),
    ("  \n", {}),
    ("{}", {}),
    ("ls -la", {"command": "ls -la"}),
    ('"ls -la"', {"command": "ls -la"}),
    ('"[abc]+"', {"command": "[abc]+"}),
    ('"{abc}"', {"command": "{abc}"}),
    ('"quoted" and more', {"command": '"quoted" and more'}),
    ('"{\\"command\\": \\"ls\\"}"', {"command": "ls"}),
    ('{"command": "a\nb\tc"}', {"command": "a\nb\tc"}),
    ('{"command": "ls",}', {"command": "ls"}),
    ('{"command": "a, ]", "n": [1, 2, ],}', {"command": "a, ]", "n": [1, 2]}),
    ('```json\n{"command": "ls"}\n```', {"command": "ls"}),
    ("{'command': 'ls'}", {"command": "ls"}),
    ("{'command': 'grep \\d', 'deep': True, 'none': None, 'n': -1}", {"command": "grep \\d", "deep": True, "none": None, "n": -1}),
    ('\ufeff{"command": "ls"}', {"command": "ls"}),
    ('{"command": "x", "command": "x"}', {"command": "x"}),
]  # fmt: skip

BAD = [
    ("[", "not valid JSON"),
    ('["ls"]', "an array"),
    ("null", "null"),
    ("5", "a number"),
    ("true", "true or false"),
    ('{"command": "ls', "not valid JSON"),
    ('{"command": "ls"}}', "Extra data"),
    ('{"command": "a"}{"command": "b"}', "Extra data"),
    ('{"command": "echo "hi""}', "near"),
    ('{"command": "a", "command": "b"}', "'command' twice"),
    ("{'command': 'a', 'command': 'b'}", "'command' twice"),
    ("{'command': open('x')}", "not valid JSON"),
    ("```\nls\n```", "not valid JSON"),
    ('"{\\"command\\": \\"rm -rf bui"', "broken JSON"),
    ("[" * 100_000, "not valid JSON"),
]


@pytest.mark.parametrize(("raw", "arguments"), GOOD)
def test_what_can_be_read_without_loss(raw: str, arguments: dict[str, Any]) -> None:
    assert parse_arguments(raw, "bash", "command") == arguments


@pytest.mark.parametrize(("raw", "says"), BAD, ids=[b[0][:20] for b in BAD])
def test_what_cannot_be_read_gets_the_json_error_and_the_schema(raw: str, says: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_arguments(raw, "bash", "command")
    assert says in str(refused.value)
    assert '{"command": string}' in str(refused.value)
    assert len(str(refused.value)) < 500


def test_a_call_that_was_cut_off_is_never_read() -> None:
    """faults.md 94"""
    with pytest.raises(ToolError, match="length limit"):
        parse_arguments('{"command": "ls"}', "bash", "command", length_cut=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(st.text(), JSON, max_size=4)


@given(OBJECT)
def test_every_object_is_itself_and_its_repairs_lose_nothing(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    for raw in (text, json.dumps(value, ensure_ascii=False), json.dumps(text), f"```json\n{text}\n```", repr(value)):
        assert parse_arguments(raw, "t", "k") == value
    if value:
        assert parse_arguments(text[:-1] + " ,}", "t", "k") == value


@given(OBJECT, st.data())
def test_a_cut_object_is_never_read_as_anything(value: dict[str, Any], data: st.DataObject) -> None:
    assume(value)
    text = json.dumps(value)
    end = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(ToolError):
        parse_arguments(text[:end], "t", "k")


@given(st.text())
def test_any_text_is_read_or_refused(raw: str) -> None:
    with contextlib.suppress(ToolError):
        result = parse_arguments(raw, "t", "k")
        assert isinstance(result, dict)
        if raw.strip() and "{" not in raw and '"' not in raw:
            assert result == {"k": raw}
