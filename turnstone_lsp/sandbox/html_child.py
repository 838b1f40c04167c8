"""How a held child turns HTML into text: readability for the main part, lxml for the walk."""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

_BLOCKS = frozenset(
    (
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "br",
            "dd",
            "div",
            "dl",
            "dt",
            "figcaption",
            "figure",
        ),
        *(
            "footer",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "header",
            "hr",
            "li",
            "main",
            "nav",
            "ol",
            "p",
        ),
        *(
            "pre",
            "section",
            "table",
            "td",
            "th",
            "tr",
            "ul",
        ),
    )
)
_DROPPED = frozenset(
    (
        *(
            "script",
            "style",
            "noscript",
            "template",
            "iframe",
            "object",
            "embed",
            "svg",
            "canvas",
            "form",
        ),
        *(
            "button",
            "input",
            "select",
        ),
    )
)
_SHORT = 200
"""Characters of the main part below which the whole body is taken instead."""


def prepare() -> None:
    """Import what a call needs."""
    import lxml.html
    import readability

    readability.Document("<html><body><p>warm</p></body></html>").summary()
    lxml.html.fromstring("<p>warm</p>")


def run(request: dict[str, Any]) -> int:
    """Write {"title", "text", "via"} as JSON."""
    import lxml.html
    import readability

    data = base64.b64decode(request["data"])
    source = data.decode(request.get("charset") or "utf-8", "replace")
    root = lxml.html.document_fromstring(source or "<p></p>")
    title = " ".join((root.findtext(".//title") or "").split())
    whole = _text(root)
    via, text = "body", whole
    try:
        main = lxml.html.fragment_fromstring(
            readability.Document(source).summary(html_partial=True), create_parent=True
        )
        part = _text(main)
        if len(part) >= _SHORT or len(part) > len(whole) // 2:
            via, text = "readability", part
    except Exception:  # noqa: BLE001 - readability gives up in many ways; the body still serves
        via = "body"
    sys.stdout.write(json.dumps({"title": title, "text": text, "via": via}))
    return 0


def _text(root: Any) -> str:
    """The visible text, blocks on lines of their own."""
    out: list[str] = []
    stack: list[Any] = [(root, False)]
    while stack:
        node, leaving = stack.pop()
        if isinstance(node, str):
            out.append(node)
            continue
        tag = node.tag if isinstance(node.tag, str) else ""
        if leaving:
            out.append("\n" if tag in _BLOCKS else "")
            continue
        if not tag or tag in _DROPPED:
            continue
        if tag in _BLOCKS:
            out.append("\n")
        out.append(node.text or "")
        stack.append((node, True))
        for child in reversed(node):
            if child.tail:
                stack.append((child.tail, False))
            stack.append((child, False))
    lines = (" ".join(line.split()) for line in "".join(out).split("\n"))
    return "\n".join(line for line in lines if line)
