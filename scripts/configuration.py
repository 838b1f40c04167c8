"""Write docs/configuration.md and turnstone_lsp/config/help.py from the settings' own help texts.

Run by hand after a setting was changed; a test fails while the two files are out of step.
"""

from __future__ import annotations

import ast
import dataclasses
import textwrap
from pathlib import Path

from turnstone_lsp.config.load import ENVIRONMENT, HARMLESS, NARROWING_FILE
from turnstone_lsp.config.settings import Rule, Settings

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "configuration.md"
HELP = ROOT / "turnstone_lsp" / "config" / "help.py"
WIDTH = 120

INTRODUCTION = """\
# Settings

Made by `scripts/configuration.py` from `turnstone_lsp/config/settings.py`; change the help there.

Order, the later wins: defaults, your file `~/.config/turnstone-lsp/config.toml` (the place differs by system;
`turnstone-lsp doctor` shows it, `TURNSTONE_CONFIG` names another), the environment, and what your editor sends as
`initializationOptions` (the same names, nested, in snake_case or camelCase).

The file must be yours and not writable by others. Nothing is read from a project: a project's settings as the editor
reports them (`workspace/configuration`) can change these and nothing else: {harmless}.
A file `{narrowing}` in a trusted project can add deny and ask rules and nothing else.

`turnstone-lsp doctor` shows every setting with its value and where it was set, keys never.

## Environment

| variable | setting |
| --- | --- |
{environment}
| `TURNSTONE_` and a setting's name in capitals, e.g. `TURNSTONE_LIMITS_ROUNDS` | that setting |
| `TURNSTONE_CONFIG` | another settings file |
| `TURNSTONE_STATE_DIR` | another folder for sessions, memories and undo |
"""


def _help_texts() -> dict[str, dict[str, str]]:
    """Class name -> {field name -> the string under it; "" -> the class's own}."""
    tree = ast.parse((ROOT / "turnstone_lsp" / "config" / "settings.py").read_text("utf-8"))
    found: dict[str, dict[str, str]] = {}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        texts = {"": " ".join((ast.get_docstring(node) or "").split())}
        for item, following in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(item, ast.AnnAssign)
                and isinstance(item.target, ast.Name)
                and isinstance(following, ast.Expr)
                and isinstance(following.value, ast.Constant)
            ):
                texts[item.target.id] = " ".join(str(following.value.value).split())
        found[node.name] = texts
    return found


def rows() -> list[tuple[str, str, str]]:
    """(dotted name, default, help) of every setting; a section's own row has an empty default and no dot."""
    texts = _help_texts()
    found: list[tuple[str, str, str]] = []
    for outer in dataclasses.fields(Settings):
        value = getattr(Settings(), outer.name)
        if not dataclasses.is_dataclass(value):
            found.append((outer.name, _default(value), texts["Settings"].get(outer.name, "")))
            continue
        section = texts[type(value).__name__]
        found.append((f"[{outer.name}]", "", section[""]))
        found += [
            (f"{outer.name}.{inner.name}", _default(getattr(value, inner.name)), section.get(inner.name, ""))
            for inner in dataclasses.fields(value)
        ]
    return found


def _default(value: object) -> str:
    if value in (None, "", (), {}):
        return "not set"
    return str(value).lower() if isinstance(value, bool) else str(value)


def markdown() -> str:
    """The page."""
    environment = "\n".join(f"| `{name}` | `{setting}` |" for name, setting in ENVIRONMENT.items())
    harmless = ", ".join(f"`{name}`" for name in sorted(HARMLESS))
    top = INTRODUCTION.format(environment=environment, harmless=harmless, narrowing=NARROWING_FILE)
    lines = [top, "## General", "", "| setting | default | meaning |", "| --- | --- | --- |"]
    sections = []
    for name, default, text in rows():
        if name == "rules":
            continue
        if name.startswith("["):
            title = text.partition(": ")[2]
            sections += ["", f"## {name}", "", title[:1].upper() + title[1:], ""]
            sections += ["| setting | default | meaning |", "| --- | --- | --- |"]
        elif "." in name:
            sections.append(f"| `{name.partition('.')[2]}` | {default} | {text} |")
        else:
            lines.append(f"| `{name}` | {default} | {text} |")
    texts = _help_texts()["Rule"]
    about = texts[""].partition(": ")[2]
    rules = ["", "## [[rules]]", "", about[:1].upper() + about[1:], "", "| field | meaning |", "| --- | --- |"]
    rules += [f"| `{f.name}` | {texts.get(f.name, '')} |" for f in dataclasses.fields(Rule)]
    return "\n".join(lines + sections + rules) + "\n"


def module() -> str:
    """The help texts as a module, so that nothing parses source at run time."""
    lines = ['"""Help of each setting. Made by scripts/configuration.py; do not edit."""', "", "HELP = {"]
    for name, _, text in rows():
        if name.startswith("["):
            continue
        whole = f"    {_quoted(name)}: {_quoted(text)},"
        if len(whole) <= WIDTH:
            lines.append(whole)
            continue
        fits = len(_quoted(text)) <= WIDTH - 8
        pieces = [text] if fits else textwrap.wrap(text, WIDTH - 20, drop_whitespace=False)
        lines += [f"    {_quoted(name)}: (", *(f"        {_quoted(p)}" for p in pieces), "    ),"]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return (
        "'" + text.replace("'", "\\'") + "'"
        if '"' in text and "'" not in text
        else '"' + text.replace('"', '\\"') + '"'
    )


if __name__ == "__main__":
    DOCS.write_text(markdown(), "utf-8")
    HELP.write_text(module(), "utf-8")
