"""What a stream says: text, reasoning, usage, calls in fragments of every kind. upstream-faults.md 1-13."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from model_client import LS, READ, ask, chunk, fragment, made, text_of

from turnstone_lsp.agent.model import CallPiece, Discarded, ThoughtPiece

if TYPE_CHECKING:
    from model_server import StubServer


async def test_text_comes_in_pieces_with_usage_and_finish_reason(stub: StubServer) -> None:
    stub.set(
        {
            "replies": [
                {"text": "one two three", "chunk_chars": 4, "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
            ]
        }
    )
    reply, pieces = await ask(stub)
    assert len(pieces) == 4
    assert text_of(pieces) == "one two three"
    assert reply.text == "one two three"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.estimated) == (7, 3, False)
    assert reply.finish_reason == "stop"
    assert reply.message == {"role": "assistant", "content": "one two three"}


async def test_without_usage_it_is_estimated_and_says_so(stub: StubServer) -> None:
    """faults.md 100"""
    stub.set({"replies": [{"text": "x" * 400, "usage": False}]})
    reply, _ = await ask(stub)
    assert reply.usage.estimated
    assert 80 <= reply.usage.completion_tokens <= 120


@pytest.mark.parametrize("style", ["reasoning_content", "reasoning"])
async def test_reasoning_in_its_own_field_goes_back_in_that_field(stub: StubServer, style: str) -> None:
    stub.set({"replies": [{"text": "4", "reasoning": "I add.", "reasoning_style": style}]})
    reply, pieces = await ask(stub)
    assert "".join(p.text for p in pieces if isinstance(p, ThoughtPiece)) == "I add."
    assert text_of(pieces) == reply.text == "4"
    assert reply.message[style] == "I add."


async def test_reasoning_in_tags_is_kept_apart_and_not_sent_back(stub: StubServer) -> None:
    stub.set({"replies": [{"text": "4", "reasoning": "I add.", "reasoning_style": "think", "chunk_chars": 3}]})
    reply, pieces = await ask(stub)
    assert (reply.reasoning, reply.text, text_of(pieces)) == ("I add.", "4", "4")
    assert reply.message == {"role": "assistant", "content": "4"}


async def test_reasoning_without_its_opening_tag_is_taken_back(stub: StubServer) -> None:
    stub.set({"replies": [{"text": "I add.\n</think>\nIt is 4.", "chunk_chars": 5}]})
    reply, pieces = await ask(stub)
    assert (reply.reasoning, reply.text) == ("I add.", "It is 4.")
    after = pieces[[isinstance(p, Discarded) for p in pieces].index(True) :]
    assert text_of(after) == "It is 4."


async def test_reasoning_as_records_goes_back_unchanged(stub: StubServer) -> None:
    parts = [{"type": "reasoning.text", "index": 0, "text": t} for t in ("I ", "add.")]
    end = {"type": "reasoning.encrypted", "index": 1, "data": "xyz"}
    events = [
        chunk({"reasoning_details": [parts[0]]}),
        chunk({"reasoning_details": [parts[1], end]}),
        chunk({"content": "4"}, "stop"),
    ]
    stub.set({"replies": [{"raw_events": events}]})
    reply, _ = await ask(stub)
    assert reply.message["reasoning_details"] == [{"type": "reasoning.text", "index": 0, "text": "I add."}, end]


async def test_content_as_typed_parts(stub: StubServer) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "I add."}]}
    stub.set({"replies": [{"raw_events": [chunk({"content": [thought, {"type": "text", "text": "4"}]}, "stop")]}]})
    reply, _ = await ask(stub)
    assert (reply.reasoning, reply.text) == ("I add.", "4")


async def test_unterminated_thinking_before_a_call_does_not_swallow_it(stub: StubServer) -> None:
    """upstream-faults.md 11"""
    stub.set({"replies": [{"text": "<think>I list.", "tool_calls": [LS]}]})
    reply, _ = await ask(stub)
    assert (reply.reasoning, reply.text, made(reply)) == ("I list.", "", [("bash", {"command": "ls"})])


async def test_text_before_a_call_is_shown_before_it(stub: StubServer) -> None:
    """upstream-faults.md 10: a text that ends like a marker is not held back over the call"""
    stub.set({"replies": [{"text": "a <tool", "tool_calls": [LS]}]})
    _, pieces = await ask(stub)
    first_call = [isinstance(p, CallPiece) for p in pieces].index(True)
    assert text_of(pieces[:first_call]) == "a <tool"


async def test_progress_of_a_call_that_is_being_written(stub: StubServer) -> None:
    stub.set({"replies": [{"tool_calls": [LS], "arg_chunk_chars": 5}]})
    _, pieces = await ask(stub)
    sizes = [p.size for p in pieces if isinstance(p, CallPiece)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == len('{"command": "ls"}')


@pytest.mark.parametrize(
    "quirk",
    [
        {},
        {"interleave": True},
        {"repeat_id": True},
        {"omit_index": True},
        {"same_index": True},
        {"late_name": True},
        {"calls_whole": True},
        {"calls_whole": True, "object_arguments": True},
        {"omit_index": True, "repeat_id": True, "interleave": True},
        {"finish_reason": "stop"},
        {"finish_reason": None},
        {"whole": True},
    ],
    ids=str,
)
async def test_parallel_calls_however_they_are_numbered(stub: StubServer, quirk: dict[str, Any]) -> None:
    """upstream-faults.md 8, 9: missing, repeated and equal indexes and ids; finish reasons that lie"""
    stub.set({"replies": [{"tool_calls": [LS, READ], "arg_chunk_chars": 3, **quirk}]})
    reply, _ = await ask(stub)
    assert made(reply) == [("bash", {"command": "ls"}), ("read_file", {"path": "a"})]
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    "events",
    [
        # no ids at all, the same tool twice
        [fragment(0, None, "bash", '{"command": "ls"}'), fragment(1, None, "bash", '{"command": "pwd"}')],
        [fragment(None, None, "bash", '{"command": "ls"}'), fragment(None, None, "bash", '{"command": "pwd"}')],
        [fragment(0, "", "bash", '{"command": "ls"}'), fragment(0, "", "bash", '{"command": "pwd"}')],
        # one id for both
        [fragment(0, "x", "bash", '{"command": "ls"}'), fragment(1, "y", "bash", '{"command": "pwd"}')],
        # a new id in every fragment
        [
            fragment(0, "a1", "bash", '{"comm'), fragment(0, "a2", None, 'and": "ls"}'),
            fragment(1, "b1", "bash", '{"comm'), fragment(1, "b2", None, 'and": "pwd"}'),
        ],
        # the name in parts, and growing
        [
            fragment(0, "a", "ba"), fragment(0, "a", "sh", '{"command": "ls"}'),
            fragment(1, "b", "ba"), fragment(1, "b", "bash", '{"command": "pwd"}'),
        ],
        # the whole arguments once more at the end
        [
            fragment(0, "a", "bash", '{"command": "ls"}'), fragment(0, "a", None, '{"command": "ls"}'),
            fragment(1, "b", "bash", '{"command": "pwd"}'),
        ],
        # the id after the name
        [fragment(0, None, "bash"), fragment(0, "a", None, '{"command": "ls"}'), fragment(1, "b", "bash", '{"command": "pwd"}')],
    ],
)  # fmt: skip
async def test_fragments_by_hand(stub: StubServer, events: list[Any]) -> None:
    stub.set({"replies": [{"raw_events": [*events, chunk({}, "tool_calls")]}]})
    reply, _ = await ask(stub)
    assert made(reply) == [("bash", {"command": "ls"}), ("bash", {"command": "pwd"})]
    assert len({c.id for c in reply.tool_calls}) == 2
    assert all(c.id for c in reply.tool_calls)


async def test_empty_and_null_ids_become_ids_of_ours(stub: StubServer) -> None:
    """upstream-faults.md 7"""
    stub.set({"replies": [{"tool_calls": [{**LS, "id": ""}, {**READ, "id": None}]}]})
    reply, _ = await ask(stub)
    ids = [c.id for c in reply.tool_calls]
    assert all(ids)
    assert len(set(ids)) == 2


async def test_the_old_function_call_field(stub: StubServer) -> None:
    events = [
        chunk({"function_call": {"name": "bash", "arguments": '{"comm'}}),
        chunk({"function_call": {"arguments": 'and": "ls"}'}}, "function_call"),
    ]
    stub.set({"replies": [{"raw_events": events}]})
    assert made((await ask(stub))[0]) == [("bash", {"command": "ls"})]


async def test_a_thought_signature_goes_back_with_its_call(stub: StubServer) -> None:
    extra = {"google": {"thought_signature": "abc"}}
    call = {"index": 0, "id": "c", "function": {"name": "bash", "arguments": "{}"}, "extra_content": extra}
    stub.set({"replies": [{"raw_events": [chunk({"tool_calls": [call]}, "tool_calls")]}]})
    reply, _ = await ask(stub)
    assert reply.message["tool_calls"][0]["extra_content"] == extra


async def test_calls_in_the_text_are_calls(stub: StubServer) -> None:
    text = 'Looking.\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'
    stub.set({"replies": [{"text": text, "chunk_chars": 4}]})
    reply, pieces = await ask(stub)
    assert text_of(pieces) == reply.text == "Looking."
    assert made(reply) == [("bash", {"command": "ls"})]
    assert reply.finish_reason == "tool_calls"


async def test_a_reply_cut_by_the_length_limit_marks_its_calls(stub: StubServer) -> None:
    """faults.md 94, upstream-faults.md 3: 'a reply that was cut by the length limit never executes'"""
    stub.set(
        {
            "replies": [
                {
                    "tool_calls": [LS, {"name": "bash", "arguments": '{"command": "rm -rf bui'}],
                    "finish_reason": "length",
                }
            ]
        }
    )
    reply, _ = await ask(stub)
    assert reply.cut
    assert [c.cut for c in reply.tool_calls] == [True, True]


@pytest.mark.parametrize(
    ("raw", "sent_back"),
    [
        ('{"command": "ls"}', {"command": "ls"}),
        ("", {}),
        ('"ls -la"', {"command": "ls -la"}),
        ("ls -la", {"command": "ls -la"}),
        ('{"command": "a\nb",}', {"command": "a\nb"}),
        ('{"command": "ls', {"invalid_json": '{"command": "ls'}),
        ('["ls"]', {"invalid_json": '["ls"]'}),
    ],
)
async def test_the_history_holds_what_runs_as_legal_json(stub: StubServer, raw: str, sent_back: dict[str, str]) -> None:
    """upstream-faults.md 13; 'history showed empty arguments while the repaired call ran'"""
    stub.set({"replies": [{"tool_calls": [{"name": "bash", "arguments": raw}]}]})
    reply, _ = await ask(stub)
    assert reply.tool_calls[0].arguments == raw
    assert json.loads(reply.message["tool_calls"][0]["function"]["arguments"]) == sent_back
