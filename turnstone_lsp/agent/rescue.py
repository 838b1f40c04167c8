"""Tool calls and reasoning that arrive as text, taken out of the answer they stand in.

`parse` takes a whole output; `Stream` takes it in pieces and gives the same at the end. Text that merely talks about
tool calls stays text: inline code, code samples, records that name no real tool.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent import harmony
from turnstone_lsp.agent import rescue_formats as formats
from turnstone_lsp.agent.rescue_formats import OPEN, Block, Call

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARKERS: dict[str, formats.Reader | None] = {
    "<tool_call>": formats.tool_call_tag,
    "<|tool_call|>": formats.json_block("<|/tool_call|>", "</tool_call>"),
    "<tool_calls>": formats.json_block("</tool_calls>"),
    "<TOOLCALL>": formats.json_block("</TOOLCALL>"),
    "<function_call>": formats.json_block("</function_call>"),
    "<|START_ACTION|>": formats.json_block("<|END_ACTION|>"),
    "<|action_start|><|plugin|>": formats.json_block("<|action_end|>"),
    "<|python_tag|>": formats.python_tag,
    "[TOOL_CALLS]": formats.mistral,
    "<｜tool▁calls▁begin｜>": formats.deepseek,
    "<｜DSML｜function_calls>": formats.invokes("</｜DSML｜function_calls>"),
    "<minimax:tool_call>": formats.invokes("</minimax:tool_call>"),
    "<function_calls>": formats.invokes("</function_calls>"),
    "<|tool_calls_section_begin|>": formats.kimi,
    "<start_function_call>": formats.function_gemma,
    "functools[": None,
    "<function=": None,
    "```": None,
}
"""Opening marker -> reader of what follows; None: read from the marker itself, below."""
_OPENER = re.compile("|".join(re.escape(m) for m in sorted(_MARKERS, key=len, reverse=True)))
_LONGEST = max(map(len, _MARKERS))
_NOISE = re.compile(r"<\|(?:eot_id|eom_id|im_end|end_of_text|endoftext)\|>|<｜end▁of▁sentence｜>|</s>\Z")
"""Tokens that end a message and leak into text."""
_THOUGHTS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"), ("<thinking>", "</thinking>"), ("◁think▷", "◁/think▷"))
_FENCE = re.compile(r"```([\w-]*)[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_FENCED_AS_CALLS = frozenset({"", "json", "tool_code", "tool_call", "python", "xml", "tool", "tool_use"})


def parse(text: str, tool_names: Sequence[str]) -> dict[str, Any]:
    """{"content": str, "reasoning": str, "tool_calls": [{"name", "arguments"}]}.

    `arguments` is an object wherever the model wrote one, else the raw value. A call that is cut off gives no call.
    """
    return _parse(text, tool_names, length_cut=False)


class Stream:
    """The same, fed in pieces.

    `feed` returns the parts that are certain by now, as ("content" | "reasoning", text); `finish` returns what `parse`
    returns for the whole. With `length_cut` a last call whose end marker is missing is dropped.
    """

    def __init__(self, tool_names: Sequence[str]) -> None:
        self._names = tool_names
        self._text = ""
        self._at = 0  # up to here everything is decided
        self._thought_end: str | None = None
        self._started = False
        self._held = ""  # blanks that are shown only when text follows

    def feed(self, text: str) -> list[tuple[str, str]]:
        """Take the next piece of the model's output."""
        self._text += text
        parts: list[tuple[str, str]] = []
        if not self._started and not self._start():
            return parts
        if self._thought_end is not None and not self._think(parts):
            return parts
        if harmony.begins(self._text, self._at):
            return parts
        self._show(parts)
        return parts

    def finish(self, length_cut: bool = False) -> dict[str, Any]:
        """The whole output, parsed."""
        return _parse(self._text, self._names, length_cut=length_cut)

    def _start(self) -> bool:
        """Decide how the output begins: with reasoning, with a record, or with text."""
        head = self._text.lstrip()
        if not head:
            return False
        for opening, closing in _THOUGHTS:
            if head.startswith(opening):
                self._thought_end = closing
                self._at = self._text.index(opening) + len(opening)
                break
            if opening.startswith(head):
                return False
        if self._thought_end is None and harmony.begins(head, 0) is None:
            return False
        self._started = True
        return True

    def _think(self, parts: list[tuple[str, str]]) -> bool:
        """Show reasoning up to its end; True when it has ended."""
        closing = self._thought_end or ""
        end = self._text.find(closing, self._at)
        stop = end if end >= 0 else len(self._text) - _overlap(self._text, closing)
        if stop > self._at:
            parts.append(("reasoning", self._text[self._at : stop]))
            self._at = stop
        if end < 0:
            return False
        self._at = end + len(closing)
        self._thought_end = None
        self._held = ""
        return True

    def _show(self, parts: list[tuple[str, str]]) -> None:
        if self._at == 0 or not self._text[: self._at].strip() or self._fresh():
            begin = formats.skip(self._text, self._at)
            if begin >= len(self._text):
                return
            if _may_be_record(self._text, begin, self._names):
                return
        while self._at < len(self._text):
            opened = _OPENER.search(self._text, self._at)
            stop = opened.start() if opened else len(self._text) - _partial(self._text, self._at)
            self._emit(parts, self._text[self._at : stop])
            self._at = max(self._at, stop)
            if opened is None:
                return
            block = _block(self._text, opened.start(), opened.group(), self._names)
            if block is None:
                self._emit(parts, opened.group())
                self._at = opened.end()
            elif block.end < 0 or not block.closed:
                return
            else:
                self._at = block.end

    def _fresh(self) -> bool:
        """Nothing but reasoning stands before this place."""
        return any(self._text[: self._at].rstrip().endswith(closing) for _, closing in _THOUGHTS)

    def _emit(self, parts: list[tuple[str, str]], text: str) -> None:
        text = _NOISE.sub("", text)
        whole = self._held + text
        shown = whole.rstrip()
        if not shown:
            self._held = whole if self._emitted else ""
            return
        self._held = whole[len(shown) :]
        if not self._emitted:
            shown = shown.lstrip()
        self._emitted = True
        parts.append(("content", shown))

    _emitted = False


def _overlap(text: str, marker: str) -> int:
    """How many characters at the text's end may be the beginning of the marker."""
    for size in range(min(len(marker) - 1, len(text)), 0, -1):
        if text.endswith(marker[:size]):
            return size
    return 0


def _partial(text: str, start: int) -> int:
    tail = text[max(start, len(text) - _LONGEST) :]
    others = (
        "<|channel|>",
        "<|start|>",
        "<|message|>",
        "<|eot_id|>",
        "<|im_end|>",
        "<｜end▁of▁sentence｜>",
        "</s>",
        "</think>",
    )
    return max(_overlap(tail, m) for m in (*_MARKERS, *others))


def _may_be_record(text: str, at: int, names: Sequence[str]) -> bool:
    """The answer begins like a bare record or a list of Python calls: it is held until it is known."""
    head = text[at : at + 200]
    if head.startswith("functools["[: len(head)]):
        return True
    if head[0] == "{":
        return not head[1:].strip() or head[1:].lstrip()[0] in '"}'
    if head[0] == "[":
        rest = head[1:].lstrip()
        return not rest or rest[0] == "{" or any(f"{n}(".startswith(rest) or rest.startswith(f"{n}(") for n in names)
    return any(f"{n}(".startswith(head) or head.startswith(f"{n}(") for n in names)


def _quoted(text: str, at: int) -> bool:
    """Inside inline code, or inside a fenced block: text about a call."""
    line = text.rfind("\n", 0, at) + 1
    before = text[line:at]
    if before.count("`") % 2 and "```" not in before:
        return True
    return len(re.findall(r"^[ \t]*```", text[:at], re.MULTILINE)) % 2 == 1


def _block(text: str, at: int, marker: str, names: Sequence[str]) -> Block | None:
    if marker == "```":
        return _fence(text, at, names)
    if _quoted(text, at):
        return None
    if marker == "functools[":
        return formats.json_block("</s>")(text, at + len("functools"))
    if marker == "<function=":
        return formats.xml_functions(text, at)
    reader = _MARKERS[marker]
    return reader(text, at + len(marker)) if reader else None


def _fence(text: str, at: int, names: Sequence[str]) -> Block | None:
    """A fenced block that holds nothing but calls of real tools is a call; any other is text."""
    found = _FENCE.match(text, at)
    if found is None:
        word = re.match(r"```([\w-]*)", text[at:])
        language = word.group(1) if word else ""
        started = re.match(r"```[\w-]*[ \t]*\n\s*(\S?)", text[at:])
        possible = (
            any(known.startswith(language) for known in _FENCED_AS_CALLS)
            if not started
            else language in _FENCED_AS_CALLS
        )
        if not possible or text.count("`", 0, at) % 2:
            return None
        if started and started.group(1) and started.group(1) not in "{[<" and language not in ("tool_code", "python"):
            return None
        return OPEN
    language, body = found.groups()
    if language not in _FENCED_AS_CALLS:
        return None
    calls = _calls_in(body.strip(), names, python=language in ("tool_code", "python"))
    return Block(tuple(calls), found.end()) if calls else None


def _calls_in(body: str, names: Sequence[str], *, python: bool) -> list[Call] | None:
    """The calls, when the text holds nothing else and each names a real tool."""
    found = formats.json_at(body, 0)
    calls: list[Call] | None = None
    if found and not body[found[1] :].strip():
        calls = formats.calls_of(found[0])
    elif body.startswith("<tool_call>"):
        block = formats.tool_call_tag(body, len("<tool_call>"))
        calls = list(block.calls) if block and block.closed and not body[block.end :].strip() else None
    elif python or body.startswith("[") or any(body.startswith(f"{n}(") for n in names):
        calls = formats.pythonic(body)
    return calls if calls and all(c["name"] in names for c in calls) else None


def _parse(text: str, names: Sequence[str], *, length_cut: bool) -> dict[str, Any]:
    if (found := harmony.parse(text, length_cut=length_cut)) is not None:
        return found
    reasoning, start = _reasoning(text)
    content: list[str] = []
    calls: list[Call] = []
    body = text[start:]
    whole = None if length_cut else _calls_in(_NOISE.sub("", body).strip(), names, python=False)
    if whole is not None:
        return {"content": "", "reasoning": reasoning, "tool_calls": whole}
    at = start
    while opened := _OPENER.search(text, at):
        content.append(text[at : opened.start()])
        block = _block(text, opened.start(), opened.group(), names)
        if block is None:
            content.append(opened.group())
            at = opened.end()
            continue
        kept = block.calls[:-1] if length_cut and not block.closed else block.calls
        calls += kept
        if block.end < 0:
            at = len(text)
            if opened.group() == "```":
                content.append(text[opened.start() :])
            break
        at = block.end
    content.append(text[at:])
    return {"content": _NOISE.sub("", "".join(content)).strip(), "reasoning": reasoning, "tool_calls": calls}


def _reasoning(text: str) -> tuple[str, int]:
    """(reasoning, where the answer begins). Reasoning stands at the beginning, with or without its opening tag."""
    head = formats.skip(text, 0)
    for opening, closing in _THOUGHTS:
        if text.startswith(opening, head):
            end = text.find(closing, head)
            if end < 0:
                return text[head + len(opening) :].strip(), len(text)
            return text[head + len(opening) : end].strip(), end + len(closing)
    for _, closing in _THOUGHTS[:2]:
        end = text.find(closing)
        if end >= 0 and not _quoted(text, end) and not any(opening in text[:end] for opening, _ in _THOUGHTS):
            return text[:end].strip(), end + len(closing)
    return "", 0
