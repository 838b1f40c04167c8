"""The frames that server and host exchange: two lengths, a JSON object, and bytes (code, a page, output)."""

from __future__ import annotations

import json
import struct
from typing import Any

_SIZES = struct.Struct("!II")
LARGEST = 32 * 1024 * 1024
"""Bytes of a frame; nobody sends more."""

Header = dict[str, Any]


def pack(header: Header, body: bytes = b"") -> bytes:
    """A frame."""
    text = json.dumps(header).encode()
    return _SIZES.pack(len(text), len(body)) + text + body


class Unpacker:
    """Takes bytes as they come and gives whole frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Take bytes."""
        self._buffer += data

    def take(self) -> tuple[Header, bytes] | None:
        """The next frame, or None until more bytes have come. Raises ValueError for what is no frame."""
        start = _SIZES.size
        if len(self._buffer) < start:
            return None
        text, body = _SIZES.unpack_from(self._buffer)
        if text + body > LARGEST:
            raise ValueError("the frame is too large")
        end = start + text + body
        if len(self._buffer) < end:
            return None
        header = json.loads(self._buffer[start : start + text])
        if not isinstance(header, dict):
            raise ValueError("the frame has no header")  # noqa: TRY004 - one error for whatever is no frame
        content = bytes(self._buffer[start + text : end])
        del self._buffer[:end]
        return header, content
