"""Every marker that the scanner looks for, and the reader of what stands behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from turnstone_lsp.agent.rescuing import harmony, tokens, xml
from turnstone_lsp.agent.rescuing.tags import tagged

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.agent.rescuing.blocks import Cursor

    Reader = Callable[[Cursor], None]


def _invokes(*closers: str) -> Reader:
    return lambda cursor: xml.invokes(cursor, *closers)


READERS: dict[str, Reader] = {
    # Hermes, Qwen, GLM, ERNIE and most others
    "<tool_call>": tagged("</tool_call>", opener="<tool_call>"),
    "<tool_calls>": tagged("</tool_calls>"),  # Jamba, MiniMax M1, Hunyuan
    "<tools>": tagged("</tools>"),  # Qwen 2.5 Coder
    "<TOOLCALL>": tagged("</TOOLCALL>"),  # Nemotron
    "<toolcall>": tagged("</toolcall>"),
    "<tool_use>": tagged("</tool_use>"),
    "<function_call>": tagged("</function_call>"),
    "<function-call>": tagged("</function-call>"),
    "<functioncall>": tagged("</functioncall>"),
    "<function_calls>": tagged("</function_calls>"),  # Olmo
    "<seed:tool_call>": tagged("</seed:tool_call>"),
    "<longcat_tool_call>": tagged("</longcat_tool_call>"),
    "<|tool_call|>": tagged("<|/tool_call|>", "</tool_call>"),  # Phi 4, Granite 3
    "<|tool_call_start|>": tagged("<|tool_call_end|>"),  # LFM 2
    "<|tools_prefix|>": tagged("<|tools_suffix|>"),  # Apertus
    "<|START_ACTION|>": tagged("<|END_ACTION|>"),  # Command R
    "<|action_start|><|plugin|>": tagged("<|action_end|>"),  # InternLM
    "<|action_start|> <|plugin|>": tagged("<|action_end|>"),
    "<|python_start|>": tagged("<|python_end|>"),  # Llama 4
    "<|python_tag|>": tokens.python_tag,  # Llama 3
    "<function=": xml.functions,  # Llama 3, Qwen Coder without its outer tag
    "<invoke name=": _invokes(),
    "<minimax:tool_call>": _invokes("</minimax:tool_call>"),
    "<｜DSML｜function_calls>": _invokes("</｜DSML｜function_calls>"),  # DeepSeek V3.2
    "<｜DSML｜tool_calls>": _invokes("</｜DSML｜tool_calls>"),
    "[TOOL_CALLS]": tokens.mistral,
    "functools[": tokens.functools,  # Phi 4 mini, FireFunction
    "<start_function_call>": tokens.gemma("<escape>", "<end_function_call>"),
    "<|tool_call>": tokens.gemma('<|"|>', "<tool_call|>"),
    **dict.fromkeys(tokens.CALLS_BEGIN, tokens.call_list),
    **dict.fromkeys(tokens.CALL_BEGIN, tokens.lone_call),
}
AT_MARKER = {"<function=": 0, "<invoke name=": 0, "functools[": len("functools")}
"""Where the reader begins, for markers that are a part of what it reads; for all others behind the marker."""

THOUGHTS = {
    "<think>": ("</think>",),
    "<thinking>": ("</thinking>",),
    "<thought>": ("</thought>",),
    "<reasoning>": ("</reasoning>",),
    "<seed:think>": ("</seed:think>",),
    "<longcat_think>": ("</longcat_think>",),
    "[THINK]": ("[/THINK]",),
    "◁think▷": ("◁/think▷",),
    "<|START_THINKING|>": ("<|END_THINKING|>",),
    "<|begin_of_thought|>": ("<|end_of_thought|>",),
    "<|channel>thought": ("<channel|>",),
}
"""Opening tag of reasoning -> what closes it."""
UNOPENED = ("</think>", "[/THINK]", "◁/think▷", "</seed:think>")
"""Closing tags that also end reasoning whose opening tag stood in the prompt."""

_NOISE = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>", "<|return|>", "<|call|>",
    "<|EOT|>", "<｜end▁of▁sentence｜>", "<|observation|>", "<|user|>", "<|assistant|>", "<end_of_turn>", "<turn|>",
    "<|END_OF_TURN_TOKEN|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>",
    "<|begin_of_solution|>", "<|end_of_solution|>", "<start_function_response>", "[e~[",
)  # fmt: skip
"""Tokens that end a message and leak into the text."""
_STRAY = (
    "</tool_call>", "</tool_calls>", "<|/tool_call|>", "</minimax:tool_call>", "</seed:tool_call>", "[/TOOL_CALLS]",
    "<tool_call|>", "<|python_end|>", "<|END_ACTION|>", "<|action_end|>", *tokens.STRAY,
)  # fmt: skip
"""Tokens that end a call whose beginning was not seen."""
LAST = "</s>"
"""The same for Llama 2 and Mistral, but also a tag of HTML: it counts only at the very end."""
RESPONSE = "<tool_response>"
"""A result that the model made up after its own call."""


@dataclass(frozen=True, slots=True)
class Points:
    """What the scanner stops at, for one set of tools."""

    pattern: re.Pattern[str]
    """Its groups are named: call, think, unthink, noise, stray, last, response, harmony, ticks, line."""
    prefixes: frozenset[str]
    """A text that ends in one of these may be in the middle of a marker."""
    longest: int
    words: tuple[str, ...]
    """The same for words that count at the beginning of a line."""


@lru_cache(maxsize=32)
def points(names: tuple[str, ...]) -> Points:
    """Without tools only reasoning and noise are looked for."""
    groups = {
        "think": tuple(THOUGHTS),
        "unthink": UNOPENED,
        "harmony": harmony.STARTS,
        "noise": _NOISE,
        "last": (LAST,),
    }
    if names:
        groups = {"call": tuple(READERS), "response": (RESPONSE,), "stray": _STRAY, **groups}
    parts = [f"(?P<{group}>{_any_of(literals)})" for group, literals in groups.items()]
    parts.append("(?P<ticks>`+|^[ \\t]*~~~+)")
    if names:
        parts.append(rf"(?P<line>^[ \t]*(?:[{{\[]|(?:{_any_of(names)})(?!\w)|Action:))")
    literals = [literal for group in groups.values() for literal in group]
    prefixes = frozenset(literal[:size] for literal in literals for size in range(1, len(literal)))
    return Points(
        re.compile("|".join(parts), re.MULTILINE),
        prefixes,
        max(map(len, literals)) - 1,
        ("~~~", *((*names, "Action:") if names else ())),
    )


def _any_of(literals: tuple[str, ...]) -> str:
    return "|".join(re.escape(literal) for literal in sorted(literals, key=len, reverse=True))
