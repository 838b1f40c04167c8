"""Editor: what the engine asks of whoever holds documents open. `lsp` implements it; without one nothing is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from turnstone_lsp.workspace.documents import OpenDocument


class Editor(Protocol):
    """The holder of open documents. Whatever it answers, the caller compares the text afterwards."""

    def can_apply(self) -> str | None:
        """None when edits of open documents can be applied; else the reason why not, for the user and the model."""
        ...

    def apply(self, document: OpenDocument, base: str, result: str, label: str) -> Awaitable[str | None]:
        """Replace `base` by `result` in an open document as one undo step, smallest changes only.

        Returns None when the editor said that it did it, else its reason.
        """
        ...

    def save(self, path: Path) -> Awaitable[bool]:
        """Have the editor save an open document. False when it cannot be asked to."""
        ...


class NoEditor:
    """No editor: no document is ever open."""

    def can_apply(self) -> str | None:
        """See Editor."""
        return "no editor is connected"

    async def apply(self, document: OpenDocument, base: str, result: str, label: str) -> str | None:
        """See Editor."""
        del document, base, result, label
        return self.can_apply()

    async def save(self, path: Path) -> bool:
        """See Editor."""
        del path
        return False
