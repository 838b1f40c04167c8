"""The shapes in which models write tool calls as text, one small reader each.

A reader gets the text and the place just after its opening marker. It returns a `Block`: the calls, where the block
ends, and whether it is closed; None where the text turns out to be no call; a Block without an end (-1) where more
text is needed to know.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = dict[str, Any]
"""{"name": str, "arguments": object or, where it is no JSON object, the raw string}"""

_DECODER = json.JSONDecoder(strict=False)  # raw newlines in strings lose nothing


@dataclass(frozen=True, slots=True)
class Block:
    """Calls between two places of the text; end -1: it goes on past what is there. closed: its end marker was seen."""

    calls: tuple[Call, ...]
    end: int
    closed: bool = True


OPEN = Block((), -1, closed=False)
Reader = Callable[[str, int], Block | None]


def json_at(text: str, at: int) -> tuple[Any, int] | None:
    """The JSON value at a place (after blanks) and where it ends; None where there is no whole one."""
    at = skip(text, at)
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None


def skip(text: str, at: int) -> int:
    """The next place that is no blank."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def call_of(value: Any) -> Call | None:
    """A call from one of the usual records: name or function or tool_name, with arguments or parameters."""
    if not isinstance(value, dict):
        return None
    function = value.get("function")
    if isinstance(function, dict):
        return call_of(function)
    name = value.get("name") or value.get("tool_name") or value.get("tool") or function
    if not isinstance(name, str) or not name.strip():
        return None
    for key in ("arguments", "parameters", "args", "input"):
        if key in value:
            return make(name, value[key])
    return None


def make(name: str, arguments: Any) -> Call:
    """A call; arguments that are a JSON object in a string become that object."""
    if isinstance(arguments, str):
        try:
            inner = json.loads(arguments, strict=False)
        except ValueError:
            inner = None
        if isinstance(inner, dict):
            arguments = inner
    if arguments is None:
        arguments = {}
    return {"name": re.sub(r"\Afunctions?[.:]", "", name.strip()), "arguments": arguments}


def calls_of(value: Any) -> list[Call] | None:
    """The calls of a record, of a list of records, or of {"tool_calls": [...]}; None when one is no call."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    found = [call_of(v) for v in (value if isinstance(value, list) else [value])]
    return [c for c in found if c] if found and all(found) else None


def after(text: str, at: int, closers: tuple[str, ...]) -> tuple[int, bool]:
    """The place after the closing marker, if one stands here (after blanks)."""
    here = skip(text, at)
    for closer in closers:
        if text.startswith(closer, here):
            return here + len(closer), True
    return at, False


# -- readers


def json_block(*closers: str) -> Reader:
    """One or several JSON records up to a closing marker, or to the end of the text (Hermes, Qwen, Granite ...)."""

    def read(text: str, at: int) -> Block | None:
        calls: list[Call] = []
        end = at
        while True:
            here = skip(text, end)
            if text[here : here + 1] in (";", ","):
                here = skip(text, here + 1)
            found = json_at(text, here)
            if found is None:
                break
            more = calls_of(found[0])
            if more is None:
                return None
            calls += more
            end = found[1]
        if not calls:
            return OPEN if skip(text, at) >= len(text) or text[skip(text, at)] in "{[" else None
        end, closed = after(text, end, closers)
        return Block(tuple(calls), end, closed)

    return read


_FUNCTION = re.compile(r"<function=([^>\s]+)\s*>")
_PARAMETER = re.compile(r"<parameter=([^>]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_INVOKE = re.compile(r"<(?:[\w:]*|｜DSML｜)invoke\s+name=\"([^\"]+)\"\s*>")
_INVOKE_PARAMETER = re.compile(
    r"<(?:[\w:]*|｜DSML｜)parameter\s+name=\"([^\"]+)\"([^>]*)>(.*?)</(?:[\w:]*|｜DSML｜)parameter>", re.DOTALL
)
_ARGUMENT = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


def scalar(text: str) -> Any:
    """A parameter's value: JSON where it is a number, a literal, an object or a list; else the text as it stands."""
    bare = text.strip()
    if (bare[:1] in "{[-0123456789" and bare) or bare in ("true", "false", "null"):
        try:
            return json.loads(bare)
        except ValueError:
            return text
    return text


def tool_call_tag(text: str, at: int) -> Block | None:
    """<tool_call>: JSON (Hermes, Qwen), <function=...> (Qwen Coder), or name and <arg_key> pairs (GLM)."""
    here = skip(text, at)
    if here >= len(text):
        return OPEN
    if text.startswith("<function=", here) or "<function=".startswith(text[here:]):
        block = xml_functions(text, here)
        if block is None or block.end < 0:
            return block
        end, closed = after(text, block.end, ("</tool_call>",))
        return Block(block.calls, end, closed)
    if text[here] in "{[":
        return json_block("</tool_call>")(text, at)
    close = text.find("</tool_call>", here)
    if close < 0:
        return OPEN if re.match(r"[\w.-]*\s*(<|\Z)", text[here:]) else None
    body = text[here:close]
    name = re.match(r"[\w.-]+", body)
    if not name or (body[name.end() :].strip() and "<arg_key>" not in body):
        return None
    arguments = {k.strip(): scalar(v) for k, v in _ARGUMENT.findall(body)}
    return Block((make(name.group(), arguments),), close + len("</tool_call>"))


def xml_functions(text: str, at: int) -> Block | None:
    """<function=name> with <parameter=...> children (Qwen Coder) or a JSON object (Llama), one or several."""
    calls: list[Call] = []
    end = at
    while opened := _FUNCTION.match(text, skip(text, end)):
        close = text.find("</function>", opened.end())
        body = text[opened.end() : close if close >= 0 else len(text)]
        if close < 0:
            return Block(tuple(calls), end, closed=False) if calls else OPEN
        found = json_at(body, 0)
        if found and isinstance(found[0], dict) and not body[found[1] :].strip():
            arguments = found[0]
        else:
            arguments = {k.strip(): scalar(v) for k, v in _PARAMETER.findall(body)}
        calls.append(make(opened.group(1), arguments))
        end = close + len("</function>")
    if not calls:
        return OPEN if ">" not in text[at : at + 80] else None
    return Block(tuple(calls), end)


def invokes(*closers: str) -> Reader:
    """<invoke name="..."><parameter name="...">: MiniMax, DeepSeek's DSML and others."""

    def read(text: str, at: int) -> Block | None:
        calls: list[Call] = []
        end = at
        while opened := _INVOKE.match(text, skip(text, end)):
            closing = re.compile(r"</(?:[\w:]*|｜DSML｜)invoke>").search(text, opened.end())
            if closing is None:
                return Block(tuple(calls), end, closed=False) if calls else OPEN
            body = text[opened.end() : closing.start()]
            arguments = {
                k: v if 'string="true"' in flags else scalar(html.unescape(v.strip("\n")))
                for k, flags, v in _INVOKE_PARAMETER.findall(body)
            }
            calls.append(make(opened.group(1), arguments))
            end = closing.end()
        if not calls:
            return OPEN if len(text) - at < 200 and ">" not in text[skip(text, at) :] else None
        end, closed = after(text, end, closers)
        return Block(tuple(calls), end, closed)

    return read


def python_tag(text: str, at: int) -> Block | None:
    """<|python_tag|>: JSON records joined by ; or name.call(key=value) (Llama 3)."""
    closers = ("<|eom_id|>", "<|eot_id|>")
    here = skip(text, at)
    if text[here : here + 1] in ("{", "["):
        return json_block(*closers)(text, at)
    stop = min((i for i in (text.find(c, at) for c in closers) if i >= 0), default=-1)
    body = text[here : stop if stop >= 0 else len(text)]
    found = pythonic(re.sub(r"\A([\w.]+?)\.call\(", r"\1(", body.strip()))
    if found is None:
        return OPEN if stop < 0 else None
    end = stop + len("<|eom_id|>") if stop >= 0 else len(text)
    return Block(tuple(found), end, closed=stop >= 0)


_MISTRAL = re.compile(r"\s*([\w.-]+)(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?=\{)")


def mistral(text: str, at: int) -> Block | None:
    """[TOOL_CALLS]: a JSON list, or name[ARGS]{...} once or several times."""
    here = skip(text, at)
    if text[here : here + 1] in ("[", "{"):
        return json_block("</s>")(text, at)
    calls: list[Call] = []
    end = at
    while True:
        if text.startswith("[TOOL_CALLS]", skip(text, end)):
            end = skip(text, end) + len("[TOOL_CALLS]")
        named = _MISTRAL.match(text, end)
        found = json_at(text, named.end()) if named else None
        if named is None or found is None:
            break
        calls.append(make(named.group(1), found[0]))
        end = found[1]
    if not calls:
        return OPEN
    return Block(tuple(calls), *after(text, end, ("</s>",)))


_DEEPSEEK = re.compile(
    r"<｜tool▁call▁begin｜>(?:function)?(?:<｜tool▁sep｜>)?([\w.-]+)(?:<｜tool▁sep｜>|\s*\n)\s*(?:```(?:json)?\s*)?(?=[{\[])"
)


def deepseek(text: str, at: int) -> Block | None:
    """<｜tool▁calls▁begin｜>: calls with a fenced object (V3, R1) or a bare one (V3.1)."""
    calls: list[Call] = []
    end = at
    while opened := _DEEPSEEK.match(text, skip(text, end)):
        found = json_at(text, opened.end())
        if found is None:
            break
        closing = re.compile(r"\s*(?:```)?\s*<｜tool▁call▁end｜>").match(text, found[1])
        calls.append(make(opened.group(1), found[0]))
        end = closing.end() if closing else found[1]
    if not calls:
        return OPEN
    end, closed = after(text, end, ("<｜tool▁calls▁end｜>",))
    return Block(tuple(calls), end, closed)


_KIMI = re.compile(r"<\|tool_call_begin\|>\s*(?:functions\.)?([\w.-]+?)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*")


def kimi(text: str, at: int) -> Block | None:
    """<|tool_calls_section_begin|>: functions.name:0 and an object (Kimi K2)."""
    calls: list[Call] = []
    end = at
    while opened := _KIMI.match(text, skip(text, end)):
        found = json_at(text, opened.end())
        if found is None:
            break
        calls.append(make(opened.group(1), found[0]))
        end, _ = after(text, found[1], ("<|tool_call_end|>",))
    if not calls:
        return OPEN
    end, closed = after(text, end, ("<|tool_calls_section_end|>",))
    return Block(tuple(calls), end, closed)


_GEMMA_CALL = re.compile(r"\s*call:([\w.-]+)\{(.*?)\}\s*<end_function_call>", re.DOTALL)
_GEMMA_ARGUMENT = re.compile(r"([\w-]+):(?:<escape>(.*?)<escape>|([^,]*))(?:,|\Z)", re.DOTALL)


def function_gemma(text: str, at: int) -> Block | None:
    """<start_function_call>call:name{key:<escape>value<escape>}<end_function_call>."""
    found = _GEMMA_CALL.match(text, at)
    if found is None:
        return OPEN
    arguments = {k: quoted or scalar(bare.strip()) for k, quoted, bare in _GEMMA_ARGUMENT.findall(found.group(2))}
    return Block((make(found.group(1), arguments),), found.end())


def pythonic(text: str) -> list[Call] | None:
    """Calls written as Python: name(key=value), or a list of them. Literals only; None for anything else."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    calls = []
    for node in tree.elts if isinstance(tree, (ast.List, ast.Tuple)) else [tree]:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and len(node.args) == 1:
            node = node.args[0]  # noqa: PLW2901 - Gemma prints its calls
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            return None
        try:
            values = [ast.literal_eval(a) for a in node.args]
            arguments = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords if k.arg}
        except (ValueError, TypeError, RecursionError):
            return None
        name = ast.unparse(node.func).rsplit(".", 1)[-1]
        if values and not arguments:
            calls.append({"name": name, "arguments": values[0] if len(values) == 1 else values})
        elif values:
            return None
        else:
            calls.append({"name": name, "arguments": arguments})
    return calls or None
