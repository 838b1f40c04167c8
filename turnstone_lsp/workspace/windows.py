"""Windows' special paths. Selected by platform; its rules are tested, but it was never run on Windows."""

from __future__ import annotations

import re

_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{kind}{digit}" for kind in ("com", "lpt") for digit in "123456789\u00b9\u00b2\u00b3"}
)


def refuse(text: str) -> str | None:
    """Why Windows would take this path for something else than it looks like; None when it would not (C-04)."""
    path = text.replace("/", "\\")
    if path.startswith(("\\\\?\\", "\\\\.\\", "\\??\\")):
        return "it is a device or verbatim path"
    if path.startswith("\\\\"):
        return "it is on another machine (UNC); map it to a drive"
    if re.match(r"[A-Za-z]:(?!\\)", path):
        return "it is relative to a drive's current folder"
    rest = path[2:] if re.match(r"[A-Za-z]:", path) else path
    for name in filter(None, rest.split("\\")):
        if name in (".", ".."):
            continue
        if ":" in name:
            return "it names an alternate data stream"
        if name.endswith((" ", ".")):
            return "a name ends in a blank or a dot, which Windows drops"
        if name.split(".")[0].strip().casefold() in _DEVICES:
            return f"{name} is a device"
        if re.search(r"~\d", name):
            return f"{name} may be a short (8.3) name; give the long one"
    return None
