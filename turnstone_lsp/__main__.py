"""`turnstone-lsp` and `python -m turnstone_lsp`."""

from __future__ import annotations

import sys

from turnstone_lsp.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
