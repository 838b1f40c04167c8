"""The commands and their options."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from turnstone_lsp import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_CODES = """\
exit codes:
  0    done
  1    failed: the model, a tool or a check; the reason is on stderr
  2    wrong usage or settings
  3    something was denied, because nobody could be asked or somebody said no
  4    a limit was reached (rounds, minutes, tokens, length)
  130  stopped by Ctrl-C
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="turnstone-lsp",
        description="A language server that runs a tool-using AI agent, and the same agent in a terminal.",
        epilog="Without a command it serves LSP over stdio, as editors start it.\n\n" + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"turnstone-lsp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    commands.add_parser("serve", help="serve LSP over stdio (the default)").add_argument(
        "--stdio", action="store_true", help="accepted for editors that pass it; stdio is the only transport"
    )

    ask = commands.add_parser("ask", help="ask the agent, here in the terminal")
    ask.add_argument("text", nargs="*", help="the request; text piped into stdin is added as context")
    _common(ask)
    ask.add_argument("--model", help="model name")
    ask.add_argument("--base-url", help="OpenAI-compatible endpoint, e.g. http://localhost:11434/v1")
    ask.add_argument("--mode", choices=["ask", "edit", "plan", "auto"], help="what runs without a question")
    ask.add_argument("--session", metavar="ID", help="go on with an earlier session; 'last' for the newest here")

    tool = commands.add_parser("tool", help="run one tool exactly as a model's call would")
    tool.add_argument("name", nargs="?", help="bash, read_file, write_file, edit_file, search, math, man, ...")
    tool.add_argument("arguments", nargs="?", help="a JSON object, or a bare string for the tool's primary argument")
    tool.add_argument("--stdin", action="store_true", help='take calls as JSON lines {"name", "arguments"}')
    _common(tool)

    gate = commands.add_parser("gate", help="say what the command gate thinks of command lines; runs nothing")
    gate.add_argument("--stdin", action="store_true", help="take command lines from stdin, print JSON lines")
    gate.add_argument("line", nargs="*", help="one command line")

    sessions = commands.add_parser("sessions", help="list, show, export or delete conversations")
    sessions.add_argument(
        "action", nargs="?", default="list", choices=["list", "show", "export", "rename", "fork", "delete"]
    )
    sessions.add_argument("id", nargs="?")
    sessions.add_argument("title", nargs="?", help="the new title, for rename")
    sessions.add_argument("--json", action="store_true", help="JSON instead of text")
    sessions.add_argument("--all", action="store_true", help="of all folders, not only this one")

    memories = commands.add_parser("memories", help="list, set or delete what the agent remembers")
    memories.add_argument("action", nargs="?", default="list", choices=["list", "set", "delete"])
    memories.add_argument("key", nargs="?")
    memories.add_argument("value", nargs="?")
    memories.add_argument("--json", action="store_true", help="JSON instead of text")

    doctor = commands.add_parser("doctor", help="check everything that can be set up wrong, and say how to mend it")
    doctor.add_argument("--json", action="store_true", help="JSON instead of text")
    demo = commands.add_parser("demo", help="a full turn on a small broken project, with a scripted model")
    demo.add_argument("--keep", action="store_true", help="keep the project folder and say where it is")
    path = commands.add_parser("path", help="print the folder of something shipped with the package")
    path.add_argument("what", choices=["neovim", "tools", "config", "state"])
    return parser


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="approve everything that no rule or guard forbids")
    parser.add_argument("--trust", action="store_true", help="trust this folder: read its AGENTS.md")
    parser.add_argument("--json", action="store_true", help="JSON lines instead of text")
    parser.add_argument(
        "--cwd", type=Path, default=None, metavar="DIR", help="the folder to work in (default: this one)"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.command is None and sys.stdin is not None and sys.stdin.isatty():
        # a person at a terminal, not an editor: nothing useful would come over the keyboard
        print(
            'Editors start turnstone-lsp. Here, try: turnstone-lsp ask "what does this project do?"\n', file=sys.stderr
        )
        parser.print_help(sys.stderr)
        return 2
    if options.command in (None, "serve"):
        from turnstone_lsp.lsp.server import main as serve

        return serve()
    from turnstone_lsp.errors import TurnstoneError

    command = importlib.import_module(f"turnstone_lsp.cli.{options.command}")
    try:
        return int(command.run(options))
    except TurnstoneError as error:
        print(f"turnstone-lsp: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130
