"""The transcript as text: how events, earlier messages and open questions read, and where its prompt section begins.

All that comes from a model, a tool or a file is made safe here (C-18, C-19).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.events import (
    Event,
    MessageDone,
    Notice,
    StateChanged,
    ToolCallUpdate,
    UserMessage,
)
from turnstone_lsp.process.text import safe_markdown, show_hidden, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turnstone_lsp.lsp.prompts import Prompt

PROMPT_MARK = "<!-- Ask below this line, then run the code action 'Send to turnstone'. -->"
QUESTIONS = "## Waiting for your answer"
_RESULT_LINES = 20
_ENTRY = 20_000
_CONTEXT = "\n\n<editor>\n"
"""Where the editor's context begins in a stored user message."""


def entry_of(event: Event) -> str | None:
    """How an event reads; None for one that does not stand in the transcript."""
    match event:
        case UserMessage(text=text):
            return _said("You", visible(text, keep="\n\t"))
        case MessageDone(text=text, discarded=False) if text.strip():
            return _said("turnstone", safe_markdown(text))
        case ToolCallUpdate(result=result) if result is not None:
            return _call(event.name, event.status, result, sub=event.parent_call_id is not None)
        case Notice(text=text):
            return f"> {visible(text)}"
        case StateChanged(state="idle", stop_reason=reason, message=message) if reason != "completed":
            return f"> The turn ended: {reason}. {visible(message)}".rstrip()
    return None


def entries_of(conversation: Iterable[dict[str, str]]) -> list[str]:
    """How an earlier conversation reads."""
    names = {"user": "You", "assistant": "turnstone"}
    return [
        _said(names[m["role"]], safe_markdown(m["text"])) if m["role"] in names else _call("tool", "", m["text"])
        for m in conversation
    ]


def conversation_of(messages: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Stored messages as `{role, text}`: the user's words without the editor's context, no system prompt."""
    found = []
    for message in messages:
        text = message.get("content")
        if message.get("role") == "system" or not isinstance(text, str) or not text:
            continue
        found.append({"role": str(message.get("role")), "text": show_hidden(text.partition(_CONTEXT)[0])})
    return found


def live_entry(text: str) -> str:
    """An answer that is still being written."""
    return _said("turnstone", safe_markdown(text) + " …")


def _said(who: str, text: str) -> str:
    return f"## {who}\n\n{text if len(text) <= _ENTRY else text[:_ENTRY] + ' [...]'}"


def _call(name: str, status: str, result: str, *, sub: bool = False) -> str:
    lines = result.split("\n")
    more = f"\n[{len(lines) - _RESULT_LINES} more lines]" if len(lines) > _RESULT_LINES else ""
    body = "\n".join(line[:500] for line in lines[:_RESULT_LINES])
    about = f"{name} ({status})" if status else name
    return f"{'####' if sub else '###'} {about}\n\n{fenced(body + more)}"


def fenced(text: str) -> str:
    """A text as a code block that it cannot break out of."""
    shown = visible(text, keep="\n\t")
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{shown}\n{fence}"


def heading(prompt: Prompt) -> str:
    """The line under which an open question stands; its lenses and actions are found by it."""
    return f"### {prompt.id}: {visible(prompt.title)}"


def questions(prompts: Sequence[Prompt]) -> list[str]:
    """The open questions in full: what is approved here is never cut."""
    if not prompts:
        return []
    parts = [QUESTIONS]
    for prompt in prompts:
        answers = ", ".join(prompt.describe()["decisions"])
        parts += [heading(prompt), fenced(prompt.text)]
        parts.append(f"Answer by a code action here, or by the command turnstone.answer: {answers}.")
    return parts


def split(text: str) -> tuple[str, str]:
    """(all above the prompt section, the section with its mark). An absent mark: an empty section."""
    at = text.rfind(PROMPT_MARK)
    return (text[:at], text[at:]) if at >= 0 else (text, empty_section())


def empty_section() -> str:
    """A prompt section with nothing in it."""
    return f"{PROMPT_MARK}\n\n"


def prompt_of(text: str) -> str:
    """What the user wrote into the prompt section."""
    return split(text)[1][len(PROMPT_MARK) :].strip()
