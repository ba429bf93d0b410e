"""The best split on Explore is offered where it brings what the page is about."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest

from tests.ui.test_pages import check, now, start
from ui.explore import later, remedy
from ui.session.budget import from_shares
from ui.session.compute import PUBLIC, TableSource, compute
from ui.session.settings import START, Settings, from_query


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


def chosen(*shares: str, total: str = "1") -> Settings:
    """The front page with another split, and the c that goes with it."""
    split = from_shares(Decimal(total), tuple(map(Decimal, shares)))
    return replace(START, epsilon=total, split=split).settled()


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


def test_no_split_is_called_best_beside_a_remedy_that_names_another(monkeypatch):
    """At a typed c the shortest split reported three of six, and half and two quarters all."""
    settings = replace(chosen("0.1", "0.65", "0.25"), penalty="typed", c=START.c)
    short = SimpleNamespace(design=compute(settings, TableSource(PUBLIC)).drawn[0].forecast.design)
    monkeypatch.setattr(later, "best_split", lambda *_, **__: short)
    best = found_from(settings)
    assert best.split == from_shares(settings.split.total)
    assert best.gain > 0.5


@pytest.mark.parametrize("total", ["0.5", "1", "4"])
def test_the_best_split_is_the_same_wherever_one_looks_from(total):
    """Taking it led to the next offer, and that to another, which promised too much."""
    found = set()
    for shares in (("0.1", "0.65", "0.25"), ("0.005", "0.745", "0.25"), ("0.34", "0.33", "0.33")):
        settings = chosen(*shares, total=total)
        best = found_from(settings)
        assert best.split is not None
        found.add(best.split)
        there = replace(START, epsilon=total, split=best.split).settled()
        again = found_from(there)
        assert again.split is None
        assert again.words == "No split is better on average."
        (before, after) = (
            compute(one, TableSource(PUBLIC)).drawn[0].forecast for one in (settings, there)
        )
        relied = [
            int((~one.is_not_reportable & (one.coverage >= 0.94))[:-1].sum())
            for one in (before, after)
        ]
        assert best.more == relied[1] - relied[0] >= 0
        assert best.gain == pytest.approx(shorter(before, after))
    assert len(found) == 1


def test_the_best_split_has_a_forecast_that_can_be_believed():
    """“7 more can be relied on” led to a rough one: .4 % was left for the gradient covariance."""
    best = found_from(chosen("0.5", "0.25", "0.25", total="0.5"))
    there = replace(START, epsilon="0.5", split=best.split).settled()
    made = compute(there, TableSource(PUBLIC)).drawn[0].forecast
    assert made.validity.grade == "valid"
    assert not made.is_not_reportable.any()
    assert made.coverage[:-1].min() > 0.945


def test_a_gain_that_no_picture_shows_is_not_offered():
    """“2 % shorter” stood beside 1.01 times as long as without privacy, before and after."""
    best = found_from(chosen("0.5", "0.25", "0.25", total="2"))
    assert (best.split, best.words) == (None, "No split is better on average.")


def shorter(before, after) -> float:
    """Of the effects that both report, the share by which their intervals are shorter."""
    both = ~before.is_not_reportable & ~after.is_not_reportable
    both[-1] = False
    lengths = [float(one.ci_length[both].mean()) if both.any() else 1.0 for one in (before, after)]
    return 1.0 - lengths[1] / lengths[0]


def test_how_much_shorter_is_by_the_mean_length_of_what_is_shown():
    """A score that counts lacking coverage promised twice as much as the intervals gave, and the
    mean over all counts the constant, and what is not reported.
    """
    settings = chosen("0.34", "0.33", "0.33", total="2")
    best = found_from(settings)
    before, after = (
        compute(one, TableSource(PUBLIC)).drawn[0].forecast
        for one in (settings, replace(START, epsilon="2", split=best.split).settled())
    )
    assert best.gain == pytest.approx(shorter(before, after))
    assert best.gain != pytest.approx(1.0 - after.ci_length_mean / before.ci_length_mean)
    assert best.gain > 0.1


def test_with_a_locked_part_the_best_split_keeps_it():
    settings = chosen("0.1", "0.65", "0.25")
    split = replace(settings.split, locked=(False, True, False))
    best = found_from(replace(settings, split=split).settled())
    assert best.split is None or best.split.parts[1] == split.parts[1]


def test_a_locked_part_is_kept_on_the_way_to_a_forecast_that_can_be_believed():
    """What was tried there was in thousandths of the total, and had no locks."""
    settings = chosen("0.4", "0.43003", "0.16997", total="0.5")
    split = replace(settings.split, locked=(False, True, False), chosen=None)
    view = compute(replace(settings, split=split).settled(), TableSource(PUBLIC))
    tried = later._splits(view, view.drawn[0])
    assert "rough" in {made.validity.grade for made in tried.values()}
    assert {(one.locked, one.parts[1]) for one in tried} == {(split.locked, split.parts[1])}


STARVED = {
    "encoding": "schema",
    "d": "6",
    "target": "penalised",
    "split": "2~1.98~0.02",
    "penalty": "typed",
    "c": "0.001",
}


def test_where_nothing_can_be_drawn_a_split_with_which_something_can_is_offered():
    """With hardly anything for the covariance the page said to give more budget, and the noise grew
    beside a variance that fell; there was no way on but to take the last step back.
    """
    app = start("explore", **STARVED)
    told = " ".join(one.value for kind in (app.warning, app.error, app.markdown) for one in kind)
    assert "give it a larger share of the budget" in told
    assert "give more budget" not in told
    app.button(key="use_split").click().run()
    check(app)
    assert now(app).split == from_shares(Decimal("4.00"))
    view = compute(now(app), TableSource(PUBLIC))
    assert view.drawn
    settings = from_query(STARVED)[0].settled()
    locked = replace(settings, split=settings.split.with_locks((True, False, False)))
    assert remedy.usual_split(compute(locked, TableSource(PUBLIC))) is None
    none_runs = from_query(STARVED | {"n": "100", "c": "1e-6"})[0].settled()
    assert remedy.usual_split(compute(none_runs, TableSource(PUBLIC))) is None
