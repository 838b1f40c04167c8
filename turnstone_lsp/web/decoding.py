"""From bytes on the wire to text: bounded inflating, and charsets from a list.

httpx's own decoding has no limit: one megabyte of gzip can be a gigabyte of zeros.
"""

from __future__ import annotations

import re
import zlib

from turnstone_lsp.web.errors import WebError

_GZIP_OR_ZLIB = 47
_RAW = -15
_GZIP_MAGIC = b"\x1f\x8b"
_MAX_MEMBERS = 16
_NOT_COMPRESSED = "The page is not compressed as its server says. Use another page."

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9._:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._:-]{1,40})[\"']", re.IGNORECASE)
_LOOKED_AT = 4_096

_CODECS = (
    {
        "utf-8": "utf-8 utf8 unicode-1-1-utf-8",
        "utf-16": "utf-16 utf16 unicode",
        "utf-16-le": "utf-16le",
        "utf-16-be": "utf-16be",
        "utf-32": "utf-32 utf32",
        "cp1252": "us-ascii ascii iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1 windows-1252 cp1252 x-cp1252",
        "gb18030": "gb18030 gbk gb2312 gb_2312-80 x-gbk cp936",
        "big5hkscs": "big5 big5-hkscs x-x-big5 cn-big5",
        "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms_kanji",
        "euc_jp": "euc-jp x-euc-jp",
        "iso2022_jp": "iso-2022-jp",
        "cp949": "euc-kr ks_c_5601-1987 ksc5601 windows-949 korean",
        "koi8_r": "koi8-r koi8",
        "koi8_u": "koi8-u koi8-ru",
        "mac_roman": "macintosh mac x-mac-roman",
        "mac_cyrillic": "x-mac-cyrillic",
        "cp866": "ibm866 cp866 866",
        "cp874": "windows-874 tis-620 iso-8859-11",
        "cp1254": "iso-8859-9 latin5 windows-1254 cp1254",
    }
    | {
        f"iso8859_{part}": f"iso-8859-{part} iso8859-{part} iso_8859-{part}"
        for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)
    }
    | {f"cp{page}": f"windows-{page} cp{page} x-cp{page}" for page in (1250, 1251, 1253, 1255, 1256, 1257, 1258)}
)
"""Codec of Python -> the labels that mean it, after the WHATWG encoding standard.

A list, because a label is a stranger's text and `codecs.lookup` also finds codecs that inflate or run code on bytes.
"""
_LABELS = {label: codec for codec, labels in _CODECS.items() for label in labels.split()}


class Inflater:
    """Bytes as they come, decoded into `data`, never more than `limit` of them; `full` when there were more."""

    def __init__(self, encoding: str, limit: int) -> None:
        self.data = bytearray()
        self.full = False
        self._encoding = encoding
        self._limit = limit
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._members = 0

    def feed(self, part: bytes) -> None:
        """Add a piece of the body. Raises WebError for bytes that are not in the named encoding."""
        while part and not self.full:
            room = self._limit + 1 - len(self.data)
            if self._encoding:
                self.data += self._inflate(part, room)
                part = self._stream.unconsumed_tail or self._next_member()
            else:
                self.data += part[:room]
                part = b""
            self.full = len(self.data) > self._limit
        del self.data[self._limit :]

    def finish(self) -> None:
        """The body has ended: raises WebError if the compressed stream has not."""
        if self._members and not self._stream.eof:
            raise WebError("The page arrived incomplete. Try again or use another page.")

    def _inflate(self, part: bytes, room: int) -> bytes:
        first = not self._members
        self._members = self._members or 1
        try:
            return self._stream.decompress(part, room)
        except zlib.error:
            if not first or self._encoding != "deflate":
                raise WebError(_NOT_COMPRESSED) from None
        self._stream = zlib.decompressobj(_RAW)  # some servers mean the bare stream by "deflate"
        try:
            return self._stream.decompress(part, room)
        except zlib.error:
            raise WebError(_NOT_COMPRESSED) from None

    def _next_member(self) -> bytes:
        """A gzip file may have several members; whatever else follows one is ignored."""
        rest = self._stream.unused_data
        if not (self._stream.eof and rest.startswith(_GZIP_MAGIC) and self._members < _MAX_MEMBERS):
            return b""
        self._members += 1
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        return rest


def charset(body: bytes, named: str, media_type: str) -> str:
    """The codec to read a body with: byte-order mark, the header's label, the document's own, UTF-8."""
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return codec
    if codec := _LABELS.get(named.strip().lower(), ""):
        return codec
    head = body[:_LOOKED_AT]
    declared = _XML.search(head) or (_META.search(head) if is_html(body, media_type) else None)
    codec = _LABELS.get(declared[1].decode("ascii").lower(), "") if declared else ""
    return "utf-8" if not codec or codec.startswith("utf-16") else codec  # what could be read is not UTF-16


def decode(body: bytes, codec: str) -> str:
    """The text; what cannot be read becomes U+FFFD."""
    return body.decode(codec, "replace").removeprefix("\ufeff")


def is_html(body: bytes, media_type: str) -> bool:
    """By the named type; by its beginning when the server named none or calls everything plain text."""
    if media_type in {"text/html", "application/xhtml+xml", "application/xhtml"}:
        return True
    start = body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return not media_type and start.startswith((b"<!doctype html", b"<html", b"<head", b"<body"))


def is_binary(body: bytes, codec: str) -> bool:
    """NUL bytes at the beginning, where the charset has none."""
    return not codec.startswith(("utf-16", "utf-32")) and b"\0" in body[:_LOOKED_AT]
