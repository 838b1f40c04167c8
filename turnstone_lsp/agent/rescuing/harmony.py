"""OpenAI's Harmony format (gpt-oss): messages with a channel and, for a call, a recipient."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from turnstone_lsp.agent.rescuing.blocks import MORE, Undecided
from turnstone_lsp.agent.rescuing.records import raw_call

if TYPE_CHECKING:
    from turnstone_lsp.agent.rescuing.blocks import Call

STARTS = ("<|start|>", "<|channel|>")
_MESSAGE = "<|message|>"
_CHANNELS = ("analysis", "commentary", "final")
_ROLES = ("assistant", "functions", "tool", "user", "system", "developer")
_RECIPIENT = re.compile(r"to=([\w.-]+)")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_ROLE = re.compile(r"<\|start\|>\s*([\w.]+)")
_HEADER_LENGTH = 300
END = re.compile(r"<\|(?:end|call|return)\|>|(?=<\|(?:start|channel)\|>)")
"""What ends a message; the token that begins the next one stays where it is."""
ENDS = ("<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>")

Kind = Literal["content", "reasoning", "call", "foreign"]


@dataclass(frozen=True, slots=True)
class Header:
    """The head of one message: what its body is, and where the body begins. tool: whom a call goes to."""

    kind: Kind
    end: int
    tool: str = ""


def header(text: str, at: int, final: bool) -> Header | Undecided | None:
    """The head that begins here; None where it is ordinary text. Cut off, it ends where the text ends."""
    following = re.compile(r"<\|(?:start|channel)\|>\s*(\w*)").match(text, at)
    word = following[1] if following else ""
    known = _ROLES if text.startswith("<|start|>", at) else _CHANNELS
    ended = following is not None and following.end() < len(text)
    if word not in known and (ended or not any(k.startswith(word) for k in known)):
        return None
    message = text.find(_MESSAGE, at)
    if message < 0 or message - at > _HEADER_LENGTH:
        if len(text) - at > _HEADER_LENGTH:
            return None
        return Header("foreign", len(text)) if final else MORE
    return _read(text[at:message], message + len(_MESSAGE))


def _read(head: str, end: int) -> Header:
    to = _RECIPIENT.search(head)
    role = _ROLE.search(head)
    if role and role[1] != "assistant":
        return Header("foreign", end)
    if to and to[1] not in ("assistant", "user", "all"):
        return Header("call", end, to[1])
    channel = _CHANNEL.search(head)
    return Header("reasoning" if channel and channel[1] == "analysis" else "content", end)


def call(tool: str, body: str, *, ended: bool) -> Call | None:
    """The call of one message; None where it was cut off."""
    made = raw_call(tool, body)
    whole = ended or (isinstance(made["arguments"], dict) and bool(body.strip()))
    return made if whole else None
