"""An odds interval wider than a factor of 20, in any world, is neither offered nor promised."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import pytest

from dpci_core import (
    CategoricalColumn,
    Design,
    Guesses,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    Moments,
    NumberGuess,
    NumericColumn,
    PureDP,
    Schema,
    StandardEncoding,
    Target,
    WorldMoments,
    fit_moments,
    forecast,
    meeting_probability,
    needed_budget,
    promise,
    simulate_twin,
)
from dpci_core.intervals.forecast import LARGEST_WIDTH, drawn_intervals
from dpci_core.planner.amounts import LARGEST_TOTAL, with_total
from dpci_core.planner.search import score
from dpci_core.planner.targets import outcome_of
from dpci_core.planner.worlds import cost_of
from dpci_core.report.cautions import cautions
from dpci_core.schema import meaning_of, to_original

PRESSURE = NumericColumn("pressure", 80, 220, typical=125, spread=17, step=10)
YEAR = NumericColumn("year", 1990, 2020, typical=2005, spread=2, step=10)
SMOKER = CategoricalColumn("smoker", ("no", "yes"), shares=(0.7, 0.3))
COST = NumericColumn("cost", 1, 10_000, transform="log", typical=100, spread=3)
FREE = NumericColumn("free", 0, 12)
SCHEMA = Schema((PRESSURE, SMOKER), "ill", "yes", standard=StandardEncoding(shape=4.0))
DESIGN = Design(
    loss=Logistic(),
    mechanism="objective",
    budget=PureDP(model="6", hessian="2", covariance="2"),
    regularization=0.0002,
    n_records=8_000,
    calibration="sharp",
    target="unpenalised",
)


@cache
def fitted(spread: float = 17.0, loss: Logistic | HuberSVM = DESIGN.loss) -> Moments:  # type: ignore[assignment]
    guesses = Guesses(base_rate=0.3, n_rows=4_000, numbers={"pressure": NumberGuess(125, spread)})
    made = simulate_twin(SCHEMA, guesses=guesses)
    return fit_moments(
        made.X,
        made.y,
        loss=loss,
        regularization=DESIGN.regularization,
        target="unpenalised",
        meaning=made.meaning,
    )


def widened(moments: Moments, place: int, odds: float, design: Design = DESIGN) -> Moments:
    """The moments, one coefficient told for a difference whose odds interval has this factor."""
    assert moments.told is not None
    told = moments.told.copy()
    told[place] = math.log(odds) / float(forecast(moments, design=design).ci_length[place])
    return replace(moments, told=told)


def test_the_difference_is_two_spreads_or_a_longer_step_or_a_level() -> None:
    schema = Schema((PRESSURE, YEAR, COST, SMOKER), "ill", "yes")
    expected = [34.0, 10.0, 2.0 * math.log(3.0), 1.0]
    for given in (schema, replace(schema, standard=StandardEncoding(shape=3.0))):
        told = meaning_of(given).told
        assert told is not None
        scaled = np.diag(to_original(given))[:-1]
        np.testing.assert_allclose(told, [*(scaled * expected), 0.0])
    told = meaning_of(Schema((FREE,), "ill", "yes")).told
    assert told is not None
    assert told[0] == pytest.approx(0.7071 * 2.0 / 6.0 * math.sqrt(12.0), rel=1e-4)


def test_the_width_is_that_of_the_difference_in_any_units() -> None:
    moments = fitted()
    made = forecast(moments, design=DESIGN)
    original = forecast(moments, design=DESIGN, contrasts=to_original(SCHEMA))
    np.testing.assert_allclose(
        original.odds_width[:2], original.ci_length[:2] * [34.0, 1.0], rtol=1e-12
    )
    np.testing.assert_allclose(made.odds_width, original.odds_width, rtol=1e-3)
    assert made.odds_width[-1] == 0.0
    mixed = forecast(moments, design=DESIGN, contrasts=[[1.0, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert moments.told is not None
    times = min(moments.told[0], moments.told[1] / 0.5)
    assert mixed.odds_width.tolist() == [times * mixed.ci_length[0], 0.0]


@pytest.mark.parametrize(("odds", "is_lost"), [(19.9, False), (20.1, True), (1e9, True)])
def test_wider_than_a_factor_of_twenty_is_not_reportable(odds: float, is_lost: bool) -> None:
    moments = widened(fitted(), 0, odds)
    made = forecast(moments, design=DESIGN)
    assert made.is_not_reportable.tolist() == [is_lost, False, False]
    assert made.is_too_wide.tolist() == [is_lost, False, False]
    assert made.chance_to_report[0] == (0.0 if is_lost else 1.0)


def test_another_level_is_judged_as_95_percent() -> None:
    moments, budget = fitted(), PureDP(model="1", hessian="0.5", covariance="0.5")
    for design in (DESIGN, replace(DESIGN, regularization=moments.regularization, budget=budget)):
        usual = forecast(moments, design=design).odds_width
        for level in (0.5, 0.8, 0.99, 0.999):
            other = forecast(moments, design=replace(design, confidence_level=level))
            np.testing.assert_allclose(other.odds_width, usual, rtol=0.02)


def test_only_odds_ratios_without_penalty_are_judged() -> None:
    assert not forecast(fitted(), design=replace(DESIGN, target="penalised")).odds_width.any()
    huber = HuberSVM(h=0.5)
    made = forecast(fitted(loss=huber), design=replace(DESIGN, loss=huber))  # type: ignore[arg-type]
    assert not made.odds_width.any()
    bare = forecast(replace(fitted(), told=None), design=DESIGN)
    assert not bare.odds_width.any()
    np.testing.assert_array_equal(bare.ci_length, forecast(fitted(), design=DESIGN).ci_length)


POOR = with_total(DESIGN, Decimal(1))


def worlds(odds: float, design: Design = DESIGN) -> tuple[WorldMoments, ...]:
    """Two worlds; in the second the interval of pressure is wide by this factor."""
    return (
        WorldMoments("all is well", fitted()),
        WorldMoments("spreads are half", widened(fitted(8.5), 0, odds, design)),
    )


def test_what_is_too_wide_in_one_world_is_not_promised_and_a_goal_about_it_stops() -> None:
    goal = Target(coefficient=0, excludes_zero_at=8.0, probability=0.8)
    kept, lost = (promise(worlds(odds), design=DESIGN, target=goal) for odds in (19.0, 21.0))
    assert (kept.reportable, lost.reportable) == (3, 2)
    assert (lost.chance[0], lost.decided_by[0]) == (0.0, "spreads are half")
    assert kept.probability is not None
    assert kept.probability >= 0.8
    assert lost.probability == meeting_probability(worlds(21.0), design=DESIGN, target=goal) == 0.0
    found = forecast(fitted(), design=DESIGN)
    stops = cautions(found, design=DESIGN, names=("pressure", "smoker", "1"), promised=lost)
    assert ("stops", "If spreads are half, these may not be reportable: pressure.") in [
        (one.gravity, one.sentence) for one in stops
    ]


def test_nothing_reportable_stops_whatever_the_goal_is() -> None:
    wide = widened(widened(fitted(), 0, 30.0), 1, 30.0)
    told = promise(wide, design=DESIGN, contrasts=np.eye(3)[:2])
    assert told.reportable == 0
    found = forecast(wide, design=DESIGN)
    made = cautions(found, design=DESIGN, names=("pressure", "smoker", "1"), promised=told)
    assert [one.gravity for one in made if "pressure" in one.sentence] == ["stops"]
    with_one = replace(told, chance=np.array([0.0, 1.0]))
    made = cautions(found, design=DESIGN, names=("pressure", "smoker", "1"), promised=with_one)
    assert [one.gravity for one in made if "pressure" in one.sentence] == ["weigh"]


def test_a_goal_of_each_kind_is_not_met_by_what_is_too_wide() -> None:
    def outcome(moments: Moments, **asked: object) -> bool:
        goal = Target(**asked)  # type: ignore[arg-type]
        return outcome_of(drawn_intervals(moments, design=DESIGN), goal).meets

    one, both = widened(fitted(), 0, 21.0), widened(widened(fitted(), 0, 21.0), 1, 21.0)
    ok = widened(widened(fitted(), 0, 19.0), 1, 19.0)
    for place in (0, 1):
        asked = {"coefficient": place, "length": 99.0}
        assert [outcome(of, **asked) for of in (ok, one, both)] == [True, place == 1, False]
    assert [outcome(of, limits=(99.0, 99.0)) for of in (ok, one, both)] == [True, False, False]
    # of two the median is the mean of both widths
    assert [outcome(of, length=99.0) for of in (ok, one, both)] == [True, True, False]


def test_the_budget_that_is_needed_keeps_to_it() -> None:
    goal = Target(length=99.0, coefficient=0)
    with pytest.raises(InfeasibleDesignError, match="8,000 records its odds") as caught:
        needed_budget(worlds(60.0), design=DESIGN, target=goal)
    (more,) = caught.value.changes
    at = replace(with_total(DESIGN, LARGEST_TOTAL), n_records=int(more.value))
    assert not forecast(worlds(60.0)[1].moments, design=at).is_too_wide[0]
    found = needed_budget(worlds(30.0, POOR), design=POOR, target=goal)
    below = with_total(found.design, found.total * Decimal("0.97"))
    for design, is_enough in ((found.design, True), (below, False)):
        widest = max(
            forecast(one.moments, design=design).odds_width[0] for one in worlds(30.0, POOR)
        )
        assert (widest <= LARGEST_WIDTH) == is_enough
    assert found.total > POOR.budget.total


def test_what_is_too_wide_costs_a_coefficient_in_every_search() -> None:
    """Penalty and ranking put first how many are not reportable in the worst world, and a split
    counts such an interval as much longer.
    """
    made = [forecast(of.moments, design=DESIGN) for of in worlds(21.0)]
    assert [cost_of(one)[0] for one in made] == [0, 1]
    kind, wide = (score(one, DESIGN.confidence_level) for one in made)
    assert wide > 1e3 * kind
