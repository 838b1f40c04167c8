"""The command line: `turnstone-lsp serve | ask | tool | gate | doctor | demo | path`."""
