"""turnstone-lsp: a language server that carries a tool-using AI agent."""

__version__ = "0.1.0"
