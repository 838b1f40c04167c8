"""The way back from a change of ours that an editor put on top of the user's own typing."""

from __future__ import annotations

from turnstone_lsp.workspace import hunks


def without_ours(base: str, result: str, now: str) -> str | None:
    """`now` with our change (base -> result) taken back and the user's (result -> now) kept.

    None where the two touch the same lines: then nobody but the user can say what belongs to whom.
    """
    ours = hunks.between(result, base)
    theirs = hunks.between(result, now)
    for mine in ours:
        for other in theirs:
            if mine.start <= other.end and other.start <= mine.end:
                return None
    both = sorted((*ours, *theirs), key=lambda hunk: (hunk.start, hunk.end))
    return hunks.apply_hunks(result, both, range(len(both)))
