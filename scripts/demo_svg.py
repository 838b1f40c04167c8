"""Draws docs/demo.svg from a real run of `turnstone-lsp demo` on a pseudo-terminal."""

from __future__ import annotations

import html
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

COLOURS = {"31": "#f38ba8", "32": "#a6e3a1", "33": "#f9e2af", "36": "#89dceb", "2": "#7f849c", "1": "#ffffff"}
SGR = re.compile(r"\x1b\[([0-9;]*)m")
WIDTH, LINE, LEFT = 860, 17, 16


def record() -> str:
    """The demo's output with its colours."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "turnstone_lsp", "demo"]
    env = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, env=env) as process:
        os.close(slave)
        parts = []
        try:
            while data := os.read(master, 65536):
                parts.append(data)
        except OSError:
            pass
        process.wait()
    return b"".join(parts).decode("utf-8").replace("\r\n", "\n")


def spans(line: str, colour: str) -> tuple[str, str]:
    """One line as tspans, and the colour in force at its end."""
    out, at = [], 0
    for found in [*SGR.finditer(line), None]:
        text = line[at : found.start() if found else len(line)]
        if text:
            out.append(f'<tspan fill="{colour}">{html.escape(text)}</tspan>')
        if found:
            at = found.end()
            colour = next((COLOURS[c] for c in found.group(1).split(";") if c in COLOURS), "#cdd6f4")
    return "".join(out), colour


def main() -> None:
    """Write the picture."""
    text = re.sub(r"/\S*turnstone-demo-\w+/project", "~/demo", record()).rstrip("\n")
    colour, rows = "#cdd6f4", []
    for number, line in enumerate(text.split("\n")):
        row, colour = spans(line[:118], colour)
        rows.append(f'<text x="{LEFT}" y="{40 + number * LINE}" xml:space="preserve">{row}</text>')
    height = 60 + len(rows) * LINE
    style = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12.5px"
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="A turn of turnstone-lsp in a terminal">'
        f'<rect width="100%" height="100%" rx="8" fill="#1e1e2e"/><g style="{style}">{"".join(rows)}</g></svg>\n'
    )
    target = Path(__file__).resolve().parent.parent / "docs" / "demo.svg"
    target.write_text(svg, "utf-8")
    print(target)


if __name__ == "__main__":
    main()
