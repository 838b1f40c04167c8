"""What the connected client can do, read from its capabilities once."""

from __future__ import annotations

from dataclasses import dataclass
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
    can_confirm_edits: bool = False
    show_document: bool = False
    work_done_progress: bool = False
    code_lens_refresh: bool = False
    speaks: Speaks = Speaks()

    @classmethod
    def of(cls, params: InitializeParams) -> Client:
        """From the initialize request."""
        capabilities = params.capabilities
        workspace, window = capabilities.workspace, capabilities.window
        edit = workspace.workspace_edit if workspace else None
        lens = workspace.code_lens if workspace else None
        return cls(
            name=params.client_info.name if params.client_info else "",
            can_apply_edit=bool(workspace and workspace.apply_edit),
            document_changes=bool(edit and edit.document_changes),
            can_confirm_edits=bool(edit and edit.document_changes and edit.change_annotation_support),
            show_document=bool(window and window.show_document and window.show_document.support),
            work_done_progress=bool(window and window.work_done_progress),
            code_lens_refresh=bool(lens and lens.refresh_support),
            speaks=Speaks.of(capabilities.experimental),
        )
