"""What of a long page the model reads."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from turnstone_lsp.web.excerpt import GAP, excerpt

WORDS = st.text(st.sampled_from("abc déßx日本\n\n "), max_size=4_000)


@settings(deadline=None)
@given(WORDS, st.text(max_size=60), st.integers(400, 6_000))
def test_it_fits_the_budget_keeps_the_order_and_counts_what_is_missing(text: str, question: str, budget: int) -> None:
    got, left_out = excerpt(text, question, budget)
    assert len(got.encode()) <= budget
    at = 0
    for piece in got.split(f"\n\n{GAP}\n\n"):
        for line in piece.removeprefix(f"{GAP}\n\n").removesuffix(f"\n\n{GAP}").split("\n\n"):
            found = text.find(line, at)
            assert found >= at or line == GAP
            at = max(found, at)
    assert left_out >= 0
    if len(text.encode()) <= budget:
        assert (got, left_out) == (text, 0)


def test_the_beginning_and_the_answer_are_kept() -> None:
    filler = "\n".join(f"Line {n} is about the weather." for n in range(2_000))
    text = f"Handbook\n{filler}\nGallium melts at 29.76 degrees.\n{filler}\nThe end."
    got, left_out = excerpt(text, "When does gallium melt?", 6_000)
    assert got.startswith("Handbook\nLine 0 ")
    assert "Gallium melts at 29.76 degrees." in got
    assert GAP in got
    assert left_out > 50_000


def test_a_budget_of_one_screen_still_holds_something() -> None:
    got, _ = excerpt("日本語" * 10_000, "?", 1_000)
    assert got.startswith("日本語")
