"""What goes back to the endpoint is legal, whatever the history holds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from model_server.legality import fault_in

from turnstone_lsp.agent.legal import INTERRUPTED, alternate, legalise
from turnstone_lsp.agent.prompted import as_prompt, prompted_tools
from turnstone_lsp.tools import registry

USER = {"role": "user", "content": "go"}


def asked(*ids: object, arguments: object = "{}", name: object = "bash") -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def answered(call_id: object, text: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def contents(messages: list[dict[str, Any]]) -> list[Any]:
    return [m["content"] for m in messages if m["role"] == "tool"]


def test_one_system_message_first() -> None:
    """upstream-faults.md 94"""
    messages = [USER, {"role": "system", "content": "a"}, USER, {"role": "system", "content": "b"}]
    assert legalise(messages) == [{"role": "system", "content": "a\n\nb"}, USER, USER]


def test_open_calls_are_answered_with_interrupted() -> None:
    """upstream-faults.md 84: 'orphaned calls on resume: repair in order'"""
    messages = [USER, asked("a", "b"), answered("b", "second"), USER]
    legal = legalise(messages)
    assert contents(legal) == [INTERRUPTED, "second"]
    assert [m["role"] for m in legal] == ["user", "assistant", "tool", "tool", "user"]


def test_results_stand_in_the_order_of_their_calls() -> None:
    assert contents(legalise([USER, asked("a", "b"), answered("b", "2"), answered("a", "1")])) == ["1", "2"]


def test_results_of_no_call_and_empty_answers_go() -> None:
    messages = [USER, answered("x"), {"role": "assistant", "content": ""}, USER]
    assert legalise(messages) == [USER, USER]


def test_ids_are_unique_and_results_follow_their_call() -> None:
    """upstream-faults.md 7, 12"""
    messages = [USER, asked("a", "a"), answered("a", "1"), answered("a", "2"), asked("", None), answered("", "3")]
    legal = legalise(messages)
    assert contents(legal) == ["1", "2", "3", INTERRUPTED]
    assert fault_in(legal) is None


def test_malformed_arguments_are_made_legal() -> None:
    """upstream-faults.md 13"""
    call = asked("a", arguments='{"command": "ls')
    legal = legalise([USER, call, answered("a")])
    assert legal[1]["tool_calls"][0]["function"]["arguments"] == '{"invalid_json": "{\\"command\\": \\"ls"}'
    assert call["tool_calls"][0]["function"]["arguments"] == '{"command": "ls'


def test_reasoning_goes_back_within_the_turn_only() -> None:
    """issue 7: 'reasoning fields are ... sent back where the server wants them'"""
    step = {**asked("a"), "reasoning_content": "hm"}
    later = {**asked("b"), "reasoning_content": "so"}
    messages = [USER, step, answered("a"), USER, later, answered("b")]
    assert ["reasoning_content" in m for m in legalise(messages)] == [False, False, False, False, True, False]
    assert not any("reasoning_content" in m for m in legalise(messages, reasoning=frozenset()))


def test_fields_of_ours_are_not_sent() -> None:
    assert legalise([{**USER, "turn": "t1", "id": 4}]) == [USER]


def test_neighbours_of_one_role_are_joined() -> None:
    assert alternate([USER, USER, {"role": "assistant", "content": "a"}, USER]) == [
        {"role": "user", "content": "go\n\ngo"},
        {"role": "assistant", "content": "a"},
        USER,
    ]


def test_every_tool_is_described_in_the_prompt() -> None:
    text = prompted_tools(registry.TOOLS)
    assert all(f'"name":"{name}"' in text for name in registry.DEFINITIONS)
    assert "auto_approve" not in text


def test_a_conversation_by_prompt_is_legal_for_strict_templates() -> None:
    messages = legalise(
        [{"role": "system", "content": "s"}, USER, asked("a", "b"), answered("a", "1"), answered("b", "2")]
    )
    prompted = as_prompt(messages, registry.TOOLS)
    assert [m["role"] for m in prompted] == ["system", "user", "assistant", "user"]
    assert prompted[-1]["content"] == "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"


IDS = st.sampled_from(["a", "b", "", None, 5])
ANY = st.one_of(
    st.builds(lambda t: {"role": "user", "content": t}, st.text(min_size=1, max_size=5)),
    st.builds(lambda t: {"role": "system", "content": t}, st.text(max_size=5)),
    st.builds(lambda t: {"role": "assistant", "content": t}, st.one_of(st.none(), st.text(max_size=5))),
    st.builds(
        lambda ids, a, n: asked(*ids, arguments=a, name=n),
        st.lists(IDS, max_size=3),
        st.sampled_from(["{}", "", "[1]", '{"a', "ls", None, {"a": 1}, '{"a": 1, "a": 2}', "NaN"]),
        st.sampled_from(["bash", "", None, " x "]),
    ),
    st.builds(answered, IDS),
)


@given(st.lists(ANY, max_size=10))
def test_any_history_becomes_legal_and_stays_so(messages: list[dict[str, Any]]) -> None:
    legal = legalise(messages)
    assert fault_in(legal) is None
    assert legalise(legal) == legal
