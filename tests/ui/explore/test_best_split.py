"""The best split on Explore is offered where it brings what the page is about."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from ui.explore import later
from ui.session.budget import from_shares
from ui.session.compute import PUBLIC, TableSource, compute
from ui.session.settings import START, Settings


def test_no_split_is_praised_where_no_coefficient_comes_within_reach():
    """Shorter intervals that the page does not draw are no gain."""
    view = compute(Settings(target="unpenalised", mechanisms=("objective",)), TableSource(PUBLIC))
    assert view.drawn[0].forecast.is_not_reportable.all()
    best = later._best(view)
    assert best.split is None
    assert "within reach" in best.words


def test_a_split_that_shortens_what_is_drawn_is_offered():
    view = compute(Settings(mechanisms=("objective",)), TableSource(PUBLIC))
    best = later._best(view)
    assert best.split is not None
    assert best.gain > 0.0


def test_a_shorter_split_that_loses_an_effect_is_told_and_not_offered():
    """It was called “the best split, or as good” where another one was a quarter shorter."""
    shares = Decimal("0.63"), Decimal("0.34"), Decimal("0.03")
    settings = replace(START, split=from_shares(Decimal(1), shares))
    best = later._best(compute(settings, TableSource(PUBLIC)))
    assert best.split is None
    assert best.words == (
        "A split of 70/18/12 would be 27 % shorter, but could not report education num, "
        "hours per week and 2 more."
    )
