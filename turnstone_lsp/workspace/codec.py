"""Bytes to text and back without loss: BOM, encoding and line endings are found, kept, and never guessed."""

from __future__ import annotations

import codecs
import re

from turnstone_lsp.errors import ToolError
from turnstone_lsp.workspace import binary
from turnstone_lsp.workspace.snapshot import TextFormat

_BOMS: tuple[tuple[bytes, str], ...] = (
    # UTF-32 first: its little-endian BOM begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAME = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Codecs that add or drop a BOM by themselves, as the codec that leaves it to us."""
_NOT_FOR_FILES = frozenset({"unicode_escape", "raw_unicode_escape", "idna", "punycode", "utf-7", "undefined", "mbcs"})
_CODING = re.compile(rb"coding[:=][ \t]*([-\w.]+)")
"""PEP 263; Emacs' -*- coding: ... -*- has the same form."""
_VIM = re.compile(rb"\bvim?:.*\b(?:fileencoding|fenc)=([-\w]+)")


def find_bom(head: bytes) -> tuple[str, bytes]:
    """The (encoding, BOM) that the first four bytes announce; ("", b"") without one."""
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding, bom
    return "", b""


def normalise(name: str) -> str | None:
    """The Python codec for an encoding's name, in one spelling; None when there is none that suits files."""
    try:
        found = codecs.lookup(name.strip()).name
        "".encode(found)  # refuses codecs that are not text encodings, like base64
    except (LookupError, ValueError, UnicodeError):
        return None
    if found.replace("-", "_") in _NOT_FOR_FILES or found in _NOT_FOR_FILES:
        return None
    return _SAME.get(found, found)


def coding_line(data: bytes) -> str | None:
    """The encoding that a file's own text declares: PEP 263 or Emacs in the first two lines, a vim modeline in the
    first or last five.
    """
    first = data[:2048].split(b"\n", 5)[:5]
    for line in first[:2]:
        if found := _CODING.search(line):
            return normalise(found[1].decode("ascii", "replace"))
    last = data[-2048:].rstrip(b"\n").split(b"\n")[-5:]
    for line in (*first, *last):
        if found := _VIM.search(line):
            return normalise(found[1].decode("ascii", "replace"))
    return None


def dominant_eol(text: str, default: str = "\n") -> str:
    r"""The line ending used most often; of equals, the first of \n, \r\n, \r. `default` for a text without any."""
    crlf = text.count("\r\n") if "\r" in text else 0
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf if crlf or "\r" in text else 0}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else default


def find_format(data: bytes, declared: str | None) -> tuple[str, bytes]:
    """The (encoding, BOM) of a file: its BOM, else what was declared for it, else its coding line, else UTF-8.

    Only the beginning and the end of `data` are looked at.
    """
    encoding, bom = find_bom(data[:4])
    return encoding or declared or coding_line(data) or "utf-8", bom


def check_text(name: str, head: bytes, size: int, encoding: str) -> None:
    """Raise ToolError, with size and kind, when a file's first bytes are not text of that encoding."""
    if not encoding.startswith(("utf-16", "utf-32")) and binary.is_binary(head):
        raise ToolError(binary.refusal(name, head, size))


def undecodable(name: str, encoding: str, position: int, byte: int) -> ToolError:
    """The error for bytes that are not of the file's encoding."""
    return ToolError(
        f"{name} is not valid {encoding}: byte 0x{byte:02x} at offset {position:,}. If it has another encoding, "
        'declare it in the setting edits.encodings (for example {"legacy/**" = "latin-1"}) or as charset in '
        ".editorconfig, then read it again. The file was not changed."
    )


def decode(data: bytes, name: str, declared: str | None = None) -> tuple[str, TextFormat]:
    """A file's text and how its bytes carry it.

    Args:
        data: The whole file.
        name: How to call it in an error.
        declared: The encoding declared for it, as `normalise` spells it.

    Raises:
        ToolError: It is binary, or not valid in its encoding, or would not come back byte for byte.
    """
    encoding, bom = find_format(data, declared)
    check_text(name, data[: binary.SNIFF_BYTES], len(data), encoding)
    body = memoryview(data)[len(bom) :]
    try:
        text = str(body, encoding)
    except UnicodeDecodeError as error:
        raise undecodable(name, encoding, len(bom) + error.start, body[error.start]) from None
    if encoding != "utf-8" and not _comes_back(text, encoding, body):
        raise ToolError(
            f"{name} cannot be kept byte for byte in {encoding}, so it is neither shown nor edited. Declare the right "
            "encoding in the setting edits.encodings. The file was not changed."
        )
    return text, TextFormat(encoding, bom, dominant_eol(text))


def _comes_back(text: str, encoding: str, body: memoryview) -> bool:
    try:
        return text.encode(encoding) == body
    except UnicodeEncodeError:
        return False


def encode(text: str, form: TextFormat, name: str) -> bytes:
    """A text as the bytes of its file. Raises ToolError naming the first character that the encoding lacks."""
    try:
        return form.bom + text.encode(form.encoding)
    except UnicodeEncodeError as error:
        char = text[error.start]
        line = text.count("\n", 0, error.start) + 1
        if "\ud800" <= char <= "\udfff":
            what = f"a lone surrogate (U+{ord(char):04X}), which is half a character and cannot be stored"
        else:
            what = f"{char!r} (U+{ord(char):04X}), which {form.encoding}, the encoding of {name}, does not have"
        raise ToolError(f"Line {line} of the new text for {name} has {what}. Nothing was written.") from None
