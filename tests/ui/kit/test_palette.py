"""What has no colour of its own is drawn none the less."""

from __future__ import annotations

from ui.kit.palette import QUIET, Style
from ui.session.choices import ALL_COMBINATIONS, Combination


def test_a_name_without_a_colour_is_grey_and_keeps_its_word() -> None:
    for strange in (
        Combination("quarter", "objective", "logistic"),
        Combination("pure", "cautious", "logistic", "published"),
        Combination("pure", "output", "softplus"),  # type: ignore[arg-type]
    ):
        assert strange.style.colour == QUIET
        assert {"quarter", "cautious", "softplus"} & set(strange.words)
    assert Combination("quarter", "cautious", "logistic").style == Style(QUIET, "x", 0.55, "solid")


def test_what_has_a_colour_keeps_it() -> None:
    drawn = {(c.style.colour, c.style.marker) for c in ALL_COMBINATIONS}
    assert len(drawn) == len(ALL_COMBINATIONS) == 16
    assert QUIET not in {colour for colour, _ in drawn}
