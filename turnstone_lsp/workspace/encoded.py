"""A text on its way to a file: its bytes piece by piece, so that a large file is never in memory twice."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnstone_lsp.workspace import codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turnstone_lsp.workspace.snapshot import TextFormat

_PIECE = 1 << 18
"""Characters at a time: what stays in the processor's cache between encoding, comparing and writing."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """The bytes of a text in a file's format; can be gone through more than once.

    Going through it raises ToolError, naming the character, where the encoding lacks one.
    """

    text: str
    form: TextFormat
    name: str

    def __iter__(self) -> Iterator[bytes]:
        if self.form.bom:
            yield self.form.bom
        if len(self.text) <= _PIECE:
            yield codec.encode(self.text, self.form, self.name)[len(self.form.bom) :]
            return
        encoder = codecs.getincrementalencoder(self.form.encoding)()
        for at in range(0, len(self.text), _PIECE):
            piece = self.text[at : at + _PIECE]
            try:
                yield encoder.encode(piece, at + _PIECE >= len(self.text))
            except UnicodeEncodeError:
                codec.encode(self.text, self.form, self.name)  # raises, with the line's number in the whole text
                raise

    def check(self) -> None:
        """Raise ToolError when the text cannot be encoded."""
        if self.form.encoding == "utf-8" and self.text.isascii():
            return
        for _ in self:
            pass


def holds(descriptor: int, pieces: Iterable[bytes]) -> bool:
    """Whether an open file has exactly these bytes."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    for piece in pieces:
        found = os.read(descriptor, len(piece))
        while len(found) < len(piece) and (more := os.read(descriptor, len(piece) - len(found))):
            found += more
        if found != piece:
            return False
    return not os.read(descriptor, 1)
