"""Settings: what they are (`settings`), where they come from (`load`), and our own folders (`folders`)."""

from turnstone_lsp.config.settings import Settings

__all__ = ["Settings"]
