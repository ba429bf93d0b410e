"""The best split on Explore is offered where it brings what the page is about."""

from __future__ import annotations

from ui.explore import later
from ui.session.compute import PUBLIC, TableSource, compute
from ui.session.settings import Settings


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
