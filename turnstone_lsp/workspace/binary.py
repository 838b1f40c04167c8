"""Telling binary files from text, and naming their kind."""

from __future__ import annotations

SNIFF_BYTES = 8192
"""A NUL among the first bytes makes a file binary (git's rule)."""

_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"BM", "bitmap image"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"\0\0\x01\0", "icon"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "zip archive (or an office document, jar, wheel)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xfd7zXZ\0", "xz archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "7-zip archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"MZ", "Windows program or library"),
    (b"\xca\xfe\xba\xbe", "Java class or macOS program"),
    (b"\xcf\xfa\xed\xfe", "macOS program or library"),
    (b"\xfe\xed\xfa\xcf", "macOS program or library"),
    (b"\0asm", "WebAssembly module"),
    (b"!<arch>\n", "static library"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"fLaC", "FLAC audio"),
    (b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
    (b"\0\x01\0\0", "font"),
    (b"OTTO", "font"),
    (b"\x80\x04\x95", "Python pickle"),
    (b"\x93NUMPY", "NumPy array"),
    (b"\x89HDF", "HDF5 data"),
    (b"PAR1", "Parquet data"),
)


def kind_of(head: bytes) -> str:
    """What a binary file's first bytes say that it is."""
    for magic, kind in _KINDS:
        if head.startswith(magic):
            return kind
    if head[:4] == b"RIFF":
        return {b"WEBP": "WebP image", b"WAVE": "WAV audio", b"AVI ": "AVI video"}.get(head[8:12], "RIFF media")
    if head[4:8] == b"ftyp":
        return "MP4 or HEIF media"
    if head[257:262] == b"ustar":
        return "tar archive"
    return "binary file"


def is_binary(head: bytes) -> bool:
    """True when the first bytes hold a NUL. UTF-16 and UTF-32 with a BOM must be told apart before."""
    return b"\0" in head[:SNIFF_BYTES]


def refusal(name: str, head: bytes, size: int) -> str:
    """Why a binary file is not shown as text."""
    kind = kind_of(head)
    article = "an" if kind[0] in "aeioAEIO" or kind.startswith(("MP", "HDF", "xz")) else "a"
    return f"{name} is not text: {article} {kind}, {size:,} bytes. Use bash with a tool for that kind of file."
