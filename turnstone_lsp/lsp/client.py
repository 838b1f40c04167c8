"""What the connected client can do, read from its initialize request once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turnstone_lsp.lsp.protocol import Speaks

if TYPE_CHECKING:
    from lsprotocol.types import InitializeParams


@dataclass(frozen=True, slots=True)
class Client:
    """The client's abilities, as far as we use them."""

    name: str = ""
    can_apply_edit: bool = False
    document_changes: bool = False
    """It takes edits that name a document's version."""
    can_confirm_edits: bool = False
    """It shows annotated edits to the user before it applies them."""
    show_document: bool = False
    work_done_progress: bool = False
    code_lens: bool = False
    code_lens_refresh: bool = False
    configuration: bool = False
    """It answers workspace/configuration."""
    speaks: Speaks = field(default_factory=Speaks)

    @property
    def takes_typing(self) -> bool:
        """Its question box takes keys that the user meant for the text, so it must not offer a yes.

        Neovim's default box reads a leading number from whatever is typed: "3 + 4" picks the third action.
        """
        return self.name == "Neovim"

    @classmethod
    def of(cls, params: InitializeParams) -> Client:
        """From the initialize request."""
        capabilities = params.capabilities
        workspace, window, documents = capabilities.workspace, capabilities.window, capabilities.text_document
        edit = workspace.workspace_edit if workspace else None
        lens = workspace.code_lens if workspace else None
        name = params.client_info.name if params.client_info else ""
        # Neovim takes versioned edits though it does not say so, and must not get others.
        versioned = bool(edit and edit.document_changes) or name == "Neovim"
        return cls(
            name=name,
            can_apply_edit=bool(workspace and workspace.apply_edit),
            document_changes=versioned,
            can_confirm_edits=bool(versioned and edit and edit.change_annotation_support),
            show_document=bool(window and window.show_document and window.show_document.support),
            work_done_progress=bool(window and window.work_done_progress),
            code_lens=bool(documents and documents.code_lens),
            code_lens_refresh=bool(lens and lens.refresh_support),
            configuration=bool(workspace and workspace.configuration),
            speaks=Speaks.of(capabilities.experimental),
        )
