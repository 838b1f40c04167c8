"""Encodings that the user declares for files, by glob: the setting edits.encodings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from turnstone_lsp.workspace import codec, globs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Declared:
    """The setting, and the roots below which its globs count; outside of them they are about whole paths."""

    def __init__(self, encodings: Mapping[str, str], roots: Sequence[str]) -> None:
        self._codecs = [(glob, name) for glob, given in encodings.items() if (name := codec.normalise(given))]
        self._roots = sorted((os.path.join(root, "") for root in roots), key=len, reverse=True)  # noqa: PTH118 - prefixes

    def __bool__(self) -> bool:
        return bool(self._codecs)

    def encoding(self, path: str) -> str | None:
        """The Python codec declared for an absolute path by the first glob that matches; None without one."""
        if not self._codecs:
            return None
        relative = next((path[len(root) :] for root in self._roots if path.startswith(root)), path.lstrip(os.sep))
        relative = relative.replace(os.sep, "/")
        return next((name for glob, name in self._codecs if globs.matches(glob, relative)), None)
