"""The best split on Explore is offered where it brings what the page is about."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from ui.explore import later, remedy
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


def chosen(*shares: str) -> Settings:
    """The front page with another split, and the c that goes with it."""
    parts = tuple(map(Decimal, shares))
    return replace(START, split=from_shares(Decimal(1), parts)).settled()


def found_from(settings: Settings) -> later.Best:
    return later._best(compute(settings, TableSource(PUBLIC)))


def test_a_split_is_offered_that_loses_no_effect():
    """One that was a quarter shorter lost four."""
    best = found_from(chosen("0.63", "0.34", "0.03"))
    assert best.split is not None
    assert (best.more, best.gain > 0.1) == (0, True)
    there = compute(replace(START, split=best.split).settled(), TableSource(PUBLIC))
    assert not there.drawn[0].forecast.is_not_reportable[:-1].any()


def test_the_best_split_has_the_penalty_that_goes_with_it():
    """With hardly anything for the coefficients c is a hundred times as large; at that c no split
    brings anything within reach, and so it was said of all splits.
    """
    settings = chosen("0.005", "0.745", "0.25")
    assert settings.c > 50 * START.settled().c
    view = compute(settings, TableSource(PUBLIC))
    assert view.drawn[0].forecast.is_not_reportable.all()
    best = later._best(view)
    assert best.more == 7
    assert best.split is not None
    assert remedy.sentence(view) == (
        "Another split helps: half of the budget for the coefficients and a quarter for each "
        "matrix lets them be reported."
    )


@pytest.mark.parametrize("shares", [("0.1", "0.65", "0.25"), ("0.005", "0.745", "0.25")])
def test_the_best_split_is_the_best_also_from_there(shares):
    """Taking it led to the next offer, and that to another."""
    best = found_from(chosen(*shares))
    assert best.split is not None
    again = found_from(replace(START, split=best.split).settled())
    assert again.split is None
    assert "best split" in again.words


def test_with_a_locked_part_the_best_split_keeps_it():
    settings = chosen("0.1", "0.65", "0.25")
    split = replace(settings.split, locked=(False, True, False))
    best = found_from(replace(settings, split=split).settled())
    assert best.split is None or best.split.parts[1] == split.parts[1]
