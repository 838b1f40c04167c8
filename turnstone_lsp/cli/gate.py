"""`turnstone-lsp gate`: the command gate's verdicts, for scripts and for the curious. Nothing is executed."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

from turnstone_lsp.errors import ConfigError
from turnstone_lsp.process import gate_cli

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Print one JSON line of verdict for each command line."""
    if options.stdin:
        return gate_cli.main(sys.stdin, sys.stdout)
    if not options.line:
        raise ConfigError("Give a command line, or --stdin.")
    return gate_cli.main(io.StringIO(json.dumps(" ".join(options.line)) + "\n"), sys.stdout)
