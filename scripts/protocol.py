"""Write docs/protocol.md from the descriptions in turnstone_lsp/lsp/messages.py and command_table.py.

Run by hand after a message or command was changed; a test fails while the page is out of step.
"""

from __future__ import annotations

import ast
import dataclasses
import typing
from pathlib import Path

from turnstone_lsp.agent import events
from turnstone_lsp.lsp import protocol
from turnstone_lsp.lsp.command_table import COMMANDS
from turnstone_lsp.lsp.messages import MESSAGES, RECORDS, Message

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "protocol.md"

INTRODUCTION = """\
# The protocol between editors and turnstone-lsp, version {version}

Made by `scripts/protocol.py` from `turnstone_lsp/lsp/messages.py` and `command_table.py`; change the texts there.

Everything runs over the Language Server Protocol on stdio. The [commands](#commands) work from any client, by
`workspace/executeCommand`. A client that shows turns itself says so in the capabilities of `initialize`:

```json
{{"experimental": {{"turnstone": {{"version": {version}, "updates": true, "approvals": true, "reviews": true}}}}}}
```

Each of the three may be left out. The server sends the [messages](#messages) below for those that are `true` and
another way of plain LSP for those that are not: questions by `window/showMessageRequest`, changes by annotated
`workspace/applyEdit`, code lenses and code actions, text by `$/progress` and the transcript. A version that the server
does not know counts as none.

`initializationOptions` holds the [settings](configuration.md), and beside them `trusted`: `true` or `false` where the
editor knows whether its user trusts the workspace. Where it is left out, the user is asked if anything is at stake.

## A turn

1. `turnstone.ask` is answered at once with the session's and the turn's id. While a turn runs, a further `ask` in its
   session is said to that turn.
2. `turnstone/update` brings the turn's events, from `running` to `idle`, which comes exactly once and says how the turn
   ended: `completed`, `cancelled`, `failed` or `limit`.
3. Calls that need an answer come as `turnstone/requestApproval`, changes of files as `turnstone/reviewEdits`. Any of
   these questions can be answered by `turnstone.answer` instead. The first answer counts; `turnstone/resolved` says
   that a question is settled. Nothing has been changed or run before the answer.
4. `turnstone.stop`, `window/workDoneProgress/cancel`, and `$/cancelRequest` for an `ask` with `wait` all end the turn.

Requests that the server withdraws get `$/cancelRequest`. An error as an answer to a question is no answer: the question
stays open, and is shown in the transcript.

The code action "Ask turnstone" runs, in a client with `updates`, the command `{client_ask}` with
`{{uri, range}}`. It is the client's own: it opens its prompt. Name your other commands differently from the server's,
since client libraries register those.

What is shown to the user is safe to show as plain text or Markdown: hidden and control characters are escapes, images
and HTML are taken out. `baseText`, `newText`, hunks and `arguments` are exact, and are data.
"""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _fields(record: protocol.Record) -> list[str]:
    if not record:
        return ["Nothing.", ""]
    lines = ["| field | type | meaning |", "| --- | --- | --- |"]
    for name, field in record.items():
        optional = " (optional)" if field.optional else ""
        kind = " or ".join(f"`{part}`" for part in field.type.replace('"', "").split("|"))
        lines.append(f"| `{name}` | {kind}{optional} | {_cell(field.about)} |")
    return [*lines, ""]


def _message(message: Message) -> list[str]:
    kind = "notification" if message.result is None else "request"
    direction = "server to client" if message.sender == "server" else "client to server"
    needs = f", for clients with `{message.needs}`" if message.needs else ""
    lines = [f"### {message.method}", "", f"A {kind}, {direction}{needs}.", "", message.about, ""]
    lines += ["Parameters:", "", *_fields(message.params)]
    if message.result is not None:
        lines += ["Result:", "", *_fields(message.result)]
    return lines


def _event_texts() -> dict[str, tuple[str, dict[str, str]]]:
    """Class name -> (its docstring, {field -> the string under it})."""
    tree = ast.parse((ROOT / "turnstone_lsp" / "agent" / "events.py").read_text("utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            under = {}
            for item, following in zip(node.body, node.body[1:], strict=False):
                if (
                    isinstance(item, ast.AnnAssign)
                    and isinstance(item.target, ast.Name)
                    and isinstance(following, ast.Expr)
                    and isinstance(following.value, ast.Constant)
                ):
                    under[item.target.id] = str(following.value.value)
            found[node.name] = (ast.get_docstring(node) or "", under)
    return found


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def _events() -> list[str]:
    texts = _event_texts()
    lines = [
        "## Events",
        "",
        "Every event has `seq` (its number), `sessionId` and `type`. Fields that are empty, null or false are left",
        "out, but for `text`, `state`, `status` and `result`.",
        "",
    ]
    for kind in typing.get_args(events.Event):
        about, under = texts[kind.__name__]
        name = kind.__name__[0].lower() + kind.__name__[1:]
        lines += [f"### {name}", "", about, "", "| field | type | meaning |", "| --- | --- | --- |"]
        for field in dataclasses.fields(kind):
            shown = str(field.type).replace("|", "or")
            lines.append(f"| `{_camel(field.name)}` | `{shown}` | {_cell(under.get(field.name, ''))} |")
        lines.append("")
    return lines


def _commands() -> list[str]:
    lines = [
        "## Commands",
        "",
        "By `workspace/executeCommand`. Each takes one object; a bare string stands for its first argument. Wrong",
        "arguments are answered with an error (-32602) that names them, other failures with -32803 and a sentence.",
        "",
    ]
    for name, command in COMMANDS.items():
        lines += [f"### {name}", "", command.about, ""]
        if command.arguments:
            lines += _fields(command.arguments)
        lines += [f"Answers {command.result}" if command.result[0] == "`" else f"Answers: {command.result}", ""]
    return lines


def markdown() -> str:
    """The page."""
    lines = [INTRODUCTION.format(version=protocol.VERSION, client_ask=protocol.CLIENT_ASK), "## Messages", ""]
    for message in MESSAGES:
        lines += _message(message)
    lines += _events()
    lines += _commands()
    lines += ["## Records", ""]
    for name, record in RECORDS.items():
        lines += [f"### {name}", "", *_fields(record)]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    DOCS.write_text(markdown(), "utf-8")
