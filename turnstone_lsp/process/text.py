r"""Text on its way to an editor, a terminal or the model: nothing hidden, nothing that acts (C-18, C-19, C-23).

Terminal      a program's output as plain text, piece by piece: escape sequences and control characters removed
visible       what cannot be seen, or reorders what is seen, as \\u{...} escapes: for approvals, previews, headers
clean         a whole tool result at once: `Terminal`, and hidden text made visible
redact        known key values blackened
safe_markdown the model's Markdown without images, raw HTML and disguised links
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""C0 but tab and newline, DEL, C1."""
_CSI = re.compile(r"[ -?]*")
"""Parameters and intermediates; the final character follows."""
_STRING_END = re.compile(r"[\x07\x18\x1a\x1b\x9c\n]")
"""BEL, CAN, SUB, ESC, ST; and a newline, so that an unfinished sequence swallows one line at most."""
_STRING_STARTS = {"]", "P", "X", "^", "_", "\x9d", "\x90", "\x98", "\x9e", "\x9f"}
"""OSC, DCS, SOS, PM, APC: after ESC, or as one C1 character."""

_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
"""Characters with which text is hidden or reordered. The joiners of Persian, Indic scripts and emoji are not in it."""
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


class Terminal:
    """A program's output, as bytes decoded piece by piece, to plain text.

    ESC, CSI, OSC and the other sequences go, wherever pieces are cut; NUL separates and becomes a newline; a
    backspace takes back the character before it (`man`'s overstrikes). Carriage returns stay for whoever puts lines
    together.
    """

    def __init__(self) -> None:
        self._state = "text"

    def feed(self, text: str) -> str:
        """The plain text of the next piece."""
        if self._state == "text" and not _CONTROL.search(text):
            return text
        out: list[str] = []
        at = 0
        while at < len(text):
            at = getattr(self, f"_in_{self._state}")(text, at, out)
        return "".join(out)

    def _in_text(self, text: str, at: int, out: list[str]) -> int:
        found = _CONTROL.search(text, at)
        if not found:
            out.append(text[at:])
            return len(text)
        if found.start() > at:
            out.append(text[at : found.start()])
        char = found[0]
        if char == "\x1b":
            self._state = "escape"
        elif char == "\x9b":
            self._state = "csi"
        elif char in _STRING_STARTS:
            self._state = "string"
        elif char == "\r":
            out.append(char)
        elif char == "\0":
            out.append("\n")
        elif char == "\b" and out:
            out[-1] = out[-1][:-1] if out[-1][-1:] not in ("\n", "\r") else out[-1]
        return found.end()

    def _in_escape(self, text: str, at: int, out: list[str]) -> int:
        """After ESC: a CSI, a string, or a short sequence of intermediates (0x20-0x2f) and one final character."""
        char = text[at]
        if char == "[":
            self._state = "csi"
        elif char in _STRING_STARTS:
            self._state = "string"
        elif char == "\n":
            self._state = "text"
            out.append(char)
        elif not (" " <= char <= "/" or char == "\x1b"):
            self._state = "text"
        return at + 1

    def _in_csi(self, text: str, at: int, out: list[str]) -> int:  # noqa: ARG002 - one shape for all states
        end = _CSI.match(text, at).end()  # type: ignore[union-attr]  # the pattern matches the empty string
        if end == len(text):
            return end
        self._state = "text"
        return end + 1 if "@" <= text[end] <= "~" else end

    def _in_string(self, text: str, at: int, out: list[str]) -> int:
        found = _STRING_END.search(text, at)
        if not found:
            return len(text)
        self._state = "escape" if found[0] == "\x1b" else "text"
        if found[0] == "\n":
            out.append("\n")
        return found.end()


def last_of_line(line: str) -> str:
    """What a terminal shows of a line with carriage returns: the last thing written over it (progress bars)."""
    if "\r" not in line:
        return line
    return next((part for part in reversed(line.split("\r")) if part), "")


def clean(text: str) -> str:
    """A whole tool result as plain text: no control characters, progress lines collapsed, hidden text visible."""
    plain = Terminal().feed(text)
    if "\r" in plain:
        plain = "\n".join(last_of_line(line) for line in plain.split("\n"))
    return show_hidden(plain)


def show_hidden(text: str) -> str:
    r"""Characters that hide or reorder text as \\u{...}; letters, emoji and their joiners unchanged."""
    return text if text.isascii() else _HIDDEN.sub(lambda m: _escape(m[0]), text)


def visible(text: str, *, keep: str = "") -> str:
    r"""`text` for a human to approve: everything invisible as an escape, nothing removed.

    Every control, format, separator, unassigned, private-use or surrogate character and every blank other than the
    space becomes \u{hex}, a line break \n; the characters of `keep` stay. The result shows all that the text holds.
    """
    return _not_plain(keep).sub(_shown, text)


@cache
def _not_plain(keep: str) -> re.Pattern[str]:
    """Every character that has to be looked at: a megabyte of ordinary text must not hold up the event loop."""
    return re.compile(f"[^\\x20-\\x7e{re.escape(keep)}]")


def _shown(match: re.Match[str]) -> str:
    char = match[0]
    return char if is_visible(char) else _NAMED.get(char) or _escape(char)


def is_visible(char: str) -> bool:
    """True for the space and for characters that show themselves."""
    if " " <= char <= "~":
        return True
    if _HIDDEN.match(char) or "\ufe00" <= char <= "\ufe0e":
        return False
    return unicodedata.category(char)[0] not in "CZ"


def _escape(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def redact(text: str, secrets: Iterable[str]) -> str:
    """`text` with known key values blackened."""
    for secret in secrets:
        if secret and secret in text:
            text = text.replace(secret, "[key removed]")
    return text


# -- the model's Markdown

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_IMAGE = re.compile(r"!(?=\[)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+)>")
_LINK = re.compile(r"(?<!\\)\[((?:[^\[\]\\]|\\.)*)\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?[^()]*\)")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*\S")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def safe_markdown(text: str) -> str:
    """The model's Markdown as an editor may render it (C-19).

    Images become plain links, raw HTML is escaped, reference definitions are escaped, and a link keeps only an
    http(s) target, written out in full beside its text. Code blocks and code spans stay as they are, with hidden
    characters made visible like everywhere.
    """
    out: list[str] = []
    fence = ""
    for line in clean(text).split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            out.append(line)
        elif mark and not (mark[1][0] == "`" and "`" in line[mark.end() :]):
            fence = mark[1]
            out.append(line if re.fullmatch(r"\s*\S+\s*[\w+#.-]*\s*", line) else f"{line[: mark.end()]}")
        else:
            out.append(_safe_line(line))
    return "\n".join(out)


def _safe_line(line: str) -> str:
    done, at = [], 0
    for span in _CODE.finditer(line):
        done += [_safe_prose(line[at : span.start()]), span[0]]
        at = span.end()
    return "".join([*done, _safe_prose(line[at:])])


def _safe_prose(text: str) -> str:
    if _REFERENCE.match(text):
        text = text.replace("[", "\\[", 1)
    text = _IMAGE.sub("", text)
    text = _AUTOLINK.sub(lambda m: m[1], text)
    text = _LINK.sub(_safe_link, text)
    return _TAG.sub("&lt;", text)


def _safe_link(match: re.Match[str]) -> str:
    label, target = match[1], match[2]
    if not re.match(r"https?://[^/\s@]+(?:[/?#]|$)", target, re.IGNORECASE):
        return f"{label} ({target})" if target else label
    return f"[{label}]({target})" if label == target else f"[{label}]({target}) ({target})"
