"""Raw model outputs and what they say: one module for each kind of notation. Written for these tests."""

from __future__ import annotations

from rescue_cases import bare, fences, harmony, hermes, prose, thinking, tokens, xml
from rescue_cases.case import NAMES, Case

CASES: list[Case] = [
    *hermes.CASES,
    *xml.CASES,
    *tokens.CASES,
    *bare.CASES,
    *fences.CASES,
    *harmony.CASES,
    *thinking.CASES,
    *prose.CASES,
]

__all__ = ["CASES", "NAMES", "Case"]
