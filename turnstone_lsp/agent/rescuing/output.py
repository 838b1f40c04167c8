"""What an output comes to: its text and reasoning as they become certain, and its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnstone_lsp.agent.rescuing.blocks import Call

Piece = tuple[str, str]
"""("content", text), ("reasoning", text), or ("discard", ""): the content so far was reasoning, and follows as such."""

_LINE = 200
"""Characters of the current line that are kept."""


class Output:
    """Gathers content, reasoning and calls. Blanks at the end of the content wait for what follows them."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.line = ""
        """What was read of the current line already."""
        self._pieces: list[Piece] = []
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._blank = ""
        self._removed = False
        self._section = False

    @property
    def fresh(self) -> bool:
        """Nothing was said yet."""
        return not self._content

    def show(self, text: str) -> None:
        """More text of the answer."""
        if not text:
            return
        self.line = text.rpartition("\n")[2] if "\n" in text else (self.line + text)[-_LINE:]
        whole = self._blank + text
        if self._removed and not self._content:
            whole = whole.lstrip()
        shown = whole.rstrip()
        self._blank = whole[len(shown) :]
        if shown:
            self._content.append(shown)
            self._pieces.append(("content", shown))

    def think(self, text: str) -> None:
        """More reasoning."""
        if self._section and self._reasoning:
            if not text.strip():
                return  # blanks before a new thought are no part of it, whole or in pieces
            text = "\n" + text.lstrip()
        if text.strip():
            self._section = False
        if text:
            self._reasoning.append(text)
            self._pieces.append(("reasoning", text))

    def removed(self) -> None:
        """Something was taken out here: the blanks around the content are then no part of it."""
        self._removed = True

    def new_thought(self) -> None:
        """The reasoning that follows begins on a line of its own."""
        self._section = True

    def new_paragraph(self) -> None:
        """The content that follows begins a paragraph."""
        if self._content:
            self._blank = self._blank or "\n\n"

    def all_was_reasoning(self) -> None:
        """The end of reasoning whose beginning was not seen: what was said so far was reasoning."""
        if self._content and not self.calls and not self._reasoning:
            text = "".join(self._content)
            self._content.clear()
            self._pieces.append(("discard", ""))
            self.think(text)
        self._blank = ""

    def take(self) -> list[Piece]:
        """The pieces that are new since the last time."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def result(self) -> dict[str, Any]:
        """Everything, at the end."""
        content = "".join(self._content)
        if self._removed:
            content = content.strip()
        elif self._blank:
            content += self._blank
            self._pieces.append(("content", self._blank))
            self._blank = ""
        return {"content": content, "reasoning": "".join(self._reasoning).strip(), "tool_calls": self.calls}
